// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"time"
)

// ServeFunc is a server in this process: server.Server's method Serve.
type ServeFunc func(ctx context.Context, stdin io.ReadCloser, stdout io.WriteCloser) error

// Run runs serve in a goroutine over two pipes of the operating system, which
// have a capacity, as those between two processes have, and connects a host
// to it. Kill ends its context and closes the pipes.
func Run(cfg Config, serve ServeFunc) (*Host, error) {
	inR, inW, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		inR.Close()
		inW.Close()
		return nil, fmt.Errorf("host: %w", err)
	}
	again := func(cfg Config) (*Host, error) { return Run(cfg, serve) }
	return run(cfg, serve, inR, outW, outR, inW, again), nil
}

// RunInMemory is Run over pipes in memory without any capacity: a write ends
// when its last byte is read. They block durably in the sense of
// testing/synctest. (They are net.Pipes: like those of io.Pipe, but a read can
// be interrupted, which Pause needs.)
func RunInMemory(cfg Config, serve ServeFunc) *Host {
	inR, inW := net.Pipe()
	outR, outW := net.Pipe()
	again := func(cfg Config) (*Host, error) { return RunInMemory(cfg, serve), nil }
	return run(cfg, serve, inR, outW, outR, inW, again)
}

func run(cfg Config, serve ServeFunc, stdin io.ReadCloser, stdout io.WriteCloser, out io.ReadCloser, in io.WriteCloser, again func(Config) (*Host, error)) *Host {
	ctx, cancel := context.WithCancel(context.Background())
	g := &goroutine{cancel: cancel, stdin: stdin, stdout: stdout, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		g.err = serve(ctx, stdin, stdout)
		stdin.Close()
		stdout.Close()
	}()
	return start(cfg, g, out, in, nil, again)
}

// goroutine is a server in this process.
type goroutine struct {
	cancel context.CancelFunc
	stdin  io.Closer
	stdout io.Closer
	done   chan struct{} // closed when serve has returned
	err    error         // set before done is closed
}

func (g *goroutine) wait()      { <-g.done }
func (g *goroutine) terminate() { g.cancel() }

func (g *goroutine) release(time.Duration) Exit {
	g.cancel()
	e := Exit{Err: g.err}
	if g.err != nil {
		e.Code = -1
	}
	return e
}

func (g *goroutine) kill() {
	g.cancel()
	g.stdin.Close()
	g.stdout.Close()
}

func (g *goroutine) pid() int { return 0 }
