// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package host

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func init() { modes["oversized"] = oversized }

// oversized is a server that answers each request with 8 MiB of text, in
// chunks of 16 KiB, and says so on stderr when its stdout takes no more.
func oversized() {
	syscall.SetNonblock(1, true)
	stdout := os.NewFile(1, "stdout") // one whose writes can have a deadline
	text := strings.Repeat("x", 8<<20)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		var m fakeMessage
		if json.Unmarshal(lines.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		response := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":%q}]}}`+"\n", m.ID, text)
		if m.Method == "ping" {
			response = fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", m.ID)
		}
		for len(response) > 0 {
			stdout.SetWriteDeadline(time.Now().Add(20 * time.Millisecond))
			n, err := stdout.WriteString(response[:min(len(response), 16<<10)])
			response = response[n:]
			switch {
			case errors.Is(err, os.ErrDeadlineExceeded):
				fmt.Fprintln(os.Stderr, "stdout backpressure observed")
			case err != nil:
				return
			}
		}
		fmt.Fprintln(os.Stderr, "response written")
	}
}

// TestBackpressure: a host that does not read blocks its server in a write, so
// that it never comes to its next request; a host that reads does not,
// although its consumer is as stuck as that of the other, and neither does one
// that refuses the frame. The faults are seen through a real child process.
func TestBackpressure(t *testing.T) {
	blocks := func(t *testing.T, h *Host) *Pending {
		t.Helper()
		p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("large", nil)})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	t.Run("paused", func(t *testing.T) {
		h := startChild(t, Config{}, "oversized")
		h.Pause()
		p := blocks(t, h)
		ping, err := h.Begin(Request{Method: "ping"})
		if err != nil {
			t.Fatal(err)
		}
		if err := h.AwaitStderr(soon(t), strings.Repeat("stdout backpressure observed\n", 3)); err != nil {
			t.Fatal(err)
		}
		if text, _ := h.Stderr(); strings.Contains(text, "response written") || h.Metrics().Exit != nil || h.Metrics().Received != 0 {
			t.Errorf("the server went on although nobody read: %q", text)
		}
		if d := h.Diagnose(); !strings.HasPrefix(d, "the host has paused reading for ") || !strings.Contains(d, "2 requests open, the oldest tools/call (id 1)") {
			t.Error(d)
		}
		// Half of it is read: the server is still in its write, and deaf.
		if err := h.Take(soon(t), 4<<20); err != nil {
			t.Fatal(err)
		}
		select {
		case <-ping.Done():
			t.Error("a server that is blocked in a write answered")
		default:
		}
		h.Resume()
		if v, err := p.Wait(soon(t)); err != nil || len(v) < 8<<20 {
			t.Errorf("%d bytes, %v", len(v), err)
		}
		if _, err := ping.Wait(soon(t)); err != nil {
			t.Error(err)
		}
	})
	t.Run("consumer busy", func(t *testing.T) { // such as an approval, or a model
		busy, release := make(chan struct{}), make(chan struct{})
		var once sync.Once
		h := startChild(t, Config{OnFrame: func(Frame) { once.Do(func() { close(busy); <-release }) }}, "oversized")
		h.Begin(Request{Method: "ping"})
		<-busy
		defer close(release)
		p := blocks(t, h)
		if err := h.AwaitReceived(soon(t), 8<<20); err != nil {
			t.Fatal(err)
		}
		if m := h.Metrics(); m.Dispatched != 1 {
			t.Errorf("%d frames were dispatched", m.Dispatched)
		}
		release <- struct{}{}
		if _, err := p.Wait(soon(t)); err != nil {
			t.Error(err)
		}
	})
	t.Run("refused", func(t *testing.T) {
		h := startChild(t, Config{Limit: 1 << 20}, "oversized")
		if _, err := blocks(t, h).Wait(soon(t)); !errors.As(err, new(*OversizeError)) {
			t.Error(err)
		}
		if _, err := h.Request(soon(t), "ping", nil); err != nil {
			t.Error(err)
		}
	})
}

