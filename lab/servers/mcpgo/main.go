// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command mcpgo is the comparison's tool server on github.com/mark3labs/mcp-go, used as its documentation shows,
// with the validation of arguments and results switched on (it is off by default).
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

type echoInput struct {
	Text string `json:"text" jsonschema:"the text to return"`
}

type addInput struct {
	A int64 `json:"a" jsonschema:"the first number"`
	B int64 `json:"b" jsonschema:"the second number"`
}

type addOutput struct {
	Sum int64 `json:"sum"`
}

type bigInput struct {
	Bytes int `json:"bytes" jsonschema:"the size of the text"`
}

type slowInput struct {
	Ms int `json:"ms" jsonschema:"how long to wait"`
}

type trivialInput struct {
	Name  string   `json:"name" jsonschema:"a name"`
	Count int      `json:"count,omitempty" jsonschema:"a number"`
	Tags  []string `json:"tags,omitempty" jsonschema:"some words"`
}

// add registers a typed tool that returns text.
func add[In any](s *server.MCPServer, name, description string, h func(context.Context, In) (string, error)) {
	s.AddTool(mcp.NewTool(name, mcp.WithDescription(description), mcp.WithInputSchema[In]()),
		mcp.NewTypedToolHandler(func(ctx context.Context, _ mcp.CallToolRequest, in In) (*mcp.CallToolResult, error) {
			text, err := h(ctx, in)
			if err != nil {
				return nil, err
			}
			return mcp.NewToolResultText(text), nil
		}))
}

func main() {
	tools := flag.Int("tools", 0, "add this many trivial typed tools")
	flag.Parse()

	s := server.NewMCPServer("mcpgo", "0", server.WithInputSchemaValidation(), server.WithOutputSchemaValidation())
	add(s, "echo", "Returns the text.", func(_ context.Context, in echoInput) (string, error) { return in.Text, nil })
	add(s, "big", "Returns a text of that many bytes.", func(_ context.Context, in bigInput) (string, error) {
		return strings.Repeat("x", in.Bytes), nil
	})
	add(s, "slow", "Waits.", func(ctx context.Context, in slowInput) (string, error) {
		fmt.Fprintln(os.Stderr, "slow started")
		select {
		case <-ctx.Done():
			fmt.Fprintln(os.Stderr, "slow cancelled")
			return "", ctx.Err()
		case <-time.After(time.Duration(in.Ms) * time.Millisecond):
			fmt.Fprintln(os.Stderr, "slow done")
			return "done", nil
		}
	})
	s.AddTool(mcp.NewTool("add", mcp.WithDescription("Adds two integers."), mcp.WithInputSchema[addInput](), mcp.WithOutputSchema[addOutput]()),
		mcp.NewStructuredToolHandler(func(_ context.Context, _ mcp.CallToolRequest, in addInput) (addOutput, error) {
			return addOutput{Sum: in.A + in.B}, nil
		}))
	for i := range *tools {
		name := fmt.Sprintf("tool_%04d", i+1)
		add(s, name, "Returns its name.", func(context.Context, trivialInput) (string, error) { return name, nil })
	}
	if err := server.ServeStdio(s); err != nil {
		log.Fatal(err)
	}
}
