// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// soon bounds what should come at once: a fail-safe, not a measurement.
func soon(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// inProcess connects to a fake in this process; the test must end it well.
func inProcess(t *testing.T, cfg Config) *Host {
	t.Helper()
	h, err := Run(cfg, (&fake{}).serve)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

// child connects to a fake in a process of its own.
func startChild(t *testing.T, cfg Config, mode string) *Host {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fakeEnv+"="+mode, "GORACE=atexit_sleep_ms=0") // by default, -race waits 1 s at exit
	h, err := Start(cfg, cmd)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	return h
}

func callText(t *testing.T, h *Host, tool string, args any) string {
	t.Helper()
	r, err := h.Call(soon(t), tool, args)
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	return r.Text()
}

type args map[string]any

// TestEras opens a session in each era and calls a tool, over each kind of
// connection.
func TestEras(t *testing.T) {
	connect := map[string]func(*testing.T, Config) *Host{
		"pipes": inProcess,
		"memory": func(t *testing.T, cfg Config) *Host {
			h := RunInMemory(cfg, (&fake{}).serve)
			t.Cleanup(func() { h.Close() })
			return h
		},
		"child": func(t *testing.T, cfg Config) *Host { return startChild(t, cfg, "serve") },
	}
	for name, connect := range connect {
		for _, protocol := range []string{"", "2024-11-05", "2025-06-18", LatestModern} {
			t.Run(name+"/"+protocol, func(t *testing.T) {
				var sent []string
				h := connect(t, Config{Protocol: protocol, OnFrame: func(f Frame) { sent = append(sent, f.Protocol+" "+f.Answers) }})
				if _, err := h.Open(soon(t)); err != nil {
					t.Fatal(err)
				}
				if got := callText(t, h, "echo", args{"text": "größe \u2028"}); got != "größe \u2028" {
					t.Errorf("echo returned %q", got)
				}
				want := protocol
				if want == "" {
					want = LatestLegacy
				}
				if h.Protocol() != want {
					t.Errorf("Protocol() = %q, want %q", h.Protocol(), want)
				}
				if err := h.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				first := "initialize"
				if IsModern(protocol) {
					first = "server/discover"
				}
				if got, want := fmt.Sprint(sent), fmt.Sprint([]string{want + " " + first, want + " tools/call"}); got != want {
					t.Errorf("frames were judged as %s, want %s", got, want)
				}
			})
		}
	}
}

// TestInitialize: the handshake ends with a notification, and what the server
// agrees to holds.
func TestInitialize(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	if _, err := h.Initialize(soon(t), "1999-01-01"); err != nil {
		t.Fatal(err)
	}
	if err := h.AwaitStderr(soon(t), "initialized\n"); err != nil {
		t.Error(err)
	}
	if h.Protocol() != "2025-06-18" {
		t.Errorf("Protocol() = %q, want the one that the server answered", h.Protocol())
	}
}

func TestModernMeta(t *testing.T) {
	h := inProcess(t, Config{Name: "n", Version: "v"})
	raw, err := h.params(args{"name": "x", "_meta": args{"traceparent": "00"}}, LatestModern, jsontext.Value("7"))
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"_meta":{"io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"n","version":"v"},` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","progressToken":7,"traceparent":"00"},"name":"x"}`
	if string(raw) != want {
		t.Errorf("params are\n%s, want\n%s", raw, want)
	}
	if raw, err := h.params([]int{1}, LatestModern, nil); err != nil || string(raw) != "[1]" {
		t.Errorf("params that are no object became %s, %v", raw, err)
	}
}

func TestRequestErrors(t *testing.T) {
	h := inProcess(t, Config{})
	var rpc *Error
	if _, err := h.Request(soon(t), "no/such", nil); !errors.As(err, &rpc) || rpc.Code != -32601 {
		t.Errorf("an unknown method gave %v", err)
	}
	if _, err := h.Begin(Request{Method: "x", Params: func() {}}); err == nil {
		t.Error("params that cannot be marshalled were sent")
	}
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
	if err != nil {
		t.Fatal(err)
	}
	h.Close()
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrEnded) {
		t.Errorf("a request left open by the end gave %v", err)
	}
	if _, err := h.Request(soon(t), "ping", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("a request after the end gave %v", err)
	}
}

func TestPages(t *testing.T) {
	h := inProcess(t, Config{})
	var pages []string
	for page, err := range h.Pages(soon(t), "tools/list") {
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, string(page))
	}
	if len(pages) != 2 || !strings.Contains(pages[1], `"big"`) {
		t.Errorf("pages are %q", pages)
	}
	var last error
	for _, last = range h.Pages(soon(t), "loop/list") {
	}
	if last == nil || !strings.Contains(last.Error(), "same nextCursor twice") {
		t.Errorf("a cursor that leads nowhere: %v", last)
	}
}

func TestProgress(t *testing.T) {
	h := inProcess(t, Config{})
	var got []float64
	r, err := h.CallProgress(soon(t), "progress", args{"n": 3}, func(p Progress) { got = append(got, p.Progress/p.Total) })
	if err != nil || r.Text() != "done" {
		t.Fatalf("progress: %v, %v", r, err)
	}
	if len(got) != 3 || got[2] != 1 {
		t.Errorf("progress was %v", got)
	}
	if n := h.Metrics().Faulty; n != 0 {
		t.Errorf("%d faulty lines", n)
	}
	// The token of a request that is over belongs to nobody.
	h.Call(soon(t), "echo", nil)
	p, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("raw",
		args{"text": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":9}}` + "\n"})})
	if _, err := h.Find(soon(t), func(f Frame) bool { return f.Faults == FaultUnasked }); err != nil {
		t.Error(err)
	}
	p.Cancel("")
}

