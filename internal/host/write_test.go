// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"strings"
	"testing"
)

// TestAnswerInLine: the answer to a request of the server is not written into
// a line that Send has begun, but after its end.
func TestAnswerInLine(t *testing.T) {
	const (
		half   = `{"jsonrpc":"2.0","id":`
		rest   = `7,"method":"ping"}` + "\n"
		ask    = `{"jsonrpc":"2.0","id":"s","method":"ping"}` + "\n"
		answer = `{"jsonrpc":"2.0","id":"s","result":{}}` + "\n"
	)
	for _, tt := range []struct {
		name, then, want string
	}{
		{"whole", rest, half + rest + answer + answer},
		{"cut twice", rest + half, half + rest + half}, // what is begun and never ends gets no answer into it
		{"never ended", "", half},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := make(chan string, 1)
			h, err := Run(Config{}, func(_ context.Context, in io.ReadCloser, out io.WriteCloser) error {
				buf := make([]byte, 4096)
				n, err := in.Read(buf)
				if err != nil {
					return err
				}
				io.WriteString(out, ask+ask)
				more, err := io.ReadAll(in)
				got <- string(buf[:n]) + string(more)
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			if err := h.Send([]byte(half)); err != nil {
				t.Fatal(err)
			}
			if _, err := h.Next(soon(t), 1); err != nil { // then the first was answered
				t.Fatal(err)
			}
			if tt.then != "" {
				h.SendChunks([]byte(tt.then), 5, 0)
			}
			if tt.name == "whole" { // else the second answer may come after the close
				if err := h.until(soon(t), func() bool { h.w.mu.Lock(); defer h.w.mu.Unlock(); return h.w.sent == int64(len(tt.want)) }); err != nil {
					t.Fatal(err)
				}
			}
			h.CloseInput()
			if g := <-got; g != tt.want {
				t.Errorf("the server read\n%s\nwant\n%s", g, tt.want)
			}
		})
	}
}

// TestAutoBound: what waits of automatic answers is bounded, however much the
// server asks and reads nothing.
func TestAutoBound(t *testing.T) {
	const asks = 100_000
	h, err := Run(Config{Queue: 2 * asks}, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		io.WriteString(out, strings.Repeat(`{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n", asks))
		<-ctx.Done()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer h.Kill()
	if _, err := h.Next(soon(t), asks-1); err != nil {
		t.Fatal(err)
	}
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	if n := len(h.w.queue); n == 0 || n > maxAuto/autoCost {
		t.Errorf("%d answers wait", n)
	}
}
