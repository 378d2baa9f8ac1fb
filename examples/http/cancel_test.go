// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/server/servertest"
)

// C1: a call that waits for a server which trickles headers, a body, or a
// compressed body, is cancelled; the server sees the connection closed within a
// second. Cases 17 and 21.
func TestCancelClosesTheConnection(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	z.Write([]byte("begun"))
	z.Flush()
	for _, tt := range []struct{ name, tool, first, then string }{
		{"headers", "fetch", plainHead, "X-A: b\r\n"},
		{"headers of head", "head", plainHead, "X-A: b\r\n"},
		{"body", "fetch", plainHead + "\r\n", "x"},
		{"gzip body", "fetch", plainHead + "Content-Encoding: gzip\r\n\r\n" + zipped.String(), "\x00\x00\x00\xff\xff"},
		{"JSON", "fetch_json", strings.Replace(plainHead, "text/plain", "application/json", 1) + "\r\n[", "1, "},
		{"JSON in gzip", "fetch_json", strings.Replace(plainHead, "text/plain", "application/json", 1) + "Content-Encoding: gzip\r\n\r\n" + zipped.String()[:10], "\x00\x00\x00\xff\xff"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			seen, gone := make(chan struct{}, 1), make(chan time.Time, 1)
			at := raw(t, func(c net.Conn) {
				trickle(c, tt.first, tt.then, 10*time.Millisecond, func(n int) {
					if n == 5 {
						seen <- struct{}{}
					}
				})
				gone <- time.Now()
			})
			other := page(t, "text/plain", "another")
			c := startHTTP(t, servertest.Config{}, nil, "-allow", "127.0.0.1")
			// A machine that is busy may need another try.
			for try := 1; ; try++ {
				// 1: start.
				call, err := c.BeginCall(t.Context(), tt.tool, args{"url": at})
				if err != nil {
					t.Fatal(err)
				}
				// 2: wait until the server is seen to trickle.
				select {
				case <-seen:
				case <-time.After(20 * time.Second):
					t.Fatal("no request came")
				}
				// 3: cancel.
				began := time.Now()
				if err := c.Cancel(call.ID, "enough"); err != nil {
					t.Fatal(err)
				}
				// 4: the connection is closed.
				var took time.Duration
				select {
				case at := <-gone:
					took = at.Sub(began)
				case <-time.After(20 * time.Second):
					t.Fatal("the connection is still open after 20 s")
				}
				// 5: another call is answered.
				r, err := c.Call(t.Context(), "fetch", args{"url": other})
				if err != nil || r.IsError || !strings.Contains(r.Text(), "another") {
					t.Fatalf("%v, %v", r, err)
				}
				if took <= time.Second {
					t.Logf("closed after %v", took)
					return
				}
				if try == 3 {
					t.Fatalf("closed after %v", took)
				}
			}
		})
	}
}
