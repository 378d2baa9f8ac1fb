// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"iter"
	"strings"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/capture"
)

// Run runs the command on the host, reads its output to the end and returns when
// it and what it has started have ended, as exec.Run does.
//
// The error is an [*Error], and means that the command was not run: there was no
// connection, no session, no such program (then an *exec.StartError is found in
// it too), or ctx or Cmd.Timeout ended before. However else it ends is in the Output,
// and the error is nil.
//
// When ctx ends, when Cmd.Timeout is over and past Cmd.KillAfter, the processes
// are asked to end, and killed after Cmd.Grace. Run returns at most a second
// after that; at once when nothing over there can be told to end them. Then
// Output.MayRun says so.
func (h *Host) Run(ctx context.Context, cmd exec.Cmd) (*exec.Output, error) {
	if cmd.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withLimit(ctx, cmd.Timeout)
		defer cancel()
	}
	c, err := h.begin(ctx, cmd)
	if err != nil {
		return nil, err
	}
	c.read = c.out.drain
	o, err := c.conduct(ctx)
	c.raise()
	return o, err
}

// raise raises a panic of Cmd.Sink or Cmd.Stdin where its author can see it.
func (c *call) raise() {
	if v := c.sink.Panicked(); v != nil {
		panic(v)
	}
	if v := c.fed.Load(); v != nil {
		panic(v)
	}
}

// withLimit is context.WithTimeoutCause for a Cmd.Timeout.
func withLimit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, &limitError{d})
}

// A limitError says that Cmd.Timeout was over.
type limitError struct{ d time.Duration }

func (e *limitError) Error() string        { return "the time limit of " + e.d.String() + " was over" }
func (e *limitError) Timeout() bool        { return true }
func (e *limitError) Is(target error) bool { return target == context.DeadlineExceeded }

// Lines runs the command on the host and yields its standard output line by
// line, as exec.Lines does: leaving the loop ends the command. The last error of
// a loop that is not left is an *exec.ExitError, in which an [*Error] is found
// when something was cut short, or an [*Error] when the command was not run.
func (h *Host) Lines(ctx context.Context, cmd exec.Cmd) iter.Seq2[exec.Line, error] {
	return h.split(ctx, cmd, capture.Splitter{})
}

// Records is [Host.Lines] for output whose records end in another byte, such as
// the NUL of "find -print0". See exec.Records.
func (h *Host) Records(ctx context.Context, cmd exec.Cmd, end byte) iter.Seq2[exec.Line, error] {
	return h.split(ctx, cmd, capture.Splitter{Exact: true, Sep: end})
}

