// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"strconv"
	"sync"
)

// ErrBinary is the error for a file that has a NUL byte in its first 8 KiB.
var ErrBinary = errors.New("binary file")

// sniff is how much of a file is looked at to tell whether it is binary.
const sniff = 8 << 10

// bufSize is the memory of one scan, and the longest line that is matched in
// memory; a longer one is streamed through the regular expression.
const bufSize = 256 << 10

// A Match is one line that matches.
type Match struct {
	// Line is the number of the matching line, from 1.
	Line int

	// EndLine is the number of the last line in Excerpt: Line itself, or the
	// last line of context after it.
	EndLine int

	// Column is where the first match in the line begins, in bytes from 1.
	Column int

	// Excerpt is the line without its end; one of more than Options.MaxLine bytes is
	// shortened around the match. With context, it is all its lines, each with
	// its number, as grep -n prints them: "12-before", "13:match", "14-after".
	// A line of context is part of the first match that reaches it.
	Excerpt string
}

var buffers = sync.Pool{New: func() any { return new([bufSize]byte) }}

// Scan yields the matches in r, from line from on (0 and 1 both mean the start);
// lines before it are only counted, but the context of the first match is what
// it would be without them. An error ends the scan: ErrBinary, the cause of ctx,
// which is looked at every 256 KiB, or that of a read.
func (p *Pattern) Scan(ctx context.Context, r io.ReaderAt, from int) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		buf := buffers.Get().(*[bufSize]byte)
		defer buffers.Put(buf)
		s := scanner{Pattern: p, ctx: ctx, r: r, buf: buf[:], find: newFinder(p), line: 1, from: from, yield: yield}
		if err := s.run(); err != nil && !s.stopped {
			yield(Match{}, err)
		}
	}
}

type scanner struct {
	*Pattern
	ctx context.Context
	r   io.ReaderAt

	buf    []byte
	lo, hi int   // the part of buf that is not done
	base   int64 // the offset in r of buf[0]
	eof    bool  // nothing follows buf[:hi]
	line   int   // the number of the line at lo

	find   finder
	before []span // the last lines, at most context of them, oldest first
	shown  int    // the last line that stands in an excerpt
	open   Match  // a match that waits for its context; Line 0 means none
	text   []byte // its excerpt so far
	piece  []byte // a line that is being cut

	from    int
	yield   func(Match, error) bool
	stopped bool // yield returned false
}

func (s *scanner) run() error {
	if err := s.fill(); err != nil {
		return err
	}
	if bytes.IndexByte(s.buf[:min(s.hi, sniff)], 0) >= 0 {
		return ErrBinary
	}
	if err := s.skip(s.from - 2*s.context); err != nil {
		return err
	}
	for !s.stopped {
		end := s.lo + bytes.LastIndexByte(s.buf[s.lo:s.hi], '\n') + 1
		switch {
		case end > s.lo:
			if err := s.lines(s.buf[s.lo:end]); err != nil {
				return err
			}
			s.lo = end
		case s.eof && s.lo == s.hi:
			return s.flush()
		case s.eof:
			if err := s.lines(s.buf[s.lo:s.hi]); err != nil {
				return err
			}
			s.lo = s.hi
		case s.lo == 0 && s.hi == len(s.buf):
			if err := s.long(); err != nil {
				return err
			}
		default:
			if err := s.fill(); err != nil {
				return err
			}
		}
	}
	return nil
}

// fill moves what is not done to the front of the buffer and reads after it.
func (s *scanner) fill() error {
	if s.ctx.Err() != nil {
		return context.Cause(s.ctx)
	}
	copy(s.buf, s.buf[s.lo:s.hi])
	s.base += int64(s.lo)
	s.hi -= s.lo
	s.lo = 0
	n, err := s.r.ReadAt(s.buf[s.hi:], s.base+int64(s.hi))
	s.hi += n
	if err == io.EOF {
		s.eof = true
		return nil
	}
	return err
}

// skip goes to the start of the given line by counting line ends only.
func (s *scanner) skip(line int) error {
	for s.line < line {
		w := s.buf[s.lo:s.hi]
		if n := bytes.Count(w, lf); s.line+n < line {
			s.line += n
			s.lo = s.hi
			if s.eof {
				return nil
			}
			if err := s.fill(); err != nil {
				return err
			}
			continue
		}
		for ; s.line < line; s.line++ {
			s.lo += bytes.IndexByte(s.buf[s.lo:s.hi], '\n') + 1
		}
	}
	return nil
}

var lf, cr = []byte{'\n'}, []byte{'\r'}

