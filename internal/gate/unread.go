// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// unreadOutput asks for more than the pipe takes, does not read it, and looks
// whether the server goes on reading; then it reads on, and wants everything.
func unreadOutput(p *probe) {
	if !p.needBig() {
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	c, each, err := p.sized(s, 256<<10)
	if p.failed(err, "the call of -big") || p.over() {
		return
	}
	const inAll = 768 << 10 // several times what a pipe and its buffers take
	if each < 2<<10 {
		p.cannot("give -big a tool with larger results", "%s has a result of %s: too little to fill a pipe", c, bytesOf(each))
		return
	}
	s.h.Pause()
	var rs []*request
	for sum := int64(0); sum < inAll; sum += each {
		rs = append(rs, s.call(c))
	}
	s.within(300*time.Millisecond, nil) // the pipe fills; nothing can be seen of it from here
	// Notifications, which nobody has to answer: enough that a server that has
	// stopped reading cannot take them all.
	note := frame(nil, "notifications/cancelled", map[string]any{
		"requestId": "weir-no-such-request", "reason": strings.Repeat("r", 60<<10),
	})
	const notes = 6
	began := time.Now()
	for range notes {
		s.send(note)
	}
	deaf := s.taken()
	held := time.Since(began)
	last := s.probe()
	s.within(200*time.Millisecond, nil)
	s.h.Resume()
	if p.over() {
		return
	}
	if deaf != nil {
		p.fault("while the host did not read its output, it stopped reading its input: %v; a cancel would not reach it", deaf)
	} else {
		p.ok("while %s waited to be read, it took %s of input in %v", count(len(rs), "response"), size(int64(notes*len(note))), round(held))
	}
	if p.failed(s.all(append(rs, last)), "after the host read on, %s were still open", count(len(rs)+1, "request")) {
		return
	}
	for _, r := range rs {
		if m := measure(r.answer); m.failed && each > 8<<10 {
			p.note("a call was answered with an error: %s", clip(m.text))
			break
		}
	}
	if !p.failed(s.second(), "after the host read on") {
		p.ok("after the host read on, all %s were answered", count(len(rs)+1, "request"))
	}
}

// all waits for the answers, for as long as something comes.
func (s *session) all(rs []*request) error {
	for _, r := range rs {
		for {
			before := s.tap.received()
			err := s.wait(r, s.g.o.Deadline)
			if err == nil {
				break
			}
			if s.g.ctx.Err() != nil || s.tap.received() == before {
				return err
			}
		}
	}
	return nil
}

// sized is a call of -big with a result of about want bytes: by a lever where
// there is one, else the largest that was seen.
func (p *probe) sized(s *session, want int64) (c Call, frame int64, err error) {
	l, err := s.lever(p.o.Big, byFrame, 1000, 2000)
	if err != nil {
		return c, 0, err
	}
	if l != nil {
		c, frame = l.with(l.at), l.size
		// What bounds its results may have an error for so much, and more for less.
		for _, want := range []int64{want, want / 4, want / 16} {
			n := l.reach(want)
			if n <= l.at || p.beyond(l, n, want) != "" {
				continue
			}
			bigger := l.with(n)
			got, _, err := s.ask(bigger, nil)
			var refused *tooLongError
			if err != nil && !errors.As(err, &refused) {
				return c, 0, fmt.Errorf("%s: %w", l, err)
			}
			if err == nil && !got.failed && got.frame > frame {
				c, frame = bigger, got.frame
			}
			if frame >= want/2 {
				return c, frame, nil
			}
		}
	}
	for _, b := range p.o.Big {
		got, _, err := s.ask(b, nil)
		if err != nil {
			return b, 0, fmt.Errorf("%s: %w", b, err)
		}
		if !got.failed && got.frame > frame {
			c, frame = b, got.frame
		}
	}
	if frame == 0 {
		c = p.o.Big[0]
	}
	return c, frame, nil
}
