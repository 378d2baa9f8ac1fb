// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// TestRoom holds that a session is asked for when there is room for it, or
// nothing can be learned by waiting, and that one that has ended counts until
// the server has answered something later.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := &room{limit: 2}
		enter := func() <-chan uint64 {
			in := make(chan uint64, 1)
			go func() {
				if n, ok := r.enter(nil, nil, nil); ok {
					in <- n
				}
				close(in)
			}()
			synctest.Wait()
			return in
		}
		in := func(c <-chan uint64) bool { return len(c) == 1 }
		first, second := enter(), enter()
		third := enter()
		if !in(first) || !in(second) || in(third) {
			t.Fatal("with two of two opening, a third does not wait")
		}
		r.answered(<-first)
		r.answered(<-second) // nothing is due any more: who knows what the server takes
		synctest.Wait()
		if !in(third) {
			t.Fatal("it waits although nothing will come")
		}
		r.refused() // the third
		n := <-third
		ask := r.ask()
		r.answered(n)
		fourth := enter()
		r.ended()
		synctest.Wait()
		if in(fourth) {
			t.Fatal("a session that has ended is taken for gone before the server has said anything")
		}
		r.answered(ask) // it was asked before the end
		// Nothing is due, so it tries.
		synctest.Wait()
		if !in(fourth) {
			t.Fatal("it waits although nothing will come")
		}
		fifth := enter()
		if in(fifth) {
			t.Fatal("three of two")
		}
		r.answered(<-fourth) // asked after the end: that one is gone
		synctest.Wait()
		if !in(fifth) || r.held != 3 {
			t.Fatalf("%d held", r.held)
		}
		if _, ok := r.try(); ok {
			t.Error("there is no room to try")
		}
		// Waiting ends with each of the channels, and gives nothing away.
		over := make(chan struct{})
		now := make(chan time.Time, 1)
		now <- time.Now()
		close(over)
		for _, enter := range []func() (uint64, bool){
			func() (uint64, bool) { return r.enter(over, nil, nil) },
			func() (uint64, bool) { return r.enter(nil, now, nil) },
			func() (uint64, bool) { return r.enter(nil, nil, over) },
		} {
			if _, ok := enter(); ok || r.held != 3 || len(r.waiting) != 0 {
				t.Errorf("let in: %v, %d held, %d wait", ok, r.held, len(r.waiting))
			}
		}
		r.answered(<-fifth)
		if r.due != 0 {
			t.Errorf("%d due", r.due)
		}
	})
}

// TestRoomLateTurn holds that a turn that comes while its call gives up is passed
// on: whichever is first, what is counted is what was let in.
func TestRoomLateTurn(t *testing.T) {
	for range 50 {
		r := &room{limit: 1}
		r.enter(nil, nil, nil)
		done := make(chan struct{})
		let := make(chan bool)
		go func() {
			_, ok := r.enter(done, nil, nil)
			let <- ok
		}()
		for waits := false; !waits; runtime.Gosched() {
			r.mu.Lock()
			waits = len(r.waiting) == 1
			r.mu.Unlock()
		}
		r.mu.Lock()
		close(done) // the call leaves its select, and comes no further
		for range 100 {
			runtime.Gosched()
		}
		r.held-- // the first session was refused
		r.due--
		r.passLocked()
		r.mu.Unlock()
		want := 0
		if <-let {
			want = 1
		}
		if r.held != want || r.due != want || len(r.waiting) != 0 {
			t.Fatalf("%d held and %d due, want %d", r.held, r.due, want)
		}
	}
}

// TestRoomNoticesOnce holds that each session that has ended is counted out once,
// however many answers tell of it and in whichever order they come.
func TestRoomNoticesOnce(t *testing.T) {
	r := &room{limit: 10}
	for range 5 {
		n, _ := r.enter(nil, nil, nil)
		r.answered(n)
	}
	r.ended()
	one := r.ask()
	r.ended()
	two, again := r.ask(), r.ask()
	for i, step := range []struct {
		n    uint64
		held int
	}{{two, 3}, {again, 3}, {one, 3}} {
		if r.answered(step.n); r.held != step.held {
			t.Errorf("answer %d: %d held, want %d", i+1, r.held, step.held)
		}
	}
}

// TestNoRefusals holds that many calls at once ask a real server for no session
// that it would refuse.
func TestNoRefusals(t *testing.T) {
	s := sshdtest.Start(t, sshdtest.Options{})
	h := testHost(t, s)
	var all sync.WaitGroup
	for range 100 {
		all.Go(func() {
			if o, err := h.Run(context.Background(), sh("exit 0")); err != nil || !o.Success() {
				t.Errorf("%+v, %v", o, err)
			}
		})
	}
	all.Wait()
	if n := strings.Count(s.Log(), "no more sessions"); n > 0 {
		t.Errorf("the server refused %d sessions", n)
	}
}