func (h *Host) split(ctx context.Context, cmd exec.Cmd, l capture.Splitter) iter.Seq2[exec.Line, error] {
	cmd.Stdout = exec.Preview{Head: -1}
	return func(yield func(exec.Line, error) bool) {
		ctx, l := ctx, l // of this loop
		if cmd.Timeout > 0 {
			var cancel context.CancelFunc
			ctx, cancel = withLimit(ctx, cmd.Timeout)
			defer cancel()
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		c, err := h.begin(ctx, cmd)
		if err != nil {
			yield(exec.Line{}, err)
			return
		}
		c.patient = true
		type outcome struct {
			out *exec.Output
			err error
		}
		ended := make(chan outcome, 1)
		left := make(chan struct{})
		pieces, taken := make(chan []byte), make(chan struct{})
		c.read = func() { c.out.pass(pieces, taken, left) }
		go func() {
			o, err := c.conduct(ctx)
			ended <- outcome{o, err}
		}()
		done, gone := false, false
		defer func() {
			c.out.kept.Also(nil)
			close(left)
			if !done { // the body left the loop, or panicked
				cancel()
				<-ended
				if gone {
					c.raise()
				}
			}
		}()
		l.Yield = func(b []byte, dropped int64) bool {
			return yield(exec.Line{Bytes: b, Dropped: dropped}, nil)
		}
		c.out.kept.Also(l.Take)
		var r outcome
		for !done {
			select {
			case b, ok := <-pieces:
				if !ok {
					r = <-ended
					done = true
					break
				}
				c.out.take(b)
				if l.Stopped() {
					gone = true
					return
				}
				taken <- struct{}{}
			case r = <-ended: // also where the server does not end the stream
				done = true
			}
		}
		l.End()
		c.raise()
		if l.Stopped() {
			return
		}
		if r.err != nil {
			yield(exec.Line{}, r.err)
		} else if !r.out.Success() {
			yield(exec.Line{}, &exec.ExitError{Output: r.out})
		}
	}
}

// pass reads the stream to its end and has somebody else take each piece, until
// that one has left or nothing counts any more.
func (s *stream) pass(pieces chan<- []byte, taken, left <-chan struct{}) {
	buf := capture.NewBuffer()
	defer buf.Free()
	defer close(pieces)
	for {
		n, err := s.read(buf[:])
		if n > 0 {
			select {
			case pieces <- buf[:n]:
				select {
				case <-taken:
				case <-left:
					s.drain()
					return
				}
			case <-left:
				s.take(buf[:n])
				s.drain()
				return
			case <-s.c.cut:
				s.finish(io.ErrUnexpectedEOF)
				return
			}
		}
		if err != nil {
			s.finish(err)
			return
		}
	}
}

// handOver gives the server the command. The error is nil once it has taken it.
func (c *call) handOver() error {
	env, keep, err := c.setEnv()
	if err != nil {
		return err
	}
	l := &line{id: c.id, dir: c.cmd.Dir, env: env, keep: keep, clean: c.cmd.CleanEnv, path: c.cmd.Path, args: c.cmd.Args}
	text := ""
	if c.h.Bare {
		text = l.bare()
	} else {
		kind := shellKind(c.h.link.shell.Load())
		// The server is spared the news that there is no input.
		l.null = c.cmd.Stdin == nil && kind != unknownShell && c.conn.null.Load()
		text = l.wrapped(kind)
	}
	if len(text) > maxLine {
		return c.startError(exec.ArgumentsTooLong, "the command line is %d bytes long, more than Linux takes (%d); pass less, or pass it through standard input", len(text), maxLine)
	}
	if !c.sent.CompareAndSwap(notSent, sentState) {
		return errKilled // nobody hears this
	}
	n := c.conn.room.ask()
	ok, err := c.ch.SendRequest("exec", true, sshStrings(text))
	c.conn.room.answered(n)
	if err == nil && !ok {
		err = errRefused
	}
	if err == nil && c.cmd.Stdin == nil && !l.null {
		c.ch.CloseWrite()
	}
	return err
}

// sshStrings is the payload of a request that consists of strings.
func sshStrings(list ...string) []byte {
	n := 0
	for _, s := range list {
		n += 4 + len(s)
	}
	b := make([]byte, 0, n)
	for _, s := range list {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	return b
}

var errRefused = errors.New("the server refused to run a command")

// setEnv sends the variables, and returns those that have to stand in the line
// and the names of the others.
func (c *call) setEnv() (env, keep []string, err error) {
	last := make(map[string]int)
	for i, kv := range c.cmd.Env {
		key, _, _ := strings.Cut(kv, "=")
		last[key] = i
	}
	for i, kv := range c.cmd.Env {
		key, value, _ := strings.Cut(kv, "=")
		if last[key] != i {
			continue
		}
		if !c.conn.refuses(key) {
			ok, err := c.ch.SendRequest("env", true, sshStrings(key, value))
			if err != nil {
				return nil, nil, err
			}
			if ok {
				keep = append(keep, key)
				continue
			}
			c.conn.refuse(key)
		}
		if c.h.Bare {
			return nil, nil, c.startError(exec.BadArgument, "the server does not take the variable %s, and a host with Bare has no other way to set it", key)
		}
		env = append(env, kv)
	}
	return env, keep, nil
}

// feed copies the command's input. It ends when the command no longer reads and
// the channel is closed.
func (c *call) feed() {
	defer func() {
		c.fed.Store(capture.Recovered(recover()))
		c.ch.CloseWrite()
	}()
	io.Copy(c.ch, c.cmd.Stdin)
}
