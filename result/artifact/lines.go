// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"unicode/utf8"
)

// A place is where reading begins or goes on.
type place struct {
	Offset int64 `json:"o"`           // in bytes
	Line   int64 `json:"l"`           // number of the line there, from 1
	Inside bool  `json:"i,omitempty"` // the line began before
}

// A line is one item of a page: a line of the artifact, or a part of a long one.
type line struct {
	Line   int64  `json:"line" jsonschema:"description=number of the line from 1"`
	Offset int64  `json:"offset,omitzero" jsonschema:"description=byte offset of text where it does not begin its line"`
	Text   string `json:"text"`
	Cut    bool   `json:"cut,omitzero" jsonschema:"description=whether the line goes on after text"`
}

// plain is the line in a text, where "…" stands for what is missing of it.
func (l line) plain() string {
	text := l.Text
	if l.Offset > 0 {
		text = "…" + text
	}
	if l.Cut {
		text += "…"
	}
	return text
}

// A lineReader yields lines from a place on, long ones in parts.
type lineReader struct {
	ctx  context.Context
	src  *bufio.Reader
	at   place
	most int   // bytes of one part
	seen int64 // up to where ctx was looked at
}

func newLineReader(ctx context.Context, r *Reader, at place, most int) *lineReader {
	rest := io.NewSectionReader(r, at.Offset, r.Info.Size-at.Offset)
	return &lineReader{ctx: ctx, src: bufio.NewReaderSize(rest, step), at: at, most: most, seen: at.Offset}
}

// look returns the cause when the context has ended.
func (l *lineReader) look() error {
	if l.at.Offset-l.seen < step {
		return nil
	}
	l.seen = l.at.Offset
	if l.ctx.Err() != nil {
		return context.Cause(l.ctx)
	}
	return nil
}

// next returns what stands at l.at, of which at most most bytes, and goes past
// it. The error after the last line is io.EOF.
func (l *lineReader) next() (line, error) {
	if err := l.look(); err != nil {
		return line{}, err
	}
	b, err := l.src.Peek(l.most + len("\r\n"))
	if len(b) == 0 {
		return line{}, ended(err)
	}
	found := line{Line: l.at.Line}
	if l.at.Inside {
		found.Offset = l.at.Offset
	}
	if err != nil && err != io.EOF {
		return line{}, ended(err)
	}
	n := len(b) // the end of the artifact is that of its last line
	text := b
	if k := bytes.IndexByte(b, '\n'); k >= 0 {
		n = k + 1
		text = bytes.TrimSuffix(b[:k], carriage)
	}
	if len(text) > l.most {
		n = runeEnd(b[:l.most])
		text = b[:n]
		found.Cut = true
	}
	found.Text = string(text)
	l.skip(n)
	l.at.Inside = found.Cut
	if !found.Cut {
		l.at.Line++
	}
	return found, nil
}

// skip goes past n bytes that were peeked at.
func (l *lineReader) skip(n int) {
	l.src.Discard(n)
	l.at.Offset += int64(n)
}

var carriage = []byte{'\r'}

func ended(err error) error {
	if err == io.EOF {
		return err
	}
	return failure("reading", err)
}

// runeEnd is the length of b without the beginning of a character at its end.
func runeEnd(b []byte) int {
	for i := len(b) - 1; i > 0 && i >= len(b)-utf8.UTFMax; i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return i
			}
			break
		}
	}
	return len(b)
}
