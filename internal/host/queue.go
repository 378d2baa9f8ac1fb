// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync"
	"time"
)

// queue holds the frames that wait for the dispatcher. It is bounded, and to
// put a frame into it never blocks.
type queue struct {
	maxFrames, maxBytes int

	mu       sync.Mutex // guards all below
	cond     sync.Cond  // of mu; frames or closed changed
	frames   []Frame
	bytes    int
	closed   bool
	full     bool // a frame was refused, and the queue has not been empty since
	peak     int
	peakB    int
	wait     time.Duration // sum over the frames taken
	waitMax  time.Duration
	lastTake time.Time
	busy     bool // the dispatcher holds a frame
}

func newQueue(frames, bytes int) *queue {
	q := &queue{maxFrames: frames, maxBytes: bytes}
	q.cond.L = &q.mu
	return q
}

// push reports whether there was room. One frame always fits an empty queue.
func (q *queue) push(f Frame) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := len(q.frames); n > 0 && (n >= q.maxFrames || q.bytes+len(f.Raw) > q.maxBytes) {
		q.full = true
		return false
	}
	q.frames = append(q.frames, f)
	q.bytes += len(f.Raw)
	q.peak, q.peakB = max(q.peak, len(q.frames)), max(q.peakB, q.bytes)
	q.cond.Signal()
	return true
}

// pop waits for a frame; false means that no more will come.
func (q *queue) pop() (Frame, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.busy = false
	for len(q.frames) == 0 {
		if q.closed {
			return Frame{}, false
		}
		q.cond.Wait()
	}
	f := q.frames[0]
	q.frames[0] = Frame{}
	q.frames = q.frames[1:]
	q.bytes -= len(f.Raw)
	q.busy = true
	q.full = q.full && len(q.frames) > 0
	q.lastTake = time.Now()
	wait := q.lastTake.Sub(f.At)
	q.wait += wait
	q.waitMax = max(q.waitMax, wait)
	return f, true
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.cond.Signal()
}

func (q *queue) isFull() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.full
}

// stuck says how many frames and bytes wait, since when the oldest of them
// has (zero for none), and since when the dispatcher has held the frame it is
// busy with (zero when it is not).
func (q *queue) stuck() (frames, bytes int, oldest, busy time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.busy {
		busy = q.lastTake
	}
	if len(q.frames) > 0 {
		oldest = q.frames[0].At
	}
	return len(q.frames), q.bytes, oldest, busy
}

// event wakes all who wait for something that a frame, a byte or an end of
// the session may have brought about.
type event struct {
	mu sync.Mutex // guards ch
	ch chan struct{}
}

// wait returns a channel that the next broadcast closes.
func (e *event) wait() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch == nil {
		e.ch = make(chan struct{})
	}
	return e.ch
}

func (e *event) broadcast() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.ch != nil {
		close(e.ch)
		e.ch = nil
	}
}
