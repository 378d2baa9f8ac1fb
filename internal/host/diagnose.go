// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"fmt"
	"time"
)

// Diagnose says in one sentence which side is stuck, if any. Stuck means that
// nothing has moved for Config.Stall:
//
//   - the server's write side: a frame is half received, the reader waits for
//     the rest of it, and the process is alive;
//   - the host's consumer, or its queue: bytes arrive, and frames are not
//     dispatched. So is the host's reader or its stderr, when Config.Raw or
//     Config.Stderr blocks;
//   - the server's read side: it does not take what was sent.
//
// Else it says that the host does not read on purpose, that the server has
// ended, that something is under way, or "idle". It ends with the requests
// that are open.
func (h *Host) Diagnose() string {
	m := h.Metrics()
	now := time.Now()
	h.mu.Lock()
	_, oldest := h.oldestLocked()
	over, cause := h.over, h.err
	h.mu.Unlock()
	waiting := "no request is open"
	if oldest != nil {
		waiting = fmt.Sprintf("%s open, the oldest %s (id %s) for %s",
			count(m.Open, "request"), oldest.Method, clip(oldest.ID), round(now.Sub(oldest.Sent)))
	}
	return h.stuck(m, now, cause, over) + "; " + waiting
}

// stuck is Diagnose without the open requests.
func (h *Host) stuck(m Metrics, now time.Time, cause error, over bool) string {
	since := func(t time.Time) time.Duration {
		if t.IsZero() {
			return 0
		}
		return now.Sub(t)
	}
	queued, queuedBytes, oldest, busy := h.queue.stuck()
	unsent, unsentSince := h.w.stuck()
	stage, stageSince := h.gate.stage()
	pausedSince, paused := h.gate.pausedSince()
	partial := count(m.Partial, "byte") + " of a frame"
	if h.stats.partialOver.Load() {
		partial += " that is over the limit, and is thrown away as it comes"
	}
	stall := h.cfg.Stall
	switch {
	case stage == stageHold && since(stageSince) >= stall:
		return fmt.Sprintf("the host's reader is stuck: Config.Raw has not come back for %s", round(since(stageSince)))
	case since(busy) >= stall:
		return fmt.Sprintf("the host's consumer is stuck: it has held one frame for %s while %s (%s) wait behind it and the reader has taken %s",
			round(since(busy)), count(queued, "frame"), count(queuedBytes, "byte"), count(m.Received, "byte"))
	case since(oldest) >= stall:
		return fmt.Sprintf("the host's queue is behind: %s (%s) wait for its consumer, the oldest for %s, and the reader has taken %s",
			count(queued, "frame"), count(queuedBytes, "byte"), round(since(oldest)), count(m.Received, "byte"))
	case m.Exit != nil:
		return fmt.Sprintf("the server has ended (%s)", m.Exit)
	case cause != nil:
		return fmt.Sprintf("the host has ended the session (%v), and the server is alive", cause)
	case over:
		return "the server has closed its stdout, and lives on"
	case since(h.stderr.held()) >= stall:
		return fmt.Sprintf("the host does not read the server's stderr: Config.Stderr has not come back for %s", round(since(h.stderr.held())))
	case paused:
		return fmt.Sprintf("the host has paused reading for %s, %s received", round(since(pausedSince)), partial)
	case m.Partial > 0 && stage == stageRead && since(stageSince) >= stall:
		return fmt.Sprintf("the server's write side is stuck: no byte for %s after %s, and the server is alive", round(since(stageSince)), partial)
	case unsent > 0 && since(unsentSince) >= stall:
		return fmt.Sprintf("the server's read side is stuck: it has taken no byte of stdin for %s while %d wait", round(since(unsentSince)), unsent)
	case m.Partial > 0 && stage == stagePace:
		return fmt.Sprintf("the host reads slowly on purpose: %s received", partial)
	case m.Partial > 0:
		return fmt.Sprintf("under way: %s received, the last byte %s ago", partial, round(since(m.LastReceived)))
	case queued > 0 || !busy.IsZero():
		if !busy.IsZero() {
			queued++
		}
		return fmt.Sprintf("under way: %s received and not yet dispatched", count(queued, "frame"))
	}
	last := "last byte " + round(since(m.LastReceived)).String() + " ago"
	if m.Received == 0 {
		last = "no byte since the start " + round(since(m.LastReceived)).String() + " ago"
	}
	if h.cfg.StderrUnread {
		last += ", stderr unread on purpose"
	}
	return "idle: nothing is stuck, no frame half received, none waiting, " + last
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
