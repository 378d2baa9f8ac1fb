// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// begin starts a call with an id of the test's choice.
func begin(t *testing.T, c *servertest.Client, id, name string, args any) *servertest.Pending {
	t.Helper()
	if args == nil {
		args = map[string]any{}
	}
	p, err := c.Begin(servertest.Request{ID: []byte(id), Method: "tools/call", Params: map[string]any{"name": name, "arguments": args}})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func initialize(t *testing.T, c *servertest.Client) {
	t.Helper()
	if _, err := c.Initialize(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
}

// ping shows that everything sent before it was dealt with.
func ping(t *testing.T, c *servertest.Client) {
	t.Helper()
	if _, err := c.Request(t.Context(), "ping", nil); err != nil {
		t.Fatal(err)
	}
}

// answersTo counts the responses to an id.
func answersTo(c *servertest.Client, id string) int {
	n := 0
	for _, f := range c.Frames() {
		if string(f.ID) == id && f.Method == "" {
			n++
		}
	}
	return n
}

// TestCancelRunning is case 17 (a), case 18 and case 20: the handler's context
// ends with the host's reason as its cause, nothing is answered, and the id is
// free again.
func TestCancelRunning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begin(t, c, "9007", "hold", nil)
		<-s.started
		if err := c.Cancel([]byte("9007"), "user left"); err != nil {
			t.Fatal(err)
		}
		var cancelled *tool.Cancelled
		if cause := <-s.causes; !errors.As(cause, &cancelled) || cancelled.Reason != "user left" {
			t.Errorf("cause %v, want *tool.Cancelled with the reason", cause)
		}
		synctest.Wait()
		if n := answersTo(c, "9007"); n != 0 {
			t.Errorf("%d answers to a cancelled call", n)
		}
		if calls := srv.Calls(); len(calls) != 0 {
			t.Errorf("calls left: %v", calls)
		}
		if m := srv.Metrics(); m.CancelsRunning != 1 || m.CallsCancelled != 1 {
			t.Errorf("metrics %+v", m)
		}
		p := begin(t, c, "9007", "echo", textInput{"again"})
		if _, err := p.Wait(t.Context()); err != nil {
			t.Errorf("the id is not free: %v", err)
		}
	})
}

// TestCancelWithCall is case 17 (b): a cancel in the same write as its call is
// never lost.
func TestCancelWithCall(t *testing.T) {
	s := newStage()
	c := servertest.New(t, s.server(server.Limits{}, new(logBuffer)))
	initialize(t, c)
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"hold"}}`+"\n"+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", 1000+i, 1000+i)
	}
	if err := c.Send([]byte(b.String())); err != nil {
		t.Fatal(err)
	}
	ping(t, c)
	// Some were cancelled before they started; each that started has ended.
	started := len(s.started)
	for range started {
		<-s.causes
	}
	for i := range 100 {
		if n := answersTo(c, fmt.Sprint(1000+i)); n != 0 {
			t.Errorf("call %d was cancelled and answered", 1000+i)
		}
	}
}

// TestCancelQueued is case 17 (c), state C0: a call that waits for its slot
// never starts.
func TestCancelQueued(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{MaxCalls: 1}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		first := begin(t, c, "9001", "hold", nil)
		<-s.started
		begin(t, c, "9002", "note", textInput{"two"})
		third := begin(t, c, "9003", "note", textInput{"three"})
		synctest.Wait()
		if calls := srv.Calls(); len(calls) != 3 || calls[0].State != "running" || calls[1].State != "queued" || calls[1].ID != "9002" || calls[1].Tool != "note" {
			t.Fatalf("calls %+v", calls)
		}
		if err := c.Cancel([]byte("9002"), ""); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		close(s.release)
		for _, p := range []*servertest.Pending{first, third} {
			if _, err := p.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		if !slices.Equal(s.ran, []string{"three"}) {
			t.Errorf("ran %q, want only three", s.ran)
		}
		if n := answersTo(c, "9002"); n != 0 {
			t.Error("a cancelled call was answered")
		}
		if m := srv.Metrics(); m.CancelsQueued != 1 || m.PeakQueued != 2 {
			t.Errorf("metrics %+v", m)
		}
	})
}

// TestCancelStrangers is case 17 (d) and (e): cancels of what cannot be
// cancelled change nothing and log nothing but at debug level.
func TestCancelStrangers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		srv := s.server(server.Limits{}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		if _, err := c.Call(t.Context(), "echo", textInput{"x"}); err != nil {
			t.Fatal(err)
		}
		p := begin(t, c, "9009", "hold", nil)
		<-s.started
		for _, id := range []string{`"unknown"`, "9008", `"9009"`, "9009.0", "null", "{}", "[9009]"} {
			c.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + "}}\n"))
		}
		c.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled"}` + "\n"))
		ping(t, c)
		close(s.release)
		if _, err := p.Wait(t.Context()); err != nil {
			t.Errorf("a cancel of another id hit the call: %v", err)
		}
		if strings.Contains(log.String(), "level=WARN") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestCancelledReturns is case 18 and case 67: whatever a handler does after
