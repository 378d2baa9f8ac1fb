// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"io"
	"os"
	"time"
)

// oversizeKeep is how much is kept of the start of an oversize frame, to show,
// and of its end: its id is in one of them, with most servers.
const oversizeKeep = 1 << 10

// cut is one line that a splitter has cut off, without its LF.
type cut struct {
	line []byte // with the CR of a CR LF; of an oversize line its start
	tail []byte // of an oversize line its end
	size int64  // of the whole line
	over bool   // the line was longer than the limit
}

// splitter cuts a stream into lines by its LF bytes. It holds one line, of at
// most limit bytes, whatever the stream is cut into.
type splitter struct {
	limit int
	part  cut // the line so far
}

// feed hands each line that p completes to emit.
func (s *splitter) feed(p []byte, emit func(cut)) {
	for len(p) > 0 {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			s.add(p)
			return
		}
		s.add(p[:i])
		s.flush(emit)
		p = p[i+1:]
	}
}

func (s *splitter) flush(emit func(cut)) {
	c := s.part
	s.part = cut{}
	emit(c)
}

func (s *splitter) add(p []byte) {
	c := &s.part
	c.size += int64(len(p))
	switch {
	case len(p) == 0:
	case c.over:
		c.tail = appendTail(c.tail, p)
	// One byte more than the limit may be the CR of a CR LF.
	case c.size > int64(s.limit)+1 || c.size == int64(s.limit)+1 && p[len(p)-1] != '\r':
		c.tail = appendTail(appendTail(nil, c.line), p)
		head := append(c.line, p[:min(len(p), oversizeKeep)]...)
		c.line, c.over = bytes.Clone(head[:min(len(head), oversizeKeep)]), true
	default:
		c.line = append(c.line, p...)
	}
}

// appendTail appends p to tail and keeps the last oversizeKeep bytes.
func appendTail(tail, p []byte) []byte {
	if len(p) >= oversizeKeep {
		return append(tail[:0], p[len(p)-oversizeKeep:]...)
	}
	if over := len(tail) + len(p) - oversizeKeep; over > 0 {
		tail = append(tail[:0], tail[over:]...)
	}
	return append(tail, p...)
}

// read takes bytes of stdout as they come, until its end: it counts them, cuts
// them into lines, and queues those. Nobody who uses the lines can hold it up.
// When the session was ended over a frame, it goes on taking bytes, and only
// counts them, so that the server can end.
func (h *Host) read(r io.Reader) {
	defer h.queue.close()
	defer h.gate.end()
	s := splitter{limit: h.cfg.Limit}
	buf := make([]byte, readSize)
	given := false // up: the session is ended, and nothing is a frame any more
	for {
		n, err := r.Read(buf[:h.gate.enter()])
		h.gate.took()
		if n > 0 {
			h.stats.received(n)
			if h.cfg.Raw != nil {
				h.cfg.Raw.Write(buf[:n])
			}
			if !given {
				given = h.cutLines(&s, buf[:n])
			}
			h.stats.partial.Store(s.part.size)
			h.stats.partialOver.Store(s.part.over)
		}
		h.gate.leave(n)
		h.event.broadcast()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if s.part.size > 0 {
		s.flush(func(c cut) { h.line(c, false) })
		h.stats.partial.Store(0)
	}
}

// cutLines queues the lines that p completes. It reports whether the session
// is to end because of one over the limit; such a line counts as soon as it
// is too long, so that one without an end is no reason to wait.
func (h *Host) cutLines(s *splitter, p []byte) (end bool) {
	s.feed(p, func(c cut) {
		if !end {
			h.line(c, true)
		}
		end = end || c.over && h.cfg.EndOnOversize
	})
	cutOff := !end && s.part.over && h.cfg.EndOnOversize
	if cutOff {
		s.part.tail = nil // it is not the end of the line
		h.line(s.part, true)
	}
	if end || cutOff {
		s.part = cut{}
		return true
	}
	return false
}

// line makes a frame of one line and queues it.
func (h *Host) line(c cut, ended bool) {
	f := Frame{Seq: h.seq, At: time.Now(), Size: c.size, tail: c.tail}
	h.seq++
	if !ended {
		f.Faults |= FaultUnended
	}
	switch {
	case c.over:
		f.Kind = Oversize
	case ended && bytes.HasSuffix(c.line, []byte("\r")):
		c.line = c.line[:len(c.line)-1]
		f.Size--
		f.Faults |= FaultCRLF
	case c.size > int64(h.cfg.Limit): // limit+1 bytes, the last a CR, at the end of the stream
		f.Kind = Oversize
	}
	f.Raw = c.line
	if f.Kind == Oversize {
		f.Faults |= FaultOversize
		f.Raw = c.line[:min(len(c.line), oversizeKeep)]
	}
	h.stats.frame(f.Size, f.Kind == Oversize)
	last := f.Kind == Oversize && h.cfg.EndOnOversize
	if last {
		h.end(&OversizeError{Size: c.size, Limit: h.cfg.Limit, Cut: c.over && c.tail == nil})
	}
	if !h.queue.push(f) {
		h.overloaded(f)
		if last { // else the dispatcher does so, after what came before it
			h.finish()
		}
	}
}
