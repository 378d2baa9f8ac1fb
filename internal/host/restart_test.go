// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// sessionsOf are the sessions of a fake in a process of its own.
func sessionsOf(t *testing.T, cfg Config, mode string) *Sessions {
	t.Helper()
	s := NewSessions(startChild(t, cfg, mode), true)
	t.Cleanup(func() { s.Close() })
	return s
}

// lost tells whether err says that a request was lost because of a frame over
// the limit.
func lost(err error) bool {
	var over *OversizeError
	return errors.Is(err, ErrEnded) && errors.As(err, &over)
}

// TestOversizeBothWays: a frame over the limit is discarded to its LF, and the
// session goes on; or, by choice, the session is ended and begun anew: stdin
// closed, the process stopped and reaped, a new one started, initialize
// repeated, the open calls lost. Either way the next call is served (case 03,
// from the host's side).
func TestOversizeBothWays(t *testing.T) {
	t.Run("discard", func(t *testing.T) {
		h := startChild(t, Config{Limit: 64 << 10}, "serve")
		if _, err := h.Open(soon(t)); err != nil {
			t.Fatal(err)
		}
		other, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []string{"big", "tail"} { // the id at the start, the id at the end
			var over *OversizeError
			if _, err := h.Call(soon(t), tool, args{"n": 1 << 20}); !errors.As(err, &over) || errors.Is(err, ErrEnded) || over.Cut || over.Size < 1<<20 {
				t.Errorf("%s: the call ended with %v", tool, err)
			}
		}
		if got := callText(t, h, "echo", args{"text": "next"}); got != "next" {
			t.Errorf("the next call returned %q", got)
		}
		select {
		case <-other.Done():
			t.Error("the other call did not stay open")
		default:
		}
		if m := h.Metrics(); m.Oversize != 2 || m.Open != 1 || m.Lost != 0 || m.Restarts != 0 || m.Exit != nil || m.Unasked != 0 {
			t.Errorf("metrics are %+v", m)
		}
	})
	for _, protocol := range []string{"2025-06-18", LatestModern} {
		t.Run("restart/"+protocol, func(t *testing.T) {
			var answered []string
			s := sessionsOf(t, Config{Limit: 64 << 10, EndOnOversize: true, Protocol: protocol, OnFrame: func(f Frame) { answered = append(answered, f.Answers) }}, "serve")
			first := s.Host()
			if _, err := first.Open(soon(t)); err != nil {
				t.Fatal(err)
			}
			other, err := first.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
			if err != nil {
				t.Fatal(err)
			}
			cancelled, err := first.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
			if err != nil {
				t.Fatal(err)
			}
			if err := first.AwaitStderr(soon(t), "hanging\nhanging\n"); err != nil {
				t.Fatal(err)
			}
			cancelled.Cancel("")
			// The frame has no end, and the session ends all the same.
			if _, err := first.Call(soon(t), "endless", nil); !lost(err) && !errors.As(err, new(*OversizeError)) {
				t.Errorf("the call ended with %v", err)
			}
			if _, err := other.Wait(soon(t)); !lost(err) || !strings.Contains(err.Error(), "before it answered tools/call: host: a frame of at least ") {
				t.Errorf("the other call ended with %v", err)
			}
			next, err := s.Await(soon(t))
			if err != nil {
				t.Fatal(err)
			}
			if next == first || next.Pid() == first.Pid() || next.Protocol() != protocol {
				t.Errorf("the next session: pid %d after %d, revision %s", next.Pid(), first.Pid(), next.Protocol())
			}
			if got := callText(t, next, "echo", args{"text": "next"}); got != "next" {
				t.Errorf("the next call returned %q", got)
			}
			if err := next.Close(); err != nil {
				t.Error(err)
			}

			m := first.Metrics()
			if m.Exit == nil || m.Exit.Err != nil || m.Exit.Survivors != nil {
				t.Errorf("the first process ended with %v; it was not asked in order", m.Exit)
			}
			if text, _ := first.Stderr(); !strings.Contains(text, "input ended\n") || !strings.Contains(text, "endless ended\n") {
				t.Errorf("the first process said %q", text)
			}
			if m.Lost != 1 || m.Oversize != 1 || m.Open != 0 || m.Restarts != 0 || m.Unasked != 0 || m.Received <= 64<<10 {
				t.Errorf("metrics of the first session are %+v", m)
			}
			if m := next.Metrics(); m.Restarts != 1 || m.Lost != 0 || m.Oversize != 0 {
				t.Errorf("metrics of the next session are %+v", m)
			}
			if all := s.All(); len(all) != 2 || all[0] != first || all[1] != next || len(first.Frames()) != 0 {
				t.Errorf("the sessions are %v", all)
			}
			hello := "initialize"
			if IsModern(protocol) {
				hello = "server/discover"
			}
			if got, want := strings.Join(answered, " "), hello+" tools/call "+hello+" tools/call"; got != want {
				t.Errorf("the frames answered %s, want %s", got, want)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
		})
	}
}

// TestOversizeKeepsEarlier: what came before the frame that ends the session is
// delivered, and what came with it is not.
func TestOversizeKeepsEarlier(t *testing.T) {
	started, release := make(chan struct{}, 10), make(chan struct{})
	h := inProcess(t, Config{Limit: 200, EndOnOversize: true, OnFrame: func(Frame) { started <- struct{}{}; <-release }})
	ping, _ := h.Begin(Request{Method: "ping"})
	<-started // the dispatcher holds its answer
	early, _ := h.Begin(Request{Method: "ping"})
	over, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("raw",
		args{"text": strings.Repeat("x", 300) + "\n" + `{"jsonrpc":"2.0","id":9,"result":{}}` + "\n"})})
	if err := h.until(soon(t), func() bool { return h.cause() != nil }); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Begin(Request{Method: "ping"}); !lost(err) {
		t.Errorf("a request to a session that is over: %v", err)
	}
	close(release)
	for _, p := range []*Pending{ping, early} {
		if _, err := p.Wait(soon(t)); err != nil {
			t.Errorf("a request answered before: %v", err)
		}
	}
	if _, err := over.Wait(soon(t)); !lost(err) {
		t.Errorf("the request that was open: %v", err)
	}
	if err := h.Wait(soon(t)); !errors.As(err, new(*OversizeError)) {
		t.Errorf("Wait: %v", err)
	}
	if m := h.Metrics(); m.Lines != 3 || m.Unasked != 0 || m.Lost != 1 {
		t.Errorf("lines %d, unasked %d, lost %d", m.Lines, m.Unasked, m.Lost)
	}
}

