// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"sync"
	"unicode/utf8"
)

// The sizes of a [Preview] that has none set.
const (
	DefaultHead = 24 << 10
	DefaultTail = 8 << 10
)

// A Preview is an io.Writer that keeps the first and the last bytes of a stream
// and counts all of it, so that a producer can write on for as long as it likes
// (the drain of the design, invariant I7). Its memory is Head and Tail, however
// much passes. The zero Preview is ready to use.
//
// Its methods may be called from many goroutines at once. A Preview must not be
// copied after its first use.
type Preview struct {
	// Head and Tail are how many bytes are kept of each end. If both are zero
	// they mean DefaultHead and DefaultTail; otherwise zero or less means none.
	// They are not changed after the first Write.
	Head, Tail int

	mu    sync.Mutex // guards what is below
	head  []byte     // the first bytes, up to Head
	ring  []byte     // the last bytes after head, up to Tail; wraps at next
	next  int        // where the next byte goes in a full ring
	bytes int64      // of all that was written
	feeds int64      // line feeds in it
	open  bool       // the last byte written is not a line feed
}

// A Snapshot is what a [Preview] had kept and counted at one moment.
type Snapshot struct {
	// Head is everything when Truncated is false, else the start of the stream.
	// Tail is its end, or empty when Truncated is false. Both are valid UTF-8,
	// no longer than the sizes of the Preview (together, when nothing is
	// missing), and cut at the border of a rune, or of a line where one is
	// near.
	Head, Tail string

	Bytes   int64 // written so far
	Lines   int64 // begun so far: a last line without line feed counts
	Dropped int64 // of Bytes, those neither in Head nor in Tail

	Truncated bool // Dropped is not zero
	Invalid   bool // bytes in Head or Tail that were not UTF-8 became U+FFFD

	dropped int64 // line feeds among the dropped bytes
}

// sizes returns Head and Tail with the defaults applied.
func (p *Preview) sizes() (head, tail int) {
	if p.Head == 0 && p.Tail == 0 {
		return DefaultHead, DefaultTail
	}
	return max(p.Head, 0), max(p.Tail, 0)
}

// Write takes all of b; it never fails and never waits for a reader.
func (p *Preview) Write(b []byte) (int, error) {
	feeds := int64(bytes.Count(b, newline))
	n := len(b)

	p.mu.Lock()
	defer p.mu.Unlock()
	if n == 0 {
		return 0, nil
	}
	p.bytes += int64(n)
	p.feeds += feeds
	p.open = b[n-1] != '\n'

	head, tail := p.sizes()
	if room := head - len(p.head); room > 0 {
		k := min(room, len(b))
		p.head = append(p.head, b[:k]...)
		b = b[k:]
	}
	if len(b) > tail {
		b = b[len(b)-tail:]
	}
	if room := tail - len(p.ring); room > 0 {
		k := min(room, len(b))
		p.ring = append(p.ring, b[:k]...)
		b = b[k:]
	}
	for len(b) > 0 {
		k := copy(p.ring[p.next:], b)
		b = b[k:]
		p.next = (p.next + k) % tail
	}
	return n, nil
}

var newline = []byte{'\n'}

// Snapshot returns what is kept and counted at this moment. A character of
// which only the first bytes have been written counts as invalid.
func (p *Preview) Snapshot() Snapshot {
	p.mu.Lock()
	kept := make([]byte, 0, len(p.head)+len(p.ring))
	kept = append(kept, p.head...)
	kept = append(kept, p.ring[p.next:]...)
	kept = append(kept, p.ring[:p.next]...)
	border := len(p.head)
	feeds := p.feeds
	s := Snapshot{Bytes: p.bytes, Lines: p.feeds}
	if p.open {
		s.Lines++
	}
	maxHead, maxTail := p.sizes()
	p.mu.Unlock()

	head, tail := kept[:border], kept[border:]
	if s.Bytes == int64(len(kept)) { // nothing was dropped on the way
		all, n := validPrefix(kept, maxHead+maxTail)
		if n == len(kept) {
			s.Head, s.Invalid = all, !utf8.Valid(kept)
			return s
		}
		head, tail = kept, kept // so long in valid form that they cannot meet
	}
	head, tail = cutHead(head, maxHead), cutTail(tail, maxTail)

	s.Head, _ = validPrefix(head, maxHead)
	s.Tail, _ = validPrefix(tail, maxTail)
	s.Invalid = !utf8.Valid(head) || !utf8.Valid(tail)
	s.Truncated = true
	s.Dropped = s.Bytes - int64(len(head)) - int64(len(tail))
	s.dropped = feeds - int64(bytes.Count(head, newline)) - int64(bytes.Count(tail, newline))
	return s
}

// Text returns the head and the tail with a line between them that says how
// much is missing, or the head alone if nothing is.
func (s Snapshot) Text() string {
	if !s.Truncated {
		return s.Head
	}
	return s.Head + marker(s.Dropped, s.Bytes, s.dropped, "") + s.Tail
}

// validPrefix returns the valid form of the longest prefix of b that takes at
// most limit bytes as such, and the length of that prefix. Each byte that is
// not part of valid UTF-8 becomes U+FFFD.
func validPrefix(b []byte, limit int) (string, int) {
	if utf8.Valid(b) {
		n := runeStart(b, limit)
		return string(b[:n]), n
	}
	out := make([]byte, 0, min(limit, 3*len(b)))
	n := 0
	for n < len(b) {
		r, size := utf8.DecodeRune(b[n:])
		if len(out)+utf8.RuneLen(r) > limit {
			break
		}
		out = utf8.AppendRune(out, r)
		n += size
	}
	return string(out), n
}

// cutHead returns the part of b, the start of something longer, that is shown
// as the head of it.
func cutHead(b []byte, limit int) []byte {
	for n := len(b) - 1; n >= 0 && n > len(b)-utf8.UTFMax; n-- {
		if utf8.RuneStart(b[n]) {
			if !utf8.FullRune(b[n:]) {
				b = b[:n] // the rest of it is not here
			}
			break
		}
	}
	_, n := validPrefix(b, limit)
	return toLine(b[:n])
}

// cutTail returns the part of b, the end of something longer, that is shown as
// the tail of it.
func cutTail(b []byte, limit int) []byte {
	for n := 1; n < utf8.UTFMax && len(b) > 0 && !utf8.RuneStart(b[0]); n++ {
		b = b[1:] // its start is not here
	}
	n, used := len(b), 0
	for n > 0 {
		r, size := utf8.DecodeLastRune(b[:n])
		if used += utf8.RuneLen(r); used > limit {
			break
		}
		n -= size
	}
	return fromLine(b[n:])
}
