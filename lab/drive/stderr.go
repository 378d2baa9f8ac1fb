// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"bytes"
	"context"
	"strings"
	"sync"
)

// Tail takes what a server writes on stderr: its last 16 KiB are kept. It is safe for concurrent use.
type Tail struct {
	mu   sync.Mutex // guards kept and more
	kept []byte
	more chan struct{} // closed and replaced at each Write
}

const tailSize = 16 << 10

// NewTail makes an empty Tail.
func NewTail() *Tail { return &Tail{more: make(chan struct{})} }

// Write never fails.
func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if drop := len(t.kept) - tailSize; drop > 0 {
		t.kept = t.kept[:copy(t.kept, t.kept[drop:])]
	}
	close(t.more)
	t.more = make(chan struct{})
	return len(p), nil
}

// Wait returns when text stands in what is kept, or with ctx's error.
func (t *Tail) Wait(ctx context.Context, text string) error {
	for {
		t.mu.Lock()
		found, more := bytes.Contains(t.kept, []byte(text)), t.more
		t.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Text is what is kept.
func (t *Tail) Text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.kept)
}

// Last is the end of what is kept, for an error message: its last two lines.
func (t *Tail) Last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	lines := strings.Split(strings.TrimSpace(string(t.kept)), "\n")
	return strings.TrimSpace(strings.Join(lines[max(0, len(lines)-2):], "\n"))
}
