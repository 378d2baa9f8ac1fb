// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Hello is the smallest Weir server: one typed tool over stdin and stdout.
package main

import (
	"context"
	"log"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

type input struct {
	Name string `json:"name" jsonschema:"description=whom to greet"`
}

func main() {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "hello", Description: "Greets someone by name."},
		func(ctx context.Context, in input) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})
	if err := (&server.Server{Name: "hello", Tools: &tools}).ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
