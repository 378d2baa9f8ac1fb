// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// TestPool holds that 200 hosts at once, some with several calls, have no more
// connections than the limit, all calls are run, and nothing is left after
// Close.
func TestPool(t *testing.T) {
	leaves(t)
	f := (&fake{session: func(s *fakeSession) { s.reply(true); runtime.Gosched(); s.status(0) }}).start(t)
	var open, most atomic.Int32
	p := &Pool{MaxWaiting: 1000, Open: func(name string) (*Host, error) {
		h := &Host{Name: name, Address: f.addr, User: "me", Auth: Auth{Agent: "none", KeyFiles: []string{}}, HostKeys: f.keys()}
		h.dialer = func(ctx context.Context, network, address string) (net.Conn, error) {
			n := open.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			c, err := (&net.Dialer{}).DialContext(ctx, network, address)
			return &countedConn{Conn: c, open: &open}, err
		}
		return h, nil
	}}
	var all sync.WaitGroup
	for i := range 200 {
		for range 1 + i%2 {
			all.Go(func() {
				h, err := p.Host(fmt.Sprint("host", i))
				if err != nil {
					t.Error(err)
					return
				}
				if o, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); err != nil || !o.Success() {
					t.Errorf("%v, %v", o, err)
				}
			})
		}
	}
	all.Wait()
	if most.Load() > DefaultMaxConnections {
		t.Errorf("%d connections at once, want %d at most", most.Load(), DefaultMaxConnections)
	}
	if n := f.execs.Load(); n != 300 {
		t.Errorf("%d commands were run, want 300", n)
	}
	p.Close()
	eventually(t, "no connection is left", func() bool { return f.connections() == 0 })
	if _, err := p.Host("host1"); !errors.Is(err, ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

// A countedConn counts itself out when it is closed.
type countedConn struct {
	net.Conn
	open *atomic.Int32
	once sync.Once
}

func (c *countedConn) Close() error {
	err := c.Conn.Close()
	c.once.Do(func() { c.open.Add(-1) })
	return err
}

// TestPoolWait holds that waiting for a connection is bounded, and obeys its
// context, and that it is not held against the host.
func TestPoolWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{session: func(s *fakeSession) { s.reply(true); s.ignore() }}
		p := &Pool{MaxConnections: 1}
		one, two := f.piped(t), f.piped(t)
		keys := HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: knownhosts.Line([]string{f.addr}, f.key) + "\n"}
		one.HostKeys, two.HostKeys = keys, keys
		one.Pool, two.Pool = p, p
		ctx, cancel := context.WithCancelCause(t.Context())
		var all sync.WaitGroup
		all.Go(func() { one.Run(ctx, exec.Cmd{Path: "x"}) })
		synctest.Wait()
		began := time.Now()
		_, err := two.Run(t.Context(), exec.Cmd{Path: "x"})
		var e *Error
		if !errors.As(err, &e) || e.Stage != StageQueue || time.Since(began) != DefaultPoolWait {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		short, stop := context.WithTimeout(t.Context(), time.Second)
		if _, err := two.Run(short, exec.Cmd{Path: "x"}); !errors.As(err, &e) || e.Stage != StageQueue || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
		stop()
		cancel(errEnough)
		all.Wait()
		f.good.Store(true)
		if o, err := two.Run(t.Context(), exec.Cmd{Path: "x"}); err != nil || !o.Success() {
			t.Errorf("when there is room: %v, %v", o, err)
		}
		p.Close()
		one.Close()
		two.Close()
		f.drop()
		f.ends.Wait()
	})
}

// TestSessions holds that no more sessions are open than the limit, however
// many calls there are, over one connection.
func TestSessions(t *testing.T) {
	leaves(t)
	var now, most atomic.Int32
	f := (&fake{session: func(s *fakeSession) {
		n := now.Add(1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		s.reply(true)
		time.Sleep(time.Millisecond)
		now.Add(-1)
		s.status(0)
	}}).start(t)
	h := f.host(t)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if o, err := h.Run(t.Context(), exec.Cmd{Path: "x"}); err != nil || !o.Success() {
				t.Errorf("%v, %v", o, err)
			}
		})
	}
	all.Wait()
	if most.Load() > DefaultMaxSessions || f.total != 1 {
		t.Errorf("%d commands at once on %d connections", most.Load(), f.total)
	}
}

// TestServerTakesFewer holds that calls wait where a real server takes fewer
// sessions than we think.
func TestServerTakesFewer(t *testing.T) {
	t.Parallel()
	for _, max := range []int{1, 2, 3} {
		s := sshdtest.Start(t, sshdtest.Options{Config: fmt.Sprint("MaxSessions ", max)})
		h := testHost(t, s)
		var all sync.WaitGroup
		for i := range 10 {
			all.Go(func() {
				o, err := h.Run(t.Context(), sh(fmt.Sprintf("sleep 0.05; echo %d", i)))
				if err != nil || o.Stdout.Head != fmt.Sprintln(i) {
					t.Errorf("MaxSessions %d: %v, %v", max, o, err)
				}
			})
		}
		all.Wait()
	}
}
