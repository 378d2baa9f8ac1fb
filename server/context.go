// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/tool"
)

// A callContext is the context of one call. It makes a standard context only
// when somebody asks for more than Err or Deadline, so that a call whose
// handler never looks costs nothing. Cause, AfterFunc and derived contexts of
// the standard library find that one through Value.
type callContext struct {
	c     *call
	cause atomic.Pointer[ending]
	std   atomic.Pointer[standard]
	mu    sync.Mutex // serialises the making of std with end
}

type ending struct{ cause error }

type standard struct {
	context.Context
	cancel context.CancelCauseFunc
	stop   context.CancelFunc
}

var _ context.Context = (*callContext)(nil)

func (x *callContext) Deadline() (time.Time, bool) { return x.c.deadline, true }

func (x *callContext) Done() <-chan struct{} { return x.standard().Done() }

func (x *callContext) Err() error {
	if s := x.std.Load(); s != nil {
		if err := s.Err(); err != nil {
			return err
		}
	}
	e := x.cause.Load()
	switch {
	case e == nil:
		return nil
	case timedOut(e.cause):
		return context.DeadlineExceeded
	}
	return context.Canceled
}

func (x *callContext) Value(key any) any {
	if key == (owner.Key{}) {
		return &x.c.owner
	}
	return x.standard().Value(key)
}

// standard returns the standard context behind x. Its deadline is the call's
// own, so that contexts derived from it report DeadlineExceeded.
func (x *callContext) standard() *standard {
	if s := x.std.Load(); s != nil {
		return s
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if s := x.std.Load(); s != nil {
		return s
	}
	ctx, cancel := context.WithCancelCause(x.c.se.values)
	ctx, stop := context.WithDeadlineCause(ctx, x.c.deadline, &tool.TimedOut{After: x.c.deadline.Sub(x.c.started)})
	s := &standard{Context: ctx, cancel: cancel, stop: stop}
	if e := x.cause.Load(); e != nil && !timedOut(e.cause) {
		cancel(e.cause)
	}
	x.std.Store(s)
	return s
}

// end ends the context with cause. Only the first end counts.
func (x *callContext) end(cause error) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	if !x.cause.CompareAndSwap(nil, &ending{cause}) {
		return false
	}
	// A time-out is left to the standard context's own timer, which is due.
	if s := x.std.Load(); s != nil && !timedOut(cause) {
		s.cancel(cause)
	}
	return true
}

// ended is the cause that the context ended with, or nil. Unlike
// context.Cause it makes no standard context.
func (x *callContext) ended() error {
	if e := x.cause.Load(); e != nil {
		return e.cause
	}
	if s := x.std.Load(); s != nil {
		return context.Cause(s)
	}
	return nil
}

// release frees what the standard context holds, once the handler is back.
func (x *callContext) release() {
	if s := x.std.Load(); s != nil {
		s.stop()
		s.cancel(context.Canceled)
	}
}

func timedOut(err error) bool {
	if err == nil {
		return false
	}
	var t *tool.TimedOut
	return errors.As(err, &t)
}

// A sendContext is a call's context while its result is bounded and encoded:
// it ends only for a cause after which nothing will be sent, so that the
// partial output of a call that timed out still goes out.
type sendContext struct{ x *callContext }

var _ context.Context = sendContext{}

func (s sendContext) Deadline() (time.Time, bool) { return time.Time{}, false }
func (s sendContext) Done() <-chan struct{}       { return s.x.Done() }
func (s sendContext) Value(key any) any           { return s.x.Value(key) }

func (s sendContext) Err() error {
	e := s.x.cause.Load()
	if e == nil {
		return nil
	}
	var cancelled *tool.Cancelled
	var hostGone *tool.HostGone
	if errors.As(e.cause, &cancelled) || errors.As(e.cause, &hostGone) {
		return context.Canceled
	}
	return nil
}
