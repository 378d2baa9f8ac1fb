// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package host is the host's side of MCP over stdio: it starts a tool server,
// owns its pipes, and talks to it in either era.
//
// Its reader runs for the life of the server and never waits for whoever uses
// what was read: bytes are counted, cut into lines, and queued for a bounded
// dispatcher; a line over the limit is discarded as it arrives. Nothing of
// the server's own frame code is used here, so that a fault there cannot hide
// itself. On purpose, a test can make this host a bad one: Pause, Pace and
// Take decide what is read and when, and Send writes any bytes.
package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"
)

// Defaults of the zero fields of a Config.
const (
	DefaultLimit      = 64 << 20
	DefaultQueue      = 4096
	DefaultQueueBytes = 256 << 20
	DefaultKeep       = 64 << 20
	DefaultUnsent     = 256 << 20
	DefaultStall      = time.Second
	DefaultGrace      = 3 * time.Second
)

// Overload says what happens when frames arrive faster than their consumers
// take them and the queue is full. The reader goes on reading in any case.
type Overload uint8

const (
	// OverloadRefuse drops frames that do not fit and fails the requests that
	// they answered with ErrOverload; new requests fail likewise until the
	// queue has been empty.
	OverloadRefuse Overload = iota
	// OverloadCancel does the same, and cancels every open request.
	OverloadCancel
	// OverloadEnd ends the session.
	OverloadEnd
)

// Errors of requests. A *Error is the server's own answer.
var (
	ErrOverload  = errors.New("host: more frames arrived than were consumed")
	ErrCancelled = errors.New("host: request cancelled")
	ErrUnsent    = errors.New("host: the server does not read its stdin")
	ErrEnded     = errors.New("host: the session has ended")
)

// OversizeError reports a frame over the limit.
type OversizeError struct {
	Size  int64 // bytes, without the line end
	Limit int
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("host: a frame of %d bytes is over the limit of %d", e.Size, e.Limit)
}

// Config is how a Host behaves. The zero value is ready to use; a Config must
// not be changed while a host uses it.
type Config struct {
	// Protocol is the revision that Open, and requests that name none, use.
	// Empty means 2025-11-25.
	Protocol string
	// Name and Version introduce the host. Empty means "weir" and "0".
	Name, Version string

	// Limit bounds one frame in bytes, without its line end. A longer one is
	// discarded as it arrives, to its LF. Zero means DefaultLimit.
	Limit int
	// EndOnOversize ends the session at a frame over the limit, with an
	// *OversizeError, instead of going on after its LF.
	EndOnOversize bool

	// Queue and QueueBytes bound the frames that wait for the dispatcher;
	// Overload is what happens past them. Zero means DefaultQueue,
	// DefaultQueueBytes and OverloadRefuse.
	Queue, QueueBytes int
	Overload          Overload

	// Keep bounds, in bytes, the frames kept for Frames; the oldest go first.
	// Zero means DefaultKeep.
	Keep int
	// Unsent bounds the bytes that wait for the server to read its stdin.
	// Zero means DefaultUnsent.
	Unsent int

	// Stall is how long nothing may move before Diagnose calls it stuck.
	// Zero means DefaultStall.
	Stall time.Duration
	// Grace is how long Close waits for the server to end by itself, then
	// again after a request to end, before it is killed. Zero means
	// DefaultGrace.
	Grace time.Duration

	// Raw gets the server's stdout byte for byte, before anything looks at
	// it. It is called by the reader and must not block. Nil means none.
	Raw io.Writer
	// Stderr gets the server's stderr as it comes. Nil means that it is only
	// kept, see Host.Stderr.
	Stderr io.Writer
	// StderrUnread leaves the server's stderr unread, on purpose.
	StderrUnread bool

	// OnFrame is called by the dispatcher with every frame, in order, before
	// what waits for the frame hears of it. Nil means nothing.
	OnFrame func(Frame)
}

