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

// stage is what the reader is at.
type stage uint8

const (
	stageStarting stage = iota
	stageRead           // it waits for bytes
	stageHold           // it has bytes, and cuts and counts them
	stagePause          // it waits because of Pause
	stagePace           // it waits because of SetPace
	stageEnd            // stdout has ended
)

// gate is where the reader stops when it is told to.
type gate struct {
	r io.Reader

	mu      sync.Mutex // guards all below
	cond    sync.Cond  // of mu; any change below
	paused  bool
	allow   int64     // bytes that may be read although paused
	since   time.Time // of paused
	reading bool      // the reader is between enter and leave
	at      stage
	atSince time.Time
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
	return g.since, g.paused && g.allow == 0 && !g.stop
}

// stage says what the reader is at, and since when.
func (g *gate) stage() (stage, time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.at, g.atSince
}

func (g *gate) atLocked(s stage) { g.at, g.atSince = s, time.Now() }

// enter waits until the reader may read, and says how many bytes at most.
func (g *gate) enter() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.paused && g.allow == 0 && !g.stop {
		if g.at != stagePause {
			g.atLocked(stagePause)
		}
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
	g.atLocked(stageRead)
	return n
}

// end takes note that nothing more will be read.
func (g *gate) end() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.atLocked(stageEnd)
}

// took takes note that a read has returned.
func (g *gate) took() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.atLocked(stageHold)
}

// leave takes note of a read of n bytes, and waits as the pace says.
func (g *gate) leave(n int) {
	g.mu.Lock()
	g.reading = false
	if g.paused {
		g.allow = max(0, g.allow-int64(n))
	}
	g.cond.Broadcast()
	every, changed := g.pace.Every, g.changed
	wait := every > 0 && !g.stop && n > 0
	if wait {
		g.atLocked(stagePace)
	}
	g.mu.Unlock()
	if !wait {
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
