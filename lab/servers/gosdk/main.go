// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command gosdk is the comparison's tool server on github.com/modelcontextprotocol/go-sdk, used as its documentation shows.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
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

func text(s string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: s}}}
}

func main() {
	tools := flag.Int("tools", 0, "add this many trivial typed tools")
	flag.Parse()

	s := mcp.NewServer(&mcp.Implementation{Name: "gosdk", Version: "0"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "echo", Description: "Returns the text."},
		func(_ context.Context, _ *mcp.CallToolRequest, in echoInput) (*mcp.CallToolResult, any, error) {
			return text(in.Text), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds two integers."},
		func(_ context.Context, _ *mcp.CallToolRequest, in addInput) (*mcp.CallToolResult, addOutput, error) {
			return nil, addOutput{Sum: in.A + in.B}, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "big", Description: "Returns a text of that many bytes."},
		func(_ context.Context, _ *mcp.CallToolRequest, in bigInput) (*mcp.CallToolResult, any, error) {
			return text(strings.Repeat("x", in.Bytes)), nil, nil
		})
	mcp.AddTool(s, &mcp.Tool{Name: "slow", Description: "Waits."},
		func(ctx context.Context, _ *mcp.CallToolRequest, in slowInput) (*mcp.CallToolResult, any, error) {
			fmt.Fprintln(os.Stderr, "slow started")
			select {
			case <-ctx.Done():
				fmt.Fprintln(os.Stderr, "slow cancelled")
				return nil, nil, ctx.Err()
			case <-time.After(time.Duration(in.Ms) * time.Millisecond):
				fmt.Fprintln(os.Stderr, "slow done")
				return text("done"), nil, nil
			}
		})
	for i := range *tools {
		name := fmt.Sprintf("tool_%04d", i+1)
		mcp.AddTool(s, &mcp.Tool{Name: name, Description: "Returns its name."},
			func(_ context.Context, _ *mcp.CallToolRequest, _ trivialInput) (*mcp.CallToolResult, any, error) {
				return text(name), nil, nil
			})
	}
	if err := s.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
