// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/tool"
)

type echoInput struct {
	Text string `json:"text" jsonschema:"description=what to say"`
}

type addInput struct {
	A int64 `json:"a" jsonschema:"description=first"`
	B int64 `json:"b" jsonschema:"description=second"`
}

type addOutput struct {
	Sum int64 `json:"sum"`
}

func benchServer() *server.Server {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "echo", Description: "returns the text", Budget: result.Budget{Bytes: 4 << 20}},
		func(_ context.Context, in echoInput) (string, error) { return in.Text, nil })
	tool.AddFunc(&tools, tool.Info{Name: "add", Description: "adds"},
		func(_ context.Context, in addInput) (addOutput, error) { return addOutput{in.A + in.B}, nil })
	return &server.Server{Name: "bench", Version: "1", Tools: &tools}
}

// BenchmarkCall measures calls over real pipes in one process, so that the
// host's work is part of the figure; lab/ measures the server alone.
func BenchmarkCall(b *testing.B) {
	text := func(n int) string {
		return fmt.Sprintf(`"name":"echo","arguments":{"text":"%s"}`, strings.Repeat("x", n))
	}
	for _, bm := range []struct {
		name, params string
		flight       int
	}{
		{"echo128/flight=1", text(128), 1},
		{"echo128/flight=64", text(128), 64},
		{"add/flight=64", `"name":"add","arguments":{"a":1,"b":2}`, 64},
		{"echo64K/flight=1", text(64 << 10), 1},
		{"echo1M/flight=1", text(1 << 20), 1},
	} {
		b.Run(bm.name, func(b *testing.B) {
			inR, inW, _ := os.Pipe()
			outR, outW, _ := os.Pipe()
			done := make(chan error, 1)
			go func() { done <- benchServer().Serve(context.Background(), inR, outW) }()
			in := bufio.NewReaderSize(outR, 1<<20)
			readLine := func() {
				for {
					_, err := in.ReadSlice('\n')
					if err == nil {
						return
					}
					if err != bufio.ErrBufferFull {
						b.Fatal(err)
					}
				}
			}
			io.WriteString(inW, `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"b","version":"1"}}}`+"\n"+
				`{"jsonrpc":"2.0","method":"notifications/initialized"}`+"\n")
			readLine()
			var batch bytes.Buffer
			b.ReportAllocs()
			b.ResetTimer()
			for i := 0; i < b.N; i += bm.flight {
				batch.Reset()
				n := min(bm.flight, b.N-i)
				for k := range n {
					fmt.Fprintf(&batch, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{%s}}`+"\n", i+k, bm.params)
				}
				go inW.Write(batch.Bytes())
				for range n {
					readLine()
				}
			}
			b.StopTimer()
			inW.Close()
			if err := <-done; err != nil {
				b.Fatal(err)
			}
		})
	}
}
