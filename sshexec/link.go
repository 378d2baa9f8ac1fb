// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The pauses before a next attempt after one has failed: they double from the
// least to the most.
const (
	minBackoff = 250 * time.Millisecond
	maxBackoff = 15 * time.Second
)

// A link is a Host's way to its machine: the connection that calls share, or
// the attempt to make one.
type link struct {
	closed  bool
	ready   bool          // what follows is made
	closing chan struct{} // closed by Close
	gate    gate          // lets calls to their sessions

	conn *conn // takes new calls; nil when there is none
	dial *dial // under way

	failed   error     // of the last attempt
	failures int       // in a row
	retry    time.Time // when the next attempt may be made

	shell   atomic.Int32 // the shellKind, once it is known
	lost    sync.Mutex   // guards orphans
	orphans []orphan     // processes of lost connections, to end when it is back
	all     tasks        // every goroutine of the host and its connections
}

// An orphan is a process that may run although its call is over.
type orphan struct {
	pid int
	id  string
}

// maxOrphans is how many are remembered.
const maxOrphans = 64

// addOrphans remembers processes that have to be ended.
func (h *Host) addOrphans(o ...orphan) {
	h.link.lost.Lock()
	defer h.link.lost.Unlock()
	h.link.orphans = append(h.link.orphans, o[:min(len(o), maxOrphans-len(h.link.orphans))]...)
}

// takeOrphans hands them over.
func (h *Host) takeOrphans() []orphan {
	h.link.lost.Lock()
	defer h.link.lost.Unlock()
	o := h.link.orphans
	h.link.orphans = nil
	return o
}

// A dial is an attempt to connect, shared by the calls that wait for it.
type dial struct {
	cancel  context.CancelCauseFunc
	stage   atomic.Value // Stage
	waiters int          // guarded by Host.mu
	done    chan struct{}
	conn    *conn // set, and all who wait are its users, before done is closed
	err     error
}

func (d *dial) at(s Stage) { d.stage.Store(s) }

// initLocked makes what the zero Host does not have.
func (h *Host) initLocked() {
	if h.link.ready {
		return
	}
	h.link.ready = true
	h.link.closing = make(chan struct{})
	h.link.gate.limit = h.sessions()
}

// sessions is how many calls have a session at the same time.
func (h *Host) sessions() int {
	n := orDefault(h.MaxSessions, DefaultMaxSessions)
	if h.Pool != nil && h.Pool.MaxSessions > 0 {
		n = min(n, h.Pool.MaxSessions)
	}
	return n
}

// closing is closed when the host takes no more calls.
func (h *Host) closing() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.initLocked()
	return h.link.closing
}

// acquire returns the connection, which it makes if there is none. The caller
// releases it. While it waits, watch shows how far the attempt has come. As a
// hop it takes no place of the pool.
func (h *Host) acquire(ctx context.Context, watch *atomic.Pointer[dial], hop bool) (*conn, error) {
	for {
		h.mu.Lock()
		h.initLocked()
		if c := h.link.conn; c != nil && isClosed(c.lost) { // and not yet taken out
			h.dropLocked(c)
		}
		switch l := &h.link; {
		case l.closed:
			h.mu.Unlock()
			return nil, h.fail(StageConnect, ErrClosed)
		case l.conn != nil:
			c := l.conn
			c.useLocked()
			h.mu.Unlock()
			return c, nil
		case l.dial == nil && time.Now().Before(l.retry):
			err := l.failed
			wait := time.Until(l.retry).Round(10 * time.Millisecond)
			h.mu.Unlock()
			return nil, h.again(err, wait)
		case l.dial == nil:
			h.dialLocked(hop)
		}
		d := h.link.dial
		d.waiters++
		h.mu.Unlock()
		if watch != nil {
			watch.Store(d)
		}
		var err error
		select {
		case <-d.done:
			err = d.err
		case <-ctx.Done():
			err = h.fail(d.stage.Load().(Stage), context.Cause(ctx))
		}
		if watch != nil {
			watch.Store(nil)
		}
		h.mu.Lock()
		if c := d.conn; c != nil { // which counts this call already
			if ctx.Err() == nil {
				h.mu.Unlock()
				return c, nil
			}
			c.users--
			c.restLocked()
			h.mu.Unlock()
			return nil, h.fail(StageSession, context.Cause(ctx))
		}
		d.waiters--
		if d.waiters == 0 && h.link.dial == d {
			d.cancel(context.Canceled) // nobody waits for it any more
		}
		h.mu.Unlock()
		if err != nil {
			if errors.Is(err, errAbandoned) && ctx.Err() == nil {
				continue // this call came as the last of the others left
			}
			return nil, err
		}
	}
}

