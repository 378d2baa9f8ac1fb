// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"time"

	"github.com/weir-mcp/weir/tool"
)

// A stall is stdout taking no byte although frames wait (I11).
type stall struct {
	watched bool      // the alarm is set for it
	since   time.Time // when it began, once it was logged; else zero
}

// wakeAtLocked sees to it that tick runs at t or before. One alarm serves
// time-outs, grace times, the stall watch and list changes.
func (se *session) wakeAtLocked(t time.Time) {
	if se.over || !se.alarmAt.IsZero() && !t.Before(se.alarmAt) {
		return
	}
	se.alarmAt = t
	if se.alarm == nil {
		se.alarm = time.AfterFunc(time.Until(t), se.tick)
		return
	}
	se.alarm.Reset(time.Until(t))
}

// tick looks at everything that is due.
func (se *session) tick() {
	now := time.Now()
	se.mu.Lock()
	se.alarmAt = time.Time{}
	var expired, ignored []*call
	for c := se.live.head; c != nil; c = c.next {
		if c.phase == queued || c.returned {
			continue
		}
		switch {
		case c.endedAt.IsZero() && now.Before(c.deadline):
			se.wakeAtLocked(c.deadline)
		case c.endedAt.IsZero():
			expired = append(expired, c)
		case c.named:
		case now.Before(c.endedAt.Add(se.limits.Grace)):
			se.wakeAtLocked(c.endedAt.Add(se.limits.Grace))
		default:
			ignored = append(ignored, c)
		}
	}
	se.watchStallLocked(now)
	se.changed.tickLocked(se, now)
	se.mu.Unlock()

	for _, c := range expired {
		se.endContext(c, &tool.TimedOut{After: c.deadline.Sub(c.started)})
	}
	for _, c := range ignored {
		cause := c.ctx.ended()
		se.named(c, cause)
		if timedOut(cause) {
			se.selfAnswer(c, cutOff(cause, se.limits.Grace), outcomeTimedOut)
		}
	}
}

// named logs, once, that c's handler ignores the end of its context. Whoever
// calls it second waits until the line is in the log's queue, since the session
// may be about to flush that.
func (se *session) named(c *call, cause error) {
	c.accuse.Do(func() {
		se.mu.Lock()
		c.named = true
		se.mu.Unlock()
		se.log.Warn("a handler goes on although its context ended; its slot stays taken until it returns",
			"tool", c.name(), "id", c.id.Raw, "cause", cause.Error(), "grace", se.limits.Grace, "age", time.Since(c.arrived).Round(time.Millisecond))
	})
}

// watchStallLocked logs the beginning and the end of a stall.
func (se *session) watchStallLocked(now time.Time) {
	st := &se.stall
	if !st.watched {
		return
	}
	out := se.out.Stats()
	quiet := now.Sub(out.LastProgress)
	moving := out.WaitingBytes == 0 || quiet < se.limits.StallWarning
	se.stallOverLocked()
	switch {
	case out.WaitingBytes == 0:
		st.watched = false
	case moving:
		se.wakeAtLocked(out.LastProgress.Add(se.limits.StallWarning))
	default:
		if st.since.IsZero() {
			st.since = out.LastProgress
			se.counts.stalls++
			se.log.Warn("stdout is stalled: the host has not taken a byte although frames wait", se.stallAttrsLocked(now, quiet)...)
		}
		se.wakeAtLocked(now.Add(se.limits.StallWarning))
	}
}

// stallOverLocked logs the end of a stall, if there was one and stdout has
// taken a byte since.
func (se *session) stallOverLocked() {
	st := &se.stall
	if st.since.IsZero() {
		return
	}
	if out := se.out.Stats(); out.LastProgress.After(st.since) {
		se.log.Info("stdout moves again", "stalled_for", out.Pause.Round(time.Millisecond), "waiting_bytes", out.WaitingBytes)
		st.since = time.Time{}
	}
}

func (se *session) stallAttrsLocked(now time.Time, quiet time.Duration) []any {
	out := se.out.Stats()
	calls := se.snapshotLocked(now)
	attrs := []any{
		slog.Duration("for", quiet.Round(time.Millisecond)),
		slog.Int64("waiting_bytes", out.WaitingBytes),
		slog.Int64("waiting_frames", out.WaitingFrames),
		slog.Int("calls", len(calls)),
		slog.Int("queued", se.sched.waiting),
	}
	if len(calls) > 0 {
		c := calls[0]
		attrs = append(attrs, slog.Group("oldest", "tool", c.Tool, "id", c.ID, "age", c.Age.Round(time.Millisecond), "state", c.State, "owns", len(c.Owns)))
	}
	return attrs
}
