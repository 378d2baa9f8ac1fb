// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/tool"
)

// impatient is a policy that reads little. A test that waits for one of its
// times makes that one short, and no other: on a busy machine a short time ends
// what it is not meant for.
func impatient() *Policy { return &Policy{MaxBody: 1 << 20} }

const soon = 100 * time.Millisecond

const plainHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"

// Servers that never come to an end, or promise what they do not keep: each
// costs no more than its limit, and what was read is shown with what was wrong.
func TestBodiesThatDoNotEnd(t *testing.T) {
	nothing := func(int) {}
	for _, tt := range []struct {
		name, want string
		text       string
		whole      bool // what was read is not said to be incomplete
		serve      func(c net.Conn)
	}{
		{"a body without end", "There is more", "xxxx", true, func(c net.Conn) { trickle(c, plainHead+"\r\n", strings.Repeat("x", 64<<10), time.Millisecond, nothing) }},
		{"a body that stops", "the wait for more of the body took longer than 100ms", "some", false, func(c net.Conn) { trickle(c, plainHead+"\r\nsome", "", time.Hour, nothing) }},
		{"a body that drips", "the call took longer than 500ms", "drip", false, func(c net.Conn) { trickle(c, plainHead+"\r\n", "drip", 10*time.Millisecond, nothing) }},
		{"less than promised", "the server promised 100 bytes and sent 4", "less", false, func(c net.Conn) { io.WriteString(c, plainHead+"Content-Length: 100\r\n\r\nless") }},
		{"more than promised", "4 bytes.", "more", true, func(c net.Conn) { io.WriteString(c, plainHead+"Content-Length: 4\r\n\r\nmore than that") }},
		{"a chunk that is cut off", "ended it too early", "half", false, func(c net.Conn) {
			io.WriteString(c, plainHead+"Transfer-Encoding: chunked\r\n\r\n10\r\nhalf")
		}},
		{"a chunk of no length", "Incomplete: ", "half", false, func(c net.Conn) {
			io.WriteString(c, plainHead+"Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\nzz\r\n")
		}},
		{"what is no gzip", "Incomplete: gzip: invalid header", "", false, func(c net.Conn) {
			io.WriteString(c, plainHead+"Content-Encoding: gzip\r\nContent-Length: 20\r\n\r\nthis is no gzip data")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := impatient()
			switch tt.name {
			case "a body that stops":
				p.IdleTimeout = soon
			case "a body that drips":
				p.Timeout = 5 * soon
			}
			tl := newTools(ready(t, p, nil))
			f, text := fetchPage(t, tl, raw(t, tt.serve), nil)
			if !strings.Contains(text, tt.want) || !strings.HasPrefix(f.Text, tt.text) || tt.whole != (f.Incomplete == "") {
				t.Errorf("%.300s\n%.300s", text, f.Text)
			}
		})
	}
	t.Run("kept", func(t *testing.T) {
		t.Parallel()
		tl := newTools(ready(t, impatient(), newStore(t)))
		f, _ := fetchPage(t, tl, raw(t, func(c net.Conn) { trickle(c, plainHead+"\r\n", strings.Repeat("x", 64<<10), time.Millisecond, nothing) }), nil)
		if f.Kept != "its first 1,048,576 bytes" || !strings.Contains(f.Incomplete, "larger than 1048576") || f.NextCursor == "" {
			t.Errorf("%s, %s", f.Kept, f.Incomplete)
		}
	})
}

