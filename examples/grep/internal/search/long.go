// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bufio"
	"bytes"
	"context"
	"io"
)

// long takes the line at lo, which fills the whole buffer and goes on. It is read
// once to find its end and the needs of the pattern, and only if they are there
// a second time, through the regular expression, without being held.
func (s *scanner) long() error {
	line, hit, next, err := s.measure(s.base)
	if err != nil {
		return err
	}
	from, to := int64(-1), int64(-1)
	switch {
	case len(s.needs) > 0 && hit < 0:
	case s.whole:
		if end := hit + int64(len(s.needs[0].text)); end <= line.n {
			from, to = hit, end
		}
	default:
		r := &ctxReader{s.ctx, io.NewSectionReader(s.r, line.off, line.n)}
		if loc := s.re.FindReaderIndex(bufio.NewReaderSize(r, sniff*8)); loc != nil {
			from, to = int64(loc[0]), int64(loc[1])
		}
		if s.ctx.Err() != nil {
			return context.Cause(s.ctx)
		}
	}
	s.lo, s.hi, s.base = 0, 0, next
	return s.add(line, from, to)
}

// measure returns the line that begins at off, where the first need stands in
// it, -1 for nowhere, and where the next line begins. It uses the buffer.
func (s *scanner) measure(off int64) (line span, hit, next int64, err error) {
	overlap := max(s.longest()-1, 1)
	kept := 0 // bytes at the start of buf that were read before
	hit = -1
	for pos := off; ; {
		if s.ctx.Err() != nil {
			return line, hit, next, context.Cause(s.ctx)
		}
		n, err := s.r.ReadAt(s.buf[kept:], pos)
		if err != nil && err != io.EOF {
			return line, hit, next, err
		}
		b := s.buf[:kept+n]
		end := bytes.IndexByte(b[kept:], '\n')
		if end >= 0 {
			b = b[:kept+end]
		}
		start := pos - int64(kept)
		if end >= 0 {
			b = bytes.TrimSuffix(b, cr)
		}
		if hit < 0 && len(s.needs) > 0 {
			s.find.reset(b)
			if i := s.find.at(0); i < len(b) {
				hit = start + int64(i) - off
			}
		}
		line = span{off, start + int64(len(b)) - off}
		if end >= 0 {
			return line, hit, pos + int64(end) + 1, nil
		}
		if err == io.EOF {
			s.eof = true
			return line, hit, pos + int64(n), nil
		}
		pos += int64(n)
		kept = copy(s.buf, b[len(b)-min(overlap, len(b)):])
	}
}

// A ctxReader ends when its context does.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (r *ctxReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	return r.r.Read(p)
}
