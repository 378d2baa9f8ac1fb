// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Guide serves a log file. It is the server that docs/guide.md builds step by
// step, and quotes:
//
//	guide -file FILE
package main

import (
	"context"
	"flag"
	"log"
	"time"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

func main() {
	file := flag.String("file", "server.log", "the log `FILE` to serve")
	flag.Parse()
	if err := newServer(*file).ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// newServer makes a server for one log file.
func newServer(file string) *server.Server {
	l := &logFile{path: file}
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{
		Name:        "count",
		Description: "Counts the lines of the log that contain a text.",
		ReadOnly:    tool.Yes,
	}, l.count)
	tool.AddPage(&tools, tool.Info{
		Name:        "find",
		Description: "Lists the lines of the log that contain a text, oldest first.",
		ReadOnly:    tool.Yes,
	}, l.find)
	tool.Add(&tools, tool.Info{
		Name:        "wait",
		Description: "Waits for a new line in the log that contains a text.",
		ReadOnly:    tool.Yes,
		Timeout:     5 * time.Minute,
	}, l.wait)
	return &server.Server{Name: "logs", Version: "1.0.0", Tools: &tools}
}