// Answers that never come.
func TestNoAnswer(t *testing.T) {
	nothing := func(int) {}
	for _, tt := range []struct {
		name, want string
		serve      func(c net.Conn)
	}{
		{"no headers", "the wait for the response's headers took longer than 100ms; try again later", func(c net.Conn) { trickle(c, "", "", time.Hour, nothing) }},
		{"headers that drip", "the wait for the response's headers took longer than 100ms; try again later", func(c net.Conn) { trickle(c, plainHead, "X-A: b\r\n", 20*time.Millisecond, nothing) }},
		{"10,000 headers", "headers are larger than 65536 bytes", func(c net.Conn) {
			io.WriteString(c, plainHead)
			for i := range 10_000 {
				fmt.Fprintf(c, "X-Header-%d: %d\r\n", i, i)
			}
			io.WriteString(c, "\r\n")
		}},
		{"one long header", "headers are larger than 65536 bytes", func(c net.Conn) { io.WriteString(c, plainHead+"X: "+strings.Repeat("x", 100_000)+"\r\n\r\n") }},
		{"another protocol", "no answer", func(c net.Conn) { io.WriteString(c, "SSH-2.0-OpenSSH_9.9\r\n") }},
		{"a closed connection", "no answer", func(c net.Conn) {}},
		{"two lengths", "no answer", func(c net.Conn) { io.WriteString(c, plainHead+"Content-Length: 1\r\nContent-Length: 2\r\n\r\nxx") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := impatient()
			if strings.Contains(tt.want, "took longer") {
				p.HeaderTimeout = soon
			}
			tl := newTools(ready(t, p, nil))
			at := raw(t, tt.serve)
			for _, name := range []string{"fetch", "fetch_json", "head"} {
				if text := refused(t, tl, name, args{"url": at}); !strings.Contains(text, tt.want) {
					t.Errorf("%s: %s", name, text)
				}
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
		if text := refused(t, tools(t), "fetch", args{"url": "http://" + l.Addr().String()}); !strings.Contains(text, "cannot be reached") {
			t.Error(text)
		}
	})
	t.Run("no TLS", func(t *testing.T) {
		at := raw(t, func(c net.Conn) {})
		if text := refused(t, tools(t), "fetch", args{"url": strings.Replace(at, "http:", "https:", 1)}); !strings.Contains(text, "no answer") {
			t.Error(text)
		}
	})
}

// Bombs: what is small on the wire and large decompressed is bounded by the
// ratio, and by the whole. Case 53.
func TestBombs(t *testing.T) {
	zeros := make([]byte, 1<<20)
	bomb := func(encoding string, size int) []byte {
		var b bytes.Buffer
		var z io.WriteCloser
		switch encoding {
		case "gzip":
			z = gzip.NewWriter(&b)
		case "deflate":
			z = zlib.NewWriter(&b)
		case "raw":
			z, _ = flate.NewWriter(&b, 9)
		}
		for ; size > 0; size -= len(zeros) {
			z.Write(zeros)
		}
		z.Close()
		return b.Bytes()
	}
	for i := range zeros {
		zeros[i] = 'a' + byte(i%2)
	}
	store := newStore(t)
	for _, encoding := range []string{"gzip", "deflate", "raw"} {
		body := bomb(encoding, 20<<20)
		header := strings.Replace(encoding, "raw", "deflate", 1)
		at := web(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Encoding", header)
			w.Write(body)
		})
		f, text := fetchPage(t, newTools(ready(t, new(Policy), store)), at, nil)
		if !strings.Contains(f.Incomplete, "compressed to less than 1/100") || !strings.Contains(text, "Incomplete") {
			t.Errorf("%s: %.300s", encoding, text)
		}
		f, _ = fetchPage(t, newTools(ready(t, &Policy{MaxRatio: 5000}, store)), at, nil)
		if !strings.Contains(f.Incomplete, "larger than 16777216") || f.Kept != "its first 16,777,216 bytes" {
			t.Errorf("%s: %s, %s", encoding, f.Incomplete, f.Kept)
		}
	}
	// One item of JSON that is too large to hold, and one that is too deep.
	tl := newTools(ready(t, &Policy{MaxRatio: 5000}, nil))
	for body, want := range map[string]string{
		"[" + strings.Repeat(`"`+strings.Repeat("x", 2<<20)+`",`, 2) + "1]":  "[an item of more than 1048576 bytes",
		`[{"a":` + "[" + strings.Repeat(`"0123456789",`, 200_000) + "1]},7]": "[an item of more than 1048576 bytes",
	} {
		at := page(t, "application/json", body)
		r, err := tl.Call(t.Context(), "fetch_json", args{"url": at})
		if err != nil || r.IsError || !strings.Contains(textOf(r), want) {
			t.Errorf("%v %.300s", err, textOf(r))
		}
	}
	if text := refused(t, tl, "fetch_json", args{"url": page(t, "application/json", strings.Repeat("[", 5000)+strings.Repeat("]", 5000))}); !strings.Contains(text, "nested more than 1000 deep") {
		t.Errorf("%.300s", text)
	}
}

// The bytes that a compressed body takes on the wire are bounded too: this one
// decompresses to nothing, for ever.
func TestEmptyBlocks(t *testing.T) {
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Flush()
	block := strings.Repeat("\x00\x00\x00\xff\xff", 20_000) // stored blocks of no bytes
	at := raw(t, func(c net.Conn) {
		trickle(c, plainHead+"Content-Encoding: gzip\r\n\r\n"+b.String(), block, time.Millisecond, func(int) {})
	})
	f, text := fetchPage(t, newTools(ready(t, impatient(), nil)), at, nil)
	if !strings.Contains(f.Incomplete, "larger than 1048576") {
		t.Error(text)
	}
}

// A call that is stopped from outside keeps what it has read. Case 22.
func TestStopped(t *testing.T) {
	seen := make(chan struct{}, 1000)
	at := raw(t, func(c net.Conn) {
		trickle(c, plainHead+"\r\nbegun ", "", time.Millisecond, func(int) {
			select {
			case seen <- struct{}{}:
			default:
			}
		})
	})
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		for range 100 {
			<-seen
		}
		cancel(&tool.TimedOut{After: time.Second})
	}()
	r, err := tools(t).Call(ctx, "fetch", args{"url": at})
	if err != nil || !r.IsError || !strings.Contains(textOf(r), "begun") {
		t.Errorf("%v: %s", err, textOf(r))
	}
	ctx, cancel = context.WithCancelCause(t.Context())
	cancel(&tool.Cancelled{Reason: "enough"})
	var cancelled *tool.Cancelled
	if _, err := tools(t).Call(ctx, "fetch", args{"url": at}); !errors.As(err, &cancelled) {
		t.Error(err)
	}
}
