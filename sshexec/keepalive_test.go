// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// A proxy passes TCP connections on to a server until it is told to stop. What
// comes then is lost, and no side is told: as when a network is gone.
type proxy struct {
	addr string
	ends sync.WaitGroup

	mu     sync.Mutex // guards what follows
	stop   chan struct{}
	conns  []net.Conn
	ours   int // connections that clients have open
	total  int // connections that there were
	closed bool
}

// startProxy serves before target until the test ends.
func startProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{addr: l.Addr().String(), stop: make(chan struct{})}
	p.ends.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.ends.Go(func() { p.serve(c, target) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		p.mu.Lock()
		p.closed = true
		for _, c := range p.conns {
			c.Close()
		}
		p.mu.Unlock()
		p.ends.Wait()
	})
	return p
}

// lose has the connections that there are forward nothing any more. Those that
// come later do.
func (p *proxy) lose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	close(p.stop)
	p.stop = make(chan struct{})
}

// count is how many connections clients have open, and how many there were.
func (p *proxy) count() (open, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ours, p.total
}

func (p *proxy) serve(client net.Conn, target string) {
	server, err := net.Dial("tcp", target)
	if err != nil {
		client.Close()
		return
	}
	p.mu.Lock()
	stop := p.stop
	p.conns = append(p.conns, client, server)
	p.ours++
	p.total++
	if p.closed {
		client.Close()
		server.Close()
	}
	p.mu.Unlock()
	forward := func(to, from net.Conn) {
		buf := make([]byte, 32<<10)
		for {
			n, err := from.Read(buf)
			lost := isClosed(stop)
			if n > 0 && !lost {
				to.Write(buf[:n])
			}
			if err != nil {
				if !lost {
					to.Close()
				}
				return
			}
		}
	}
	p.ends.Go(func() { forward(client, server) })
	forward(server, client)
	p.mu.Lock()
	p.ours--
	p.mu.Unlock()
}

// TestNetworkGone holds what becomes of a command when the network is gone
// without a word, before a real server, which goes on with it: the peer is found
// dead after the misses, or by a cancel; the Output has what came and says that
// the command may run; the connection is closed; and the first thing that is
// done on the next one is to end the command.
func TestNetworkGone(t *testing.T) {
	t.Parallel()
	needProc(t)
	s := sharedSSHD(t)
	for _, tt := range []struct {
		name   string
		cancel bool
		end    exec.End
		cause  error
	}{
		{"keepalives find it", false, exec.Unknown, ErrKeepalive},
		{"cancelled", true, exec.Cancelled, errEnough},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := startProxy(t, s.Addr)
			h := testHost(t, s)
			h.Address = p.addr
			h.HostKeys.Known = knownLine("", p.addr, s)
			if !tt.cancel {
				h.Keepalive, h.KeepaliveMisses = 250*time.Millisecond, 2
			}
			sleep := tempSleep()
			t.Cleanup(func() { killAll(processes("sleep " + sleep)) })
			cmd := sh("echo ready; sleep " + sleep)
			cmd.Grace = 50 * time.Millisecond
			ready := newSeen("ready\n")
			cmd.Sink = ready
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var began time.Time
			gone := make(chan struct{})
			go func() {
				defer close(gone)
				<-ready.ch
				began = time.Now()
				p.lose()
				if tt.cancel {
					cancel(errEnough)
				}
			}()
			o := mustRun(t, ctx, h, cmd)
			<-gone
			within(t, began, 10*time.Second)
			if least := 2 * h.Keepalive; time.Since(began) < least {
				t.Errorf("found out after %v, want %v at least", time.Since(began), least)
			}
			if o.End != tt.end || o.ExitCode != -1 || !errors.Is(o.Err, tt.cause) || o.Stdout.Head != "ready\n" || !o.Stdout.SoFar || o.PID == 0 || !strings.Contains(o.MayRun, strconv.Itoa(o.PID)) {
				t.Errorf("%+v, may run: %q", o, o.MayRun)
			}
			var e *Error
			if !errors.As(o.Err, &e) || e.Stage != StageOutput {
				t.Errorf("%v", o.Err)
			}
			eventually(t, "the connection is closed", func() bool { open, _ := p.count(); return open == 0 })
			if len(processes("sleep "+sleep)) == 0 {
				t.Fatal("the server has ended the command by itself: there is nothing to see")
			}
			// The proxy forwards again.
			if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "echo", Args: []string{"next"}}); o.Stdout.Head != "next\n" || !o.Success() {
				t.Errorf("the next call: %+v", o)
			}
			if _, total := p.count(); total != 2 {
				t.Errorf("%d connections, want 2", total)
			}
			eventually(t, "the command that was lost is ended", func() bool { return len(processes("sleep "+sleep)) == 0 })
		})
	}
}

// TestKeepalive holds when a dead connection is found out, by the defaults.
func TestKeepalive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{session: func(s *fakeSession) { s.reply(true); s.ignore() }}
		h := f.piped(t)
		time.AfterFunc(100*time.Second, func() { f.mute.Store(true) }) // until then it answers
		began := time.Now()
		o := mustRun(t, t.Context(), h, exec.Cmd{Path: "x"})
		// The last answer came to the question at 90 s; then a question after
		// 15 s, and three times 15 s for an answer.
		if d := time.Since(began); d != 150*time.Second {
			t.Errorf("it took %v", d)
		}
		if o.End != exec.Unknown || !errors.Is(o.Err, ErrKeepalive) || o.MayRun == "" {
			t.Errorf("%+v", o)
		}
		h.Close()
		f.drop()
		f.ends.Wait()
	})
}