func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&c.Limit, DefaultLimit)
	def(&c.Queue, DefaultQueue)
	def(&c.QueueBytes, DefaultQueueBytes)
	def(&c.Keep, DefaultKeep)
	def(&c.Unsent, DefaultUnsent)
	if c.Protocol == "" {
		c.Protocol = LatestLegacy
	}
	if c.Name == "" {
		c.Name = "weir"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	if c.Stall <= 0 {
		c.Stall = DefaultStall
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	return c
}

// A Host is one session with one server. Its methods may be called by any
// goroutine. Close it.
type Host struct {
	cfg    Config
	peer   peer
	out    io.ReadCloser // the server's stdout
	gate   *gate
	queue  *queue
	w      *writer // the server's stdin
	stats  stats
	event  event
	stderr *capture
	seq    int // of the next line; the reader's own
	ids    atomic.Int64

	mu      sync.Mutex // guards all below
	open    map[string]*Pending
	tokens  map[string]*Pending // by progress token
	gone    []string            // keys of cancelled entries of open, oldest first
	frames  []Frame             // received lines, in order
	kept    int                 // bytes of frames
	dropped int                 // frames no longer kept
	proto   string              // revision of requests that name none
	legacy  string              // revision of the last initialize, "" before it
	modern  bool                // a modern request was sent
	untold  bool                // something was sent whose id we could not read
	sent    splitter            // cuts what Send sent into lines
	err     error               // why the session was ended by us
	exit    *Exit
	over    bool // no response will come any more

	closing sync.Once
	done    chan struct{} // closed when the server has ended and all its frames are dispatched
}

// peer is the other end: a child process, or a goroutine of this one.
type peer interface {
	wait()         // until it has ended; called once
	release() Exit // after wait: ends what it left behind, and lets go of it
	terminate()    // asks it to end
	kill()         // makes it end, with all its descendants
	pid() int      // 0 for none
}

// start connects a host to a peer that is running.
func start(cfg Config, p peer, stdout io.ReadCloser, stdin io.WriteCloser, stderr io.ReadCloser) *Host {
	cfg = cfg.withDefaults()
	h := &Host{
		cfg: cfg, peer: p, out: stdout,
		gate: newGate(stdout), queue: newQueue(cfg.Queue, cfg.QueueBytes),
		open: make(map[string]*Pending), tokens: make(map[string]*Pending),
		proto: cfg.Protocol, sent: splitter{limit: 32 << 20},
		done: make(chan struct{}),
	}
	h.stats.last.Store(time.Now().UnixNano())
	h.w = newWriter(stdin, cfg.Unsent, h.event.broadcast)
	h.stderr = newCapture(cfg.Stderr, h.event.broadcast)
	var readers, ends sync.WaitGroup
	outputEnded := make(chan struct{})
	readers.Go(func() { h.read(stdout) })
	if stderr != nil && !cfg.StderrUnread {
		readers.Go(func() { io.Copy(h.stderr, stderr) })
	}
	ends.Go(func() { readers.Wait(); close(outputEnded) })
	ends.Go(h.dispatch)
	go func() {
		p.wait()
		at := time.Now()
		h.gate.open()
		held := !closedWithin(outputEnded, cfg.Grace)
		exit := p.release()
		exit.At, exit.OutputHeld = at, held
		stdout.Close() // whatever still holds the other end is beyond our reach
		if stderr != nil {
			stderr.Close()
		}
		h.w.close(ErrEnded)
		h.setExit(exit)
		h.event.broadcast()
		ends.Wait()
		h.w.wait()
		h.finish()
		close(h.done)
		h.event.broadcast()
	}()
	return h
}

func closedWithin(c <-chan struct{}, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	}
}

func (h *Host) setExit(e Exit) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.exit = &e
}

// finish fails the requests that are still open.
func (h *Host) finish() {
	h.mu.Lock()
	h.over = true
	err := h.endedLocked()
	var left []*Pending
	for _, p := range h.open {
		for ; p != nil; p = p.next {
			left = append(left, p)
		}
	}
	clear(h.open)
	clear(h.tokens)
	h.mu.Unlock()
	for _, p := range left {
		p.settle(nil, err)
	}
}

// endedLocked says why no answer will come.
func (h *Host) endedLocked() error {
	switch {
	case h.err != nil:
		return fmt.Errorf("%w: %w", ErrEnded, h.err)
	case h.exit != nil && h.exit.Err != nil:
		return fmt.Errorf("%w: the server ended with %w", ErrEnded, h.exit.Err)
	}
	return ErrEnded
}

// end ends the session because of err. It does not wait.
func (h *Host) end(err error) {
	h.mu.Lock()
	if h.err == nil {
		h.err = err
	}
	h.mu.Unlock()
	go h.Kill()
}

// Done is closed when the server has ended and every frame it wrote has been
// dispatched.
func (h *Host) Done() <-chan struct{} { return h.done }

// Wait waits until Done, or until ctx ends, and returns the server's error:
// nil when it ended well, an *exec.ExitError, or what Serve returned.
func (h *Host) Wait(ctx context.Context) error {
	select {
	case <-h.done:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return h.err
	}
	return h.exit.Err
}

// CloseInput closes the server's stdin once all that was sent before is
// written. This is how a host asks a server to end.
func (h *Host) CloseInput() { h.w.send(&outgoing{close: true}) }

// CloseOutput closes the host's end of the server's stdout, as the death of a
// host would: the server's next write fails.
func (h *Host) CloseOutput() {
	h.gate.open()
	h.out.Close()
}

// Kill ends the server and everything in its process group at once. It does
// not wait; Wait does.
func (h *Host) Kill() {
	h.gate.open()
	h.peer.kill()
	h.w.close(ErrEnded)
}

// Close ends the session as the specification's shutdown says: it closes
// stdin, waits for Config.Grace, asks the server to end, waits again, and
// kills it. It returns when nothing of the server is left, with Wait's error;
// or, when even that did not help (a Serve in this process that does not
// return), with an error after one more Grace. Reading goes on at full speed
// meanwhile, also on a host that was paused.
func (h *Host) Close() error {
	h.closing.Do(func() {
		h.gate.open()
		h.CloseInput()
		if !closedWithin(h.done, h.cfg.Grace) {
			h.peer.terminate()
			if !closedWithin(h.done, h.cfg.Grace) {
				h.Kill()
			}
		}
	})
	ctx, cancel := context.WithTimeout(context.Background(), 2*h.cfg.Grace)
	defer cancel()
	err := h.Wait(ctx)
	if err != nil && ctx.Err() != nil && err == context.Cause(ctx) {
		return errors.New("host: the server did not end although it was killed")
	}
	return err
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

// until waits until cond, which must be cheap, or the end of the session or
// of ctx.
func (h *Host) until(ctx context.Context, cond func() bool) error {
	for {
		wake := h.event.wait()
		if cond() {
			return nil
		}
		select {
		case <-wake:
		case <-h.done:
			if cond() {
				return nil
			}
			return ErrEnded
		case <-ctx.Done():
			return fmt.Errorf("%w (%s)", context.Cause(ctx), h.Diagnose())
		}
	}
}
