// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capture keeps what a process writes: of each stream a bounded
// preview and exact counts, with secrets replaced, and all of it passed on to
// one sink. It is what exec and sshexec have in common; how the bytes are read
// is theirs.
package capture

import (
	"bytes"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/result"
)

// BufferSize is what a stream is read in: the capacity of a pipe on Linux.
const BufferSize = 64 << 10

// A Buffer is what a stream is read in.
type Buffer [BufferSize]byte

var buffers = sync.Pool{New: func() any { return new(Buffer) }}

// NewBuffer returns a Buffer for one reader.
func NewBuffer() *Buffer { return buffers.Get().(*Buffer) }

// Free gives b back. It is not used any more.
func (b *Buffer) Free() { buffers.Put(b) }

// A Stream is one output stream of a process. Init comes first; then one
// goroutine writes to it and ends it. What it has counted may be looked at at
// any time.
type Stream struct {
	kept   result.Preview
	redact *redactor // nil when nothing is redacted
	sink   *Sink
	part   part         // what the sink has still to get
	also   func([]byte) // receives what kept does, or nil

	// What was written, where kept is told of something else.
	bytes, feeds atomic.Int64
	open         atomic.Bool // the last byte is not a line feed
}

// Init makes the stream ready: head and tail are what [Sizes] returns, sink is
// what both streams of a process share.
func (s *Stream) Init(head, tail int, secrets Secrets, sink *Sink) {
	s.kept.Head, s.kept.Tail, s.sink = head, tail, sink
	if len(secrets) > 0 {
		s.redact = &redactor{secrets: secrets, to: s.keep}
	}
}

// Also has fn receive what is kept, after redaction, until it is called again
// with nil. It is for the goroutine that writes. Whoever receives it answers
// for the sink too: nobody would get what [Sink.Keep] says of it.
func (s *Stream) Also(fn func([]byte)) {
	s.also = fn
	if fn != nil {
		s.sink.shown.Store(true)
	}
}

// Take counts and keeps what was read, and does not hold on to b.
func (s *Stream) Take(b []byte) {
	if len(b) == 0 {
		return
	}
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
func (s *Stream) keep(b []byte) {
	s.kept.Write(b)
	if s.sink.Set() {
		s.part.write(s.sink, b)
	}
	if s.also != nil {
		s.also(b)
	}
}

// End says that nothing more comes.
func (s *Stream) End() {
	if s.redact != nil {
		s.redact.close()
	}
	if s.sink.Set() {
		s.part.end(s.sink)
	}
}

// Snapshot is what is known of the stream now. Bytes and Lines are of what was
// read, Dropped of what stands in its place.
func (s *Stream) Snapshot() result.Snapshot {
	k := s.kept.Snapshot()
	if s.redact != nil {
		k.Bytes, k.Lines = s.bytes.Load(), s.feeds.Load()
		if s.open.Load() {
			k.Lines++
		}
	}
	return k
}

// Sizes are the sizes of a preview that is given as head and tail, both zero
// for a default of so many bytes: three quarters of it from the start, a
// quarter from the end.
func Sizes(head, tail, byDefault int) (int, int) {
	if head == 0 && tail == 0 {
		return byDefault / 4 * 3, byDefault / 4
	}
	if head, tail = max(head, 0), max(tail, 0); head == 0 && tail == 0 {
		head = -1 // for result.Preview, where two zeros are its default
	}
	return head, tail
}