// errAbandoned ends an attempt that nobody waits for.
var errAbandoned = errors.New("nobody waits for the connection")

// fail is an error of a stage, once.
func (h *Host) fail(s Stage, err error) error {
	var e *Error
	if errors.As(err, &e) && e.Host == h.name() {
		return err
	}
	return &Error{Host: h.name(), Stage: s, Err: err}
}

// again is the error of a call that comes soon after an attempt has failed.
func (h *Host) again(err error, wait time.Duration) error {
	s := StageConnect
	var e *Error
	if errors.As(err, &e) && e.Host == h.name() {
		s, err = e.Stage, e.Err
	}
	return &Error{Host: h.name(), Stage: s, Err: fmt.Errorf("%w (a moment ago; tried again from %v on)", err, max(wait, 10*time.Millisecond))}
}

// dialLocked begins an attempt.
func (h *Host) dialLocked(hop bool) {
	ctx, cancel := context.WithCancelCause(context.Background())
	d := &dial{cancel: cancel, done: make(chan struct{})}
	d.at(StageConnect)
	h.link.dial = d
	h.link.all.Go(func() {
		c, err := h.connect(ctx, d, hop)
		abandoned := ctx.Err() != nil
		cancel(nil)
		h.mu.Lock()
		defer h.mu.Unlock()
		l := &h.link
		l.dial = nil
		switch {
		case err == nil && (l.closed || abandoned):
			// Nobody has it.
			c.end(ErrClosed)
			if d.err = errAbandoned; l.closed {
				d.err = h.fail(StageConnect, ErrClosed)
			}
		case err == nil:
			l.conn, d.conn = c, c
			l.gate.reset(h.sessions()) // the server may take more by now
			l.failed, l.failures, l.retry = nil, 0, time.Time{}
			c.users = d.waiters // it would be taken for idle otherwise
			c.restLocked()
		case l.closed:
			d.err = h.fail(d.stage.Load().(Stage), ErrClosed)
		case abandoned:
			d.err = errAbandoned
		case d.stage.Load() == StageQueue: // says nothing about the host
			d.err = err
		default:
			d.err = err
			l.failed = err
			l.failures++
			l.retry = time.Now().Add(backoff(l.failures))
			h.log().Warn("ssh connection failed", "host", h.name(), "address", h.address(), "error", err)
		}
		close(d.done)
	})
}

// backoff is the pause after so many failures in a row.
func backoff(failures int) time.Duration {
	d := minBackoff << min(failures-1, 10)
	return min(d, maxBackoff)
}

// dropLocked takes c out of use for new calls.
func (h *Host) dropLocked(c *conn) {
	if h.link.conn == c {
		h.link.conn = nil
	}
}

// Connect makes the connection if there is none, and asks the server whether it
// is there. A call does the first by itself.
func (h *Host) Connect(ctx context.Context) error {
	c, err := h.acquire(ctx, nil, false)
	if err != nil {
		return err
	}
	defer c.release()
	select {
	case <-c.ping():
	case <-c.lost:
		return h.fail(StageConnect, c.cause)
	case <-ctx.Done():
		return h.fail(StageConnect, context.Cause(ctx))
	}
	return nil
}

// Close ends the connection and takes no more calls. Those that run are over:
// their Outputs say so, and their processes are ended over there as after any
// loss of the connection. It waits until the connection is closed and nothing
// of it is left, not for the calls nor for a Read of their Stdin; a Write of a
// Cmd.Sink that does not return holds it up. It may be called again.
func (h *Host) Close() error {
	h.mu.Lock()
	h.initLocked()
	l := &h.link
	if !l.closed {
		l.closed = true
		close(l.closing)
	}
	if l.dial != nil {
		l.dial.cancel(ErrClosed)
	}
	c := l.conn
	l.conn = nil
	h.mu.Unlock()
	if c != nil {
		c.end(ErrClosed)
	}
	l.all.Wait()
	return nil
}
