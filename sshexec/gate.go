// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"slices"
	"sync"
	"time"
)

// A gate lets a number of holders through at a time, first come, first served,
// and bounds how many wait and how long.
type gate struct {
	mu      sync.Mutex // guards what follows
	used    int
	limit   int
	waiting []chan struct{} // closed when its turn has come
}

// acquire waits until fewer than the limit have passed and not come back, at most
// for patience, which after measures as time.After does. The error is ErrBusy, a
// *timeoutError, ErrClosed, or the cause of ctx.
func (g *gate) acquire(ctx context.Context, closing <-chan struct{}, maxWaiting int, after func(time.Duration) <-chan time.Time, patience time.Duration, what string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	g.mu.Lock()
	if g.used < g.limit && len(g.waiting) == 0 {
		g.used++
		g.mu.Unlock()
		return nil
	}
	if len(g.waiting) >= maxWaiting {
		g.mu.Unlock()
		return ErrBusy
	}
	turn := make(chan struct{})
	g.waiting = append(g.waiting, turn)
	g.mu.Unlock()

	var err error
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
		err = context.Cause(ctx)
	case <-closing:
		err = ErrClosed
	case <-after(patience):
		err = &timeoutError{what, patience}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if i := slices.Index(g.waiting, turn); i >= 0 {
		g.waiting = slices.Delete(g.waiting, i, i+1)
	} else { // it has just got its turn
		g.used--
		g.passLocked()
	}
	return err
}

// release lets the next one through.
func (g *gate) release() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	g.passLocked()
}

// lower makes the limit what is used now less one, the caller, who gives its
// place back. It reports false when the caller is the only one.
func (g *gate) lower() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.used--
	if g.used > 0 {
		g.limit = min(g.limit, g.used)
		return true
	}
	g.passLocked()
	return false
}

// reset makes the limit what it was before lower.
func (g *gate) reset(limit int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.limit = limit
	g.passLocked()
}

func (g *gate) passLocked() {
	for g.used < g.limit && len(g.waiting) > 0 {
		close(g.waiting[0])
		g.waiting = slices.Delete(g.waiting, 0, 1)
		g.used++
	}
}

// full tells whether one more would have to wait.
func (g *gate) full() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.used >= g.limit
}
