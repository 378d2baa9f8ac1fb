// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

type helloInput struct {
	Name string `json:"name" jsonschema:"description=whom to greet"`
}

// A server is a registry of tools and a call of ServeStdio.
func Example() {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "hello", Description: "Greets somebody.", ReadOnly: tool.Yes},
		func(ctx context.Context, in helloInput) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})
	srv := &server.Server{Name: "hello", Version: "1.0.0", Tools: &tools}
	if err := srv.ServeStdio(context.Background()); err != nil {
		log.Fatal(err)
	}
}

// Serve takes any byte stream: here a file of requests.
func ExampleServer_Serve() {
	requests := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"example","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"hello","arguments":{"name":"world"}}}
`
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "hello", Description: "Greets somebody."},
		func(ctx context.Context, in helloInput) (string, error) {
			return "Hello, " + in.Name + "!", nil
		})
	srv := &server.Server{Name: "hello", Version: "1.0.0", Tools: &tools}
	err := srv.Serve(context.Background(), io.NopCloser(strings.NewReader(requests)), unclosed{os.Stdout})
	fmt.Println(err)
	// Output:
	// {"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"hello","version":"1.0.0"}}}
	// {"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"Hello, world!"}]}}
	// <nil>
}

// unclosed keeps a stream open that somebody else still needs.
type unclosed struct{ io.Writer }

func (unclosed) Close() error { return nil }