// TestCancel: a call whose context ends is cancelled at the server, and what
// is answered all the same is late, not unasked (cases 17 and 18, from the
// host's side).
func TestCancel(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	ctx, cancel := context.WithCancelCause(soon(t))
	done := make(chan error, 1)
	go func() { _, err := h.Call(ctx, "hang", nil); done <- err }()
	if err := h.AwaitStderr(soon(t), "hanging"); err != nil {
		t.Fatal(err)
	}
	left := errors.New("user left")
	cancel(left)
	if err := <-done; !errors.Is(err, left) {
		t.Errorf("the call ended with %v", err)
	}
	if err := h.AwaitStderr(soon(t), "hang ended: cancelled"); err != nil {
		t.Error(err)
	}
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("late", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Cancel(p.ID, "no longer needed"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrCancelled) {
		t.Errorf("Wait after Cancel: %v", err)
	}
	if f, err := h.Find(soon(t), func(f Frame) bool { return f.Late }); err != nil || f.Faults != 0 {
		t.Errorf("the late response: %v %v", f.Faults, err)
	}
	m := h.Metrics()
	if m.Late != 1 || m.Cancels != 2 || m.Unasked != 0 || m.Open != 0 {
		t.Errorf("late %d, cancels %d, unasked %d, open %d; want 1, 2, 0, 0", m.Late, m.Cancels, m.Unasked, m.Open)
	}
	if got := callText(t, h, "echo", args{"text": "next"}); got != "next" {
		t.Errorf("the next call returned %q", got)
	}
}

// TestWithdraw: a request of which no byte was written is taken back.
func TestWithdraw(t *testing.T) {
	h := inProcess(t, Config{Grace: 50 * time.Millisecond})
	h.Begin(Request{Method: "tools/call", Params: ToolParams("stopreading", nil)})
	h.Send(bytes.Repeat([]byte(" "), 1<<20)) // fills the pipe, and more waits
	p, err := h.Begin(Request{Method: "ping"})
	if err != nil {
		t.Fatal(err)
	}
	// The pipe's share of what waits counts as sent.
	if err := h.until(soon(t), func() bool { return h.Metrics().Sent >= writeSize }); err != nil {
		t.Error(err)
	}
	if err := p.Cancel("x"); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrCancelled) {
		t.Error(err)
	}
	if m := h.Metrics(); m.Cancels != 0 || m.Open != 1 {
		t.Errorf("cancels %d, open %d", m.Cancels, m.Open)
	}
	if err := h.Close(); !errors.Is(err, errStopReading) {
		t.Errorf("Close: %v", err)
	}
}

func TestUnsent(t *testing.T) {
	h := inProcess(t, Config{Grace: 50 * time.Millisecond, Unsent: 1 << 20})
	h.Begin(Request{Method: "tools/call", Params: ToolParams("stopreading", nil)})
	block := bytes.Repeat([]byte(" "), 1<<19)
	var err error
	for range 10 {
		if err = h.Send(block); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrUnsent) {
		t.Errorf("Send past the limit: %v", err)
	}
}

