// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"iter"
	"strings"

	"github.com/weir-mcp/weir/internal/capture"
)

// MaxLine is how many bytes of a line [Lines] yields at most.
const MaxLine = capture.MaxLine

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

// Unwrap returns Output.Err, which is nil for a child of this machine.
func (e *ExitError) Unwrap() error { return e.Output.Err }

func (e *ExitError) Error() string { return "exec: " + e.Output.summary() + e.Output.lastWords() }

// Lines starts the child and yields its standard output line by line. Standard
// error is drained meanwhile, and Cmd.Stdout has no meaning. The child waits
// while the loop's body runs and the pipe is full; its context, Timeout and
// KillAfter hold all the same.
//
// Leaving the loop ends the process tree and waits for it, as for [Run]. A
// loop that is not left gets all lines and then, unless the child exited with
// status 0 by itself, one error with a zero Line: an [*ExitError], or the error
// that Run would return. So a status other than 0, which is data for Run, is an
// error here: that of a grep without a match, too.
//
// Cmd.Sink receives what is read of both streams, also while the body of the
// loop has left it, and is never told to keep it, since nobody would get what
// it says: an artifact's writer is committed by the caller, or dropped. Once
// the loop was left, what the sink has is only the beginning.
func Lines(ctx context.Context, cmd Cmd) iter.Seq2[Line, error] {
	return split(ctx, cmd, capture.Splitter{})
}

// Records is [Lines] for output whose records end in another byte, such as the
// NUL of "find -print0" and "git log -z". Line.Bytes is all that stands before
// that byte: with '\n', unlike in Lines, a CR before it is part of the line.
func Records(ctx context.Context, cmd Cmd, end byte) iter.Seq2[Line, error] {
	return split(ctx, cmd, capture.Splitter{Exact: true, Sep: end})
}

func split(ctx context.Context, cmd Cmd, l capture.Splitter) iter.Seq2[Line, error] {
	cmd.Stdout = Preview{Head: -1}
	return func(yield func(Line, error) bool) {
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
		done, left := false, false
		defer func() {
			if !done { // the body left the loop, or panicked
				p.out.kept.Also(nil)
				cancel()
				p.out.drain()
				<-ended
				if left {
					p.raise()
				}
			}
		}()
		if !p.out.lines(l, yield) {
			left = true
			return
		}
		done = true
		o := <-ended
		p.raise()
		if !o.Success() {
			yield(Line{}, &ExitError{o})
		}
	}
}

// lines yields the lines of s, as l splits it, to its end, or until yield
// returns false.
func (s *stream) lines(l capture.Splitter, yield func(Line, error) bool) bool {
	buf := capture.NewBuffer()
	defer buf.Free()
	l.Yield = func(b []byte, dropped int64) bool {
		return yield(Line{Bytes: b, Dropped: dropped}, nil)
	}
	s.kept.Also(l.Take)
	for !l.Stopped() {
		n, err := s.read(buf[:])
		if n > 0 {
			s.kept.Take(buf[:n])
		}
		if err != nil && !l.Stopped() {
			s.finish(err)
			l.End()
			return !l.Stopped()
		}
	}
	return false
}
