// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"time"

	"golang.org/x/crypto/ssh"
)

// A session is an open channel for one command.
type session struct {
	ch       ssh.Channel
	requests <-chan *ssh.Request
}

// errPending is found in the error of openSession when the server may still
// open the session: then the place is given back later.
var errPending = errors.New("the server may still open it")

type pendingError struct{ err error }

func (e *pendingError) Error() string        { return e.err.Error() }
func (e *pendingError) Unwrap() error        { return e.err }
func (e *pendingError) Is(target error) bool { return target == errPending }

// newSession asks the server for a session that room.enter has counted in. It
// waits for the answer.
func (c *conn) newSession(n uint64) (session, error) {
	ch, requests, err := c.client.OpenChannel("session", nil)
	c.room.answered(n)
	if err != nil {
		c.room.refused()
	}
	return session{ch, requests}, err
}

// discard closes a session that nobody wants, and waits until the server has
// closed it too.
func (c *conn) discard(s session) {
	s.ch.Close()
	ssh.DiscardRequests(s.requests)
	c.room.ended()
}

// openSession opens a session, until timeout receives after patience. When it gives
// up before the server has answered, giveBack is called once it has, or will not
// any more.
func (c *conn) openSession(ctx context.Context, timeout <-chan time.Time, patience time.Duration, giveBack func()) (session, error) {
	if s, ok := c.takeSpare(); ok {
		return s, nil
	}
	n, ok := c.room.enter(ctx.Done(), timeout, c.lost)
	if !ok {
		switch {
		case isClosed(c.lost):
			return session{}, c.cause
		case ctx.Err() != nil:
			return session{}, context.Cause(ctx)
		}
		return session{}, &timeoutError{"the server did not open a session", patience}
	}
	type result struct {
		session
		err error
	}
	opened := make(chan result, 1)
	c.run(func() {
		s, err := c.newSession(n)
		opened <- result{s, err}
	})
	var err error
	select {
	case r := <-opened:
		return r.session, r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timeout:
		err = &timeoutError{"the server did not open a session", patience}
	}
	c.check()
	c.run(func() {
		// A server that answers keepalives and nothing else gets no new calls.
		late := time.NewTimer(lateTime)
		defer late.Stop()
		var r result
		select {
		case r = <-opened:
			giveBack()
		case <-late.C:
			giveBack()
			c.retire()
			r = <-opened
		}
		if r.err == nil {
			c.discard(r.session)
		}
	})
	return session{}, &pendingError{err}
}

// lateTime is how long a server has to answer about a session that nobody wants
// any more, before its connection gets no new calls.
const lateTime = 5 * time.Second

// prepare opens a session for the next call, unless there is one. That call is
// then spared a round trip. Nothing is run in it, and a server that takes no
// more sessions costs nothing but the question.
func (c *conn) prepare() {
	if c.h.link.gate.full() {
		return
	}
	c.mu.Lock()
	busy := c.spare != nil || c.preparing || c.noSpare || c.guard != nil && !c.guard.isUp()
	if !busy {
		c.preparing = true
	}
	c.mu.Unlock()
	if busy {
		return
	}
	n, ok := c.room.try()
	if !ok {
		c.mu.Lock()
		c.preparing = false
		c.mu.Unlock()
		return
	}
	c.run(func() {
		s, err := c.newSession(n)
		c.mu.Lock()
		c.preparing = false
		unwanted := err == nil && c.noSpare
		if err != nil {
			c.noSpare = true
		} else if !unwanted {
			c.spare = &s
		}
		c.mu.Unlock()
		if unwanted {
			c.discard(s)
		}
	})
}

// takeSpare returns the session that was opened before, if the server has not
// closed it since.
func (c *conn) takeSpare() (session, bool) {
	c.mu.Lock()
	s := c.spare
	c.spare = nil
	c.mu.Unlock()
	if s == nil {
		return session{}, false
	}
	select {
	case _, ok := <-s.requests:
		if !ok {
			c.room.ended()
			return session{}, false
		}
	default:
	}
	return *s, true
}

// dropSpare closes that session and opens no more: the server takes fewer than
// we thought.
func (c *conn) dropSpare() bool {
	s, ok := c.takeSpare()
	c.mu.Lock()
	c.noSpare = true
	c.mu.Unlock()
	if ok {
		c.run(func() { c.discard(s) })
	}
	return ok
}
