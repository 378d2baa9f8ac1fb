// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"os"

	"github.com/weir-mcp/weir/internal/stdio"
)

// ServeStdio serves the host that started this process, as [Server.Serve]
// does, over stdin and stdout.
//
// Meanwhile the protocol runs on private descriptors: fd 0 leads to the null
// device and fd 1 to stderr, so that neither a fmt.Println nor a child with
// inherited stdio can touch it; all is restored on return. SIGTERM, SIGINT and
// SIGHUP (on Windows, Ctrl-C and Ctrl-Break) end it in order, a second one
// ends the process. A second ServeStdio meanwhile is an error.
//
// It returns nil after the end of stdin or a signal, ctx's error when ctx
// ended, and the write error when stdout failed, unless stdin ends within
// Grace of that.
func (s *Server) ServeStdio(ctx context.Context) error {
	claim, err := stdio.Claim()
	if err != nil {
		return err
	}
	defer claim.Release()
	defer raiseHeapFloor()()
	s.init() // after the claim: WEIR_LOG may name the stdout that was taken
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	signals, stop := stdio.Signals()
	defer stop()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case sig := <-signals:
			stop() // a second one has its default effect
			cancel(&signalled{sig})
		case <-done:
		}
	}()
	err = s.Serve(ctx, claim.In(), claim.Out())
	if printed := claim.Stats(); printed.Stray > 0 {
		s.state.log.Info("something printed to stdout while it was served; it was sent to stderr instead", "bytes", printed.Stray, "dropped", printed.Dropped)
		s.state.log.flush()
	}
	var sig *signalled
	if errors.As(context.Cause(ctx), &sig) && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// signalled is the cause of a context that a signal ended.
type signalled struct{ sig os.Signal }

func (s *signalled) Error() string { return "signal: " + s.sig.String() }