// TestRestart: by hand a session is begun anew whatever its server did.
func TestRestart(t *testing.T) {
	s := NewSessions(startChild(t, Config{}, "serve"), false)
	if _, err := s.Host().Open(soon(t)); err != nil {
		t.Fatal(err)
	}
	open, err := s.Host().Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Restart(soon(t)); err != nil {
		t.Fatal(err)
	}
	if _, err := open.Wait(soon(t)); !errors.Is(err, ErrEnded) || !errors.Is(err, errRestarted) {
		t.Errorf("the open call ended with %v", err)
	}
	h := s.Host()
	var exit *exec.ExitError
	if _, err := h.Call(soon(t), "exit", args{"n": 7}); !errors.As(err, &exit) {
		t.Errorf("the call that ends the server: %v", err)
	}
	if again, err := s.Await(soon(t)); err != nil || again != h {
		t.Errorf("a server that ended by itself was started again: %v", err)
	}
	if err := s.Restart(soon(t)); err != nil {
		t.Fatal(err)
	}
	if got := callText(t, s.Host(), "echo", args{"text": "alive"}); got != "alive" || s.Host().Protocol() != LatestLegacy {
		t.Errorf("echo returned %q", got)
	}
	if m := s.Host().Metrics(); m.Restarts != 2 {
		t.Errorf("%d restarts", m.Restarts)
	}
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if err := s.Restart(soon(t)); !errors.Is(err, ErrEnded) {
		t.Errorf("Restart after Close: %v", err)
	}
}

