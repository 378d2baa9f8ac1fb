// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"time"
)

// batchSize is the most that leaves in one write, unless a single frame is
// larger, and the most that a plain io.Writer is given at a time.
const batchSize = 64 << 10

// ErrClosed is the error of frames sent after Close(nil).
var ErrClosed = errors.New("wire: writer closed")

// Frame is one frame on its way out. It may be sent again after it was
// withdrawn, dropped by Begin, or handed to Done, but not copied.
type Frame struct {
	// Data is the whole frame: one JSON text in UTF-8 without a raw CR or LF,
	// and then one LF. It may be set as late as in Begin, and is not to be
	// touched from then until Done.
	Data []byte

	// Size is counted as waiting where Data is set as late as in Begin, and is
	// longer than Data. Zero means the length of Data.
	Size int

	// Source is told what becomes of the frame. Nil is not told.
	Source Source

	prev, next *Frame
	state      frameState // guarded by the Writer's mu
	size       int        // bytes counted as waiting
}

type frameState uint8

const (
	frameIdle frameState = iota
	frameWaiting
	framePicked
)

// Source is who a frame comes from. Its methods are called without any lock:
// Begin from the writer's goroutine, Done from that, from Close, or, after the
// end, from a goroutine of its own. They must return soon, since every other
// frame waits for them.
type Source interface {
	// Begin is called once, when f has been picked and its bytes are the next
	// to be written: from here on f cannot be withdrawn. It may set f.Data.
	// False drops f: it is not written, and Done is not called.
	Begin(f *Frame) bool

	// Done is called once when the frame is out of the writer's hands: with
	// nil when all its bytes were taken, with the write's error when they were
	// not, or, without a Begin before it, with the error that the writer ended
	// with while f was waiting.
	Done(f *Frame, err error)
}

// PartialWriter is a stream that tells how much it has taken of a long write
// while the rest waits. A [Writer] uses it where it is there.
type PartialWriter interface {
	// WritePartial waits until the stream takes at least one byte, and returns
	// how many it took, in one underlying write.
	WritePartial(p []byte) (n int, err error)
}

// Writer puts frames on a byte stream. Each frame leaves whole, in the order of
// Send, and nothing else is written: so a reader that cuts at LF, which is what
// the stdio transport of MCP asks of it, gets exactly what was sent
// (https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#stdio:
// messages "are delimited by newlines, and MUST NOT contain embedded newlines";
// and https://modelcontextprotocol.io/specification/2026-07-28/basic/transports/stdio).
// The text is UTF-8 without a byte order mark, as RFC 8259 section 8.1 demands
// between systems that are not part of a closed ecosystem.
//
// No method but Flush waits for the stream. One goroutine writes; it exists
// from the first Send to Close, and sleeps while nothing waits. Frames that are
// waiting when it comes for the next leave together in one write, up to 64 KiB,
// or one larger frame by itself. No frame waits for a later one.
//
// All methods may be called at any time by any goroutine; from a Source, all but
// Flush.
type Writer struct {
	// Stall is how long a pause of the stream has to be to be kept in the
	// counters. Set it before the first Send; zero means a millisecond.
	Stall time.Duration

	dst     io.Writer
	partial PartialWriter // dst, if it is one

	mu         sync.Mutex // guards all that follows
	wake       sync.Cond
	head, tail *Frame // waiting, in the order of Send
	busy       bool   // frames have been picked whose Done has not returned
	started    bool   // the goroutine exists
	asleep     bool   // it sleeps, since nothing waits
	err        error  // non-nil once closed or broken; nothing waits then
	stats      WriterStats
	writing    time.Time // when the write under way began; zero if there is none
	flushes    []*flush

	skip, penalty int // see yieldLocked
}

// flush is one waiting Flush.
type flush struct {
	done chan struct{} // closed once err is set
	err  error
}

