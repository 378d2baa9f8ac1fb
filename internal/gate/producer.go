// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strings"
	"sync"
	"time"
)

// producer is what can be seen of the work for a call that runs.
type producer struct {
	children []process // that ran for a while, and not before the call
	load     float64   // share of a core, above what the server uses at rest; 0 for none
}

// producer looks at what works for the calls that run, for settleTime at least.
func (s *session) producer() producer {
	if !linux {
		return producer{}
	}
	first := without(s.tree.children(), s.resting.children)
	var load float64
	if s.resting.measured && s.resting.load < busy {
		load = s.load() - s.resting.load
	} else {
		s.within(settleTime, nil)
	}
	if load < 2*busy { // chance
		load = 0
	}
	return producer{both(s.tree.children(), first), load}
}

// ended reports whether something of the work was seen to end by now: a child
// of it, or its use of the CPU.
func (s *session) ended(was producer) bool {
	if !linux {
		return false
	}
	if len(was.children) > len(both(s.tree.children(), was.children)) {
		return true
	}
	return was.load > 0 && s.load() < s.resting.load+busy
}

// heardStopped reports whether Options.Stopped was said since r was cancelled.
func (s *session) heardStopped(r *request) bool {
	if s.g.o.Stopped == "" || r.slow != 0 {
		return false
	}
	text, _ := s.h.Stderr()
	return strings.Count(text, s.g.o.Stopped) > r.said
}

// course is how long the first slow call takes when nobody cancels it.
type course struct {
	mu    sync.Mutex // held while it is measured
	known bool
	took  time.Duration // 0 when it is longer than the deadline
}

// course measures, once in a run, how long the first slow call takes that is
// left alone; 0 when that is longer than the deadline.
func (p *probe) course(s *session) time.Duration {
	c := &p.run.slowCourse
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known || p.over() {
		return c.took
	}
	r := s.call(p.o.Slow[0])
	s.wait(r, p.o.Deadline) // no answer is an outcome too
	c.known = !p.over()
	if r.answer != nil {
		c.took = max(time.Millisecond, r.answer.last.Sub(r.sent))
	} else {
		s.cancel(r)
	}
	return c.took
}

// overtime waits until calls that were cancelled would have been answered had
// nobody cancelled them, or one is. False means that it cannot be told when
// that is, and that the check was told so.
func (p *probe) overtime(s *session, what string, rs ...*request) bool {
	took := p.course(s)
	if p.over() {
		return true
	}
	answered := func() bool {
		for _, r := range rs {
			if r.answer != nil && r.answer.first.After(r.cancelled) && !r.raced() {
				return true
			}
		}
		return false
	}
	if took > 0 {
		s.until(time.Until(rs[len(rs)-1].sent.Add(took+took/2+2*settleTime)), answered) // silence is what is wanted
		return true
	}
	if s.pump(); !answered() {
		p.unseen("give -stopped TEXT, or a -slow that would end by itself within -deadline",
			"%s: %s: whether the work has ended was not to be seen: %s has no child and uses no CPU, and left alone it takes longer than %v", s.proto, what, p.o.Slow[0], p.o.Deadline)
	}
	return false
}
