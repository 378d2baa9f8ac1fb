// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"io"
	"sync"
	"time"
)

const (
	maxLine = 64 << 20  // bytes of a line that are kept; of a longer one, only its ends
	headOf  = 4 << 10   // so much of each
	maxHeld = 512 << 20 // bytes of lines that wait to be looked at; past it they are cut to their start
)

// line is one line of the server's stdout, as it came.
type line struct {
	at    int64     // offset of its first byte in the stream
	size  int64     // bytes without the LF
	first time.Time // when its first byte was read
	last  time.Time // when its last byte was read
	data  []byte    // without the LF; the start only when cut
	end   []byte    // the last bytes, when cut
	cut   bool
	ended bool // by an LF; false for the last bytes of a stream
}

// tap sees every byte of the server's stdout before anything else does, and
// cuts the stream into lines. It never waits for whoever looks at them.
type tap struct {
	raw  io.Writer // gets the stream as well; nil for none
	most int64     // bytes of a line that are kept

	mu      sync.Mutex // guards all below
	lines   []*line    // complete and not yet taken
	held    int64      // bytes of lines
	part    *line      // begun and not ended, nil for none
	total   int64
	deaf    bool          // what comes from now on is of no interest
	changed chan struct{} // closed and replaced by each write
	rawErr  error
}

func newTap(raw io.Writer) *tap { return &tap{raw: raw, most: maxLine, changed: make(chan struct{})} }

func (t *tap) Write(p []byte) (int, error) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.raw != nil && t.rawErr == nil {
		_, t.rawErr = t.raw.Write(p)
	}
	n := len(p)
	if t.deaf {
		t.total += int64(n)
		return n, nil
	}
	for len(p) > 0 {
		if t.part == nil {
			t.part = &line{at: t.total, first: now}
		}
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			t.addLocked(p, now)
			break
		}
		t.addLocked(p[:i], now)
		t.part.ended, t.part.last = true, now
		t.total++
		t.lines = append(t.lines, t.part)
		t.part = nil
		p = p[i+1:]
	}
	close(t.changed)
	t.changed = make(chan struct{})
	return n, nil
}

func (t *tap) addLocked(p []byte, now time.Time) {
	l := t.part
	l.size += int64(len(p))
	l.last = now
	t.total += int64(len(p))
	switch {
	case l.cut:
		l.end = tail(append(l.end, tail(p, headOf)...), headOf)
	case l.size > t.most || t.held+int64(len(p)) > maxHeld:
		t.held -= int64(len(l.data))
		l.data = append(bytes.Clone(l.data[:min(len(l.data), headOf)]), p[:min(len(p), headOf)]...)
		l.data = l.data[:min(len(l.data), headOf)]
		l.cut, l.end = true, bytes.Clone(tail(p, headOf))
		t.held += int64(len(l.data))
	default:
		l.data = append(l.data, p...)
		t.held += int64(len(p))
	}
}

// take returns the lines that have come, each once.
func (t *tap) take() []*line {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := t.lines
	t.lines = nil
	for _, l := range lines {
		t.held -= int64(len(l.data))
	}
	return lines
}

// rest returns what came after the last LF, nil for nothing. Only when no
// more can come is it what it seems.
func (t *tap) rest() *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.part
	t.part = nil
	return l
}

// partial is when the line that has not ended began, and how much of it has come.
func (t *tap) partial() (first time.Time, size int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.part == nil {
		return time.Time{}, 0
	}
	return t.part.first, t.part.size
}

func (t *tap) received() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.total
}

// wait returns a channel that the next bytes close.
func (t *tap) wait() <-chan struct{} {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.changed
}

// ignore makes what comes from now on of no interest: the gate itself is about
// to cut the stream.
func (t *tap) ignore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deaf, t.part = true, nil
}
