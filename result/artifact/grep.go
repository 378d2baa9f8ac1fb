// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"regexp"
	"unicode/utf8"
)

// nextMatch returns the next line that matches, of a long one the part around
// its first match, and goes past the line. The error after the last line is
// io.EOF. What begins inside a line counts as a line.
func (l *lineReader) nextMatch(r *Reader, re *regexp.Regexp) (line, error) {
	for {
		if err := l.look(); err != nil {
			return line{}, err
		}
		begin := l.at
		b, err := l.src.ReadSlice('\n')
		if len(b) == 0 {
			return line{}, ended(err)
		}
		if err == bufio.ErrBufferFull {
			found, ok, err := l.longMatch(r, re, int64(len(b)), b[len(b)-1])
			if err != nil {
				return line{}, err
			}
			if ok {
				return found, nil
			}
			continue
		}
		if err != nil && err != io.EOF {
			return line{}, ended(err)
		}
		l.pass(len(b))
		if text, ok := bytes.CutSuffix(b, newline); ok {
			b = bytes.TrimSuffix(text, carriage) // a CR alone ends no line
		}
		if at := re.FindIndex(b); at != nil {
			from, to := window(b, at[0], at[1], l.most)
			return begin.part(b, from, to), nil
		}
	}
}

// pass goes past n bytes that end a line and were read.
func (l *lineReader) pass(n int) {
	l.at = place{Offset: l.at.Offset + int64(n), Line: l.at.Line + 1}
}

// part is the line at p, of which b[from:to] is shown.
func (p place) part(b []byte, from, to int) line {
	found := line{Line: p.Line, Text: string(b[from:to]), Cut: to < len(b)}
	if from > 0 || p.Inside {
		found.Offset = p.Offset + int64(from)
	}
	return found
}

// window is the part of b, at most so many bytes, around what was found there:
// a quarter of what is beside it stands before it.
func window(b []byte, from, to, most int) (int, int) {
	if len(b) <= most {
		return 0, len(b)
	}
	begin := max(0, from-max(0, most-(to-from))/4)
	begin = max(0, min(begin, len(b)-most))
	for begin < from && !utf8.RuneStart(b[begin]) {
		begin++
	}
	end := min(len(b), begin+most)
	if end < len(b) {
		end = begin + runeEnd(b[begin:end])
	}
	return begin, end
}

// longMatch is for a line that is longer than the buffer, of which so many
// bytes were read, and which of them last. The line is matched as a stream, so that memory does not
// depend on its length.
func (l *lineReader) longMatch(r *Reader, re *regexp.Regexp, read int64, last byte) (line, bool, error) {
	begin := l.at
	stream := &runes{ctx: l.ctx, src: bufio.NewReaderSize(io.NewSectionReader(r, begin.Offset, r.Info.Size-begin.Offset), step)}
	at := re.FindReaderIndex(stream)
	if stream.err != nil {
		return line{}, false, stream.err
	}
	length, err := l.restOfLine(read, last)
	if err != nil || at == nil {
		return line{}, false, err
	}
	// The surroundings are read again.
	from := max(0, int64(at[0])-int64(l.most))
	b := make([]byte, min(length-from, 3*int64(l.most)))
	if k, err := r.ReadAt(b, begin.Offset+from); k < len(b) {
		return line{}, false, failure("reading", err)
	}
	lo, hi := window(b, int(int64(at[0])-from), int(min(int64(at[1])-from, int64(len(b)))), l.most)
	for from > 0 && lo < hi && !utf8.RuneStart(b[lo]) {
		lo++
	}
	found := line{Line: begin.Line, Text: string(b[lo:hi]), Cut: from+int64(hi) < length}
	if from+int64(lo) > 0 || begin.Inside {
		found.Offset = begin.Offset + from + int64(lo)
	}
	return found, true, nil
}

// restOfLine reads to the end of a line of which so many bytes were read, and
// which of them last, and returns its length without what ends it.
func (l *lineReader) restOfLine(read int64, last byte) (int64, error) {
	begin := l.at
	l.at.Offset += read
	for {
		if err := l.look(); err != nil {
			return 0, err
		}
		b, err := l.src.ReadSlice('\n')
		l.at.Offset += int64(len(b))
		if err == bufio.ErrBufferFull {
			last = b[len(b)-1]
			continue
		}
		if err != nil && err != io.EOF {
			return 0, ended(err)
		}
		length := l.at.Offset - begin.Offset
		if text, ok := bytes.CutSuffix(b, newline); ok {
			length--
			if len(text) > 0 {
				last = text[len(text)-1]
			}
			if last == '\r' {
				length--
			}
		}
		l.at = place{Offset: l.at.Offset, Line: begin.Line + 1}
		return length, nil
	}
}

// runes yields the characters of one line.
type runes struct {
	ctx  context.Context
	src  *bufio.Reader
	read int
	err  error // other than io.EOF
}

func (s *runes) ReadRune() (rune, int, error) {
	if s.err != nil {
		return 0, 0, s.err
	}
	if s.read >= step {
		s.read = 0
		if s.ctx.Err() != nil {
			s.err = context.Cause(s.ctx)
			return 0, 0, s.err
		}
	}
	c, n, err := s.src.ReadRune()
	s.read += n
	switch {
	case err == nil && c != '\n':
		if c == '\r' { // part of the line's end, if it is
			if b, _ := s.src.Peek(1); len(b) == 1 && b[0] == '\n' {
				return 0, 0, io.EOF
			}
		}
		return c, n, nil
	case err == nil || err == io.EOF:
		return 0, 0, io.EOF
	}
	s.err = failure("reading", err)
	return 0, 0, s.err
}
