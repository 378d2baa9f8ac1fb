// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
)

// TestHostGoneKills holds that what calls own is killed one Grace after stdout
// has died, whether or not the input ends too.
func TestHostGoneKills(t *testing.T) {
	for _, inputEnds := range []bool{false, true} {
		t.Run(fmt.Sprint("input ends ", inputEnds), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				killed := owning(s, false)
				c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
				initialize(t, c)
				begin(t, c, "9001", "own", nil)
				<-s.started
				c.CloseOutput()
				begun := time.Now()
				begin(t, c, "9002", "echo", textInput{"nobody reads"})
				synctest.Wait()
				if inputEnds {
					c.CloseInput()
				}
				time.Sleep(server.DefaultGrace - time.Millisecond)
				if n := killed.Load(); n != 0 {
					t.Errorf("killed %d times within Grace", n)
				}
				if err := c.Wait(t.Context()); inputEnds && err != nil || !inputEnds && !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Serve: %v", err)
				}
				if d := time.Since(begun); d != server.DefaultGrace {
					t.Errorf("ended after %v, want one Grace", d)
				}
				if killed.Load() == 0 {
					t.Error("not killed")
				}
				close(s.release)
			})
		})
	}
}

// crawl reads 80 KiB a second: often enough to be seen, since a write has steps
// of 64 KiB, and never to the end of crawled within what a session may take.
var crawl = servertest.Pace{Chunk: 4 << 10, Every: 50 * time.Millisecond}

var crawled = sizeInput{4_000_000}

// A timed server notes when Serve returned.
type timed struct {
	servertest.Server
	ended time.Time
}

func (s *timed) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	defer func() { s.ended = time.Now() }()
	return s.Server.Serve(ctx, r, w)
}

// TestSlowHostEnds holds how long a host that goes on reading can draw out the
// end: 30 s after the end of input, also when it began to read only after
// contexts had ended, and one Grace more for a handler whose context ended
// then.
func TestSlowHostEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		begin  string // a call that is under way at the end, or ""
		paused time.Duration
		most   time.Duration
	}{
		"results wait":         {"", 0, 30 * time.Second},
		"a call holds":         {"hold", 0, 30 * time.Second},
		"a call is stubborn":   {"stubborn", 0, 30*time.Second + server.DefaultGrace},
		"reads after contexts": {"stubborn", server.DefaultGrace + time.Second, 30 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				srv := &timed{Server: s.server(server.Limits{}, new(logBuffer))}
				c := servertest.Config{AllowFaults: true}.NewInMemory(t, srv) // the last frame is cut
				initialize(t, c)
				c.SetPace(crawl)
				if tt.paused > 0 {
					c.Pause()
				}
				begin(t, c, "9001", "big", crawled)
				if tt.begin != "" {
					begin(t, c, "9002", tt.begin, nil)
					<-s.started
				}
				synctest.Wait()
				begun := time.Now()
				c.CloseInput()
				if tt.paused > 0 {
					time.Sleep(tt.paused)
					c.Resume()
				}
				if tt.begin == "hold" {
					<-s.causes
					if d := time.Since(begun); d != 30*time.Second {
						t.Errorf("the context ended after %v although the host took bytes", d)
					}
				}
				if err := c.Wait(t.Context()); err != nil {
					t.Errorf("Serve: %v", err)
				}
				if d := srv.ended.Sub(begun); d < 30*time.Second || d > tt.most+100*time.Millisecond {
					t.Errorf("ended after %v, want 30s to %v", d, tt.most)
				}
				close(s.release)
			})
		})
	}
}

// TestSlowHostContext is case 65 with a slow host: after its context ended,
// Serve returns within one Grace, whoever still reads or runs.
func TestSlowHostContext(t *testing.T) {
	for _, running := range []string{"", "hold", "stubborn"} {
		t.Run("running "+running, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				ctx, cancel := context.WithCancel(t.Context())
				srv := &timed{Server: withContext{s.server(server.Limits{}, new(logBuffer)), ctx}}
				c := servertest.Config{AllowFaults: true}.NewInMemory(t, srv) // the last frame is cut
				initialize(t, c)
				c.SetPace(crawl)
				begin(t, c, "9001", "big", crawled)
				if running != "" {
					begin(t, c, "9002", running, nil)
					<-s.started
				}
				synctest.Wait()
				begun := time.Now()
				cancel()
				if err := c.Wait(t.Context()); !errors.Is(err, context.Canceled) {
					t.Errorf("Serve: %v", err)
				}
				if d := srv.ended.Sub(begun); d > server.DefaultGrace+100*time.Millisecond {
					t.Errorf("ended after %v, want one Grace", d)
				}
				close(s.release)
			})
		})
	}
}

// outcomes adds up how calls have ended.
func outcomes(m server.Metrics) int64 {
	return m.CallsOK + m.CallsFailed + m.CallsRefused + m.CallsTimedOut + m.CallsPanicked + m.CallsCancelled + m.CallsDropped
}

// TestMetricsAtTheEnd holds that after a session with a host that never read,
// each accepted call has one outcome, the one whose response is half written
// too, and nothing waits any more.
func TestMetricsAtTheEnd(t *testing.T) {
	for _, how := range []string{"input", "context", "batch"} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				srv := s.server(server.Limits{MaxCalls: 4}, new(logBuffer))
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				c := servertest.Config{Protocol: "2025-03-26"}.NewInMemory(t, withContext{srv, ctx})
				initialize(t, c)
				text(t, begin(t, c, "9000", "echo", textInput{"written"}))
				c.Pause()
				for i, name := range []string{"fail", "hold", "stubborn", "stubborn", "stubborn", "stubborn", "fail", "fail", "hold"} {
					if how == "batch" {
						c.Send(fmt.Appendf(nil, `[{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q}}]`+"\n", 9001+i, name))
					} else {
						begin(t, c, fmt.Sprint(9001+i), name, nil)
					}
					synctest.Wait()
				}
				c.Cancel([]byte("9002"), "")
				c.Cancel([]byte("9009"), "")
				synctest.Wait()
				if m := srv.Metrics(); m.WaitingFrames == 0 || m.WaitingBytes == 0 || m.CallsCancelled != 2 {
					t.Errorf("before the end: %+v", m)
				}
				if how == "context" {
					cancel()
				} else {
					c.CloseInput()
				}
				c.Wait(t.Context())
				check := func(when string) {
					t.Helper()
					m := srv.Metrics()
					if n := outcomes(m); n != 10 {
						t.Errorf("%s: %d outcomes of 10 calls: %+v", when, n, m)
					}
					if m.WaitingFrames != 0 || m.WaitingBytes != 0 {
						t.Errorf("%s: %d frames with %d bytes wait", when, m.WaitingFrames, m.WaitingBytes)
					}
				}
				check("when Serve has returned")
				close(s.release)
				synctest.Wait()
				check("when the handlers have returned too")
			})
		})
	}
}
