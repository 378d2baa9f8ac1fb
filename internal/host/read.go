// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"time"
)

const readSize = 64 << 10 // bytes of one read, the default capacity of a pipe on Linux

// oversizeKeep is how much of an oversize frame is kept to show.
const oversizeKeep = 1 << 10

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

// splitter cuts a stream into lines by its LF bytes. It holds one line, of at
// most limit bytes, whatever the stream is cut into.
type splitter struct {
	limit int
	line  []byte
	size  int64 // bytes of the line so far, more than len(line) once oversize
	over  bool
}

// feed hands each line that p completes to emit, without its line end but
// with the CR of a CR LF.
func (s *splitter) feed(p []byte, emit func(line []byte, size int64, over bool)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			return
		}
		s.add(p[:i])
		s.flush(emit)
		p = p[i+1:]
	}
}

func (s *splitter) flush(emit func(line []byte, size int64, over bool)) {
	line, size, over := s.line, s.size, s.over
	s.line, s.size, s.over = nil, 0, false
	emit(line, size, over)
}

func (s *splitter) add(p []byte) {
	s.size += int64(len(p))
	if s.over || len(p) == 0 {
		return
	}
	// One byte more than the limit may be the CR of a CR LF.
	if s.size > int64(s.limit)+1 || s.size == int64(s.limit)+1 && p[len(p)-1] != '\r' {
		kept := append(s.line, p[:min(len(p), oversizeKeep)]...)
		s.line, s.over = bytes.Clone(kept[:min(len(kept), oversizeKeep)]), true
		return
	}
	s.line = append(s.line, p...)
}

// read is the reader: for the life of the server it takes what stdout gives,
// counts it, and hands complete lines to the queue. It parses nothing and
// waits for nobody but the gate.
func (h *Host) read(r io.Reader) {
	defer h.queue.close()
	s := splitter{limit: h.cfg.Limit}
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf[:h.gate.enter()])
		if n > 0 {
			h.stats.received(n)
			if h.cfg.Raw != nil {
				h.cfg.Raw.Write(buf[:n])
			}
			s.feed(buf[:n], func(line []byte, size int64, over bool) { h.line(line, size, over, true) })
			h.stats.partial.Store(s.size)
		}
		h.gate.leave(n)
		h.event.broadcast()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if s.size > 0 {
		s.flush(func(line []byte, size int64, over bool) { h.line(line, size, over, false) })
		h.stats.partial.Store(0)
	}
}

// line makes a frame of one line and queues it.
func (h *Host) line(line []byte, size int64, over, ended bool) {
	f := Frame{Seq: h.seq, At: time.Now(), Size: size}
	h.seq++
	if !ended {
		f.Faults |= FaultUnended
	}
	switch {
	case over:
		f.Kind = Oversize
		f.Faults |= FaultOversize
	case ended && bytes.HasSuffix(line, []byte("\r")):
		line = line[:len(line)-1]
		f.Size--
		f.Faults |= FaultCRLF
	}
	if f.Size > int64(h.cfg.Limit) && f.Kind != Oversize { // limit+1 bytes, the last a CR, at the end of the stream
		f.Kind = Oversize
		f.Faults |= FaultOversize
	}
	f.Raw = line
	h.stats.frame(f.Size, over)
	if over && h.cfg.EndOnOversize {
		h.end(&OversizeError{Size: size, Limit: h.cfg.Limit})
	}
	if !h.queue.push(f) {
		h.overloaded(f)
	}
}
