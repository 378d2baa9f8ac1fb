// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/weir-mcp/weir/exec"
)

// shortAndPlain fails unless an error is fit to be shown, whatever a server has
// said.
func shortAndPlain(t *testing.T, err error) {
	t.Helper()
	text := err.Error()
	if len(text) > 600 || strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) {
		t.Errorf("%d bytes: %.200q", len(text), text)
	}
}

// TestNoSSH holds that what is no SSH server gives an error of the handshake,
// and leaves nothing behind.
func TestNoSSH(t *testing.T) {
	leaves(t)
	for _, tt := range []struct{ name, says string }{
		{"closed", ""},
		{"another protocol", "HTTP/1.1 400 Bad Request\r\n\r\n"},
		{"no line end", strings.Repeat("x", 1<<20)},
		{"lines", strings.Repeat("\x1b[2J\n", 1<<18)},
		{"after the version", "SSH-2.0-x\r\n" + strings.Repeat("\xff\x1b\n", 1<<16)},
		{"a packet without end", "SSH-2.0-x\r\n\x00\x03\xff\xf0\x04"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			var ends sync.WaitGroup
			ends.Go(func() {
				c, err := l.Accept()
				if err != nil {
					return
				}
				defer c.Close()
				io.WriteString(c, tt.says)
				c.(*net.TCPConn).CloseWrite()
				io.Copy(io.Discard, c)
			})
			h := &Host{Name: "odd", Address: l.Addr().String(), User: "me", Auth: Auth{Agent: "none", KeyFiles: []string{}}, HostKeys: HostKeys{Files: []string{}, GlobalFiles: []string{}}}
			began := time.Now()
			var e *Error
			if _, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); !errors.As(err, &e) || e.Stage != StageHandshake {
				t.Errorf("%v", err)
			} else {
				shortAndPlain(t, err)
			}
			within(t, began, DefaultConnectTimeout)
			h.Close()
			l.Close()
			ends.Wait()
		})
	}
}

// TestServersWords holds that what a server says in an error is bounded, and
// cannot be taken for anything but text.
func TestServersWords(t *testing.T) {
	leaves(t)
	f := (&fake{open: func() string { return "refuse" }, message: "\x1b[2J\n" + strings.Repeat("no! ", 5000)}).start(t)
	_, err := f.host(t).Run(t.Context(), exec.Cmd{Path: "x"})
	if err == nil || !strings.Contains(err.Error(), "no! no!") {
		t.Fatalf("%v", err)
	}
	shortAndPlain(t, err)
	shortAndPlain(t, lostError(errors.New("\x1b[2J\n"+strings.Repeat("no! ", 5000))))
}

// TestPretence holds that a command that prints what the wrapper does is read as
// one that prints it.
func TestPretence(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	o := mustRun(t, t.Context(), h, sh(`echo weir:$WEIR_ID:5:p >&2; echo weir:$WEIR_ID:d >&2; printf weir: >&2`))
	if o.PID == 5 || !o.Success() || strings.Count(o.Stderr.Head, "weir:") != 3 || !strings.HasSuffix(o.Stderr.Head, ":d\nweir:") {
		t.Errorf("%+v", o)
	}
}

// A keeper is a Sink that can keep what it got.
type keeper struct{ kept atomic.Int32 }

func (k *keeper) Write(p []byte) (int, error) { return len(p), nil }
func (k *keeper) Keep() (string, error)       { k.kept.Add(1); return "kept", nil }

// TestKept holds that a Sink keeps things once.
func TestKept(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	var k keeper
	cmd := sh("yes | head -c 300000")
	cmd.Sink = &k
	if o := mustRun(t, t.Context(), h, cmd); o.Full != "kept" || k.kept.Load() != 1 {
		t.Errorf("kept %d times: %q", k.kept.Load(), o.Full)
	}
}

// TestSinkHolds holds that a Sink that does not return holds up neither the end
// of its call, whose two streams share one window, nor other calls.
func TestSinkHolds(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	mustRun(t, t.Context(), h, exec.Cmd{Path: "true"})
	conn := h.link.conn
	sleep := tempSleep()
	held := &holder{came: make(chan struct{}), release: make(chan struct{})}
	cmd := sh("sleep " + sleep + " & yes >&2 & yes")
	cmd.Sink, cmd.Grace = held, 200*time.Millisecond
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		<-held.came
		cancel(errEnough)
	}()
	began := time.Now()
	o := mustRun(t, ctx, h, cmd)
	within(t, began, 10*time.Second)
	if o.End != exec.Cancelled || !errors.Is(o.Err, errEnough) || len(processes("sleep "+sleep)) > 0 {
		t.Errorf("%+v", o)
	}
	if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "echo", Args: []string{"next"}}); o.Stdout.Head != "next\n" || h.link.conn != conn {
		t.Errorf("the next call: %+v", o)
	}
	close(held.release)
}

// A holder is a Sink that does not return from its first Write until it is
// released.
type holder struct {
	once          sync.Once
	came, release chan struct{}
}

func (s *holder) Write(p []byte) (int, error) {
	s.once.Do(func() { close(s.came); <-s.release })
	return len(p), nil
}

// TestInputHolds holds that an input from which nothing comes holds up neither
// the end of its call nor Close.
func TestInputHolds(t *testing.T) {
	f := (&fake{}).start(t)
	h := f.host(t)
	r, w := io.Pipe()
	t.Cleanup(func() { w.Close() })
	if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "x", Stdin: r}); !o.Success() {
		t.Errorf("%+v", o)
	}
	closed := make(chan struct{})
	go func() { h.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("Close waits for the input")
	}
}

// TestGuardBounds holds that a guard that does not read or answer costs no more
// memory with every call.
func TestGuardBounds(t *testing.T) {
	leaves(t)
	f := (&fake{}).start(t)
	h := f.host(t)
	mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
	g := &guard{c: h.link.conn, up: make(chan struct{}), wake: make(chan struct{}, 1), answers: make(map[string]*answer), orphans: []orphan{{7, "aa"}}}
	for range 10_000 {
		id := newID()
		a := g.end(7, id, time.Second, true)
		g.forget(id)
		if !isClosed(a.done) || a.ok {
			t.Fatal("who waits is not told")
		}
	}
	if g.lines.Len() > 128<<10 || len(g.answers) > 0 {
		t.Errorf("%d bytes and %d answers wait", g.lines.Len(), len(g.answers))
	}
	g.die()
	if o := h.takeOrphans(); len(o) != 1 || o[0].pid != 7 {
		t.Errorf("a guard that never came up was told of %v, for the next one is left %v", g.orphans, o)
	}
	h.addOrphans(make([]orphan, 10*maxOrphans)...)
	h.addOrphans(orphan{})
	if n := len(h.takeOrphans()); n != maxOrphans {
		t.Errorf("%d orphans are remembered, want %d at most", n, maxOrphans)
	}
}
