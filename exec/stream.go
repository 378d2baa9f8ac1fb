// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"errors"
	"io"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/result"
)

// bufferSize is what a stream is read in: the capacity of a pipe on Linux.
const bufferSize = 64 << 10

type buffer [bufferSize]byte

var buffers = sync.Pool{New: func() any { return new(buffer) }}

// A stream is one output stream of a child, from the reading end of its pipe.
// One goroutine reads it. What it has counted may be looked at at any time.
type stream struct {
	p      *process
	pipe   *os.File
	kept   result.Preview
	redact *redactor    // nil when nothing is redacted
	also   func([]byte) // receives what kept does, or nil

	// What was read, where kept is told of something else.
	bytes, feeds atomic.Int64
	open         atomic.Bool // the last byte is not a line feed

	waiting atomic.Bool // the reader waits for the child
	isCut   atomic.Bool // nothing is waited for any more
	done    atomic.Bool // the reader is done
	atEnd   atomic.Bool // everything was read
	rest    int         // read since it was cut; the reader's
}

// maxRest bounds what is read of a stream after it was cut: no pipe holds more,
// unless somebody writes on.
const maxRest = 1 << 20

// errCut ends a stream that was cut.
var errCut = errors.New("exec: the stream is held open")

// drain reads the stream to its end, or until it is cut. Without a sink, which
// wants to see things as they come, it looks at what it has read only when
// there is much of it: a child that writes as fast as it can waits less.
func (s *stream) drain() {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	for n := 0; ; {
		k, err := s.read(buf[n:])
		n += k
		if n > 0 && (err != nil || s.p.sink.w != nil || n > bufferSize*3/4) {
			s.take(buf[:n])
			n = 0
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

// read waits for what the child writes, and counts it for Cmd.KillAfter. Once
// the stream is cut, it only takes what is there.
func (s *stream) read(b []byte) (n int, err error) {
	defer func() { s.p.count(n) }()
	if !s.isCut.Load() {
		s.waiting.Store(true)
		n, err = s.pipe.Read(b)
		s.waiting.Store(false)
		if n > 0 || err == nil || !s.isCut.Load() {
			return n, err
		}
	}
	if s.rest > maxRest {
		return 0, errCut
	}
	n, err = readNow(s.pipe, b)
	s.rest += n
	return n, err
}

// cut makes the reader stop when nothing is there to read.
func (s *stream) cut() {
	s.isCut.Store(true)
	s.pipe.SetReadDeadline(time.Unix(1, 0)) // a reader that waits returns
}

// held reports whether the reader waits for somebody who has the stream open.
func (s *stream) held() bool { return !s.done.Load() && s.waiting.Load() }

// take counts and keeps what was read.
func (s *stream) take(b []byte) {
	if s.redact == nil {
		s.keep(b)
		return
	}
	s.bytes.Add(int64(len(b)))
	s.feeds.Add(int64(bytes.Count(b, newline)))
	s.open.Store(b[len(b)-1] != '\n')
	s.redact.write(b)
}

var newline = []byte{'\n'}

// keep is where a stream goes after redaction.
func (s *stream) keep(b []byte) {
	s.kept.Write(b)
	s.p.sink.write(b)
	if s.also != nil {
		s.also(b)
	}
}

// finish is called once by the reader, with what ended the stream.
func (s *stream) finish(err error) {
	if s.redact != nil {
		s.redact.close()
	}
	if err == io.EOF {
		s.atEnd.Store(true)
	}
	s.done.Store(true)
	s.p.streamDone()
}

// result is what is known of the stream now.
func (s *stream) result() Stream {
	k := s.kept.Snapshot()
	r := Stream{
		Head: k.Head, Tail: k.Tail,
		Bytes: k.Bytes, Lines: k.Lines, Dropped: k.Dropped,
		Truncated: k.Truncated, Invalid: k.Invalid,
		SoFar: !s.atEnd.Load(),
	}
	if s.redact != nil {
		r.Bytes, r.Lines = s.bytes.Load(), s.feeds.Load()
		if s.open.Load() {
			r.Lines++
		}
	}
	return r
}

// A sink passes what both streams bring on to a Cmd.Sink, until that fails.
type sink struct {
	mu  sync.Mutex // held while w writes; guards err
	w   io.Writer  // nil when there is none
	err error
}

func (s *sink) write(b []byte) {
	if s.w == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.err = err
}

// result is the error so far. A Write that is stuck has none.
func (s *sink) result() error {
	if s.w == nil || !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	return s.err
}
