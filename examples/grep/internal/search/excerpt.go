// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"io"
	"slices"
	"strconv"
	"unicode/utf8"
)

// DefaultMaxLine is the most bytes of one line that an excerpt holds whole when
// Options do not say otherwise.
const DefaultMaxLine = 320

// lead is how much of a long line is kept before the match, and how much an
// excerpt of it is shorter than a line that is just not too long.
const lead = 64

// A span is the place of one line, without its end.
type span struct {
	off, n int64
}

// cut appends what is kept of the line around the bytes from, to of it, with a
// mark for what is missing on each side. It never cuts inside a character.
func (s *scanner) cut(dst []byte, line span, from, to int64) ([]byte, error) {
	a, b := int64(0), line.n
	if line.n > s.maxLine {
		width := s.maxLine - lead
		a = max(0, from-lead)
		if to > a+width && to-from > width-lead {
			a = from // a match longer than the excerpt: begin with it
		}
		a = max(0, min(a, line.n-width))
		b = min(line.n, a+width)
	}
	s.piece = slices.Grow(s.piece[:0], int(b-a))
	text := s.piece[:b-a]
	n, err := s.r.ReadAt(text, line.off+a)
	if n < len(text) && err != io.EOF {
		return dst, err
	}
	text = text[:n]
	b = a + int64(n)
	if a > 0 {
		k := boundary(text)
		text, a = text[k:], a+int64(k)
	}
	if b < line.n {
		k := whole(text)
		text, b = text[:k], b-int64(len(text)-k)
	}
	dst = mark(dst, a)
	dst = append(dst, text...)
	return mark(dst, line.n-b), nil
}

func mark(dst []byte, n int64) []byte {
	if n <= 0 {
		return dst
	}
	dst = append(dst, '[')
	dst = strconv.AppendInt(dst, n, 10)
	return append(dst, " bytes cut]"...)
}

// boundary returns how many bytes at the start of b belong to a character that
// began before it.
func boundary(b []byte) int {
	for i := range min(len(b), utf8.UTFMax-1) {
		if utf8.RuneStart(b[i]) {
			return i
		}
	}
	return 0 // not UTF-8: any place is as good
}

// whole returns the length of b without a character that b holds only a part of.
func whole(b []byte) int {
	for i := len(b) - 1; i >= 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if utf8.FullRune(b[i:]) {
				return len(b)
			}
			return i
		}
	}
	return len(b)
}