// lines looks at whole lines; only the last one of a file may lack its LF.
func (s *scanner) lines(b []byte) error {
	s.find.reset(b)
	off := s.base + int64(s.lo)
	for at := 0; at < len(b) && !s.stopped; {
		hit := at
		if len(s.needs) > 0 {
			hit = s.find.at(at)
			if s.open.Line == 0 { // no context is wanted: go straight to the hit
				start := at + bytes.LastIndexByte(b[at:hit], '\n') + 1
				if hit == len(b) {
					start = len(b)
				}
				s.pass(b[at:start], off+int64(at))
				if at = start; at == len(b) {
					break
				}
			}
		}
		end, next := len(b), len(b)
		if n := bytes.IndexByte(b[at:], '\n'); n >= 0 {
			end, next = at+n, at+n+1
			if end > at && b[end-1] == '\r' {
				end--
			}
		}
		here := span{off + int64(at), int64(end - at)}
		from, to := s.match(b[at:end], hit-at)
		if err := s.add(here, from, to); err != nil {
			return err
		}
		at = next
	}
	return nil
}

// match returns where in line the first match is, -1 when there is none.
// hit is where a need stands, perhaps after the end of the line.
func (s *scanner) match(line []byte, hit int) (from, to int64) {
	switch {
	case hit > len(line):
		return -1, -1
	case s.whole:
		if to := hit + len(s.needs[0].text); to <= len(line) {
			return int64(hit), int64(to)
		}
		return -1, -1
	}
	loc := s.re.FindIndex(line)
	if loc == nil {
		return -1, -1
	}
	return int64(loc[0]), int64(loc[1])
}

// pass counts lines that do not match and that no excerpt holds, at off.
func (s *scanner) pass(b []byte, off int64) {
	s.line += bytes.Count(b, lf)
	if s.context == 0 || len(b) == 0 {
		return
	}
	// Of many lines only the last few can become context.
	start := len(b)
	for n := 0; n < s.context && start > 0; n++ {
		start = bytes.LastIndexByte(b[:start-1], '\n') + 1
	}
	for start < len(b) {
		n := bytes.IndexByte(b[start:], '\n')
		if n < 0 {
			n = len(b) - start
		}
		text := bytes.TrimSuffix(b[start:start+n], cr)
		s.remember(span{off + int64(start), int64(len(text))})
		start += n + 1
	}
}

func (s *scanner) remember(line span) {
	if s.context == 0 {
		return
	}
	if len(s.before) == s.context {
		copy(s.before, s.before[1:])
		s.before = s.before[:len(s.before)-1]
	}
	s.before = append(s.before, line)
}

// add takes the current line, which matches from, to or, with from < 0, does not.
func (s *scanner) add(line span, from, to int64) (err error) {
	defer func() {
		s.remember(line)
		s.line++
	}()
	if from < 0 {
		if s.open.Line == 0 {
			return nil
		}
		s.shown, s.open.EndLine = s.line, s.line
		s.text = append(s.text, '\n')
		if err := s.numbered('-', s.line, line, 0, 0); err != nil {
			return err
		}
		if s.line-s.open.Line == s.context {
			return s.flush()
		}
		return nil
	}
	if err := s.flush(); err != nil || s.stopped {
		return err
	}
	for i, b := range s.before {
		if n := s.line - len(s.before) + i; n > s.shown {
			if err := s.numbered('-', n, b, 0, 0); err != nil {
				return err
			}
			s.text = append(s.text, '\n')
		}
	}
	s.shown = s.line
	s.open = Match{Line: s.line, EndLine: s.line, Column: int(from) + 1}
	if err := s.numbered(':', s.line, line, from, to); err != nil {
		return err
	}
	if s.context == 0 {
		return s.flush()
	}
	return nil
}

// numbered appends a line to the excerpt, with its number if there is context.
func (s *scanner) numbered(sep byte, n int, line span, from, to int64) error {
	if s.context > 0 {
		s.text = strconv.AppendInt(s.text, int64(n), 10)
		s.text = append(s.text, sep)
	}
	if start := line.off - s.base; start >= 0 && start+line.n <= int64(s.hi) && line.n <= s.maxLine {
		s.text = append(s.text, s.buf[start:start+line.n]...)
		return nil
	}
	var err error
	s.text, err = s.cut(s.text, line, from, to)
	return err
}

// flush yields the match that waits for its context, if there is one.
func (s *scanner) flush() error {
	m := s.open
	if m.Line == 0 {
		return nil
	}
	s.open = Match{}
	if m.Line >= s.from {
		m.Excerpt = string(s.text)
		s.stopped = !s.yield(m, nil)
	}
	s.text = s.text[:0]
	return nil
}
