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
//
// A Host is one session. Restart ends it and begins the next one; Sessions
// does so by itself where the host had to end one.
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

// A Host is one session with one server. Its methods may be called by any
// goroutine. Close it.
type Host struct {
	cfg    Config
	peer   peer
	out    io.ReadCloser // the server's stdout
	errs   io.ReadCloser // the server's stderr, nil for none
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
	faulty  []Frame             // the first ones with a fault
	frames  []Frame             // received lines, in order
	kept    int                 // bytes of frames
	dropped int                 // frames no longer kept
	proto   string              // revision of requests that name none
	legacy  string              // revision of the last initialize, "" before it
	modern  bool                // a modern request was sent
	untold  bool                // something was sent whose id we could not read
	sent    splitter            // cuts what Send sent into lines
	greeted string              // revision that the handshake asked for, "" before there was one
	err     error               // why the session was ended by us
	exit    *Exit
	over    bool // no response will come any more

	closing atomic.Bool                 // shut was called
	killed  chan struct{}               // closed when shut is done
	again   func(Config) (*Host, error) // starts the server anew
	ending  chan struct{}               // closed when err is set
	left    chan struct{}               // closed when the server has ended, before what it left behind is dealt with
	exited  chan struct{}               // closed when nothing of it is left, and exit is set
	done    chan struct{}               // closed when, besides, all its frames are dispatched
}

// peer is the other end: a child process, or a goroutine of this one.
type peer interface {
	wait()                      // until it has ended; called once
	release(time.Duration) Exit // after wait: gives what it left behind as long to end, then ends it
	terminate()                 // asks it to end
	kill()                      // makes it end, with all its descendants
	pid() int                   // 0 for none
}

// start connects a host to a peer that is running.
func start(cfg Config, p peer, stdout io.ReadCloser, stdin io.WriteCloser, stderr io.ReadCloser, again func(Config) (*Host, error)) *Host {
	cfg = cfg.withDefaults()
	h := &Host{
		cfg: cfg, peer: p, out: stdout, errs: stderr,
		gate: newGate(stdout), queue: newQueue(cfg.Queue, cfg.QueueBytes),
		open: make(map[string]*Pending), tokens: make(map[string]*Pending),
		proto: cfg.Protocol, sent: splitter{limit: 32 << 20}, again: again,
		killed: make(chan struct{}), ending: make(chan struct{}), left: make(chan struct{}), exited: make(chan struct{}), done: make(chan struct{}),
	}
	h.stats.last.Store(time.Now().UnixNano())
	h.w = newWriter(stdin, cfg.Unsent, h.event.broadcast)
	h.stderr = newCapture(cfg.Stderr, h.event.broadcast)
	go h.supervise(stdout, stderr)
	return h
}

// supervise runs the reader and the dispatcher, and winds the session up when
// the server has ended.
func (h *Host) supervise(stdout, stderr io.ReadCloser) {
	var readers, ends sync.WaitGroup
	outputEnded := make(chan struct{})
	readers.Go(func() { h.read(stdout) })
	if stderr != nil && !h.cfg.StderrUnread {
		readers.Go(func() { io.Copy(h.stderr, stderr) })
	}
	ends.Go(func() { readers.Wait(); close(outputEnded) })
	ends.Go(func() {
		h.dispatch()
		if !closedWithin(h.exited, h.cfg.Grace) {
			h.finish() // it lives on, but nothing more can come
		}
	})

	h.peer.wait()
	at := time.Now()
	close(h.left)
	h.gate.open()
	held := !closedWithin(outputEnded, h.cfg.Grace)
	exit := h.peer.release(max(0, h.cfg.Grace-time.Since(at)))
	exit.At, exit.OutputHeld = at, held
	stdout.Close() // whatever still holds the other end is beyond our reach
	if stderr != nil {
		stderr.Close()
	}
	h.w.close(ErrEnded)
	h.mu.Lock()
	h.exit = &exit
	h.mu.Unlock()
	close(h.exited)
	h.event.broadcast()
	ends.Wait()
	h.w.wait()
	h.finish()
	close(h.done)
	h.event.broadcast()
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

// finish fails the requests that are still open, and those to come.
func (h *Host) finish() {
	h.mu.Lock()
	h.over = true
	var left []*Pending
	for _, p := range h.open {
		for ; p != nil; p = p.next {
			left = append(left, p)
			if !p.cancelled {
				h.stats.lost.Add(1)
			}
		}
	}
	clear(h.open)
	clear(h.tokens)
	for _, p := range left {
		p.settle(nil, h.endedLocked("before it answered "+p.Method))
	}
	h.mu.Unlock()
}

// endedLocked says why no answer will come; when tells at what point.
func (h *Host) endedLocked(when string) error {
	switch {
	case h.err != nil:
		return fmt.Errorf("%w %s: %w", ErrEnded, when, h.err)
	case h.exit == nil:
		return fmt.Errorf("%w: the server has closed its stdout %s", ErrEnded, when)
	case h.exit.Err != nil:
		return fmt.Errorf("%w: the server ended with %w %s", ErrEnded, h.exit.Err, when)
	case h.peer.pid() == 0:
		return fmt.Errorf("%w: Serve returned nil %s", ErrEnded, when)
	}
	return fmt.Errorf("%w: the server ended with exit status 0 %s", ErrEnded, when)
}

// lost returns err, the error of a send; or, when that is because the server
// has ended or is about to, how it ended.
func (h *Host) lost(ctx context.Context, err error, when string) error {
	if !errors.Is(err, ErrEnded) || errors.Is(err, errInputClosed) || h.cause() != nil {
		return err
	}
	t := time.NewTimer(h.cfg.Grace)
	defer t.Stop()
	select {
	case <-h.done:
		h.mu.Lock()
		defer h.mu.Unlock()
		return h.endedLocked(when)
	case <-ctx.Done():
	case <-t.C: // it lives on, and reads nothing
	}
	return err
}

// end ends the session because of err, in order. It does not wait. Nothing can
// be sent from then on; finish is to be called when no answer is to come any
// more.
func (h *Host) end(err error) {
	h.mu.Lock()
	first := h.err == nil
	if first {
		h.err = err
		close(h.ending)
	}
	h.mu.Unlock()
	if first {
		go h.shut()
	}
}

// cause is why the session was ended by us, nil when it was not.
func (h *Host) cause() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
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

// Vanish closes the host's ends of the server's stdin, stdout and stderr at
// once, as the death of a host does. What waits to be sent is lost.
func (h *Host) Vanish() {
	h.CloseOutput()
	if h.errs != nil {
		h.errs.Close()
	}
	h.w.close(ErrEnded)
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
	h.shut()
	ctx, cancel := context.WithTimeout(context.Background(), 2*h.cfg.Grace)
	defer cancel()
	select {
	case <-h.done:
	case <-ctx.Done():
		if h.Metrics().Exit == nil {
			return errNotEnded
		}
		return errors.New("host: the session did not end: " + h.Diagnose())
	}
	return h.Wait(context.Background())
}

var errNotEnded = errors.New("host: the server did not end although it was killed")

// shut makes the server end. It returns when that is so, or it was killed.
func (h *Host) shut() {
	if !h.closing.CompareAndSwap(false, true) {
		<-h.killed // not a sync.Once: a bubble of synctest sees no time pass for who waits for its mutex
		return
	}
	defer close(h.killed)
	h.gate.open()
	h.CloseInput()
	if closedWithin(h.left, h.cfg.Grace) {
		return
	}
	h.peer.terminate()
	if !closedWithin(h.left, h.cfg.Grace) {
		h.Kill()
	}
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
