// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"sync/atomic"
	"time"
)

// Exit is how a server ended.
type Exit struct {
	// Err is nil for a good end, an *exec.ExitError for a process that ended
	// otherwise, or what Serve returned.
	Err error
	// Code is the exit status of a process; -1 when a signal ended it, or for
	// a server in this process that returned an error.
	Code int
	// At is when the end was seen.
	At time.Time
	// OutputHeld says that somebody held stdout or stderr open past the end,
	// and past Config.Grace.
	OutputHeld bool
	// Survivors are the processes of the server's group, and with Config.Track
	// all that it has started, that were still there when it had ended and
	// Config.Grace had passed, and were killed then. They are known on Linux
	// only.
	Survivors []int
}

// Metrics are a host's counters. All sizes are in bytes.
type Metrics struct {
	Received int64 // bytes of stdout, counted before anything else
	Lines    int64 // complete lines, of any kind
	Largest  int64 // the longest complete frame
	Partial  int64 // what has come of a frame that has not ended

	Stray    int64 // lines that are no JSON-RPC message: parse failures and other output; see Faulty
	Oversize int64 // frames over the limit
	Faulty   int64 // lines with any fault, these two included
	Unasked  int64 // responses and progress that belong to no open request
	Late     int64 // responses to requests that had been cancelled

	Requests int64 // sent
	Cancels  int64 // sent
	Open     int   // requests without a response, the cancelled ones left out
	Lost     int64 // requests that were open when the session ended
	Restarts int   // sessions that Restart has ended before this one

	Dispatched    int64         // frames taken by the dispatcher
	Queued        int           // frames that wait for it now
	QueuedBytes   int           //
	PeakQueued    int           // the most that ever waited
	PeakBytes     int           //
	QueueWait     time.Duration // time frames waited, in sum
	LongestWait   time.Duration // of one frame
	Refused       int64         // frames that found the queue full
	Sent          int64         // bytes that stdin has taken
	Unsent        int           // bytes that wait for it now
	PeakUnsent    int           // the most that ever waited
	UnsentSince   time.Time     // when stdin last took a byte, or the first of those that wait came
	Exit          *Exit         // nil while the server lives
	LastReceived  time.Time     // when bytes came last; the start when none came
	FramesDropped int           // no longer kept for Frames
}

// stats are the counters that are no one else's.
type stats struct {
	bytes, lines, largest, partial          atomic.Int64
	partialOver                             atomic.Bool // partial is over the limit already
	lost, restarts                          atomic.Int64
	last                                    atomic.Int64 // Unix nanoseconds of the last byte
	stray, oversize, faulty, unasked, late  atomic.Int64
	requests, cancels, dispatchedN, refused atomic.Int64
}

func (s *stats) received(n int) {
	s.bytes.Add(int64(n))
	s.last.Store(time.Now().UnixNano())
}

func (s *stats) frame(size int64, over bool) {
	s.lines.Add(1)
	if !over && size > s.largest.Load() { // one writer
		s.largest.Store(size)
	}
}

// judged counts what was found in a frame.
func (s *stats) judged(f *Frame) {
	count := func(n *atomic.Int64, when bool) {
		if when {
			n.Add(1)
		}
	}
	count(&s.stray, f.Kind == Stray)
	count(&s.oversize, f.Kind == Oversize)
	count(&s.faulty, f.Faults != 0)
	count(&s.unasked, f.Faults&FaultUnasked != 0)
	count(&s.late, f.Late && f.Kind != Notification)
}

// Metrics returns the counters as they are now.
func (h *Host) Metrics() Metrics {
	s := &h.stats
	m := Metrics{
		Received: s.bytes.Load(), Lines: s.lines.Load(), Largest: s.largest.Load(), Partial: s.partial.Load(),
		Stray: s.stray.Load(), Oversize: s.oversize.Load(), Faulty: s.faulty.Load(),
		Unasked: s.unasked.Load(), Late: s.late.Load(),
		Requests: s.requests.Load(), Cancels: s.cancels.Load(),
		Lost: s.lost.Load(), Restarts: int(s.restarts.Load()),
		Dispatched: s.dispatchedN.Load(), Refused: s.refused.Load(),
		LastReceived: time.Unix(0, s.last.Load()),
	}
	h.queue.mu.Lock()
	m.Queued, m.QueuedBytes = len(h.queue.frames), h.queue.bytes
	m.PeakQueued, m.PeakBytes = h.queue.peak, h.queue.peakB
	m.QueueWait, m.LongestWait = h.queue.wait, h.queue.waitMax
	h.queue.mu.Unlock()
	h.w.mu.Lock()
	m.Sent, m.Unsent, m.PeakUnsent, m.UnsentSince = h.w.sent, h.w.waiting, h.w.peak, h.w.progress
	h.w.mu.Unlock()
	h.mu.Lock()
	defer h.mu.Unlock()
	m.Open, _ = h.oldestLocked()
	m.Exit, m.FramesDropped = h.exit, h.dropped
	return m
}

// oldestLocked counts the requests that wait for a response, and finds the
// one that has waited longest.
func (h *Host) oldestLocked() (n int, oldest *Pending) {
	for _, p := range h.open {
		for ; p != nil; p = p.next {
			if p.cancelled {
				continue
			}
			n++
			if oldest == nil || p.Sent.Before(oldest.Sent) {
				oldest = p
			}
		}
	}
	return n, oldest
}

func (e *Exit) String() string {
	s := "well"
	if e.Err != nil {
		s = e.Err.Error()
	}
	if e.OutputHeld {
		s += ", but something still holds its output open"
	}
	return s
}
