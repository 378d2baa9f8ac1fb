// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"io"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/owner"
)

// A process is one child while it runs, and its tree.
type process struct {
	cmd   Cmd
	tree  tree
	began time.Time
	out   stream
	err   stream
	sink  capture.Sink
	stdin *os.File                      // this process's end of the child's input, or nil
	fed   atomic.Pointer[capture.Panic] // of Cmd.Stdin
	gone  func()                        // tells the owner

	reading atomic.Int32  // streams whose reader is not done
	drained chan struct{} // closed when reading is zero
	exited  chan struct{} // closed when the leader has ended; it is not reaped
	limit   chan struct{} // receives once total has passed KillAfter
	total   atomic.Int64  // read on both streams; kept for KillAfter only

	patient bool // standard output is read at somebody else's pace
}

// status is how a leader ended and what it used.
type status struct {
	known  bool
	code   int    // -1 when a signal ended it
	signal string // its name, or ""
	cpu    time.Duration
	memory int64
}

// Run starts the child, reads its output to the end and returns when its tree
// is gone. However the child ends, that is in the Output and the error is nil.
// The error is a [*StartError] when it was not started, or the cause of ctx
// when that had already ended; then there is no Output.
//
// When ctx ends, when Cmd.Timeout is over and past Cmd.KillAfter, the tree is
// asked to end, and killed after Cmd.Grace. Run returns at most half a second
// after that, and at most Grace and half a second after the child has exited by
// itself, whatever else holds its output.
func Run(ctx context.Context, cmd Cmd) (*Output, error) {
	p, err := start(ctx, cmd)
	if err != nil {
		return nil, err
	}
	go p.out.drain()
	out := p.conduct(ctx)
	p.raise()
	return out, nil
}

// raise panics as Cmd.Sink or Cmd.Stdin has.
func (p *process) raise() {
	if v := p.sink.Panicked(); v != nil {
		panic(v)
	}
	if v := p.fed.Load(); v != nil {
		panic(v)
	}
}

// start starts the child. Its standard error is drained from here on, its
// standard output has yet to be read.
func start(ctx context.Context, cmd Cmd) (*process, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	p := &process{
		cmd:     cmd,
		drained: make(chan struct{}),
		exited:  make(chan struct{}),
	}
	if err := p.launch(); err != nil {
		return nil, err
	}
	p.out.p, p.err.p = p, p
	p.sink.Init(cmd.Sink)
	secrets := capture.NewSecrets(cmd.Redact)
	initStream := func(s *stream, pre Preview, byDefault int) {
		head, tail := capture.Sizes(pre.Head, pre.Tail, byDefault)
		s.kept.Init(head, tail, secrets, &p.sink)
	}
	initStream(&p.out, cmd.Stdout, DefaultStdout)
	initStream(&p.err, cmd.Stderr, DefaultStderr)
	if cmd.KillAfter > 0 {
		p.limit = make(chan struct{}, 1)
	}
	p.reading.Store(2)
	p.gone = func() {}
	if o := owner.FromContext(ctx); o != nil {
		p.gone = o.Add(owner.Thing{Kind: "process", Name: p.cmd.name(), ID: strconv.Itoa(p.tree.pid), Kill: p.tree.kill})
	}
	go p.err.drain()
	return p, nil
}

// launch opens the pipes and starts the child with their far ends.
func (p *process) launch() (err error) {
	c := &p.cmd
	path, err := c.lookPath()
	if err != nil {
		return err
	}
	env, err := c.environ()
	if err != nil {
		return c.startError(BadArgument, err, "%v", err)
	}
	var files [3]far // the child's
	defer func() {
		for _, f := range files {
			f.close()
		}
		if err != nil {
			for _, f := range []*os.File{p.stdin, p.out.pipe, p.err.pipe} {
				if f != nil {
					f.Close()
				}
			}
		}
	}()
	if in, ok := c.Stdin.(*os.File); ok && in != nil {
		files[0], err = lend(in)
	} else if ok || c.Stdin == nil {
		files[0], err = openNull()
	} else {
		p.stdin, files[0], err = pipeTo()
	}
	if err != nil {
		return c.startError(OtherReason, err, "no standard input for %q: %v", c.Path, cause(err))
	}
	if p.out.pipe, files[1], err = pipeFrom(); err == nil {
		p.err.pipe, files[2], err = pipeFrom()
	}
	if err != nil {
		return c.startError(OtherReason, err, "no pipe for %q: %v", c.Path, err)
	}
	argv := make([]string, 1, 1+len(c.Args))
	argv[0] = c.Path
	argv = append(argv, c.Args...)
	p.began = time.Now()
	started := make(chan error, 1)
	go p.live(started, func() error { return p.tree.start(path, argv, c.Dir, env, files) })
	if err := <-started; err != nil {
		return c.explain(path, err)
	}
	if p.stdin != nil {
		go p.feed()
	}
	return nil
}

// live starts the leader, says so, and closes exited when it has ended, all of
// it on a thread that stays.
func (p *process) live(started chan<- error, start func() error) {
	defer ownThread()()
	err := start()
	started <- err
	if err == nil {
		p.tree.wait()
		close(p.exited)
	}
}

// feed copies the child's input. It ends when the child no longer reads.
func (p *process) feed() {
	defer func() {
		p.fed.Store(capture.Recovered(recover()))
		p.stdin.Close()
	}()
	io.Copy(p.stdin, p.cmd.Stdin)
}

// count adds to what was read, and calls for the end past KillAfter.
func (p *process) count(n int) {
	if p.limit != nil && p.total.Add(int64(n)) > p.cmd.KillAfter {
		select {
		case p.limit <- struct{}{}:
		default:
		}
	}
}

// streamDone is called by the reader of each stream when it is done.
func (p *process) streamDone() {
	if p.reading.Add(-1) == 0 {
		close(p.drained)
	}
}
