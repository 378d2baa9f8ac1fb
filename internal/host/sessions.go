// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// maxRestarts is how often Sessions begins a new session by itself.
const maxRestarts = 10

// Sessions are the sessions with one server, one after the other. The next is
// begun by Restart, or by itself when the host had to end one
// (Config.EndOnOversize, OverloadEnd), at most ten times. Requests that were
// open are lost, and not repeated: the tool may have done its work. A server
// that ends by itself is not started again, but by Restart. Methods may be
// called by any goroutine. Close it.
type Sessions struct {
	auto   bool
	ctx    context.Context // of the handshakes; ends with Close
	cancel context.CancelFunc
	work   sync.WaitGroup // of watch and turn

	turning chan struct{} // has room while no session is being followed by another

	mu       sync.Mutex // guards all below
	current  *Host
	past     []*Host
	byItself int           // of past, those that nobody asked for
	asked    int           // calls of Restart under way
	err      error         // why there is no next session
	changed  chan struct{} // closed and replaced when one of these changes
	closed   bool
}

// NewSessions returns the sessions of which h is the first. auto says that one
// which the host had to end is followed by the next without being asked.
func NewSessions(h *Host, auto bool) *Sessions {
	s := &Sessions{auto: auto, current: h, turning: make(chan struct{}, 1), changed: make(chan struct{})}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.watch(h)
	return s
}

// Host returns the host of the present session: the last one, whether it
// lives or not.
func (s *Sessions) Host() *Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

// All returns the hosts of all sessions, the present one last.
func (s *Sessions) All() []*Host {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(append([]*Host{}, s.past...), s.current)
}

// Await returns the host of the present session; while one is being ended and
// the next begun it waits, until ctx ends. The error says why there is none.
func (s *Sessions) Await(ctx context.Context) (*Host, error) {
	for {
		s.mu.Lock()
		h, err, changed := s.current, s.err, s.changed
		stays := s.asked == 0 && (!s.auto || h.cause() == nil)
		s.mu.Unlock()
		switch {
		case err != nil:
			return nil, err
		case stays:
			return h, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("host: waiting for the next session: %w; %s", context.Cause(ctx), h.Diagnose())
		}
	}
}

// Restart ends the present session and waits for the next; it also begins one
// where the last could not be, or the server has ended by itself.
func (s *Sessions) Restart(ctx context.Context) error {
	s.mu.Lock()
	h := s.current
	if s.closed {
		s.mu.Unlock()
		return ErrEnded
	}
	s.err = nil
	s.asked++
	h.end(errRestarted)
	s.work.Go(func() {
		s.turn(h)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked--
		s.changeLocked()
	})
	s.mu.Unlock()
	_, err := s.Await(ctx)
	return err
}

// watch begins the next session when h had to be ended.
func (s *Sessions) watch(h *Host) {
	if !s.auto {
		return
	}
	s.work.Go(func() {
		select {
		case <-h.ending:
		case <-h.exited:
		case <-s.ctx.Done():
		}
		if err := h.cause(); err != nil && !errors.Is(err, errRestarted) { // Restart turns by itself
			s.turn(h)
		}
	})
}

// turn begins the session after h, unless that was done.
func (s *Sessions) turn(h *Host) {
	s.turning <- struct{}{}
	defer func() { <-s.turning }()
	s.mu.Lock()
	byItself := !errors.Is(h.cause(), errRestarted)
	over := s.current != h || s.closed
	if !over && byItself && s.byItself == maxRestarts {
		s.err = fmt.Errorf("%w, after %d restarts: %w", ErrEnded, maxRestarts, h.cause())
		s.changeLocked()
		over = true
	}
	s.mu.Unlock()
	if over {
		return
	}
	next, err := h.Restart(s.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changeLocked()
	if err != nil {
		s.err = err
		return
	}
	if byItself {
		s.byItself++
	}
	s.past, s.current = append(s.past, h), next
	s.watch(next)
}

func (s *Sessions) changeLocked() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Close ends the present session as Host.Close does, and begins none any more.
// It returns the error of that session, or why there is none.
func (s *Sessions) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.work.Wait()
	for _, h := range s.All() {
		if err := h.Close(); err != nil && h == s.Host() {
			return err
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}
