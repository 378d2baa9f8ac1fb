// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdio claims the standard descriptors for the protocol, so that nothing else in the process can write between
// two frames or eat a request.
//
// The stdio transport gives a server one rule that a program cannot keep by good will: "The server MUST NOT write
// anything to its stdout that is not a valid MCP message." A dependency that prints, a logger that was given os.Stdout,
// a C library and a child process all break it. Claim therefore moves the protocol to private descriptors and leaves
// harmless ones at 0 and 1:
//
//	fd 0  the null device
//	fd 1  a pipe, read by this package and forwarded to stderr
//	fd 2  as it was
//
// A Guard is the claim. In and Out are the protocol's two ends, Release puts everything back.
package stdio

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClaimed is returned by Claim while another claim holds: a process has one pair of standard descriptors.
var ErrClaimed = errors.New("stdio: the standard descriptors are claimed already")

// releaseWait bounds how long Release waits for stderr to take what was printed. Only tests change it.
var releaseWait = 250 * time.Millisecond

// claimed is true from a successful Claim until its Release has ended.
var claimed atomic.Bool

// Guard is a claim of the standard descriptors. Its methods may be called from any goroutine.
type Guard struct {
	in     *Input
	out    *Output
	stray  *stray
	merged bool
	system system // what Release puts back
	once   sync.Once
}

// Stats counts what was printed to fd 1 while it was claimed.
type Stats struct {
	// Stray is the number of bytes that something other than the protocol wrote to fd 1.
	Stray int64
	// Dropped is how many of them did not reach stderr, because stderr did not take them in time, or was gone, or
	// because Merged is true.
	Dropped int64
}

// Claim takes the standard descriptors for the protocol. Until Release:
//
//   - In and Out run on private descriptors that no child process inherits.
//   - fd 0 leads to the null device: a handler, a library or a child that reads stdin finds its end.
//   - fd 1 leads to a pipe that is always drained and forwarded to stderr. Whoever prints is never blocked: when stderr
//     is stuck, up to 256 KiB wait and the rest is dropped, counted, and reported in its place on stderr.
//   - fd 2 is left alone and never made non-blocking, for it is often shared with the host. Only where it is the same
//     file as the protocol's stdout (2>&1) does it lead to the null device, and stray output with it, since a log line
//     there would break a frame. A terminal is the exception: a person reads both.
//   - SIGPIPE is caught, so that writing to a host that is gone is an error and not the end of the process. It is not
//     ignored, because children would inherit that.
//
// A pipe or a socket is put in non-blocking mode (and back by Release), and waits in the runtime's poller. On Linux a pipe
// is opened anew instead, so that the mode which other processes see never changes.
//
// Claim is for the moment before serving starts. On Windows and where there are no Unix descriptors, it replaces
// *os.Stdin and *os.Stdout, which other goroutines must not be using meanwhile.
func Claim() (*Guard, error) {
	if !claimed.CompareAndSwap(false, true) {
		return nil, ErrClaimed
	}
	g := new(Guard)
	if err := g.claim(); err != nil {
		g.Release()
		return nil, fmt.Errorf("stdio: claim the standard descriptors: %w", err)
	}
	return g, nil
}

// In returns the protocol's stdin. It is closed by Release.
func (g *Guard) In() *Input { return g.in }

// Out returns the protocol's stdout. It is closed by Release.
func (g *Guard) Out() *Output { return g.out }

// Merged reports that fd 2 was the same file as the protocol's stdout and now leads to the null device: nothing that is
// logged to stderr is seen by anyone.
func (g *Guard) Merged() bool { return g.merged }

// Stats returns the counts so far; after Release, the final ones.
func (g *Guard) Stats() Stats {
	if g.stray == nil {
		return Stats{}
	}
	return g.stray.stats()
}

// Release closes In and Out, puts every standard descriptor and its mode back as Claim found it, and forwards what was
// printed until now. It waits at most 250 ms for a stderr that does not move; what is left then is dropped and
// counted. Later calls do nothing but wait for the first.
//
// A child that inherited fd 1 and lives on loses its stdout with Release, as it would with the process.
func (g *Guard) Release() {
	g.once.Do(func() {
		if g.in != nil {
			_ = g.in.Close() // its error is about a descriptor nobody will use again
		}
		if g.out != nil {
			_ = g.out.Close()
		}
		g.restore()
		if g.stray != nil {
			g.stray.finish(releaseWait)
		}
		g.discard()
		claimed.Store(false)
	})
}
