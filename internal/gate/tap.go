// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	maxLine  = 64 << 20  // bytes of a line that are kept; of a longer one, only its ends
	headOf   = 4 << 10   // so much of each
	maxHeld  = 192 << 20 // bytes of lines that wait to be looked at, with lineCost of each; past it they are cut to their ends
	lineCost = 256       // of a line, whatever it holds
	maxEnds  = 16 << 20  // bytes past maxHeld for the ends of lines; past it the stream is given up
	endless  = 256 << 20 // bytes of a line, at least, past which it has no end
	maxRaw   = 512 << 20 // bytes of a session that are copied to Options.Raw
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
	raw     io.Writer // gets the stream as well; nil for none
	most    int64     // bytes of a line that are kept
	maxHeld int64     // bytes of lines that wait to be looked at
	endless int64     // bytes of a line that has no end
	maxRaw  int64     // bytes that raw gets

	mu      sync.Mutex // guards all below
	lines   []*line    // complete and not yet taken
	held    int64      // bytes of lines
	part    *line      // begun and not ended, nil for none
	total   int64
	deaf    bool          // what comes from now on is of no interest
	flood   string        // why the stream was given up, "" when it was not
	noEnd   bool          // because of a line without an end
	changed chan struct{} // closed and replaced by each write
	rawErr  error
}

func newTap(raw io.Writer) *tap {
	return &tap{raw: raw, most: maxLine, maxHeld: maxHeld, endless: endless, maxRaw: maxRaw, changed: make(chan struct{})}
}

func (t *tap) Write(p []byte) (int, error) {
	now := time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	n := len(p)
	if room := t.maxRaw - t.total; t.raw != nil && t.rawErr == nil && t.flood == "" && room > 0 {
		_, t.rawErr = t.raw.Write(p[:min(int64(n), room)])
	}
	if t.deaf {
		t.total += int64(n)
		return n, nil
	}
	from := t.total
	for len(p) > 0 {
		if t.part == nil {
			t.part = &line{at: t.total, first: now}
			t.held += lineCost
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
	switch {
	case t.part != nil && t.part.size > t.endless:
		t.noEnd = true
		t.giveUpLocked(fmt.Sprintf("a frame without end, %s so far", bytesOf(t.part.size)))
	case t.held > t.maxHeld+maxEnds:
		t.giveUpLocked(fmt.Sprintf("the server writes on and on: %s have come, and %s wait to be looked at",
			bytesOf(t.total), count(len(t.lines), "line")))
	}
	t.total = from + int64(n) // also of what was given up
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
	case l.size > t.most || t.held+int64(len(p)) > t.maxHeld && l.size > 2*headOf:
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
		t.held -= int64(len(l.data)) + lineCost
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
	if l != nil {
		t.held -= int64(len(l.data)) + lineCost
	}
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

// giveUpLocked ends the looking at a stream that has no end: what comes from
// now on is counted, and thrown away.
func (t *tap) giveUpLocked(why string) {
	if t.flood == "" {
		t.flood = why
	}
	t.deaf, t.part, t.lines, t.held = true, nil, nil, 0
}

// giveUp is giveUpLocked for who looks at the lines.
func (t *tap) giveUp(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.giveUpLocked(fmt.Sprintf(format, args...))
}

// givenUp is why the stream was given up, "" when it was not, and whether
// that was because of a line without an end.
func (t *tap) givenUp() (why string, noEnd bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flood, t.noEnd
}

// ignore makes what comes from now on of no interest: the gate itself is about
// to cut the stream.
func (t *tap) ignore() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.deaf, t.part = true, nil
}