// NewWriter returns a Writer to dst. Nothing else may write to dst. If dst is
// a [PartialWriter], that is used; otherwise its Write is given at most 64 KiB
// at a time, so that slow can be told from stuck.
func NewWriter(dst io.Writer) *Writer {
	w := &Writer{dst: dst}
	w.partial, _ = dst.(PartialWriter)
	w.wake.L = &w.mu
	return w
}

// Send puts f behind all frames that wait, and returns at once. A frame that is
// waiting already keeps its place, and one that is being written is not sent a
// second time: its Source can do that in Done. After the writer has ended, f's
// Done is called with its error, from a goroutine of its own.
func (w *Writer) Send(f *Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.state != frameIdle {
		return
	}
	if w.err != nil {
		go f.done(w.err)
		return
	}
	if w.stats.WaitingFrames == 0 {
		w.stats.LastProgress = time.Now()
	}
	f.state, f.size = frameWaiting, max(len(f.Data), f.Size)
	f.prev, f.next = w.tail, nil
	if w.tail != nil {
		w.tail.next = f
	} else {
		w.head = f
	}
	w.tail = f
	w.countLocked(1, f.size)
	switch {
	case w.asleep:
		w.asleep = false
		w.wake.Signal()
	case !w.started:
		w.started = true
		go w.run()
	}
}

// Withdraw takes f back if it is still waiting. Then it returns true, the
// writer has let go of f, and neither Begin nor Done will be called for it.
func (w *Writer) Withdraw(f *Frame) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if f.state != frameWaiting {
		return false
	}
	w.unlinkLocked(f)
	f.state = frameIdle
	w.countLocked(-1, -f.size)
	w.idleLocked()
	return true
}

// Flush waits until every frame has left, and returns nil; or until the writer
// ends, and returns its error; or until ctx does, and returns its cause.
func (w *Writer) Flush(ctx context.Context) error {
	f := &flush{done: make(chan struct{})}
	w.mu.Lock()
	w.flushes = append(w.flushes, f)
	w.idleLocked()
	w.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
		w.mu.Lock()
		w.flushes = slices.DeleteFunc(w.flushes, func(g *flush) bool { return g == f })
		w.mu.Unlock()
		return context.Cause(ctx)
	}
}

// Close ends the writer. For every frame that waits, Done(err) has been called
// when Close returns; nil stands for [ErrClosed]. A write under way goes on, as
// only closing its stream can end it, and is reported to its frames' sources.
// After the first, or after a failed write, Close does nothing.
func (w *Writer) Close(err error) {
	if err == nil {
		err = ErrClosed
	}
	w.end(err)
}

// end ends the writer with err, if nothing has before.
func (w *Writer) end(err error) {
	w.mu.Lock()
	if w.err != nil {
		w.mu.Unlock()
		return
	}
	w.err, w.stats.Err = err, err
	first := w.head
	w.head, w.tail = nil, nil
	for f := first; f != nil; f = f.next {
		w.countLocked(-1, -f.size)
		f.state = framePicked // until Done, neither withdrawn nor sent again
	}
	w.idleLocked()
	w.wake.Signal()
	w.mu.Unlock()
	for f := first; f != nil; {
		next := f.next
		f.prev, f.next = nil, nil
		w.mu.Lock()
		f.state = frameIdle
		w.mu.Unlock()
		f.done(err)
		f = next
	}
}

// unlinkLocked takes f out of the queue.
func (w *Writer) unlinkLocked(f *Frame) {
	if f.prev != nil {
		f.prev.next = f.next
	} else {
		w.head = f.next
	}
	if f.next != nil {
		f.next.prev = f.prev
	} else {
		w.tail = f.prev
	}
	f.prev, f.next = nil, nil
}

// idleLocked wakes the flushes if nothing is left to wait for.
func (w *Writer) idleLocked() {
	if w.err == nil && (w.head != nil || w.busy) {
		return
	}
	for _, f := range w.flushes {
		f.err = w.err
		close(f.done)
	}
	w.flushes = nil
}
