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

// oversizeKeep is how much of an oversize frame is kept to show.
const oversizeKeep = 1 << 10

// splitter cuts a stream into lines by its LF bytes. It holds one line, of at
// most limit bytes, whatever the stream is cut into.
type splitter struct {
	limit int
	line  []byte
	size  int64 // bytes of the line so far, more than len(line) once oversize
	over  bool
}

// feed hands each line that p completes to emit, without its line end but
// with the CR of a CR LF.
func (s *splitter) feed(p []byte, emit func(line []byte, size int64, over bool)) {
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

func (s *splitter) flush(emit func(line []byte, size int64, over bool)) {
	line, size, over := s.line, s.size, s.over
	s.line, s.size, s.over = nil, 0, false
	emit(line, size, over)
}

func (s *splitter) add(p []byte) {
	s.size += int64(len(p))
	if s.over || len(p) == 0 {
		return
	}
	// One byte more than the limit may be the CR of a CR LF.
	if s.size > int64(s.limit)+1 || s.size == int64(s.limit)+1 && p[len(p)-1] != '\r' {
		kept := append(s.line, p[:min(len(p), oversizeKeep)]...)
		s.line, s.over = bytes.Clone(kept[:min(len(kept), oversizeKeep)]), true
		return
	}
	s.line = append(s.line, p...)
}

// read is the reader: for the life of the server it takes what stdout gives,
// counts it, and hands complete lines to the queue. It parses nothing and
// waits for nobody but the gate.
func (h *Host) read(r io.Reader) {
	defer h.queue.close()
	s := splitter{limit: h.cfg.Limit}
	buf := make([]byte, readSize)
	for {
		n, err := r.Read(buf[:h.gate.enter()])
		if n > 0 {
			h.stats.received(n)
			if h.cfg.Raw != nil {
				h.cfg.Raw.Write(buf[:n])
			}
			s.feed(buf[:n], func(line []byte, size int64, over bool) { h.line(line, size, over, true) })
			h.stats.partial.Store(s.size)
		}
		h.gate.leave(n)
		h.event.broadcast()
		if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
			break
		}
	}
	if s.size > 0 {
		s.flush(func(line []byte, size int64, over bool) { h.line(line, size, over, false) })
		h.stats.partial.Store(0)
	}
}

// line makes a frame of one line and queues it.
func (h *Host) line(line []byte, size int64, over, ended bool) {
	f := Frame{Seq: h.seq, At: time.Now(), Size: size}
	h.seq++
	if !ended {
		f.Faults |= FaultUnended
	}
	switch {
	case over:
		f.Kind = Oversize
		f.Faults |= FaultOversize
	case ended && bytes.HasSuffix(line, []byte("\r")):
		line = line[:len(line)-1]
		f.Size--
		f.Faults |= FaultCRLF
	}
	if f.Size > int64(h.cfg.Limit) && f.Kind != Oversize { // limit+1 bytes, the last a CR, at the end of the stream
		f.Kind = Oversize
		f.Faults |= FaultOversize
	}
	f.Raw = line
	h.stats.frame(f.Size, over)
	if over && h.cfg.EndOnOversize {
		h.end(&OversizeError{Size: size, Limit: h.cfg.Limit})
	}
	if !h.queue.push(f) {
		h.overloaded(f)
	}
}
