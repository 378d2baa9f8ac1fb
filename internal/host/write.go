// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	writeSize = 64 << 10 // bytes of one write at most
	maxAuto   = 1 << 20  // bytes, with autoCost of each, of automatic answers that wait; more are dropped
	autoCost  = 128
)

// outgoing is something to be written to the server's stdin.
type outgoing struct {
	data  []byte
	chunk int           // bytes of one write; 0 = writeSize
	every time.Duration // pause between writes
	close bool          // close stdin instead
	auto  bool          // a whole line of the host's own, which waits until none is begun
	begun bool          // guarded by writer.mu; it can no longer be withdrawn
}

// writer writes to the server's stdin, in order, on a goroutine of its own,
// so that a server that does not read holds nobody up.
type writer struct {
	w     io.WriteCloser
	limit int    // of waiting
	moved func() // called without the lock after each write
	stop  chan struct{}
	done  chan struct{} // closed when the goroutine has ended

	mu       sync.Mutex // guards all below
	cond     sync.Cond  // of mu; queue or err changed
	queue    []*outgoing
	waiting  int // bytes not yet taken by the pipe
	peak     int
	sent     int64 // bytes taken by the pipe
	progress time.Time
	err      error // nothing is written once it is set
	closed   bool  // stdin is closed, or a close waits
	begun    bool  // what was taken off the queue last has no line end
	autos    int   // bytes of automatic answers in queue, with autoCost of each
}

func newWriter(w io.WriteCloser, limit int, moved func()) *writer {
	wr := &writer{w: w, limit: limit, moved: moved, stop: make(chan struct{}), done: make(chan struct{})}
	wr.cond.L = &wr.mu
	go wr.run()
	return wr
}

// send queues o; it never waits.
func (w *writer) send(o *outgoing) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.err != nil:
		return w.err
	case w.closed:
		return errInputClosed
	case o.auto:
		if n := len(o.data) + autoCost; w.autos+n <= maxAuto {
			w.autos += n
			w.queue = append(w.queue, o)
			w.cond.Signal()
		}
		return nil
	case w.waiting > 0 && w.waiting+len(o.data) > w.limit:
		return ErrUnsent
	}
	if w.waiting == 0 {
		w.progress = time.Now()
	}
	w.queue = append(w.queue, o)
	w.waiting += len(o.data)
	w.peak = max(w.peak, w.waiting)
	w.closed = o.close
	w.cond.Signal()
	return nil
}

// withdraw takes o back, and reports whether none of it was written.
func (w *writer) withdraw(o *outgoing) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if o.begun {
		return false
	}
	for i, q := range w.queue {
		if q == o {
			w.queue = append(w.queue[:i:i], w.queue[i+1:]...)
			w.waiting -= len(o.data)
			return true
		}
	}
	return false
}

// close ends the writing at once: what waits is dropped.
func (w *writer) close(err error) {
	w.mu.Lock()
	first := w.err == nil
	if first {
		w.err = err
		w.cond.Signal()
	}
	w.mu.Unlock()
	if first {
		close(w.stop)
		w.w.Close() // also ends a write under way
	}
}

func (w *writer) wait() { <-w.done }

func (w *writer) run() {
	defer close(w.done)
	for {
		w.mu.Lock()
		next := w.nextLocked()
		for next < 0 && w.err == nil {
			w.cond.Wait()
			next = w.nextLocked()
		}
		if w.err != nil {
			w.queue, w.waiting = nil, 0
			w.mu.Unlock()
			return
		}
		o := w.takeLocked(next)
		w.mu.Unlock()
		err := w.write(o)
		if o.close {
			err = w.w.Close()
		}
		if err != nil {
			w.close(fmt.Errorf("%w: the server has closed its stdin: %w", ErrEnded, err))
		}
		w.moved()
	}
}

// nextLocked is the item of the queue to be written next, -1 for none: the
// first, but while a line is begun none that must not be written into it.
func (w *writer) nextLocked() int {
	return slices.IndexFunc(w.queue, func(o *outgoing) bool { return !o.auto || !w.begun })
}

func (w *writer) takeLocked(i int) *outgoing {
	o := w.queue[i]
	o.begun = true
	if i == 0 {
		w.queue[0] = nil
		w.queue = w.queue[1:]
	} else {
		w.queue = slices.Delete(w.queue, i, i+1)
	}
	switch {
	case o.close:
		w.queue = nil // answers that wait for the end of a line, which will not come
	case o.auto:
		w.autos -= len(o.data) + autoCost
		if w.waiting == 0 {
			w.progress = time.Now()
		}
		w.waiting += len(o.data)
	}
	if n := len(o.data); n > 0 {
		w.begun = o.data[n-1] != '\n'
	}
	return o
}

// write writes one item, slice by slice, so that slow is told from stuck.
func (w *writer) write(o *outgoing) error {
	size := o.chunk
	if size <= 0 {
		size = writeSize
	}
	for data := o.data; len(data) > 0; {
		n, err := w.w.Write(data[:min(size, len(data))])
		data = data[n:]
		w.mu.Lock()
		w.sent += int64(n)
		w.waiting -= n
		w.progress = time.Now()
		w.mu.Unlock()
		if err != nil {
			return err
		}
		w.moved()
		if o.every > 0 && len(data) > 0 {
			t := time.NewTimer(o.every)
			select {
			case <-t.C:
			case <-w.stop:
				t.Stop()
			}
		}
	}
	return nil
}

// stuck says how many bytes wait, and since when none was taken.
func (w *writer) stuck() (waiting int, since time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.waiting, w.progress
}
