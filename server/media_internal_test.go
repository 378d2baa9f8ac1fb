// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// TestMediaIsHeldBeforeItIsEncoded holds that the media of a result counts in
// MaxResultMemory from the moment that its handler has returned, not only once
// it is encoded: a call that does not fit beside it waits. The moment between
// is when the encoder asks for a buffer, which the test draws out.
func TestMediaIsHeldBeforeItIsEncoded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		encoding, release := make(chan bool), make(chan bool)
		before := largeBuffers
		defer func() { largeBuffers = before }()
		largeBuffers = &sync.Pool{New: func() any {
			encoding <- true
			<-release
			return new(buffer)
		}}
		var tools tool.Registry
		tool.Add(&tools, tool.Info{Name: "image", Description: "returns an image"},
			func(context.Context, *tool.Request, struct{}) (result.Result, error) {
				return result.Image("image/png", make([]byte, 100<<10)), nil
			})
		tool.AddFunc(&tools, tool.Info{Name: "short", Description: "returns a word"},
			func(context.Context, struct{}) (string, error) { return "word", nil })
		// Room for two calls, until there is an image.
		need := Limits{}.withDefaults().reserve(result.Budget{}.WithDefaults(result.Budget{}))
		srv := &Server{Name: "media", Version: "1", Tools: &tools, Limits: Limits{MaxResultMemory: 2 * need}, Log: slog.New(slog.DiscardHandler)}
		host, end := net.Pipe()
		done := make(chan error, 1)
		go func() { done <- srv.Serve(t.Context(), end, end) }()
		lines := bufio.NewReaderSize(host, 1<<20)
		call := func(id int, method, params string) {
			fmt.Fprintf(host, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
		}
		answer := func() string {
			line, err := lines.ReadString('\n')
			if err != nil {
				t.Fatal(err)
			}
			return line
		}
		call(1, "initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}`)
		answer()
		call(2, "tools/call", `{"name":"image"}`)
		<-encoding
		call(3, "tools/call", `{"name":"short"}`)
		synctest.Wait()
		if calls := srv.Calls(); len(calls) != 2 || calls[1].State != "queued" {
			t.Errorf("while an image is being encoded that takes all memory: %v", calls)
		}
		release <- true
		for range 2 {
			answer()
		}
		host.Close()
		<-done
	})
}
