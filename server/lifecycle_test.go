// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

func text(t *testing.T, p *servertest.Pending) string {
	t.Helper()
	raw, err := p.Wait(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

// TestEndOfInput is case 63 and I9: what was read is answered, queued calls
// start, and the session ends at once when the last answer is out.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{MaxCalls: 1}, new(logBuffer)))
		initialize(t, c)
		slow := begin(t, c, "9001", "wait", waitInput{1000})
		two := begin(t, c, "9002", "note", textInput{"two"})
		three := begin(t, c, "9003", "note", textInput{"three"})
		begun := time.Now()
		c.CloseInput()
		for _, p := range []*servertest.Pending{slow, two, three} {
			if got := text(t, p); strings.Contains(got, `"isError":true`) {
				t.Errorf("answer %s", got)
			}
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(begun); d != time.Second {
			t.Errorf("ended after %v, want 1s", d)
		}
	})
}

// TestEndOfInputGrace is case 63, case 64: a handler that goes on gets its context
// ended after one Grace, its partial output is sent, one that ignores that is
// answered for after another, and a queued call says that it had not started.
func TestEndOfInputGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		c := servertest.Config{NoLeakCheck: true}.NewInMemory(t, s.server(server.Limits{MaxCalls: 2}, log))
		initialize(t, c)
		hold := begin(t, c, "9001", "hold", nil)
		stubborn := begin(t, c, "9002", "stubborn", nil)
		queued := begin(t, c, "9003", "note", textInput{"never"})
		<-s.started
		<-s.started
		begun := time.Now()
		c.CloseInput()
		if got := text(t, hold); !strings.Contains(got, "so far") || !strings.Contains(got, "input ended") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("hold: %s", got)
		}
		if d := time.Since(begun); d != server.DefaultGrace {
			t.Errorf("the context ended after %v, want one Grace", d)
		}
		var down *tool.Shutdown
		if cause := <-s.causes; !errors.As(cause, &down) || down.Why != "input ended" {
			t.Errorf("cause %v", cause)
		}
		if got := text(t, queued); !strings.Contains(got, "had not started") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("queued: %s", got)
		}
		if got := text(t, stubborn); !strings.Contains(got, "did not stop within") {
			t.Errorf("stubborn: %s", got)
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(begun); d != 2*server.DefaultGrace {
			t.Errorf("ended after %v, want two Graces", d)
		}
		if !strings.Contains(log.String(), "tool=stubborn") {
			t.Errorf("the handler is not named:\n%s", log)
		}
		close(s.release)
		if len(s.ran) != 0 {
			t.Error("the queued call ran")
		}
	})
}

// TestEndOfInputSlowHost holds that grace is renewed while the host takes
// bytes, for 30 s in all.
func TestEndOfInputSlowHost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
		initialize(t, c)
		var all []*servertest.Pending
		for range 20 {
			p, err := c.BeginCall(t.Context(), "big", sizeInput{10_000})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
		}
		c.SetPace(servertest.Pace{Chunk: 1 << 10, Every: 20 * time.Millisecond}) // 4 s in all
		c.CloseInput()
		for _, p := range all {
			if got := text(t, p); len(got) < 10_000 {
				t.Errorf("answer of %d bytes", len(got))
			}
		}
		if err := c.Wait(t.Context()); err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
}

// TestUnterminatedLastLine is case 63: a complete last line counts without LF.
func TestUnterminatedLastLine(t *testing.T) {
	s := newStage()
	c := servertest.Config{AllowFaults: true}.New(t, s.server(server.Limits{}, new(logBuffer))) // the client does not know the id
	initialize(t, c)
	c.Send([]byte(`{"jsonrpc":"2.0","id":"last","method":"ping"}`))
	c.CloseInput()
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := answersTo(c, `"last"`); n != 1 {
		t.Errorf("%d answers", n)
	}
}

// TestIdleEnd is case 65: an idle session ends at once when its context or
// its input does.
func TestIdleEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		for _, how := range []string{"context", "input"} {
			ctx, cancel := context.WithCancel(t.Context())
			r, w := io.Pipe()
			r2, w2 := io.Pipe()
			done := make(chan error, 1)
			begun := time.Now()
			go func() { done <- s.server(server.Limits{}, new(logBuffer)).Serve(ctx, r, w2) }()
			synctest.Wait()
			if how == "context" {
				cancel()
			} else {
				w.Close()
			}
			err := <-done
			if how == "context" && !errors.Is(err, context.Canceled) || how == "input" && err != nil {
				t.Errorf("%s: %v", how, err)
			}
			if d := time.Since(begun); d != 0 {
				t.Errorf("%s: ended after %v", how, d)
			}
			cancel()
			w.Close()
			r2.Close()
		}
	})
}

