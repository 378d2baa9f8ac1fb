// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"io"
	"sync"
	"time"
)

const readSize = 64 << 10 // bytes of one read, the default capacity of a pipe on Linux

// Pace makes the host a slow reader, on purpose.
type Pace struct {
	// Chunk is how many bytes one read takes at most. Zero means 64 KiB.
	Chunk int
	// Every is how long the host pauses after each read. Zero means not at all.
	Every time.Duration
}

// gate is where the reader stops when it is told to.
type gate struct {
	r io.Reader

	mu      sync.Mutex // guards all below
	cond    sync.Cond  // of mu; any change below
	paused  bool
	allow   int64 // bytes that may be read although paused
	since   time.Time
	reading bool // the reader is between enter and leave
	pace    Pace
	stop    bool          // never wait again
	changed chan struct{} // closed and replaced when pace, paused or stop changes
}

func newGate(r io.Reader) *gate {
	g := &gate{r: r, changed: make(chan struct{})}
	g.cond.L = &g.mu
	return g
}

// deadliner is a stream whose pending read can be interrupted: pipes of
// package os (not on Windows) and of package net.
type deadliner interface{ SetReadDeadline(time.Time) error }

// interruptLocked ends a read in flight, and reports whether it could.
func (g *gate) interruptLocked() bool {
	d, ok := g.r.(deadliner)
	return ok && d.SetReadDeadline(time.Unix(1, 0)) == nil
}

func (g *gate) updateLocked() {
	close(g.changed)
	g.changed = make(chan struct{})
	g.cond.Broadcast()
}

func (g *gate) pause() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.paused {
		g.paused, g.since = true, time.Now()
	}
	g.allow = 0
	can := g.interruptLocked()
	g.updateLocked()
	for can && g.reading && g.paused && !g.stop {
		g.cond.Wait()
	}
}

func (g *gate) resume() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.paused = false
	g.updateLocked()
}

func (g *gate) setPace(p Pace) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pace = p
	g.updateLocked()
}

// open lets the reader run for good: it neither pauses nor waits again.
func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop = true
	g.updateLocked()
}

func (g *gate) pausedSince() (time.Time, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.since, g.paused && g.allow == 0
}

// enter waits until the reader may read, and says how many bytes at most.
func (g *gate) enter() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.paused && g.allow == 0 && !g.stop {
		g.cond.Wait()
	}
	n := readSize
	if !g.stop {
		if g.pace.Chunk > 0 {
			n = min(n, g.pace.Chunk)
		}
		if g.paused {
			n = int(min(int64(n), g.allow))
		}
	}
	if d, ok := g.r.(deadliner); ok {
		d.SetReadDeadline(time.Time{})
	}
	g.reading = true
	return n
}

// leave takes note of a read of n bytes, and waits as the pace says.
func (g *gate) leave(n int) {
	g.mu.Lock()
	g.reading = false
	if g.paused {
		g.allow = max(0, g.allow-int64(n))
	}
	g.cond.Broadcast()
	every, stop, changed := g.pace.Every, g.stop, g.changed
	g.mu.Unlock()
	if every <= 0 || stop || n == 0 {
		return
	}
	t := time.NewTimer(every)
	defer t.Stop()
	select {
	case <-t.C:
	case <-changed:
	}
}

// take lets a paused reader read n bytes more; remaining is how many of them
// are still to come.
func (g *gate) take(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.allow = n
	g.updateLocked()
}

func (g *gate) remaining() int64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.allow
}

// Pause stops reading the server's stdout. When it returns, no byte is taken
// any more until Resume or Take (on systems whose pipes know no deadlines,
// such as Windows, one read already waiting still takes what comes).
func (h *Host) Pause() { h.gate.pause() }

// Resume goes on reading after Pause.
func (h *Host) Resume() { h.gate.resume() }

// SetPace makes reading slow or intermittent from now on.
func (h *Host) SetPace(p Pace) { h.gate.setPace(p) }

// Take reads exactly n more bytes and leaves the host paused. It waits until
// they have come, the stream has ended, or ctx ends.
func (h *Host) Take(ctx context.Context, n int64) error {
	h.Pause()
	h.gate.take(n)
	return h.until(ctx, func() bool { return h.gate.remaining() == 0 })
}
