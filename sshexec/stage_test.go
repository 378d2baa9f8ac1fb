// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/exec"
)

// leaves fails the test if it leaves goroutines or descriptors behind.
func leaves(t *testing.T) {
	t.Helper()
	ignore := goleak.IgnoreCurrent()
	fds := func() int {
		names, _ := filepath.Glob("/proc/self/fd/*")
		return len(names)
	}
	before := fds()
	t.Cleanup(func() {
		if err := goleak.Find(ignore); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat("/proc/self/fd"); err == nil {
			eventually(t, "the descriptors are closed", func() bool { return fds() <= before })
		}
	})
}

var errEnough = errors.New("enough")

// TestEveryStage: case 59. A cancel ends a call in every stage, says in which, and
// keeps what came; the connection stays exactly if it answers keepalives.
func TestEveryStage(t *testing.T) {
	leaves(t)
	type row struct {
		name  string
		stage Stage
		run   bool // it may have been run: an Output
		out   string
		prep  func(f *fake, h *Host, reached func())
	}
	endless := func(s *fakeSession) {
		go s.ignore()
		for {
			if _, err := s.ch.Write([]byte(strings.Repeat("line\n", 1000))); err != nil {
				return
			}
		}
	}
	for _, tt := range []row{
		{"connect", StageConnect, false, "", func(f *fake, h *Host, reached func()) {
			h.dialer = func(ctx context.Context, _, _ string) (net.Conn, error) {
				reached()
				<-ctx.Done()
				return nil, ctx.Err()
			}
		}},
		{"handshake", StageHandshake, false, "", func(f *fake, h *Host, reached func()) {
			f.silent = true
			f.wrap = func(c net.Conn) net.Conn { reached(); return c }
		}},
		{"authentication", StageAuthentication, false, "", func(f *fake, h *Host, reached func()) {
			f.auth = func() { reached(); <-t.Context().Done() }
		}},
		{"session", StageSession, false, "", func(f *fake, h *Host, reached func()) {
			f.open = func() string { reached(); return "hang" }
		}},
		{"variables", StageStart, false, "", func(f *fake, h *Host, reached func()) {
			f.env = func(string) bool { reached(); <-t.Context().Done(); return true }
		}},
		{"start", StageStart, true, "", func(f *fake, h *Host, reached func()) {
			f.session = func(s *fakeSession) { reached(); s.ignore() }
		}},
		{"silent", StageOutput, true, "step 1\n", func(f *fake, h *Host, reached func()) {
			f.session = func(s *fakeSession) { s.reply(true); io.WriteString(s.ch, "step 1\n"); reached(); s.ignore() }
		}},
		{"endless", StageOutput, true, "line\n", func(f *fake, h *Host, reached func()) {
			f.session = func(s *fakeSession) { s.reply(true); reached(); endless(s) }
		}},
		{"no status", StageWait, true, "all\n", func(f *fake, h *Host, reached func()) {
			f.session = func(s *fakeSession) {
				s.reply(true)
				io.WriteString(s.ch, "all\n")
				s.ch.CloseWrite()
				reached()
				s.ignore()
			}
		}},
	} {
		for _, mute := range []bool{false, true} {
			name := tt.name + ", alive"
			if mute {
				if tt.name == "endless" || tt.name == "no status" {
					continue // as silent
				}
				name = tt.name + ", dead"
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := &fake{}
				h := &Host{}
				hit := make(chan struct{})
				var once sync.Once
				var done atomic.Bool
				stopped, stop := context.WithCancel(context.Background())
				reached := func() {
					if !done.Load() {
						once.Do(func() { close(hit) })
					}
				}
				tt.prep(f, h, reached)
				if auth := f.auth; auth != nil {
					f.auth = func() { reached(); <-stopped.Done() }
				}
				if f.env != nil {
					f.env = func(string) bool { reached(); <-stopped.Done(); return true }
				}
				f.mute.Store(mute)
				f.start(t)
				t.Cleanup(stop)
				host := f.host(t)
				host.dialer = h.dialer
				ctx, cancel := context.WithCancelCause(t.Context())
				go func() { <-hit; time.Sleep(20 * time.Millisecond); cancel(errEnough) }()
				began := time.Now()
				o, err := host.Run(ctx, exec.Cmd{Path: "x", Env: []string{"A=b"}})
				within(t, began, 10*time.Second)
				took := time.Since(began)
				var e *Error
				if tt.run {
					if err != nil {
						t.Fatal(err)
					}
					err = o.Err
					if o.End != exec.Cancelled || o.ExitCode != -1 || o.Cause != errEnough.Error() || o.MayRun == "" || !strings.HasPrefix(o.Stdout.Head, tt.out) {
						t.Errorf("%+v, may run: %q", o, o.MayRun)
					}
				} else if o != nil {
					t.Errorf("an Output: %+v", o)
				}
				if !errors.As(err, &e) || e.Stage != tt.stage || !errors.Is(err, errEnough) || e.Host != "fake" {
					t.Errorf("%v", err)
				}
				t.Logf("%v: %v", took, err)
				// The connection that was there stays, or goes.
				switch tt.stage {
				case StageConnect, StageHandshake, StageAuthentication:
					stop() // the server looks at the connection again
					eventually(t, "the connection is closed", func() bool { return f.connections() == 0 })
				default:
					if mute {
						stop()
						eventually(t, "the connection is closed", func() bool { return f.connections() == 0 })
						break
					}
					done.Store(true)
					f.good.Store(true)
					stop()
					if o, err := host.Run(t.Context(), exec.Cmd{Path: "x"}); err != nil || !o.Success() {
						t.Errorf("the next call: %v, %v", o, err)
					}
					if f.total != 1 {
						t.Errorf("%d connections, want 1", f.total)
					}
				}
				host.Close()
				eventually(t, "no connection is left", func() bool { return f.connections() == 0 })
			})
		}
	}
}

