// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

const (
	stderrHead = 256 << 10 // bytes kept from the start of stderr
	stderrTail = 256 << 10 // bytes kept from its end, at least
)

// capture keeps the start and the end of stderr, and passes all of it on.
type capture struct {
	next  io.Writer // nil for none
	moved func()

	mu         sync.Mutex // guards all below
	head, tail []byte
	total      int64
	holds      time.Time // since when next has held a write, zero when it does not
}

func newCapture(next io.Writer, moved func()) *capture { return &capture{next: next, moved: moved} }

// Write never fails, so that reading goes on whatever becomes of next.
func (c *capture) Write(p []byte) (int, error) {
	if c.next != nil {
		c.hold(time.Now())
		c.next.Write(p)
		c.hold(time.Time{})
	}
	c.mu.Lock()
	c.total += int64(len(p))
	n := min(len(p), stderrHead-len(c.head))
	c.head = append(c.head, p[:n]...)
	c.tail = append(c.tail, p[n:]...)
	if over := len(c.tail) - stderrTail; over > stderrTail {
		c.tail = append(c.tail[:0], c.tail[over:]...)
	}
	c.mu.Unlock()
	c.moved()
	return len(p), nil
}

func (c *capture) hold(since time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holds = since
}

// held is since when next has not come back from a write, zero when it has.
func (c *capture) held() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds
}

func (c *capture) text() (string, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b bytes.Buffer
	b.Write(c.head)
	if gap := c.total - int64(len(c.head)+len(c.tail)); gap > 0 {
		fmt.Fprintf(&b, "\n[%s left out]\n", count(gap, "byte"))
	}
	b.Write(c.tail)
	return b.String(), c.total
}

// Stderr returns what the server has written to stderr: all of it, or its
// start and its end with a line between them that says how much is missing;
// 512 KiB at least are kept. bytes is the exact count of what was read.
func (h *Host) Stderr() (text string, bytes int64) { return h.stderr.text() }

// AwaitStderr waits until what is kept of stderr contains s.
func (h *Host) AwaitStderr(ctx context.Context, s string) error {
	return h.until(ctx, func() bool {
		text, _ := h.stderr.text()
		return strings.Contains(text, s)
	})
}

// AwaitReceived waits until n bytes of stdout have come, since the start.
func (h *Host) AwaitReceived(ctx context.Context, n int64) error {
	return h.until(ctx, func() bool { return h.stats.bytes.Load() >= n })
}
