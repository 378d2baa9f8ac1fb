// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"slices"
	"sync"
	"time"
)

// usualSessions is how many sessions a connection may have where nothing else is
// known: OpenSSH's MaxSessions.
const usualSessions = 10

// A room counts the sessions of a connection as its server may count them, so
// that it is not asked for one that it would refuse. One that is over counts
// until the server has answered something that it was asked later: only then
// has it surely taken notice of the end. Who wants one more than there is room
// for waits for such an answer, and not at all when none is due.
type room struct {
	limit int

	mu      sync.Mutex // guards what follows
	held    int        // sessions that the server may count
	over    uint64     // sessions that have ended, ever
	noticed uint64     // of those, how many the server has surely noticed
	due     int        // answers that will tell more
	waiting []chan struct{}
}

// enter counts a session in before it is opened, once there is room. The caller
// has to tell the answer with answered(n, …). It reports false when one of the
// channels was first.
func (r *room) enter(done <-chan struct{}, timeout <-chan time.Time, lost <-chan struct{}) (n uint64, ok bool) {
	r.mu.Lock()
	if len(r.waiting) == 0 && r.openLocked() {
		r.held++
		n = r.askLocked()
		r.mu.Unlock()
		return n, true
	}
	turn := make(chan struct{})
	r.waiting = append(r.waiting, turn)
	r.mu.Unlock()
	select {
	case <-turn: // counted in by passLocked
		ok = true
	case <-done:
	case <-timeout:
	case <-lost:
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if i := slices.Index(r.waiting, turn); i >= 0 {
		r.waiting = slices.Delete(r.waiting, i, i+1)
		return 0, false
	}
	if !ok { // its turn has just come
		r.held--
		r.due--
		r.passLocked()
		return 0, false
	}
	return r.over, true
}

// try is enter for a session that may as well not be opened.
func (r *room) try() (n uint64, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.held >= r.limit {
		return 0, false
	}
	r.held++
	return r.askLocked(), true
}

// force is enter for a session that does not wait.
func (r *room) force() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held++
	return r.askLocked()
}

// ask is called before the server is asked for something, and answered with its
// result after the server has answered.
func (r *room) ask() uint64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.askLocked()
}

func (r *room) askLocked() uint64 {
	r.due++
	return r.over
}

// answered is called when the answer is there, or will not come.
func (r *room) answered(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.due--
	if n > r.noticed {
		r.held -= int(n - r.noticed)
		r.noticed = n
	}
	r.passLocked()
}

// refused counts a session out that was not opened.
func (r *room) refused() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held--
	r.passLocked()
}

// ended is called when the server has closed a session and was told that we
// know.
func (r *room) ended() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over++
	r.passLocked()
}

// openLocked tells whether one more may be opened: there is room, or nothing is
// under way that could make some.
func (r *room) openLocked() bool { return r.held < r.limit || r.due == 0 }

func (r *room) passLocked() {
	for len(r.waiting) > 0 && r.openLocked() {
		close(r.waiting[0])
		r.waiting = slices.Delete(r.waiting, 0, 1)
		r.held++
		r.due++
	}
}
