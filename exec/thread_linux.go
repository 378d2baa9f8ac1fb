// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"runtime"
	"sync"
	"time"
)

// thread is the parent of all children. The kernel sends the parent-death
// signal when the thread that forked ends, not the process, and Go ends
// threads: those of goroutines that end while they are locked to them. So one
// goroutine is locked to one thread, and does not end while a child lives. It
// stays for linger after the last one, since a new one costs more than a fork.
var thread parent

const linger = 100 * time.Millisecond

type parent struct {
	mu       sync.Mutex // guards what is below
	children int
	work     chan func()
	idle     *time.Timer // calls leave; runs while children is zero
}

// hold makes the thread stay until release.
func (p *parent) hold() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.children++
	if p.idle != nil {
		p.idle.Stop()
	}
	if p.work == nil {
		p.work = make(chan func())
		go stay(p.work)
	}
}

func stay(work <-chan func()) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for fn := range work {
		fn()
	}
}

// release undoes one hold.
func (p *parent) release() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.children--; p.children > 0 {
		return
	}
	if p.idle == nil {
		p.idle = time.AfterFunc(linger, p.leave)
	} else {
		p.idle.Reset(linger)
	}
}

// leave ends the goroutine; its thread goes back to the runtime.
func (p *parent) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.children == 0 && p.work != nil {
		close(p.work)
		p.work = nil
	}
}

// do runs fn on the thread. The caller holds it.
func (p *parent) do(fn func()) {
	p.mu.Lock()
	work := p.work
	p.mu.Unlock()
	done := make(chan struct{})
	work <- func() {
		fn()
		close(done)
	}
	<-done
}
