// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// A session is one Serve: one reader, one writer, and everything in flight
// between them.
type session struct {
	srv     *Server
	limits  Limits
	log     *serverLog
	values  context.Context // the values of Serve's context, without its end
	in      *wire.Reader
	out     *wire.Writer
	r       io.ReadCloser
	w       io.WriteCloser
	regular bool // stdin is a regular file: the reader waits for room

	// Only the reader touches these.

	revision    string // negotiated by the last initialize; "" before it
	client      tool.Client
	sawModern   bool     // a valid request of 2026-07-28 was seen
	current     envelope // the request that is being read; nothing keeps it
	badFrames   int      // logged so far; see badFrame
	discardedAt time.Time
	readAt      time.Time // when the bytes that the reader is at were read
	readBytes   int64     // how many had been read by then

	readDone chan error    // what ended the reader, nil for the end of input; buffered
	failed   chan struct{} // closed when stdout failed
	idleNow  chan struct{} // told, without waiting, that a call was settled or has returned

	mu          sync.Mutex // guards everything below; never held across anything that waits
	room        sync.Cond  // control memory or queue room came free; for regular
	calls       map[string]*call
	subs        map[string]*subscription // by id key; ids share one space with calls
	live        callList
	batches     map[*batch]struct{}
	sched       schedule
	held        int // of MaxResultMemory
	queueBytes  int // of MaxQueueBytes
	control     int // of ControlMemory
	ready       readyList
	waking      bool        // a worker is on its way to look at ready
	idle        []chan bool // workers that wait: true to look at ready, false to end
	over        bool        // workers end instead of waiting for a next call
	reads       *toolQueue  // of resources/read
	lists       *toolQueue  // of resources/list
	failure     error
	counts      counts
	legacyReady bool // notifications/initialized came: list_changed may be sent
	level       int  // logging/setLevel; see messages.go
	changed     changes

	alarm   *time.Timer
	alarmAt time.Time // zero when not set
	stall   stall
}

func newSession(srv *Server, ctx context.Context, r io.ReadCloser, w io.WriteCloser) *session {
	srv.init()
	se := &session{
		srv:      srv,
		limits:   srv.state.limits,
		log:      srv.state.log,
		values:   context.WithoutCancel(ctx),
		in:       wire.NewReader(r, srv.state.limits.MaxFrameIn),
		out:      wire.NewWriter(w),
		r:        r,
		w:        w,
		regular:  isRegular(r),
		readDone: make(chan error, 1),
		failed:   make(chan struct{}),
		idleNow:  make(chan struct{}, 1),
		calls:    make(map[string]*call),
		subs:     make(map[string]*subscription),
		batches:  make(map[*batch]struct{}),
		sched:    schedule{queues: make(map[string]*toolQueue)},
		level:    severityOff,
	}
	se.reads, se.lists = se.limits.resourceQueues()
	se.room.L = &se.mu
	se.out.Stall = se.limits.StallWarning
	return se
}

// isRegular tells whether r can never run dry and wait: a regular file.
func isRegular(r io.Reader) bool {
	switch f := r.(type) {
	case interface{ Regular() bool }:
		return f.Regular()
	case interface{ Stat() (fs.FileInfo, error) }:
		fi, err := f.Stat()
		return err == nil && fi.Mode().IsRegular()
	}
	return false
}

// read is the reader: the only goroutine that touches stdin. It never waits
// for a handler, for the writer or for the host (I3); only when stdin is a
// regular file does it wait for room.
func (se *session) read() {
	for {
		frame, err := se.in.Next()
		var long *wire.FrameTooLong
		switch {
		case err == nil:
			se.frame(frame)
		case errors.As(err, &long):
			se.badFrame("a frame over the limit was discarded", slog.Int64("bytes", long.Size), slog.Int("limit", long.Limit))
			se.refuse(nil, long.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: fmt.Sprintf("a message of %d bytes is over the limit of %d bytes; send less in one", long.Size, long.Limit)})
		case err == io.EOF:
			se.readDone <- nil
			return
		default:
			se.readDone <- err
			return
		}
	}
}

// now is the time at which the frame that is being dealt with was read; frames
// that came in one read share it. For the reader only.
func (se *session) now() time.Time {
	if n := se.in.Stats().Bytes; n != se.readBytes || se.readAt.IsZero() {
		se.readBytes, se.readAt = n, time.Now()
	}
	return se.readAt
}

// badFrame counts and logs a frame that could not be used. The log gets the
// first ones in full, then every power of two, so that a host that sends
// rubbish cannot fill it.
func (se *session) badFrame(msg string, attrs ...any) {
	se.mu.Lock()
	se.counts.badFrames++
	se.mu.Unlock()
	se.badFrames++
	if n := se.badFrames; n <= 8 || n&(n-1) == 0 {
		se.log.Warn(msg, append(attrs, slog.Int("bad_frames", n))...)
	}
}

// reply sends an answer that the reader made, charged to ControlMemory. data
// is a whole frame. b is the batch that the request came in, or nil.
func (se *session) reply(b *batch, data []byte) {
	se.mu.Lock()
	defer se.mu.Unlock()
	se.replyLocked(b, data)
}

