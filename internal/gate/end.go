// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"time"
)

// eofAnswers sends requests and the end of stdin at once.
func eofAnswers(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	var all []byte
	var rs []*request
	add := func(method string, args map[string]any) {
		r, b := s.build(nil, method, args, false)
		rs, all = append(rs, r), append(all, b...)
	}
	for range 3 {
		add(s.probeMethod(), s.probeParams())
	}
	if p.list != nil {
		add("tools/list", map[string]any{})
	}
	for _, c := range p.o.Call {
		add("tools/call", c.params())
	}
	s.send(all)
	s.h.CloseInput()
	lost := 0
	var first error
	end := time.Now().Add(p.o.Deadline)
	for _, r := range rs {
		if err := s.wait(r, max(time.Millisecond, time.Until(end))); err != nil {
			lost++
			if first == nil {
				first = err
			}
		}
	}
	if p.over() {
		return
	}
	if lost > 0 {
		p.warn("%d of %d requests that came right before the end of stdin were not answered: %v", lost, len(rs), first)
		return
	}
	p.ok("%d requests and the end of stdin at once: all answered", len(rs))
}

// eofExit closes stdin and waits for the end.
func eofExit(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	if p.failed(s.second(), "before the end of stdin") {
		return
	}
	began := time.Now()
	s.h.CloseInput()
	exit, ended := s.exited(p.o.Deadline)
	switch {
	case p.over():
	case !ended:
		p.fault("the server still runs %v after the end of stdin: its host has to kill it", p.o.Deadline)
	case exit.Err != nil:
		p.warn("the server ended %v after the end of stdin, but with %v", round(time.Since(began)), exit.Err)
	case exit.OutputHeld:
		p.warn("the server ended, and something that it started still holds its output open")
	default:
		p.ok("it ended in %v", round(time.Since(began)))
	}
}

// hostDeath takes everything away at once, as the death of a host does, while
// a call runs if there is one to run.
func hostDeath(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	if len(p.o.Slow) > 0 {
		s.call(p.o.Slow[0])
		if p.failed(s.answered(s.probe()), "a small request beside %s", p.o.Slow[0]) {
			return
		}
	} else if len(p.o.Call) > 0 {
		s.call(p.o.Call[0])
	}
	s.pump()
	s.tap.ignore()
	began := time.Now()
	s.h.Vanish()
	_, ended := s.exited(p.o.Deadline)
	switch {
	case p.over():
	case !ended:
		p.fault("the server still runs %v after its host has died: nobody is left to stop it", p.o.Deadline)
	default:
		p.ok("it ended in %v", round(time.Since(began)))
	}
}