// TestRestartInProcess: a server in this process is served once more.
func TestRestartInProcess(t *testing.T) {
	connect := map[string]func(Config, ServeFunc) (*Host, error){
		"pipes":  Run,
		"memory": func(cfg Config, serve ServeFunc) (*Host, error) { return RunInMemory(cfg, serve), nil },
	}
	for name, connect := range connect {
		var served atomic.Int32
		h, err := connect(Config{Limit: 1000, EndOnOversize: true}, func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
			served.Add(1)
			return (&fake{}).serve(ctx, in, out)
		})
		if err != nil {
			t.Fatal(err)
		}
		s := NewSessions(h, true)
		if _, err := h.Call(soon(t), "big", args{"n": 2000}); err == nil {
			t.Errorf("%s: a frame over the limit was let through", name)
		}
		next, err := s.Await(soon(t))
		if err != nil {
			t.Fatal(name, err)
		}
		if got := callText(t, next, "echo", args{"text": "next"}); got != "next" || served.Load() != 2 {
			t.Errorf("%s: echo returned %q, served %d times", name, got, served.Load())
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRestartFails: a server that no longer answers the handshake, or never
// stops breaking the limit, is given up, and Await says why.
func TestRestartFails(t *testing.T) {
	var served atomic.Int32
	serve := func(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
		if served.Add(1) > 1 {
			in.Read(make([]byte, 1<<10))
			io.WriteString(out, `{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"not again"}}`+"\n")
			io.Copy(io.Discard, in) // until it is closed: nothing may be left running
			return nil
		}
		return (&fake{}).serve(ctx, in, out)
	}
	h, err := Run(Config{Limit: 1000, EndOnOversize: true}, serve)
	if err != nil {
		t.Fatal(err)
	}
	s := NewSessions(h, true)
	if _, err := h.Open(soon(t)); err != nil {
		t.Fatal(err)
	}
	h.Call(soon(t), "big", args{"n": 2000})
	if _, err := s.Await(soon(t)); !errors.As(err, new(*Error)) || !strings.Contains(err.Error(), "started again, and its handshake failed") {
		t.Errorf("Await: %v", err)
	}
	if err := s.Close(); !errors.As(err, new(*OversizeError)) {
		t.Errorf("Close: %v", err)
	}

	served.Store(0)
	h, err = Run(Config{Limit: 1000, EndOnOversize: true}, func(_ context.Context, in io.ReadCloser, out io.WriteCloser) error {
		served.Add(1)
		io.WriteString(out, strings.Repeat("x", 2000))
		io.Copy(io.Discard, in)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	s = NewSessions(h, true)
	if err := waitFor(t, func() error { _, err := s.Await(soon(t)); return err }); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "after 10 restarts") {
		t.Errorf("Await: %v", err)
	}
	if n := served.Load(); n != 11 {
		t.Errorf("the server was started %d times", n)
	}
	s.Close()
}

// waitFor calls fn until it returns an error.
func waitFor(t *testing.T, fn func() error) error {
	ctx := soon(t)
	for ctx.Err() == nil {
		if err := fn(); err != nil {
			return err
		}
		time.Sleep(time.Millisecond)
	}
	return nil
}

// TestOverloadRestart: a session that its own consumer made end is begun anew,
// although that consumer is still stuck.
func TestOverloadRestart(t *testing.T) {
	release := make(chan struct{})
	var first atomic.Bool
	s := sessionsOf(t, Config{Queue: 10, Overload: OverloadEnd, OnFrame: func(f Frame) {
		if first.CompareAndSwap(false, true) {
			<-release
		}
	}}, "serve")
	p, err := s.Host().Begin(Request{Method: "tools/call", Params: ToolParams("flood", args{"n": 1000})})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrOverload) || !errors.Is(err, ErrEnded) {
		t.Errorf("the call ended with %v", err)
	}
	next, err := s.Await(soon(t))
	if err != nil {
		t.Fatal(err)
	}
	if got := callText(t, next, "echo", args{"text": "next"}); got != "next" {
		t.Errorf("echo returned %q", got)
	}
	close(release)
	if err := s.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if m := s.All()[0].Metrics(); m.Exit == nil || m.Exit.Err != nil || m.Lost != 1 || m.Unasked != 0 {
		t.Errorf("metrics of the first session are %+v", m)
	}
}