// TestSend: the ids in bytes that were sent by hand count as asked for.
func TestSend(t *testing.T) {
	h := inProcess(t, Config{})
	h.Send([]byte(`{"jsonrpc":"2.0","id":"\u0061b","method":"ping"}` + "\r\n" + `{"jsonrpc":"2.0","id":"7","met`))
	h.SendChunks([]byte(`hod":"ping"}`+"\n"+`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}`+"\n"+`{bad`+"\n"), 1, 0)
	f, err := h.Find(soon(t), func(f Frame) bool { return f.Err != nil })
	if err != nil {
		t.Fatal(err)
	}
	if f.Err.Code != -32700 || f.Faults != 0 {
		t.Errorf("error %v, faults %v", f.Err, f.Faults)
	}
	var ids []string
	for _, f := range h.Frames() {
		ids = append(ids, string(f.ID)+" "+f.Answers+" "+f.Protocol)
		if f.Faults != 0 {
			t.Errorf("%s: %s", f.Raw, f.Faults)
		}
	}
	if got, want := strings.Join(ids, "; "), `"\u0061b" ping 2025-11-25; "7" ping 2025-11-25; 7 initialize 2025-03-26; null  2025-03-26`; got != want {
		t.Errorf("answered were %s\nwant %s", got, want)
	}
}

// TestDuplicateID: of two requests with one id, the error that refuses one is
// the later one's (case 13, from the host's side).
func TestDuplicateID(t *testing.T) {
	h := inProcess(t, Config{})
	first, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil), ID: jsontext.Value("5")})
	if err != nil {
		t.Fatal(err)
	}
	second, err := h.Begin(Request{Method: "tools/call", ID: jsontext.Value("5"), Params: ToolParams("raw",
		args{"text": `{"jsonrpc":"2.0","id":5,"error":{"code":-32600,"message":"in flight"}}` + "\n" + `{"jsonrpc":"2.0","id":5,"result":{}}` + "\n"})})
	if err != nil {
		t.Fatal(err)
	}
	var rpc *Error
	if _, err := second.Wait(soon(t)); !errors.As(err, &rpc) {
		t.Errorf("the second ended with %v", err)
	}
	if v, err := first.Wait(soon(t)); err != nil || string(v) != "{}" {
		t.Errorf("the first ended with %s, %v", v, err)
	}
}

// TestReusedID: an id may be used again once its call was cancelled, by hand
// here; the response is the new call's, and a late one the old call's.
func TestReusedID(t *testing.T) {
	h := inProcess(t, Config{})
	h.Send([]byte(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"late"}}` + "\n"))
	h.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}` + "\n"))
	f, err := h.Find(soon(t), func(f Frame) bool { return string(f.ID) == "5" })
	if err != nil || !f.Late || f.Answers != "tools/call" {
		t.Errorf("the response to a cancelled call: late %v, answers %q, %v", f.Late, f.Answers, err)
	}
	first, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil), ID: jsontext.Value("5")})
	h.Flush(soon(t)) // or it would be taken back, and no cancel be sent
	first.Cancel("")
	if v, err := h.Do(soon(t), Request{Method: "ping", ID: jsontext.Value("5")}); err != nil || string(v) != "{}" {
		t.Errorf("the new call: %s, %v", v, err)
	}
	if m := h.Metrics(); m.Late != 1 || m.Faulty != 0 || m.Cancels != 2 {
		t.Errorf("late %d, faulty %d, cancels %d", m.Late, m.Faulty, m.Cancels)
	}
}

func TestServerRequests(t *testing.T) {
	h := inProcess(t, Config{})
	callText(t, h, "ask", args{"text": "ping"})
	f, err := h.Find(soon(t), func(f Frame) bool { return f.Kind == ServerRequest })
	if err != nil || f.Faults != 0 {
		t.Errorf("a request from a legacy server: %v, %v", f.Faults, err)
	}
	h = inProcess(t, Config{Protocol: LatestModern})
	if _, err := h.Open(soon(t)); err != nil {
		t.Fatal(err)
	}
	callText(t, h, "ask", args{"text": "roots/list"})
	f, err = h.Find(soon(t), func(f Frame) bool { return f.Kind == ServerRequest })
	if err != nil || f.Faults != FaultRequest {
		t.Errorf("a request from a modern server: %v, %v", f.Faults, err)
	}
}
