// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"io"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/capture"
)

// A stream is one output stream of a remote command. One goroutine reads it.
// Both streams of a session share a window: each is always read.
type stream struct {
	c    *call
	r    io.Reader
	kept capture.Stream
	mark *marker // of standard error, unless the line is bare

	mu      sync.Mutex   // held while something that was read is taken
	waiting atomic.Bool  // the reader waits for the server
	came    atomic.Int64 // how often something came
	atEnd   atomic.Bool
}

func (s *stream) init(c *call, r io.Reader, pre exec.Preview, byDefault int) {
	s.c, s.r = c, r
	head, tail := capture.Sizes(pre.Head, pre.Tail, byDefault)
	s.kept.Init(head, tail, c.secrets, &c.sink)
}

// drain reads the stream to its end.
func (s *stream) drain() {
	buf := capture.NewBuffer()
	defer buf.Free()
	for {
		n, err := s.read(buf[:])
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

func (s *stream) read(b []byte) (int, error) {
	s.waiting.Store(true)
	n, err := s.r.Read(b)
	s.waiting.Store(false)
	s.came.Add(1)
	return n, err
}

// take counts and keeps what was read, unless that is too late.
func (s *stream) take(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isClosed(s.c.cut) {
		return
	}
	if s.mark != nil && !s.mark.done {
		s.mark.take(b)
		return
	}
	s.keep(b)
}

func (s *stream) keep(b []byte) {
	s.c.count(len(b))
	s.kept.Take(b)
}

// finish is called once by the reader, with what ended the stream.
func (s *stream) finish(err error) {
	s.mu.Lock()
	if !isClosed(s.c.cut) {
		if s.mark != nil {
			s.mark.end()
		}
		s.kept.End()
		// A connection that is lost, and a channel that we close, end the
		// streams too.
		s.atEnd.Store(err == io.EOF && !s.c.shut.Load() && !isClosed(s.c.conn.lost))
	}
	s.mu.Unlock()
	s.c.streamDone()
}

// settle waits until what is being taken is taken.
func (s *stream) settle() {
	s.mu.Lock()
	defer s.mu.Unlock()
}

// result is what is known of the stream now.
func (s *stream) result() exec.Stream {
	k := s.kept.Snapshot()
	return exec.Stream{
		Head: k.Head, Tail: k.Tail,
		Bytes: k.Bytes, Lines: k.Lines, Dropped: k.Dropped,
		Truncated: k.Truncated, Invalid: k.Invalid,
		SoFar: !s.atEnd.Load(),
	}
}
