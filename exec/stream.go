// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/capture"
)

// A stream is one output stream of a child, from the reading end of its pipe.
// One goroutine reads it. What it has counted may be looked at at any time.
type stream struct {
	p    *process
	pipe *os.File
	kept capture.Stream

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
	buf := capture.NewBuffer()
	ended := true // by runtime.Goexit, in a Sink
	defer func() {
		buf.Free()
		if ended {
			go s.drain() // which the Sink is spared
		}
	}()
	for n := 0; ; {
		k, err := s.read(buf[n:])
		n += k
		if n > 0 && (err != nil || s.p.sink.Set() || n > len(buf)*3/4) {
			s.kept.Take(buf[:n])
			n = 0
		}
		if err != nil {
			s.finish(err)
			ended = false
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

// finish is called by the reader with what ended the stream. A second call does
// nothing.
func (s *stream) finish(err error) {
	s.kept.End()
	if err == io.EOF {
		s.atEnd.Store(true)
	}
	if !s.done.Swap(true) {
		s.p.streamDone()
	}
}

// result is what is known of the stream now.
func (s *stream) result() Stream {
	k := s.kept.Snapshot()
	return Stream{
		Head: k.Head, Tail: k.Tail,
		Bytes: k.Bytes, Lines: k.Lines, Dropped: k.Dropped,
		Truncated: k.Truncated, Invalid: k.Invalid,
		SoFar: !s.atEnd.Load(),
	}
}