// TestQueue holds that a call that waits for its turn can be cancelled, and
// that the waiting is bounded.
func TestQueue(t *testing.T) {
	leaves(t)
	running := make(chan struct{}, 10)
	release := make(chan struct{})
	f := (&fake{session: func(s *fakeSession) { s.reply(true); running <- struct{}{}; <-release; s.status(0) }}).start(t)
	h := f.host(t)
	h.MaxSessions, h.MaxWaiting = 1, 1
	var all sync.WaitGroup
	all.Go(func() { h.Run(t.Context(), exec.Cmd{Path: "x"}) })
	<-running
	ctx, cancel := context.WithCancelCause(t.Context())
	var e *Error
	all.Go(func() {
		if _, err := h.Run(ctx, exec.Cmd{Path: "x"}); !errors.As(err, &e) || e.Stage != StageQueue || !errors.Is(err, errEnough) {
			t.Errorf("%v", err)
		}
	})
	eventually(t, "it waits", func() bool {
		h.link.gate.mu.Lock()
		defer h.link.gate.mu.Unlock()
		return len(h.link.gate.waiting) == 1
	})
	if _, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); !errors.Is(err, ErrBusy) || f.execs.Load() != 1 {
		t.Errorf("one too many: %v", err)
	}
	cancel(errEnough)
	close(release)
	all.Wait()
	h.SessionTimeout = time.Millisecond
}

// TestStatus: case 60. What the server tells about the end, and what it does
// not.
func TestStatus(t *testing.T) {
	leaves(t)
	signal := func(s *fakeSession, name string) {
		s.ch.SendRequest("exit-signal", false, ssh.Marshal(struct {
			Signal  string
			Core    bool
			Message string
			Lang    string
		}{name, false, "", ""}))
	}
	for _, tt := range []struct {
		name   string
		end    func(s *fakeSession)
		want   exec.End
		code   int
		signal string
	}{
		{"no status", func(s *fakeSession) { s.ch.CloseWrite(); s.ch.Close() }, exec.Unknown, -1, ""},
		{"a signal", func(s *fakeSession) { signal(s, "TERM"); s.ch.Close() }, exec.Signalled, -1, "SIGTERM"},
		{"a strange signal", func(s *fakeSession) { signal(s, "x y\n"); s.ch.Close() }, exec.Signalled, -1, "unknown"},
		{"7", func(s *fakeSession) { s.status(7) }, exec.Exited, 7, ""},
		{"a broken status", func(s *fakeSession) {
			s.ch.SendRequest("exit-status", false, []byte{0, 0})
			s.ch.Close()
		}, exec.Unknown, -1, ""},
		{"two", func(s *fakeSession) {
			s.ch.SendRequest("exit-status", false, []byte{0, 0, 0, 5})
			s.status(0)
		}, exec.Exited, 5, ""},
		{"a flood", func(s *fakeSession) {
			for range 1000 {
				s.ch.SendRequest("nonsense", false, nil)
			}
			s.status(3)
		}, exec.Exited, 3, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := (&fake{session: func(s *fakeSession) {
				s.reply(true)
				io.WriteString(s.ch, "data")
				io.WriteString(s.ch.Stderr(), "more")
				tt.end(s)
			}}).start(t)
			h := f.host(t)
			o := mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
			if o.End != tt.want || o.ExitCode != tt.code || o.Signal != tt.signal || o.Stdout.Head != "data" || o.Stderr.Head != "more" || o.Success() {
				t.Errorf("%+v", o)
			}
			if (o.End == exec.Unknown) != errors.Is(o.Err, ErrNoStatus) || (o.End == exec.Unknown) != (o.MayRun != "") {
				t.Errorf("%v, %q", o.Err, o.MayRun)
			}
			h.Close()
		})
	}
}