// its call was cancelled, nothing is sent.
func TestCancelledReturns(t *testing.T) {
	for name, how := range map[string]func() (result.Result, error){
		"value": func() (result.Result, error) { return result.Text("late"), nil },
		"error": func() (result.Result, error) { return result.Result{}, errors.New("late") },
		"host":  func() (result.Result, error) { return result.Result{}, &tool.Error{Code: 1, Message: "late"} },
		"panic": func() (result.Result, error) { panic("late") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				tool.Add(&s.tools, tool.Info{Name: "late", Description: "returns after its context"},
					func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
						s.started <- req
						<-ctx.Done()
						req.Progress(1, 2, "after the cancel")
						return how()
					})
				c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
				initialize(t, c)
				c.Begin(servertest.Request{ID: []byte("9005"), Method: "tools/call", Params: map[string]any{"name": "late"}, Progress: func(servertest.Progress) {}})
				<-s.started
				c.Cancel([]byte("9005"), "")
				ping(t, c)
				synctest.Wait()
				frames := c.Frames()
				if len(frames) != 2 { // initialize and ping
					t.Errorf("%d frames, want 2: %s", len(frames), frames[1].Raw)
				}
			})
		})
	}
}

// TestCancelRace is case 19: a handler that returns while its cancel arrives
// gives one response or none, and the id is free again.
func TestCancelRace(t *testing.T) {
	rounds := 10_000
	if testing.Short() {
		rounds = 1_000
	}
	s := newStage()
	tool.Add(&s.tools, tool.Info{Name: "brief", Description: "returns at any moment"},
		func(ctx context.Context, _ *tool.Request, in waitInput) (result.Result, error) {
			for end := time.Now().Add(time.Duration(in.MS) * time.Microsecond); time.Now().Before(end); {
			}
			return result.Text("done"), nil
		})
	srv := s.server(server.Limits{}, new(logBuffer))
	c := servertest.New(t, srv)
	initialize(t, c)
	answered := 0
	for range rounds {
		p := begin(t, c, `"race"`, "brief", waitInput{rand.IntN(200)})
		for end := time.Now().Add(time.Duration(rand.IntN(200)) * time.Microsecond); time.Now().Before(end); {
		}
		c.Send([]byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"race"}}` + "\n"))
		ping(t, c)
		select {
		case <-p.Done():
			answered++
		default:
			c.Cancel([]byte(`"race"`), "") // forget it on the host's side too
		}
	}
	m := srv.Metrics()
	if got := int(m.CallsOK + m.CallsCancelled); got != rounds {
		t.Errorf("%d calls ended, want %d: %+v", got, rounds, m)
	}
	t.Logf("%d of %d were answered", answered, rounds)
}

// TestSlotAfterCancel holds that a cancelled call whose handler goes on keeps
// its slot, is listed as lingering, and is named in the log after Grace.
func TestSlotAfterCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		srv := s.server(server.Limits{MaxCalls: 1}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begin(t, c, "9001", "stubborn", nil)
		<-s.started
		c.Cancel([]byte("9001"), "enough")
		p := begin(t, c, "9002", "echo", textInput{"two"})
		synctest.Wait()
		if calls := srv.Calls(); len(calls) != 2 || calls[0].State != "lingering" || calls[1].State != "queued" {
			t.Fatalf("calls %+v", calls)
		}
		time.Sleep(server.DefaultGrace + time.Millisecond)
		synctest.Wait()
		if !strings.Contains(log.String(), "tool=stubborn") || !strings.Contains(log.String(), "goes on although its context ended") {
			t.Errorf("the handler is not named:\n%s", log)
		}
		close(s.release)
		if _, err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if n := strings.Count(log.String(), "goes on although"); n != 1 {
			t.Errorf("named %d times", n)
		}
	})
}

// TestContext holds what handlers may do with the context: derive from it,
// watch it, find its deadline and its cause.
func TestContext(t *testing.T) {
	type key struct{}
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		var after atomic.Bool
		derived := make(chan error, 2)
		tool.Add(&s.tools, tool.Info{Name: "look", Description: "looks at its context", Timeout: 3 * time.Second},
			func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
				if ctx.Value(key{}) != "from Serve" {
					t.Errorf("value %v", ctx.Value(key{}))
				}
				if d, ok := ctx.Deadline(); !ok || time.Until(d) != 3*time.Second {
					t.Errorf("deadline in %v", time.Until(d))
				}
				context.AfterFunc(ctx, func() { after.Store(true) })
				sub, cancel := context.WithTimeout(ctx, time.Hour)
				defer cancel()
				s.started <- req
				<-sub.Done()
				derived <- sub.Err()
				derived <- context.Cause(sub)
				return result.Text("so far"), sub.Err()
			})
		c := servertest.NewInMemory(t, withValues{s.server(server.Limits{}, new(logBuffer)), key{}})
		initialize(t, c)
		p := begin(t, c, "9001", "look", nil)
		raw, err := p.Wait(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), "so far") || !strings.Contains(string(raw), "3s") || !strings.Contains(string(raw), `"isError":true`) {
			t.Errorf("partial output and time expected: %s", raw)
		}
		if err := <-derived; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Err of a derived context: %v", err)
		}
		var out *tool.TimedOut
		if cause := <-derived; !errors.As(cause, &out) || out.After != 3*time.Second {
			t.Errorf("Cause of a derived context: %v", cause)
		}
		synctest.Wait()
		if !after.Load() {
			t.Error("AfterFunc did not run")
		}
	})
}
