// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Schemaport is the tool that docs/porting.md ports from a schema written by
// hand to a Go type: a server that serves one of the three states of it.
package main

import (
	"context"
	"flag"
	"log"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

const byHand = `{
	"type": "object",
	"properties": {
		"query": {"type": "string", "description": "What to look for"},
		"maxResults": {"type": ["integer", "null"], "description": "How many at most", "default": 20},
		"order": {"type": "string", "description": "Which first", "enum": ["newest", "oldest"]},
		"tags": {"type": "array", "description": "Only with all of these", "items": {"type": "string"}}
	},
	"required": ["query"]
}`

// firstInput is a first attempt.
type firstInput struct {
	Query      string   `json:"query" jsonschema:"description=What to look for,minLength=1"`
	MaxResults int8     `json:"maxResults" jsonschema:"description=How many at most,default=20"`
	Order      string   `json:"sort_order,omitempty" jsonschema:"description=Which first,enum=newest,enum=oldest"`
	Tags       []string `json:"tags" jsonschema:"description=Only with all of these"`
}

// searchInput takes all that the schema by hand took.
type searchInput struct {
	Query      string   `json:"query" jsonschema:"description=What to look for"`
	MaxResults int      `json:"maxResults" jsonschema:"description=How many at most,default=20"`
	Order      string   `json:"order,omitempty" jsonschema:"description=Which first,enum=newest,enum=oldest"`
	Tags       []string `json:"tags,omitempty" jsonschema:"description=Only with all of these"`
}

func add(tools *tool.Registry, state string) {
	info := tool.Info{Name: "search", Description: "Searches the notes.", ReadOnly: tool.Yes}
	switch state {
	case "hand":
		info.InputSchema = jsontext.Value(byHand)
		tool.AddFunc(tools, info, func(ctx context.Context, in map[string]any) (string, error) { return "", nil })
	case "first":
		tool.AddFunc(tools, info, func(ctx context.Context, in firstInput) (string, error) { return "", nil })
	default:
		info.AllowUnknown = true // as the schema by hand did
		tool.AddFunc(tools, info, func(ctx context.Context, in searchInput) (string, error) { return "", nil })
	}
}

func main() {
	state := flag.String("state", "", "hand, first, or empty for the ported one")
	flag.Parse()
	var tools tool.Registry
	add(&tools, *state)
	srv := &server.Server{Name: "notes", Version: "1.0.0", Tools: &tools}
	if err := srv.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}
