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

// openSession opens a session. When it gives up before the server has answered,
// giveBack is called once it has, or will not any more.
func (c *conn) openSession(ctx context.Context, patience time.Duration, giveBack func()) (session, error) {
	if s, ok := c.takeSpare(); ok {
		return s, nil
	}
	type result struct {
		session
		err error
	}
	opened := make(chan result, 1)
	c.run(func() {
		ch, requests, err := c.client.OpenChannel("session", nil)
		opened <- result{session{ch, requests}, err}
	})
	timer := time.NewTimer(patience)
	defer timer.Stop()
	var err error
	select {
	case r := <-opened:
		return r.session, r.err
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-timer.C:
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
			r.ch.Close()
			ssh.DiscardRequests(r.requests)
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
	c.run(func() {
		ch, requests, err := c.client.OpenChannel("session", nil)
		c.mu.Lock()
		c.preparing = false
		unwanted := err == nil && c.noSpare
		if err != nil {
			c.noSpare = true
		} else if !unwanted {
			c.spare = &session{ch, requests}
		}
		c.mu.Unlock()
		if unwanted {
			ch.Close()
			ssh.DiscardRequests(requests)
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
		c.run(func() {
			s.ch.Close()
			ssh.DiscardRequests(s.requests)
		})
	}
	return ok
}