// replyLocked tells whether the answer will go out.
func (se *session) replyLocked(b *batch, data []byte) bool {
	if b != nil && !se.controlFitsLocked(data) {
		b.flushLocked() // what is full may be this batch's own
	}
	se.awaitControlLocked(data)
	if !se.controlFitsLocked(data) {
		se.counts.discarded++
		// Once a stall, not once a request.
		if se.counts.discarded == 1 || time.Since(se.discardedAt) > time.Minute {
			se.discardedAt = time.Now()
			se.log.Warn("the host does not read: answers to its requests are discarded until it does",
				"control_memory", se.limits.ControlMemory, "discarded", se.counts.discarded)
		}
		if b != nil {
			b.memberGoneLocked()
		}
		return false
	}
	se.control += len(data) + controlOverhead
	if b != nil {
		b.addControlLocked(data)
		return true
	}
	f := &controlFrame{se: se, size: len(data) + controlOverhead}
	f.frame.Data, f.frame.Source = data, f
	se.sendLocked(&f.frame)
	return true
}

// controlOverhead is about what an answer takes besides its bytes.
const controlOverhead = 256

// controlFitsLocked tells whether there is room for an answer of the reader.
// One that is larger than the whole is let in alone.
func (se *session) controlFitsLocked(data []byte) bool {
	return se.control+len(data)+controlOverhead <= se.limits.ControlMemory || se.control == 0
}

// awaitControlLocked waits for room where stdin is a regular file.
func (se *session) awaitControlLocked(data []byte) {
	for se.regular && !se.controlFitsLocked(data) && !se.over {
		se.room.Wait()
		se.readAt = time.Now()
	}
}

// A controlFrame gives its bytes back to ControlMemory when the writer picks it:
// a host that has read it, and asks again at once, must find room.
type controlFrame struct {
	frame wire.Frame
	se    *session
	size  int
}

func (f *controlFrame) Begin(*wire.Frame) bool {
	f.se.mu.Lock()
	defer f.se.mu.Unlock()
	f.freeLocked()
	return true
}

func (f *controlFrame) freeLocked() {
	f.se.uncontrolLocked(f.size)
	f.size = 0
}

func (f *controlFrame) Done(_ *wire.Frame, err error) {
	se := f.se
	f.frame.Data = nil
	se.mu.Lock()
	se.stallOverLocked()
	f.freeLocked() // if it was never picked
	se.mu.Unlock()
	if err != nil {
		se.writeFailed(err)
	}
}

func (se *session) uncontrolLocked(size int) {
	se.control -= size
	se.room.Signal()
}

// unholdFrameLocked gives back the bytes of c's raw frame.
func (se *session) unholdFrameLocked(c *call) {
	se.queueBytes -= c.bytes
	c.bytes = 0
	se.room.Signal()
}

// sendLocked hands a frame to the writer and sees to it that a stall of
// stdout is noticed.
func (se *session) sendLocked(f *wire.Frame) {
	se.out.Send(f)
	if !se.stall.watched {
		se.stall.watched = true
		se.wakeAtLocked(time.Now().Add(se.limits.StallWarning))
	}
}

// refuse answers with an error. Without an id the last initialize decides
// whether the answer has "id":null or none: revisions up to 2025-06-18 demand
// it, later ones leave it out.
func (se *session) refuse(b *batch, id wire.ID, e *wire.Error) {
	null := false
	if id.Raw == "" {
		if se.revision != "" {
			null = se.revision <= rev2025June
		} else {
			null = !se.sawModern
		}
	}
	se.reply(b, wire.AppendError(nil, id, null, e))
}

// answerResult answers with a result that is JSON already.
func (se *session) answerResult(b *batch, id wire.ID, res []byte) {
	se.reply(b, wire.AppendResult(nil, id, res))
}

// writeFailed records that stdout is dead.
func (se *session) writeFailed(err error) {
	if errors.Is(err, errSessionOver) {
		return
	}
	se.mu.Lock()
	defer se.mu.Unlock()
	if se.failure == nil {
		se.failure = err
		close(se.failed)
	}
}

func (se *session) signalIdle() {
	select {
	case se.idleNow <- struct{}{}:
	default:
	}
}

// A buffer holds the bytes of one frame, and is used again for another of
// about the same size, so that small frames do not sit in large buffers while
// they wait.
type buffer struct{ b []byte }

var smallBuffers, largeBuffers, hugeBuffers = newBuffers(), newBuffers(), newBuffers()

func newBuffers() *sync.Pool { return &sync.Pool{New: func() any { return new(buffer) }} }

const (
	smallBuffer = 4 << 10
	largeBuffer = 128 << 10
	hugeBuffer  = 4 << 20 // larger ones are not used again
)

// buffers returns the pool for frames of about n bytes.
func buffers(n int) *sync.Pool {
	switch {
	case n <= smallBuffer:
		return smallBuffers
	case n <= largeBuffer:
		return largeBuffers
	}
	return hugeBuffers
}

// recycle lets go of the frame in f, whose buffer is p.
func recycle(f *wire.Frame, p *buffer) {
	b := f.Data
	f.Data = nil
	if p == nil || cap(b) > hugeBuffer {
		return
	}
	p.b = b[:0]
	buffers(cap(b)).Put(p)
}
