// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"
)

// Diagnose says in one sentence which side is stuck, if any: the server's
// write side (a frame half received, and no byte for Config.Stall), the
// host's own (frames wait, or the dispatcher is held up), or the server's
// read side (it does not take what was sent).
func (h *Host) Diagnose() string {
	m := h.Metrics()
	now := time.Now()
	h.mu.Lock()
	_, oldest := h.oldestLocked()
	over := h.over
	h.mu.Unlock()
	waiting := "no request is open"
	if oldest != nil {
		waiting = fmt.Sprintf("%s open, the oldest %s (id %s) for %s",
			count(m.Open, "request"), oldest.Method, clip(oldest.ID), round(now.Sub(oldest.Sent)))
	}
	queued, queuedBytes, busySince := h.queue.stuck()
	busy := time.Duration(0)
	if !busySince.IsZero() {
		busy = now.Sub(busySince)
	}
	silent := now.Sub(m.LastReceived)
	unsent, since := h.w.stuck()
	pausedSince, paused := h.gate.pausedSince()
	switch {
	case busy >= h.cfg.Stall:
		return fmt.Sprintf("the host's consumer is stuck: it has held one frame for %s while %s (%s) wait behind it and the reader has taken %s; %s",
			round(busy), count(queued, "frame"), count(queuedBytes, "byte"), count(m.Received, "byte"), waiting)
	case m.Exit != nil:
		return fmt.Sprintf("the server has ended (%s); %s", m.Exit, waiting)
	case over:
		return "the server has closed its stdout, and lives on"
	case paused:
		return fmt.Sprintf("the host has paused reading for %s, %s of a frame received; %s",
			round(now.Sub(pausedSince)), count(m.Partial, "byte"), waiting)
	case m.Partial > 0 && silent >= h.cfg.Stall:
		return fmt.Sprintf("the server's write side is stuck: no byte for %s after %s of a frame, and the server is alive; %s",
			round(silent), count(m.Partial, "byte"), waiting)
	case unsent > 0 && now.Sub(since) >= h.cfg.Stall:
		return fmt.Sprintf("the server's read side is stuck: it has taken no byte of stdin for %s while %d wait; %s",
			round(now.Sub(since)), unsent, waiting)
	}
	return fmt.Sprintf("idle: no frame half received, none waiting, last byte %s ago; %s", round(silent), waiting)
}

func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// clip shortens b for a message.
func clip[T ~[]byte | ~string](b T) string {
	if len(b) > 200 {
		return fmt.Sprintf("%.200s… (%d bytes)", string(b[:200]), len(b))
	}
	return string(b)
}