// TestCancelWhileWriting: the five steps of a cancel that comes while the
// response is being written: it is read whole, counted as late and dropped,
// and a second, small request on the same session is answered.
func TestCancelWhileWriting(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	h.SetPace(Pace{Chunk: 16 << 10, Every: time.Millisecond})
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("big", args{"n": 4 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.AwaitReceived(soon(t), 64<<10); err != nil {
		t.Fatal(err)
	}
	if d := h.Diagnose(); !strings.Contains(d, " of a frame received") {
		t.Error(d)
	}
	if err := p.Cancel("result exceeded the client budget"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	h.SetPace(Pace{})
	if got := callText(t, h, "echo", args{"text": "healthy"}); got != "healthy" {
		t.Errorf("echo returned %q", got)
	}
	if _, err := h.Find(soon(t), func(f Frame) bool { return f.Late && f.Size > 4<<20 }); err != nil {
		t.Error(err)
	}
	if m := h.Metrics(); m.Cancels != 1 || m.Late != 1 || m.Faulty != 0 || m.Largest < 4<<20 {
		t.Errorf("metrics are %+v", m)
	}
}

// TestPayloads: quotes, characters of several bytes and long runs come as they
// were sent, however the stream is cut, and the limit counts bytes as they
// stand on the wire.
func TestPayloads(t *testing.T) {
	long := strings.Repeat("a", 100<<10)
	for name, text := range map[string]string{
		"quotes":     strings.Repeat(`\"\\"`, 500),
		"multi-byte": strings.Repeat("größe 界 \U0001F980 \u2028", 300),
		"long run":   long,
		"line ends":  strings.Repeat("\r\n\u0085\x00", 500),
	} {
		for _, chunk := range []int{1, 3, 4095, 64 << 10} {
			if chunk == 1 && len(text) > 10<<10 {
				chunk = 17
			}
			h := startChild(t, Config{}, "serve")
			h.SetPace(Pace{Chunk: chunk})
			if got := callText(t, h, "echo", args{"text": text}); got != text {
				t.Errorf("%s, read in chunks of %d: %d bytes came, %d were sent", name, chunk, len(got), len(text))
			}
			h.Close()
		}
		quoted, _ := jsontext.AppendQuote(nil, text)
		size := len(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":}]}}`) + len(quoted)
		for limit, fits := range map[int]bool{size: true, size - 1: false} {
			h := startChild(t, Config{Limit: limit}, "serve")
			var over *OversizeError
			_, err := h.Call(soon(t), "echo", args{"text": text})
			if fits != (err == nil) || !fits && (!errors.As(err, &over) || over.Size != int64(size)) {
				t.Errorf("%s: a frame of %d bytes and a limit of %d: %v", name, size, limit, err)
			}
			h.Close()
		}
	}
}

// TestPlantedFaults puts a fault on each side of a real pipe, and none, and
// reads whom the host accuses.
func TestPlantedFaults(t *testing.T) {
	const stall = 50 * time.Millisecond
	says := func(t *testing.T, h *Host, want string) {
		t.Helper()
		var got string
		for ctx := soon(t); !strings.HasPrefix(got, want); got = h.Diagnose() {
			if ctx.Err() != nil {
				t.Fatalf("Diagnose() = %q, want %q", got, want)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if !strings.HasSuffix(got, "1 request open, the oldest tools/call (id 1) for "+got[strings.LastIndexByte(got, ' ')+1:]) {
			t.Errorf("Diagnose() = %q", got)
		}
	}
	begin := func(t *testing.T, h *Host, tool string, args any) {
		t.Helper()
		if _, err := h.Begin(Request{Method: "tools/call", Params: ToolParams(tool, args)}); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("server's write side", func(t *testing.T) {
		h := startChild(t, Config{Stall: stall, Grace: stall}, "serve")
		begin(t, h, "half", nil)
		says(t, h, "the server's write side is stuck: no byte for ")
	})
	t.Run("host's consumer", func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		h := startChild(t, Config{Stall: stall, OnFrame: func(Frame) { <-release }}, "serve")
		begin(t, h, "flood", args{"n": 100})
		says(t, h, "the host's consumer is stuck: it has held one frame for ")
	})
	t.Run("neither", func(t *testing.T) {
		h := startChild(t, Config{Stall: stall}, "serve")
		begin(t, h, "hang", nil)
		if err := h.AwaitStderr(soon(t), "hanging"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * stall) // however long nothing happens, it is no fault
		says(t, h, "idle: nothing is stuck, no frame half received, none waiting, no byte since the start ")
	})
}
