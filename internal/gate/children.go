// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import "time"

// withChild starts the first slow call that starts a child, and returns when
// the child is seen. Which that is, is looked for once.
func (p *probe) withChild(s *session) (*request, []process) {
	p.looking.Lock()
	calls, known := p.o.Slow, p.forker
	if known > 0 {
		calls = calls[known-1 : known]
		p.looking.Unlock()
	} else {
		defer p.looking.Unlock()
	}
	for i, c := range calls {
		// What the first call of a session starts may be kept for those that
		// follow: a browser, a language server, a pool. The child of a call is
		// what another call starts anew.
		if !s.warm {
			r, list := p.forks(s, c)
			if r == nil {
				continue
			}
			s.cancel(r)
			s.awaitProcesses(min(time.Second, p.o.Deadline), func(now []process) bool { return len(both(now, list)) == 0 })
			s.within(settleTime, nil)
			s.warm = true
		}
		r, list := p.forks(s, c)
		if r == nil {
			s.warm = false
			continue
		}
		if known == 0 {
			p.forker = i + 1
		}
		r.slow = max(known-1, i)
		return r, list
	}
	if !p.over() {
		p.cannot("give -slow a tool that runs a child process for several seconds", "no child process was seen to run for %s", p.o.Slow[0])
	}
	return nil, nil
}

// forks starts a call and returns when a process that was not there before is
// seen; one that starts none is cancelled, and nil returned.
func (p *probe) forks(s *session, c Call) (*request, []process) {
	base := s.tree.children()
	r := s.call(c)
	var list []process
	for end := time.Now().Add(min(2*time.Second, p.o.Deadline)); time.Now().Before(end) && r.answer == nil && !p.over(); {
		list, _ = s.awaitProcesses(50*time.Millisecond, func(list []process) bool { return len(without(list, base)) > 0 })
		if list = without(list, base); len(list) > 0 {
			break
		}
		s.pump()
	}
	if len(list) > 0 {
		// What a shell starts comes a moment later.
		s.within(settleTime, nil)
		if all := without(s.tree.children(), base); len(all) > 0 {
			list = all
		}
		s.pump()
		if r.answer == nil {
			return r, list
		}
	}
	if r.answer == nil {
		s.cancel(r)
	}
	return nil, nil
}

// leftBy wants no process of cancelled calls to be left. What is left and was
// there alone after the same calls were made again is kept on purpose: again
// makes them, and reports whether they ran.
func (p *probe) leftBy(s *session, what string, again func() bool) {
	if !linux {
		return
	}
	gone := func(base []process) ([]process, bool) {
		left, ok := s.awaitProcesses(p.o.Deadline, func(list []process) bool { return len(without(list, base)) == 0 })
		return without(left, base), ok
	}
	left, ok := gone(s.resting.children)
	if ok || p.over() {
		return
	}
	if again() {
		more, ok := gone(append(left, s.resting.children...))
		if p.over() {
			return
		}
		if kept := both(s.tree.children(), left); ok && len(kept) == len(left) {
			p.note("%s: %s: taken to be kept on purpose, since the same calls once more left no other process", s.proto, describe(kept)+", which the first calls started")
			s.resting.children = append(s.resting.children, kept...)
			return
		}
		left = append(left, more...)
	}
	p.fault("%s: %s: %v after the cancel these still run: %s", s.proto, what, p.o.Deadline, describe(left))
}

// childrenGone looks for what a call has started, after a cancel, at the end
// of stdin, and when the host has died.
func childrenGone(p *probe) {
	if !p.needSlow() {
		return
	}
	if !linux {
		p.cannot("run it on Linux", "child processes are looked up in /proc, which this system does not have")
		return
	}
	for _, way := range []struct {
		name, what string
		ends       bool // the server with it
		do         func(*session, *request)
	}{
		{"cancel", "after the cancel", false, func(s *session, r *request) { s.cancel(r) }},
		{"eof", "after the end of stdin", true, func(s *session, _ *request) { s.h.CloseInput() }},
		{"death", "after the death of the host", true, func(s *session, _ *request) {
			s.pump()
			s.tap.ignore()
			s.h.Vanish()
		}},
	} {
		// Nothing that is left may be killed before it was looked for.
		s := p.openWith(way.name, p.usual(), sessionConfig{grace: 3 * p.o.Deadline})
		if s == nil {
			return
		}
		r, children := p.withChild(s)
		if r == nil {
			return
		}
		wanted := func(list []process) []process { return both(list, children) }
		if way.ends {
			wanted = func(list []process) []process { return list }
		}
		began := time.Now()
		way.do(s, r)
		left, ok := s.awaitProcesses(p.o.Deadline, func(list []process) bool { return len(wanted(list)) == 0 })
		ofCall := both(left, children)
		switch {
		case p.over():
			return
		case len(ofCall) > 0:
			p.fault("%v %s these still run: %s", p.o.Deadline, way.what, describe(ofCall))
		case !ok && len(left) > 0:
			p.warn("%v %s these still run, which the call did not start: %s", p.o.Deadline, way.what, describe(left))
		default:
			p.ok("%s %s ended in %v", way.what, describe(children), round(time.Since(began)))
		}
	}
}
