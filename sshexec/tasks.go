// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import "sync"

// tasks are goroutines that somebody may wait for, also while more are begun.
type tasks struct {
	mu   sync.Mutex // guards what follows
	n    int
	idle chan struct{} // closed when n is 0 again; nil while nobody waits
}

// Go runs fn in a goroutine.
func (t *tasks) Go(fn func()) {
	t.mu.Lock()
	t.n++
	t.mu.Unlock()
	go func() {
		defer t.done()
		fn()
	}()
}

func (t *tasks) done() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.n--
	if t.n == 0 && t.idle != nil {
		close(t.idle)
		t.idle = nil
	}
}

// Wait returns when none is running.
func (t *tasks) Wait() {
	t.mu.Lock()
	if t.n == 0 {
		t.mu.Unlock()
		return
	}
	if t.idle == nil {
		t.idle = make(chan struct{})
	}
	idle := t.idle
	t.mu.Unlock()
	<-idle
}
