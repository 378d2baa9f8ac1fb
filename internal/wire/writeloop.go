// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"io"
	"runtime"
	"sync"
	"time"
)

// WriterStats is what a [Writer] has done so far, and what waits now.
type WriterStats struct {
	Frames  int64 // written whole
	Bytes   int64 // taken by the stream
	Largest int64 // bytes of the largest frame written

	// Frames sent and not yet written, withdrawn or dropped, those of the
	// write under way among them, and the bytes of them that the stream has
	// not taken.
	WaitingFrames, WaitingBytes         int64
	PeakWaitingFrames, PeakWaitingBytes int64

	Blocked time.Duration // spent in writes, the one under way included

	// LastProgress is when the stream last took a byte, or when a frame last
	// came while none was waiting, whichever is later. While WaitingFrames is
	// not zero, the time since then is how long the host has stood still.
	LastProgress time.Time

	// Pause is how long the stream last stood still for Writer.Stall or more
	// while something waited; zero if it never did.
	Pause time.Duration

	Err error // what ended the writer; nil while it lives
}

// Stats returns the counters, all of one moment.
func (w *Writer) Stats() WriterStats {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.stats
	if !w.writing.IsZero() {
		s.Blocked += time.Since(w.writing)
	}
	return s
}

// countLocked adds to what waits.
func (w *Writer) countLocked(frames, bytes int) {
	s := &w.stats
	s.WaitingFrames += int64(frames)
	s.WaitingBytes += int64(bytes)
	s.PeakWaitingFrames = max(s.PeakWaitingFrames, s.WaitingFrames)
	s.PeakWaitingBytes = max(s.PeakWaitingBytes, s.WaitingBytes)
}

// run is the writer's goroutine.
func (w *Writer) run() {
	var picked []*Frame // for its memory
	for {
		var ok bool
		if picked, ok = w.pick(picked[:0]); !ok {
			return
		}
		if err := w.writePicked(picked); err != nil {
			w.end(err)
		}
		clear(picked)
	}
}

// pick waits for frames and takes those of one batch off the queue. It is false
// when the writer has ended.
func (w *Writer) pick(picked []*Frame) ([]*Frame, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.busy = false
	w.idleLocked()
	ready := time.Now()
	for w.head == nil && w.err == nil {
		w.asleep = true
		w.wake.Wait()
	}
	if w.err != nil {
		return nil, false
	}
	w.yieldLocked(ready)
	size := 0
	for f := w.head; f != nil && (size == 0 || size+f.size <= batchSize); f = w.head {
		w.unlinkLocked(f)
		f.state = framePicked
		size += f.size
		picked = append(picked, f)
	}
	w.busy = len(picked) > 0
	return picked, true
}

// When it pays to let others send first: little is waiting, and frames come so
// fast that a write for each would cost more than the frames do.
const (
	yieldBytes = 16 << 10
	yieldGap   = 200 * time.Microsecond // since the writer was ready for a frame
	yieldMost  = time.Millisecond       // that others may take; past it they are left to themselves
	yieldSkips = 512
)

// yieldLocked lets goroutines that are about to send a frame do so first, and
// share the write, where that pays. It gives up its turn once, and not at all
// for a while after others kept it for long, so that no frame waits for a busy
// handler.
func (w *Writer) yieldLocked(ready time.Time) {
	if w.skip > 0 {
		w.skip--
		return
	}
	began := time.Now()
	if w.stats.WaitingBytes >= yieldBytes || began.Sub(ready) > yieldGap {
		return
	}
	w.mu.Unlock()
	runtime.Gosched()
	took := time.Since(began)
	w.mu.Lock()
	if took > yieldMost {
		w.penalty = min(max(16, 2*w.penalty), yieldSkips)
		w.skip = w.penalty
	} else {
		w.penalty = 0
	}
}

// writePicked writes frames in as few writes as they fit, as a rule one.
func (w *Writer) writePicked(picked []*Frame) error {
	ready := picked[:0] // never ahead of the loop
	size := 0
	for i, f := range picked {
		if f.Source != nil && !f.Source.Begin(f) {
			w.drop(f)
			continue
		}
		if len(ready) > 0 && size+len(f.Data) > batchSize {
			if err := w.write(ready, size); err != nil {
				// Begin has been called for f, and not for those after it.
				for _, f := range picked[i:] {
					w.drop(f)
					f.done(err)
				}
				return err
			}
			ready, size = ready[:0], 0
		}
		ready = append(ready, f)
		size += len(f.Data)
	}
	if len(ready) == 0 {
		return nil
	}
	return w.write(ready, size)
}

// batches holds buffers of batchSize.
var batches = sync.Pool{New: func() any {
	b := make([]byte, 0, batchSize)
	return &b
}}

// write writes frames of size bytes together and calls their Done.
func (w *Writer) write(frames []*Frame, size int) error {
	data := frames[0].Data
	if len(frames) > 1 {
		batch := batches.Get().(*[]byte)
		defer batches.Put(batch)
		data = (*batch)[:0]
		for _, f := range frames {
			data = append(data, f.Data...)
		}
	}
	w.mu.Lock()
	for _, f := range frames {
		w.countLocked(0, len(f.Data)-f.size) // Begin may have set it
		f.size = len(f.Data)
	}
	w.writing = time.Now()
	w.mu.Unlock()

	n, err := w.writeAll(data)

	w.mu.Lock()
	w.writing = time.Time{}
	w.countLocked(-len(frames), n-size)
	whole, end := 0, 0 // frames that were taken whole, and where they end
	for _, f := range frames {
		f.state = frameIdle
		if end += f.size; end <= n {
			whole++
			w.stats.Largest = max(w.stats.Largest, int64(f.size))
		}
	}
	w.stats.Frames += int64(whole)
	w.mu.Unlock()

	for i, f := range frames {
		if i < whole {
			f.done(nil)
		} else {
			f.done(err)
		}
	}
	return err
}

// writeAll writes p in as many steps as the stream needs and returns how much
// was taken.
func (w *Writer) writeAll(p []byte) (taken int, err error) {
	for taken < len(p) && err == nil {
		rest := p[taken:]
		var n int
		if w.partial != nil {
			n, err = w.partial.WritePartial(rest)
			if n <= 0 && err == nil {
				err = io.ErrNoProgress
			}
		} else {
			rest = rest[:min(len(rest), batchSize)]
			n, err = w.dst.Write(rest)
			if n < len(rest) && err == nil {
				err = io.ErrShortWrite
			}
		}
		n = min(max(n, 0), len(rest))
		taken += n
		w.progress(n)
	}
	return taken, err
}

// progress records that a step of a write has ended and taken n bytes.
func (w *Writer) progress(n int) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stats.Blocked += now.Sub(w.writing)
	w.writing = now
	if n > 0 {
		w.stats.Bytes += int64(n)
		if pause := now.Sub(w.stats.LastProgress); pause >= max(w.Stall, time.Millisecond) {
			w.stats.Pause = pause
		}
		w.stats.LastProgress = now
		w.countLocked(0, -n)
	}
}

// drop lets go of a frame that was picked and is not written.
func (w *Writer) drop(f *Frame) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.countLocked(-1, -f.size)
	f.state = frameIdle
}

// done tells the frame's source.
func (f *Frame) done(err error) {
	if f.Source != nil {
		f.Source.Done(f, err)
	}
}
