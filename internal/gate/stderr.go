// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"time"
)

// stderrUnread provokes what servers log, and reads none of it.
func stderrUnread(p *probe) {
	s := p.openWith("", p.usual(), sessionConfig{stderrUnread: true})
	if s == nil {
		return
	}
	s.mayGuess = true
	const rounds, lines = 20, 50
	for range rounds {
		var all []byte
		for i := range lines {
			switch i % 3 {
			case 0:
				all = append(all, frame(nil, "notifications/weir-no-such-notification", nil)...)
			case 1:
				_, b := s.build(nil, "weir/no-such-method", map[string]any{}, false)
				all = append(all, b...)
			case 2:
				_, b := s.build(nil, "tools/call", map[string]any{"name": "weir-no-such-tool"}, false)
				all = append(all, b...)
			}
		}
		s.send(all)
		if p.failed(s.second(), "with nobody reading its stderr, after requests that servers log errors about") {
			return
		}
	}
	p.ok("%s that servers log errors about, with nobody reading its stderr: all went on", count(rounds*lines, "message"))
}

// flood is how much is to pass over stderr.
const flood = 10 << 20

// floods is what was learnt of a noisy tool.
type floods struct {
	call Call
	n    int // calls that make a flood
}

// noisy finds a tool that can make the flood.
func noisy(p *probe) (floods, bool) {
	if len(p.o.Noisy) == 0 {
		p.cannot("give -noisy", "no tool was given that writes to stderr")
		return floods{}, false
	}
	s := p.open("measure", p.usual())
	if s == nil {
		return floods{}, false
	}
	const most = 4096
	var said string
	for _, c := range p.o.Noisy {
		_, before := s.h.Stderr()
		r := s.call(c)
		if p.failed(s.wait(r, p.patience()), "%s", c) {
			return floods{}, false
		}
		s.within(100*time.Millisecond, nil) // stderr is another pipe
		_, after := s.h.Stderr()
		each := after - before
		if each*most >= flood {
			return floods{c, int((flood + each - 1) / each)}, true
		}
		said = fmt.Sprintf("%s wrote %s to stderr: too little to make 10 MiB in %d calls", c, bytesOf(each), most)
	}
	p.cannot("give -noisy a tool that writes more to stderr", "%s", said)
	return floods{}, false
}

func stderrFloodRead(p *probe)   { stderrFlood(p, false) }
func stderrFloodUnread(p *probe) { stderrFlood(p, true) }

func stderrFlood(p *probe, unread bool) {
	f, ok := noisy(p)
	if !ok {
		return
	}
	how := "which was read"
	if unread {
		how = "which nobody read"
	}
	s := p.openWith("", p.usual(), sessionConfig{stderrUnread: unread})
	if s == nil {
		return
	}
	began := time.Now()
	done := 0
	passed := func() bool { // what is read is counted; what is not, is taken for what a call wrote before
		if unread {
			return done >= f.n
		}
		_, n := s.h.Stderr()
		return n >= flood || done >= 8*f.n
	}
	for !passed() {
		var rs []*request
		for range 8 {
			rs = append(rs, s.call(f.call))
			done++
		}
		rs = append(rs, s.probe())
		if err := s.answered(rs...); err != nil {
			if !p.over() && unread && s.second() == nil {
				p.warn("while 10 MiB went to stderr, %s, the calls that write them were not answered (others were): %v", how, err)
				return
			}
			p.failed(err, "while 10 MiB went to stderr, %s, in calls of %s", how, f.call.Tool)
			return
		}
	}
	if p.failed(s.second(), "after 10 MiB on stderr, %s", how) {
		return
	}
	if !unread {
		s.within(100*time.Millisecond, nil)
		if _, n := s.h.Stderr(); n < flood {
			p.cannot("give -noisy a tool that writes as much at each call", "only %s came", size(n))
			return
		}
	}
	p.ok("10 MiB on stderr, %s, in %s of %s: all answered, in %v", how, count(done, "call"), f.call.Tool, round(time.Since(began)))
}
