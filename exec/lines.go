// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"context"
	"iter"
	"strings"
)

// MaxLine is how many bytes of a line [Lines] yields at most.
const MaxLine = bufferSize / 2

// A Line is one line of standard output.
type Line struct {
	// Bytes is the line without its line end (LF, or CR and LF), as the child
	// wrote it but for Cmd.Redact; of a line longer than MaxLine, its first
	// MaxLine bytes. It is valid until the loop goes on.
	Bytes []byte

	// Dropped is how many bytes of the line are missing after Bytes.
	Dropped int64
}

// String returns the line as text that may be kept, with bytes that are not
// UTF-8 replaced.
func (l Line) String() string { return strings.ToValidUTF8(string(l.Bytes), "\uFFFD") }

// An ExitError says that a child of [Lines] did not exit with status 0 by
// itself. It is matched with errors.As on *ExitError.
type ExitError struct {
	// Output is what became of the child. The stream that was yielded has
	// counts there and no text; standard error has its preview.
	Output *Output
}

func (e *ExitError) Error() string { return "exec: " + e.Output.summary() + e.Output.lastWords() }

// Lines starts the child and yields its standard output line by line. Standard
// error is drained meanwhile, and Cmd.Stdout has no meaning. The child waits
// while the loop's body runs and the pipe is full; its context, Timeout and
// KillAfter hold all the same.
//
// Leaving the loop ends the process tree and waits for it, as for [Run]. A
// loop that is not left gets all lines and then, unless the child exited with
// status 0 by itself, one error with a zero Line: an [*ExitError], or the error
// that Run would return.
func Lines(ctx context.Context, cmd Cmd) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		cmd.Stdout = Preview{Head: -1}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		p, err := start(ctx, cmd)
		if err != nil {
			yield(Line{}, err)
			return
		}
		p.patient = true
		ended := make(chan *Output, 1)
		go func() { ended <- p.conduct(ctx) }()
		done := false
		defer func() {
			if !done { // the body left the loop, or panicked
				p.out.also = nil
				cancel()
				p.out.drain()
				<-ended
			}
		}()
		if !p.out.lines(yield) {
			return
		}
		done = true
		o := <-ended
		if !o.Success() {
			yield(Line{}, &ExitError{o})
		}
	}
}

// lines yields the lines of s to its end, or until yield returns false.
func (s *stream) lines(yield func(Line, error) bool) bool {
	buf := buffers.Get().(*buffer)
	defer buffers.Put(buf)
	l := splitter{yield: yield}
	s.also = l.write
	for !l.stopped {
		n, err := s.read(buf[:])
		if n > 0 {
			s.take(buf[:n])
		}
		if err != nil && !l.stopped {
			s.finish(err)
			l.last()
			return !l.stopped
		}
	}
	return false
}

// A splitter yields the lines of what is written to it.
type splitter struct {
	yield   func(Line, error) bool
	part    []byte // the first bytes of a line of which the end has not come
	dropped int64  // how many bytes of it came after part
	stopped bool   // the loop was left
}

func (l *splitter) write(b []byte) {
	for !l.stopped {
		i := bytes.IndexByte(b, '\n')
		if i < 0 {
			l.hold(b)
			return
		}
		line := b[:i]
		b = b[i+1:]
		if len(l.part) == 0 && i <= MaxLine {
			l.emit(Line{Bytes: line})
			continue
		}
		l.hold(line)
		l.flush()
	}
}

// hold keeps b, which has no line end, as far as there is room for it.
func (l *splitter) hold(b []byte) {
	n := min(len(b), MaxLine-len(l.part))
	l.part = append(l.part, b[:n]...)
	l.dropped += int64(len(b) - n)
}

func (l *splitter) flush() {
	l.emit(Line{Bytes: l.part, Dropped: l.dropped})
	l.part, l.dropped = l.part[:0], 0
}

// last yields a last line without line end.
func (l *splitter) last() {
	if len(l.part) > 0 && !l.stopped {
		l.flush()
	}
}

func (l *splitter) emit(line Line) {
	if n := len(line.Bytes); n > 0 && line.Dropped == 0 && line.Bytes[n-1] == '\r' {
		line.Bytes = line.Bytes[:n-1]
	}
	l.stopped = !l.yield(line, nil)
}
