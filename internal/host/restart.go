// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
)

// Restart ends the session and begins a new one with the same server: what is
// open is lost (its error wraps ErrEnded), stdin is closed, the process is
// stopped as by Close and reaped, the same command is started with the same
// Config, and the handshake that opened the session is repeated, if one did.
// It returns the host of the new session; this one keeps its counters, and
// gives up its frames. Pause and SetPace do not pass on. When ctx ends before
// the handshake is answered, or it fails, nothing is left running.
//
// Restart works on a session that has ended, too, and so for a server that
// has crashed. Each call begins another session.
func (h *Host) Restart(ctx context.Context) (*Host, error) {
	h.end(errRestarted)
	h.shut()
	if !closedWithin(h.exited, 2*h.cfg.Grace) {
		return nil, errNotEnded
	}
	h.mu.Lock()
	over := h.over
	h.mu.Unlock()
	if !over { // what came is delivered, unless its consumer is stuck
		closedWithin(h.done, h.cfg.Grace)
	}
	h.finish()
	h.mu.Lock()
	greeted := h.greeted
	h.dropped += len(h.frames)
	h.frames, h.kept = nil, 0
	h.mu.Unlock()
	next, err := h.again(h.cfg)
	if err != nil {
		return nil, err
	}
	next.stats.restarts.Store(h.stats.restarts.Load() + 1)
	switch {
	case greeted == "":
	case IsModern(greeted):
		_, err = next.Discover(ctx)
	default:
		_, err = next.Initialize(ctx, greeted)
	}
	if err != nil {
		err = fmt.Errorf("host: the server was started again, and its handshake failed: %w", err)
		next.Close() // its error is the lesser one
		return nil, err
	}
	return next, nil
}
