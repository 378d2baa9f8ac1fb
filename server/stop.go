// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"errors"
	"time"

	"github.com/weir-mcp/weir/tool"
)

// errSessionOver is what the writer is closed with.
var errSessionOver = errors.New("server: the session is over")

// longestDrain bounds how long the end of input may be drawn out by a host
// that goes on reading.
const longestDrain = 30 * time.Second

// serve runs the session to its end.
func (se *session) serve(ctx context.Context) error {
	defer se.log.flush()
	stopChanges := se.srv.tools().OnChange(se.toolsChanged)
	defer stopChanges()
	se.srv.state.mu.Lock()
	se.srv.state.sessions[se] = struct{}{}
	se.srv.state.mu.Unlock()
	defer se.close()

	go se.read()
	select {
	case err := <-se.readDone:
		return errors.Join(err, se.drain(ctx))
	case <-se.failed:
		return se.hostGone(false)
	case <-ctx.Done():
		se.stop(&tool.Shutdown{Why: whyEnded(ctx)}, time.Now().Add(se.limits.Grace))
		return ctx.Err()
	}
}

// whyEnded is what a handler's context says when Serve's context ended.
func whyEnded(ctx context.Context) string {
	if cause := context.Cause(ctx); cause != nil && !errors.Is(cause, ctx.Err()) {
		return "server is shutting down: " + cause.Error()
	}
	return "server is shutting down"
}

// drain answers what was read before the end of input (I9).
func (se *session) drain(ctx context.Context) error {
	se.mu.Lock()
	se.endSubscriptionsLocked()
	se.mu.Unlock()
	begin := time.Now()
	last := begin.Add(longestDrain)
	end := func() time.Time {
		moved := begin
		if p := se.out.Stats().LastProgress; p.After(moved) {
			moved = p
		}
		return minTime(moved.Add(se.limits.Grace), last)
	}
	switch se.wait(ctx, end) {
	case waitCtx:
		se.stop(&tool.Shutdown{Why: whyEnded(ctx)}, time.Now().Add(se.limits.Grace))
		return ctx.Err()
	case waitTime:
		se.stop(&tool.Shutdown{Why: "input ended"}, last)
	case waitFailed:
		return se.hostGone(true)
	}
	return nil
}

// stop ends every call for good: queued ones are answered, contexts end, and
// after at most one Grace the rest is answered in place of its handlers and
// what it owns is killed. What is ready then is written until last, as long as
// the host takes it.
func (se *session) stop(cause error, last time.Time) {
	se.mu.Lock()
	se.sched.stopped = true
	se.endSubscriptionsLocked()
	var waiting, active []*call
	for c := se.live.head; c != nil; c = c.next {
		if c.phase == queued {
			se.unqueueLocked(c)
			c.phase = running // so that it can be answered; it holds no slot
			c.returned = true
			se.unholdFrameLocked(c)
			waiting = append(waiting, c)
		} else if !c.returned {
			active = append(active, c)
		}
	}
	se.mu.Unlock()
	for _, c := range waiting {
		se.answerText(c, cause.Error()+"; the call had not started", outcomeFailed)
	}
	se.endCalls(active, cause)
	se.waitReturned()
	for _, c := range se.remaining() {
		se.named(c, cause)
		se.selfAnswer(c, cutOff(cause, se.limits.Grace), outcomeFailed)
		c.owner.Kill()
	}
	se.flush(last)
}

// hostGone ends the session because stdout is dead: nothing can be answered
// any more. When the input ended too, that is an ordinary end.
func (se *session) hostGone(inputEnded bool) error {
	se.mu.Lock()
	err := se.failure
	se.mu.Unlock()
	cause := &tool.HostGone{Err: err}
	se.mu.Lock()
	se.sched.stopped = true
	var active []*call
	for c := se.live.head; c != nil; {
		next := c.next
		switch {
		case c.phase == queued:
			se.unqueueLocked(c)
			c.returned = true
			se.unholdFrameLocked(c)
			c.outcome = outcomeDropped
			delete(se.calls, c.id.Key)
			se.settleLocked(c)
		case !c.returned:
			active = append(active, c)
		}
		c = next
	}
	se.mu.Unlock()
	se.endCalls(active, cause)
	grace := time.NewTimer(se.limits.Grace)
	defer grace.Stop()
	se.waitReturned()
	for _, c := range se.remaining() {
		se.named(c, cause)
		c.owner.Kill()
	}
	if inputEnded {
		return nil
	}
	select {
	case <-se.readDone: // it may be as old as the end of grace
		return nil
	default:
	}
	select {
	case <-se.readDone:
		return nil
	case <-grace.C:
		return err
	}
}