// TestContextEnds is case 65: running calls are answered, a stuck handler is
// named and does not hold up the end by more than Grace.
func TestContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		ctx, cancel := context.WithCancel(t.Context())
		c := servertest.Config{NoLeakCheck: true}.NewInMemory(t, withContext{s.server(server.Limits{}, log), ctx})
		initialize(t, c)
		hold := begin(t, c, "9001", "hold", nil)
		stubborn := begin(t, c, "9002", "stubborn", nil)
		<-s.started
		<-s.started
		begun := time.Now()
		cancel()
		if got := text(t, hold); !strings.Contains(got, "so far") || !strings.Contains(got, "shutting down") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("hold: %s", got)
		}
		var down *tool.Shutdown
		if cause := <-s.causes; !errors.As(cause, &down) {
			t.Errorf("cause %v", cause)
		}
		if got := text(t, stubborn); !strings.Contains(got, `"isError":true`) {
			t.Errorf("stubborn: %s", got)
		}
		if err := c.Wait(t.Context()); !errors.Is(err, context.Canceled) {
			t.Errorf("Serve: %v", err)
		}
		if d := time.Since(begun); d != server.DefaultGrace {
			t.Errorf("ended after %v", d)
		}
		if !strings.Contains(log.String(), "tool=stubborn") {
			t.Errorf("the handler is not named:\n%s", log)
		}
		close(s.release)
	})
}

// withContext serves until ctx ends.
type withContext struct {
	*server.Server
	ctx context.Context
}

func (w withContext) Serve(_ context.Context, r io.ReadCloser, wr io.WriteCloser) error {
	return w.Server.Serve(w.ctx, r, wr)
}

// TestHostGone is case 66: a dead stdout ends the contexts with its cause and
// Serve with the write error, unless the input ends too.
func TestHostGone(t *testing.T) {
	for _, inputEnds := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
			initialize(t, c)
			begin(t, c, "9001", "hold", nil)
			<-s.started
			c.CloseOutput()
			begun := time.Now()
			begin(t, c, "9002", "echo", textInput{"x"})
			var gone *tool.HostGone
			if cause := <-s.causes; !errors.As(cause, &gone) || !errors.Is(cause, io.ErrClosedPipe) {
				t.Errorf("cause %v", cause)
			}
			if inputEnds {
				c.CloseInput()
			}
			err := c.Wait(t.Context())
			if inputEnds && err != nil || !inputEnds && !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("input ends %v: Serve: %v", inputEnds, err)
			}
			if d := time.Since(begun); inputEnds && d != 0 || !inputEnds && d != server.DefaultGrace {
				t.Errorf("input ends %v: after %v", inputEnds, d)
			}
		})
	}
}

// TestHostGoneGrace holds that handlers get their Grace although nothing can
// be answered any more, and only one that goes on after it is named.
func TestHostGoneGrace(t *testing.T) {
	for _, inputEnds := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			log := new(logBuffer)
			cleaned := make(chan time.Duration, 1)
			tool.Add(&s.tools, tool.Info{Name: "tidy", Description: "cleans up after its context"},
				func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
					s.started <- req
					<-ctx.Done()
					begun := time.Now()
					time.Sleep(300 * time.Millisecond)
					cleaned <- time.Since(begun)
					return result.Result{}, ctx.Err()
				})
			c := servertest.NewInMemory(t, s.server(server.Limits{}, log))
			initialize(t, c)
			begin(t, c, "9001", "tidy", nil)
			<-s.started
			c.CloseOutput()
			begin(t, c, "9002", "echo", textInput{"x"})
			synctest.Wait()
			time.Sleep(100 * time.Millisecond)
			if inputEnds {
				c.CloseInput()
			}
			c.Wait(t.Context())
			select {
			case <-cleaned:
			default:
				t.Error("Serve returned before the handler had cleaned up")
			}
			if strings.Contains(log.String(), "goes on although") {
				t.Errorf("a handler that returned within Grace is named:\n%s", log)
			}
		})
	}
}