// TestRefused holds that a server that runs nothing gives an error, not an
// Output.
func TestRefused(t *testing.T) {
	leaves(t)
	f := (&fake{session: func(s *fakeSession) { s.reply(false) }}).start(t)
	h := f.host(t)
	var e *Error
	if o, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); o != nil || !errors.As(err, &e) || e.Stage != StageStart {
		t.Errorf("%v, %v", o, err)
	}
	h2 := (&fake{open: func() string { return "refuse" }}).start(t).host(t)
	if o, err := h2.Run(t.Context(), exec.Cmd{Path: "x"}); o != nil || !errors.As(err, &e) || e.Stage != StageSession {
		t.Errorf("%v, %v", o, err)
	}
}

// TestLost holds that a command whose connection is lost is reported as one
// that may have run, is not run again, and that the next call gets a new
// connection.
func TestLost(t *testing.T) {
	leaves(t)
	begun := make(chan struct{}, 1)
	f := (&fake{session: func(s *fakeSession) {
		s.reply(true)
		io.WriteString(s.ch, "step 1\n")
		begun <- struct{}{}
		s.ignore()
	}}).start(t)
	h := f.host(t)
	go func() {
		<-begun
		time.Sleep(20 * time.Millisecond)
		f.drop()
	}()
	o := mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
	if o.End != exec.Unknown || o.ExitCode != -1 || o.MayRun == "" || !errors.Is(o.Err, ErrLost) || o.Stdout.Head != "step 1\n" || !o.Stdout.SoFar {
		t.Errorf("%+v", o)
	}
	f.good.Store(true)
	h.link.gate.limit = 1 // as if the server had refused a second session
	if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "x"}); !o.Success() {
		t.Errorf("the next: %+v", o)
	}
	if n := h.link.gate.limit; n != DefaultMaxSessions {
		t.Errorf("%d sessions on the new connection, want %d", n, DefaultMaxSessions)
	}
	if n := f.execs.Load(); n != 2 || f.total != 2 {
		t.Errorf("%d commands on %d connections, want 2 on 2", n, f.total)
	}
}

// TestClose holds that Close ends calls, and that nothing is left after it.
func TestClose(t *testing.T) {
	leaves(t)
	begun := make(chan struct{}, 8)
	f := (&fake{session: func(s *fakeSession) { s.reply(true); begun <- struct{}{}; s.ignore() }}).start(t)
	h := f.host(t)
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			if o, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); err != nil || o.End != exec.Unknown || !errors.Is(o.Err, ErrClosed) {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	for range 3 {
		<-begun
	}
	h.Close()
	all.Wait()
	h.Close()
	if _, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
	eventually(t, "the connection is closed", func() bool { return f.connections() == 0 })
	var never Host
	if err := never.Close(); err != nil {
		t.Error(err)
	}
}

// TestIdle holds how long a connection is kept that nobody uses.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		h := f.piped(t)
		for range 3 {
			mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
			time.Sleep(DefaultIdle - time.Second)
		}
		synctest.Wait()
		if f.connections() != 1 || f.total != 1 {
			t.Errorf("%d connections, %d in all", f.connections(), f.total)
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		if n := f.connections(); n != 0 {
			t.Errorf("%d connections after the time", n)
		}
		mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
		h.Close()
		f.drop()
		f.ends.Wait()
	})
}

// TestBackoff holds that a host that is down is not asked by every call.
func TestBackoff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{}
		h := f.piped(t)
		up := h.dialer
		tries := 0
		h.dialer = func(context.Context, string, string) (net.Conn, error) {
			tries++
			return nil, errors.New("no way there")
		}
		began := time.Now()
		for time.Since(began) < time.Minute {
			_, err := h.Run(t.Context(), exec.Cmd{Path: "x"})
			var e *Error
			if !errors.As(err, &e) || e.Stage != StageConnect || !strings.Contains(err.Error(), "no way there") {
				t.Fatalf("%v", err)
			}
			time.Sleep(10 * time.Millisecond)
		}
		// At 0, 0.25, 0.75, 1.75, 3.75, 7.75, 15.75, 30.75, 45.75 s.
		if tries != 9 {
			t.Errorf("%d attempts in a minute, want 9", tries)
		}
		h.dialer = up
		time.Sleep(maxBackoff)
		mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
		h.Close()
		f.drop()
		f.ends.Wait()
	})
}