func (se *session) endCalls(calls []*call, cause error) {
	for _, c := range calls {
		se.endContext(c, cause)
	}
}

// endContext ends c's context and has the grace time watched.
func (se *session) endContext(c *call, cause error) {
	if !c.ctx.end(cause) {
		return
	}
	se.mu.Lock()
	defer se.mu.Unlock()
	c.endedAt = time.Now()
	se.wakeAtLocked(c.endedAt.Add(se.limits.Grace))
}

// remaining lists the calls whose handlers are not back.
func (se *session) remaining() []*call {
	se.mu.Lock()
	defer se.mu.Unlock()
	var out []*call
	for c := se.live.head; c != nil; c = c.next {
		if !c.returned {
			out = append(out, c)
		}
	}
	return out
}

type waited uint8

const (
	waitDone waited = iota
	waitTime
	waitCtx
	waitFailed
)

// wait waits until no call is live and everything is written, or until what
// end says, which is asked again each time it has passed.
func (se *session) wait(ctx context.Context, end func() time.Time) waited {
	timer := time.NewTimer(time.Until(end()))
	defer timer.Stop()
	flushCtx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var flushed chan error // nil while calls are live
	for {
		if flushed == nil && !se.busy() {
			flushed = make(chan error, 1)
			go func() { flushed <- se.out.Flush(flushCtx) }()
		}
		select {
		case err := <-flushed:
			if err != nil {
				return waitFailed
			}
			return waitDone
		case <-se.idleNow:
		case <-timer.C:
			left := time.Until(end())
			if left <= 0 {
				return waitTime
			}
			timer.Reset(left)
		case <-se.failed:
			return waitFailed
		case <-ctx.Done():
			return waitCtx
		}
	}
}

// waitReturned waits, for one Grace at most, until every handler is back.
// Whether their answers are written, or stdout is dead, makes no difference.
func (se *session) waitReturned() {
	timer := time.NewTimer(se.limits.Grace)
	defer timer.Stop()
	for len(se.remaining()) > 0 {
		select {
		case <-se.idleNow:
		case <-timer.C:
			return
		}
	}
}

// busy tells whether a call is live.
func (se *session) busy() bool {
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.live.head != nil
}

// leastFlush is how long a host that is there has to take what is ready.
const leastFlush = 100 * time.Millisecond

// flush waits for the writer as long as the host takes bytes, until last, or
// leastFlush when that has come.
func (se *session) flush(last time.Time) {
	least := time.Now().Add(leastFlush)
	if last.Before(least) {
		last = least
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	flushed := make(chan error, 1)
	go func() { flushed <- se.out.Flush(ctx) }()
	for {
		end := minTime(se.out.Stats().LastProgress.Add(se.limits.Grace), last)
		if end.Before(least) {
			end = least
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		timer := time.NewTimer(left)
		select {
		case <-flushed:
			timer.Stop()
			return
		case <-se.failed:
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// close ends the reader, the writer and the workers.
func (se *session) close() {
	se.r.Close()
	se.out.Close(errSessionOver)
	se.w.Close()
	se.mu.Lock()
	se.over = true
	se.sched.stopped = true
	for _, w := range se.idle {
		w <- false
	}
	se.idle = nil
	se.room.Broadcast()
	if se.alarm != nil {
		se.alarm.Stop()
	}
	se.changed.stopLocked()
	se.stallOverLocked()
	for c := se.live.head; c != nil; {
		next := c.next
		if !c.settled { // its response is half written, or will never be
			c.outcome = outcomeDropped
			se.settleLocked(c)
		}
		c = next
	}
	se.mu.Unlock()
	for _, c := range se.remaining() {
		c.ctx.end(&tool.Shutdown{Why: "server is shutting down"})
	}

	m := se.metrics()
	m.WaitingFrames, m.WaitingBytes = 0, 0
	se.log.Debug("the session is over", "metrics", m)
	st := &se.srv.state
	st.mu.Lock()
	delete(st.sessions, se)
	st.ended.add(m)
	st.mu.Unlock()
}

func minTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}
