// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"fmt"
	"sync"
	"time"
)

// strayBuffer is how many bytes of stray output may wait for stderr.
const strayBuffer = 256 << 10

// stray forwards what is printed to fd 1. One goroutine reads the pipe and never waits for anything else, so whoever
// prints is not held up; another one writes to stderr, which may be stuck.
type stray struct {
	from *Input
	to   *Output // nil: everything is dropped

	mu      sync.Mutex // guards the fields below
	more    sync.Cond  // signalled when waiting, lost or ended changed
	waiting []byte     // at most strayBuffer
	lost    int64      // dropped after waiting and not yet reported; nothing is kept while it is above zero
	ended   bool       // nothing will be added
	deaf    bool       // stderr refused a write: nothing is kept any more
	counts  Stats

	drained chan struct{} // closed when the reading goroutine has ended
	flushed chan struct{} // closed when the writing goroutine has ended
}

// forward starts forwarding. The caller ends it with finish.
func forward(from *Input, to *Output) *stray {
	s := &stray{from: from, to: to, drained: make(chan struct{}), flushed: make(chan struct{})}
	s.more.L = &s.mu
	go s.drain()
	if to == nil {
		close(s.flushed)
	} else {
		go s.write()
	}
	return s
}

func (s *stray) stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts
}

// drain reads the pipe to its end, or until finish interrupts it.
func (s *stray) drain() {
	defer close(s.drained)
	buf := make([]byte, maxSlice/2)
	for {
		n, err := s.from.Read(buf)
		s.keep(buf[:n])
		if err != nil {
			break
		}
	}
	rest(s.from.file, buf, s.keep)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.more.Signal()
}

// keep adds p to what waits, or drops what does not fit. Once it has dropped something it goes on dropping until the
// writer has taken what waits and knows of the gap, so that the gap is reported in its place and once.
func (s *stray) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Stray += int64(len(p))
	fits := 0
	if s.to != nil && !s.deaf && s.lost == 0 {
		fits = min(len(p), strayBuffer-len(s.waiting))
		s.waiting = append(s.waiting, p[:fits]...)
	}
	dropped := int64(len(p) - fits)
	s.lost += dropped
	s.counts.Dropped += dropped
	s.more.Signal()
}

// take waits for something to write; ok is false when there will be nothing more. It hands over what waited and takes
// the writer's last slice for the next.
func (s *stray) take(used []byte) (p []byte, lost int64, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.waiting) == 0 && s.lost == 0 && !s.ended {
		s.more.Wait()
	}
	p, lost = s.waiting, s.lost
	s.waiting, s.lost = used[:0], 0
	return p, lost, len(p) > 0 || lost > 0
}

func (s *stray) write() {
	defer close(s.flushed)
	var used []byte
	for {
		p, lost, ok := s.take(used)
		if !ok {
			return
		}
		used = p
		n, err := s.to.Write(p)
		if err == nil && lost > 0 {
			_, err = fmt.Fprintf(s.to, "\nweir: %d bytes printed to stdout are missing here, because stderr was not read\n", lost)
		}
		if err != nil {
			s.abandon(int64(len(p) - n))
			return
		}
	}
}

// abandon gives up on stderr, with unwritten bytes of the last write.
func (s *stray) abandon(unwritten int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts.Dropped += unwritten + int64(len(s.waiting))
	s.waiting, s.deaf = nil, true
}

// finish forwards what was printed until now and ends both goroutines, after limit at the latest. Nothing of this
// process leads to the pipe any more; a child may still hold it.
func (s *stray) finish(limit time.Duration) {
	timer := time.NewTimer(limit)
	defer timer.Stop()

	// What was printed is in the pipe: a read that waits need not go on. Where there is no deadline, the end of the
	// pipe or Close ends it.
	_ = s.from.file.SetReadDeadline(time.Now())
	late := false
	select {
	case <-s.drained:
	case <-timer.C:
		late = true
	}
	_ = s.from.Close()
	<-s.drained

	if s.to == nil {
		return
	}
	if !late {
		select {
		case <-s.flushed:
		case <-timer.C:
		}
	}
	_ = s.to.Close()
	<-s.flushed
}
