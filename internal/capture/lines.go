// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import "bytes"

// MaxLine is how many bytes of a line a [Splitter] yields at most.
const MaxLine = BufferSize / 2

// A Splitter yields the lines of what is written to it.
type Splitter struct {
	// Yield gets each line without its line end (LF, or CR and LF), at most
	// MaxLine bytes of it, and how many are missing. It returns false to stop.
	Yield func(line []byte, dropped int64) bool

	// Exact has lines end in the byte Sep, and nothing else taken off. False
	// means LF, or CR and LF.
	Exact bool
	Sep   byte

	part    []byte // the first bytes of a line of which the end has not come
	dropped int64  // how many bytes of it came after part
	stopped bool   // Yield returned false
}

// Stopped reports whether Yield has returned false.
func (l *Splitter) Stopped() bool { return l.stopped }

// Take yields the lines that end in b.
func (l *Splitter) Take(b []byte) {
	sep := byte('\n')
	if l.Exact {
		sep = l.Sep
	}
	for !l.stopped {
		i := bytes.IndexByte(b, sep)
		if i < 0 {
			l.hold(b)
			return
		}
		line := b[:i]
		b = b[i+1:]
		if len(l.part) == 0 && i <= MaxLine {
			l.emit(line, 0)
			continue
		}
		l.hold(line)
		l.flush()
	}
}

// hold keeps b, which has no line end, as far as there is room for it.
func (l *Splitter) hold(b []byte) {
	n := min(len(b), MaxLine-len(l.part))
	l.part = append(l.part, b[:n]...)
	l.dropped += int64(len(b) - n)
}

func (l *Splitter) flush() {
	l.emit(l.part, l.dropped)
	l.part, l.dropped = l.part[:0], 0
}

// End yields a last line without line end.
func (l *Splitter) End() {
	if len(l.part) > 0 && !l.stopped {
		l.flush()
	}
}

func (l *Splitter) emit(line []byte, dropped int64) {
	if n := len(line); n > 0 && dropped == 0 && !l.Exact && line[n-1] == '\r' {
		line = line[:n-1]
	}
	l.stopped = !l.Yield(line, dropped)
}