// TestTimeOut is case 22 and the time-out row of the error table: the partial
// output comes with the time, and a handler that does not stop is answered
// for after Grace, while its late return is dropped.
func TestTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		srv := s.server(server.Limits{CallTimeout: 5 * time.Second}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begun := time.Now()
		hold := begin(t, c, "9001", "hold", nil)
		stubborn := begin(t, c, "9002", "stubborn", nil)
		if got := text(t, hold); !strings.Contains(got, "so far") || !strings.Contains(got, "timed out after 5s") || !strings.Contains(got, `"isError":true`) {
			t.Errorf("hold: %s", got)
		}
		if d := time.Since(begun); d != 5*time.Second {
			t.Errorf("timed out after %v", d)
		}
		if got := text(t, stubborn); !strings.Contains(got, "timed out after 5s") || !strings.Contains(got, "did not stop") {
			t.Errorf("stubborn: %s", got)
		}
		if d := time.Since(begun); d != 5*time.Second+server.DefaultGrace {
			t.Errorf("answered after %v", d)
		}
		synctest.Wait()
		if calls := srv.Calls(); len(calls) != 1 || calls[0].State != "lingering" {
			t.Errorf("calls %+v", calls)
		}
		close(s.release)
		synctest.Wait()
		if n := answersTo(c, "9002"); n != 1 {
			t.Errorf("%d answers", n)
		}
		if m := srv.Metrics(); m.CallsTimedOut != 2 {
			t.Errorf("metrics %+v", m)
		}
		if !strings.Contains(log.String(), "tool=stubborn") {
			t.Errorf("not named:\n%s", log)
		}
	})
}

// TestQueueTimeDoesNotCount holds that CallTimeout begins with the slot.
func TestQueueTimeDoesNotCount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{MaxCalls: 1, CallTimeout: 5 * time.Second}, new(logBuffer)))
		initialize(t, c)
		first := begin(t, c, "9001", "wait", waitInput{4000})
		second := begin(t, c, "9002", "wait", waitInput{4000})
		for _, p := range []*servertest.Pending{first, second} {
			if got := text(t, p); strings.Contains(got, `"isError":true`) {
				t.Errorf("%s", got)
			}
		}
	})
}

// TestPanics is case 67 and I10: each gives one error under a reference, tells
// the host nothing else, and the next call works.
func TestPanics(t *testing.T) {
	for how, opaque := range map[string]bool{
		"panic": true, "nil": true, "goexit": true, "marshal": true, "go": true, "gogoexit": true, "unmarshalable": true,
		"error": false,
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				log := new(logBuffer)
				srv := s.server(server.Limits{MaxCalls: 1}, log)
				c := servertest.NewInMemory(t, srv)
				initialize(t, c)
				for range 3 { // each gives its slot back
					got := text(t, begin(t, c, `"p"`, "fail", failInput{how}))
					if !strings.Contains(got, `"isError":true`) {
						t.Errorf("answer %s", got)
					}
					if opaque != strings.Contains(got, "internal error (ref ") || strings.Contains(got, "secret") {
						t.Errorf("answer %s", got)
					}
					if opaque {
						synctest.Wait() // the log is written behind the reply
						_, ref, _ := strings.Cut(got, "(ref ")
						if ref, _, _ = strings.Cut(ref, ")"); len(ref) < 8 || !strings.Contains(log.String(), ref) {
							t.Errorf("reference %q is not in the log:\n%s", ref, log)
						}
					} else if !strings.Contains(got, "partial") || !strings.Contains(got, "no such thing") {
						t.Errorf("answer %s", got)
					}
				}
				text(t, begin(t, c, `"q"`, "echo", textInput{"next"}))
			})
		})
	}
}

// TestMiddlewarePanic is case 67 in a middleware.
func TestMiddlewarePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		s.tools.Use(func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, req *tool.Request) (result.Result, error) {
				if req.Tool == "note" {
					panic("secret-in-middleware")
				}
				return next(ctx, req)
			}
		})
		c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
		initialize(t, c)
		if got := text(t, begin(t, c, "9001", "note", textInput{"x"})); !strings.Contains(got, "internal error (ref ") || strings.Contains(got, "secret") {
			t.Errorf("answer %s", got)
		}
		text(t, begin(t, c, "9002", "echo", textInput{"x"}))
	})
}

// TestHostError holds that a *tool.Error anywhere in the chain is a JSON-RPC
// error.
func TestHostError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
		initialize(t, c)
		_, err := begin(t, c, "9001", "fail", failInput{"host"}).Wait(t.Context())
		var e *servertest.Error
		if !errors.As(err, &e) || e.Code != -31999 || e.Message != "for the host" || string(e.Data) != `{"n":1}` {
			t.Errorf("error %#v", err)
		}
	})
}
