// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/weir-mcp/weir/internal/host"
)

// The cancels of a call are tried in five steps: start it; wait until its
// state is seen; cancel it; see its producer end; make a second, unrelated
// request on the same session.

// needSlow reports whether a tool was given that takes its time.
func (p *probe) needSlow() bool {
	if len(p.o.Slow) == 0 {
		p.cannot("give -slow", "no tool was given that takes several seconds")
		return false
	}
	return true
}

// settleTime is how long a call runs before it is cancelled, at least.
const settleTime = 250 * time.Millisecond

// waits are how long a call runs before it is cancelled, first and, when it
// was answered all the same, again: by chance the answer may have been on its
// way once, not after another time too.
var waits = []time.Duration{settleTime, 2*settleTime + 70*time.Millisecond}

// raced is how soon after the server has read a cancel an answer may have been
// on its way.
const raced = 50 * time.Millisecond

// raced reports whether the answer came so soon.
func (r *request) raced() bool { return r.answer != nil && r.answer.first.Sub(r.heard()) < raced }

// heard is when the server is known to have read the cancel of r: it reads in
// order, and has answered what was sent after it. Before that it is when the
// cancel was sent.
func (r *request) heard() time.Time {
	if r.after != nil && r.after.answer != nil {
		return r.after.answer.first
	}
	return r.cancelled
}

// running starts a call and waits until it is seen to run: a request that was
// sent after it is answered, and it has had its time. nil means that the check
// is over.
func (p *probe) running(s *session, c Call, wait time.Duration) *request {
	r := s.call(c)
	if p.failed(s.answered(s.probe()), "%s: a small request beside %s", s.proto, c) {
		return nil
	}
	s.until(wait, func() bool { return r.answer != nil || len(r.progress) > 0 })
	if len(r.progress) > 0 {
		s.within(wait, nil)
		s.pump()
	}
	if r.answer == nil || p.over() {
		return r
	}
	got := measure(r.answer)
	what := "was answered"
	if got.failed {
		what = "was answered with an error (" + clip(got.text) + ")"
	}
	p.cannot("give -slow a tool that takes several seconds", "%s %s after %v: too soon to be cancelled", c, what, round(r.answer.last.Sub(r.sent)))
	return nil
}

// late judges what came for a call after it was cancelled. A response that had
// begun before is allowed. maybe says that it may have been on its way: then
// one that came right after the cancel says nothing.
func (p *probe) late(s *session, r *request, what string, maybe bool) {
	after, soon := 0, 0
	for _, m := range r.progress {
		switch {
		case m.first.Sub(r.heard()) > raced:
			after++
		case m.first.After(r.cancelled):
			soon++
		}
	}
	say := p.warn
	if host.IsModern(s.proto) {
		say = p.fault
	}
	switch m := r.answer; {
	case m == nil && after > 0:
		say("%s: %s: %s came after the cancel", s.proto, what, count(after, "progress notification"))
	case m == nil && soon > 0:
		p.note("%s: %s: %s came within %v of the cancel, and may have been on the way", s.proto, what, count(soon, "progress notification"), raced)
	case m == nil:
	case m.first.Before(r.cancelled):
		p.note("%s: %s: the response had begun when the cancel came, and came whole (%s)", s.proto, what, bytesOf(m.size))
	case maybe:
		p.note("%s: %s: a response came %v after the cancel; it may have been on its way", s.proto, what, round(m.first.Sub(r.cancelled)))
	default:
		say("%s: %s: a response came %v after the cancel: %s", s.proto, what, round(m.first.Sub(r.cancelled)), clip(m.raw))
	}
}

// stopped wants the producer of a cancelled call to end: its children, what it
// was said to write to stderr, and its use of the CPU.
// It reports whether one of them was seen to, given what was seen before.
func (p *probe) stopped(s *session, r *request, children []process, was producer, what string) (shown bool) {
	end := time.Now().Add(p.o.Deadline)
	if len(children) > 0 {
		left, ok := s.awaitProcesses(p.o.Deadline, func(list []process) bool { return len(both(list, children)) == 0 })
		if !ok {
			if !p.over() {
				p.fault("%s: %s: %v after the cancel its child still runs: %s", s.proto, what, p.o.Deadline, describe(both(left, children)))
			}
		} else {
			p.note("%s: %s: its child ended", s.proto, what)
			shown = true
		}
	}
	if p.o.Stopped != "" && r.slow == 0 {
		ok := false
		for !ok && time.Now().Before(end) && !p.over() {
			ok = s.heardStopped(r)
			s.within(5*time.Millisecond, nil)
		}
		if !ok {
			if !p.over() {
				p.fault("%s: %s: %v after the cancel the server has not written %q to stderr", s.proto, what, p.o.Deadline, clip(p.o.Stopped))
			}
		} else {
			p.note("%s: %s: it wrote %q to stderr", s.proto, what, clip(p.o.Stopped))
			shown = true
		}
	}
	p.restsBy(s, what, end)
	return shown || s.ended(was)
}

// rests wants the server to do nothing any more, whatever it was.
func (p *probe) rests(s *session, what string) { p.restsBy(s, what, time.Now().Add(p.o.Deadline)) }

func (p *probe) restsBy(s *session, what string, end time.Time) {
	if !linux {
		return
	}
	if s.resting.load >= busy {
		p.note("%s: %s: whether the server goes on computing cannot be seen: it uses %.0f %% of a core when nothing is asked", s.proto, what, 100*s.resting.load)
		return
	}
	for {
		used := s.load()
		if used < s.resting.load+busy || p.over() {
			return
		}
		if time.Now().After(end) {
			p.fault("%s: %s: %v after the cancel the server still uses %.0f %% of a core", s.proto, what, p.o.Deadline, 100*used)
			return
		}
	}
}

// busy is the share of a core from which on a server is taken to work.
const busy = 0.05

// measure takes note of what the server uses while nothing is asked, against
// which its use is judged later.
func (s *session) measure() {
	if !linux {
		return
	}
	s.resting.load, s.resting.measured = s.load(), true
	for range 3 { // what came before may still go on for a moment
		if s.resting.load < 0.01 || s.g.ctx.Err() != nil {
			return
		}
		s.resting.load = min(s.resting.load, s.load())
	}
}

// load is the share of a core that the server uses now.
func (s *session) load() float64 {
	before, _ := s.tree.usage()
	began := time.Now()
	s.within(300*time.Millisecond, nil)
	after, _ := s.tree.usage()
	return float64(after-before) / float64(time.Since(began))
}

// fifth is the last step: the second request, in time.
func (p *probe) fifth(s *session, what string) bool {
	began := time.Now()
	if p.failed(s.second(), "%s: %s: the second request", s.proto, what) {
		return false
	}
	p.ok("%s: %s: the second request was answered in %v", s.proto, what, round(time.Since(began)))
	return true
}

// linger is how long an answer to a cancelled call is waited for where that
// is not what a check is about.
const linger = 200 * time.Millisecond

// cancelC0 cancels before there is anything to stop: in the same write as the
// call, and while it is queued behind others.
func cancelC0(p *probe) {
	if !p.needSlow() {
		return
	}
	c := p.o.Slow[0]
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			return
		}
		s.measure()
		found := len(p.found)
		const calls = 20
		var all []*request
		atOnce := func() (rs []*request) {
			for range calls {
				r, b := s.build(nil, "tools/call", c.params(), true)
				rs = append(rs, r)
				r.cancelled = time.Now()
				s.send(append(b, s.cancelFrame(r.id)...))
			}
			all = append(all, rs...)
			return rs
		}
		rs := atOnce()
		what := fmt.Sprintf("%d calls, each cancelled in the same write", calls)
		if !p.fifth(s, what) {
			continue
		}
		s.within(linger, nil)
		s.pump()
		p.lates(s, rs, what)
		p.leftBy(s, what, func() bool {
			rs := atOnce()
			err := s.second()
			return err == nil && !refused(rs)
		})

		// Behind others: those that run, and one that may have to wait.
		const ahead = 16
		many := func() (rs []*request) {
			for range ahead + 1 {
				rs = append(rs, s.call(c))
			}
			all = append(all, rs...)
			return rs
		}
		rs = many()
		running, r := rs[:ahead], rs[ahead]
		if p.failed(s.answered(s.probe()), "%s: a small request beside %d calls of %s", s.proto, ahead+1, c) {
			continue
		}
		s.cancel(r)
		what = fmt.Sprintf("the last of %d calls", ahead+1)
		p.fifth(s, what)
		was := s.producer()
		for _, b := range running {
			s.cancel(b)
		}
		s.within(linger, nil)
		s.pump()
		p.lates(s, rs, fmt.Sprintf("%d calls at once", ahead+1))
		p.leftBy(s, what, func() bool {
			rs := many()
			err := s.answered(s.probe())
			s.within(settleTime, nil)
			for _, r := range rs {
				s.cancel(r)
			}
			return err == nil && !refused(rs)
		})
		// What was said for one of those that ran comes last.
		shown := p.stopped(s, running[0], nil, was, "after all were cancelled")
		if p.fifth(s, "after all were cancelled") && !shown && !p.over() {
			if p.overtime(s, "calls that were cancelled", all...); len(p.found) == found {
				p.lates(s, all, "all calls that were cancelled")
			}
		}
	}
}

// refused reports whether one of the calls was answered with an error.
func refused(rs []*request) bool {
	return slices.ContainsFunc(rs, func(r *request) bool {
		return r.answer != nil && (r.answer.err != nil || readResult(r.answer).IsError)
	})
}

// lates judges many calls in one sentence: by the first that was answered.
func (p *probe) lates(s *session, rs []*request, what string) {
	n := 0
	maybe := true
	var first *request
	for _, r := range rs {
		if r.answer != nil && r.answer.first.After(r.cancelled) {
			n++
			maybe = maybe && r.raced()
			if first == nil {
				first = r
			}
		}
	}
	if n > 0 {
		p.late(s, first, fmt.Sprintf("%s: %d of %d were answered all the same", what, n, len(rs)), maybe && n < len(rs))
	}
}

// cancelC2 cancels a call that runs a child process.
func cancelC2(p *probe) {
	if !p.needSlow() {
		return
	}
	if !linux {
		p.cannot("run it on Linux", "child processes are looked up in /proc, which this system does not have")
		return
	}
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			return
		}
		s.measure()
		const what = "while a child runs"
		for again := false; ; again = true {
			r, children := p.withChild(s)
			if r == nil {
				return
			}
			s.cancel(r)
			p.stopped(s, r, children, producer{}, what)
			p.fifth(s, what)
			if r.answer != nil && !again { // as in C3
				continue
			}
			p.late(s, r, what, false)
			break
		}
	}
}

// cancelC3 cancels a call whose handler works in the server itself, and, where
// there is a big one, a call whose result is being made.
func cancelC3(p *probe) {
	if !p.needSlow() {
		return
	}
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			return
		}
		s.measure()
		for _, wait := range waits {
			c := p.o.Slow[0]
			r := p.running(s, c, wait-settleTime) // which is what producer takes
			if r == nil {
				return
			}
			what := "while the handler works"
			was := s.producer()
			if s.pump(); r.answer != nil {
				p.cannot("give -slow a tool that takes several seconds", "%s was answered before it could be cancelled", c)
				return
			}
			s.cancel(r)
			shown := p.stopped(s, r, nil, was, what)
			if !p.fifth(s, what) {
				return
			}
			if !shown && r.answer == nil && !p.over() {
				p.overtime(s, what, r)
			}
			if r.answer != nil && wait == waits[0] {
				continue
			}
			p.late(s, r, what, false)
			break
		}
		if len(p.o.Big) > 0 {
			what := "while a big result is made"
			c, _, err := p.sized(s, int64(p.o.Limit)*3/4)
			if p.failed(err, "%s: the call of -big", era) {
				return
			}
			r := s.call(c)
			s.within(time.Millisecond, nil)
			s.cancel(r)
			p.fifth(s, what)
			s.within(linger, nil)
			s.pump()
			p.late(s, r, what, true)
		}
	}
}

// begun is how much of a response is read before the cancel in C4.
const begun = 64 << 10

// cancelC4 cancels a call whose response is being written: 64 KiB of it have
// been read, and the pipe is full of the rest.
func cancelC4(p *probe) {
	if !p.needBig() {
		return
	}
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			return
		}
		c, size_, err := p.sized(s, min(2<<20, int64(p.o.Limit)*3/4))
		if p.failed(err, "%s: the call of -big", era) || p.over() {
			return
		}
		if size_ < 4*begun {
			p.cannot("give -big a tool with results of 256 KiB or more", "%s has a result of %s: it fits into the pipe, and is written before a cancel can come", c, bytesOf(size_))
			return
		}
		s.settle(50 * time.Millisecond)
		s.measure()
		s.h.Pause()
		r := s.call(c)
		if err := s.takeBytes(begun); err != nil {
			p.failed(err, "%s: the first %s of a response of %s", era, size(begun), size(size_))
			return
		}
		const what = "while the response is written"
		s.cancel(r)
		s.within(50*time.Millisecond, nil)
		s.h.Resume()
		p.fifth(s, what)
		for end, n := time.Now().Add(p.o.Deadline), int64(-1); r.answer == nil && time.Now().Before(end) && n != s.tap.received(); s.pump() {
			n = s.tap.received()
			s.within(linger, nil)
		}
		p.rests(s, what)
		switch _, half := s.tap.partial(); {
		case r.answer != nil:
			p.late(s, r, what, false)
		case half > 0:
			p.fault("%s: %s: the response that had begun stopped after %s, without an end of line", era, what, bytesOf(half))
		case p.over():
		default:
			p.fault("%s: %s: the response that had begun did not come to its end as one message", era, what)
		}
	}
}

// takeBytes reads n bytes of a paused stdout.
func (s *session) takeBytes(n int64) error {
	ctx, cancel := s.g.timeout(s.g.o.Deadline)
	defer cancel()
	return s.h.Take(ctx, n)
}

// cancelSilent cancels a call and waits for what comes of it all the same, for
// the whole of Options.Linger; and cancels what is not there.
func cancelSilent(p *probe) {
	if !p.needSlow() {
		return
	}
	type watched struct {
		*session
		r       *request
		was     producer
		orphans int
	}
	var all []watched
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			return
		}
		// As in C3, what is answered all the same is tried again.
		s.measure()
		var r, done *request
		var was producer
		for _, wait := range waits {
			if r = p.running(s, p.o.Slow[0], wait-settleTime); r == nil {
				return
			}
			was = s.producer()
			if s.pump(); r.answer != nil {
				p.cannot("give -slow a tool that takes several seconds", "%s was answered before it could be cancelled", p.o.Slow[0])
				return
			}
			s.cancel(r)
			done = s.probe()
			if p.failed(s.answered(done), "%s: a small request after the cancel", era) {
				return
			}
			if s.until(linger, func() bool { return r.answer != nil }) != nil {
				break
			}
		}
		w := watched{s, r, was, len(s.orphans)}
		s.mayGuess = true
		s.send(s.cancelFrame([]byte(`"weir-no-such-request"`)))
		s.send(s.cancelFrame(done.id))
		s.send(frame(nil, "notifications/cancelled", nil))
		all = append(all, w)
	}
	for _, w := range all {
		s, era := w.session, w.proto
		err := s.until(time.Until(w.r.cancelled.Add(p.o.Linger)), func() bool { return w.r.answer != nil })
		var ended *endedError
		if errors.As(err, &ended) {
			p.fault("%s: after cancels of what is not there: %v", era, err)
			continue
		}
		if p.over() {
			return
		}
		n := len(p.found)
		if w.r.answer == nil && len(w.r.progress) == 0 && !s.heardStopped(w.r) && !s.ended(w.was) {
			p.overtime(s, "a call that was cancelled while it ran", w.r)
		}
		p.late(s, w.r, "a call that was cancelled while it ran", false)
		if len(s.orphans) > w.orphans {
			p.warn("%s: a cancel of a request that is not there was answered: %s", era, clip(s.orphans[w.orphans].raw))
		}
		if len(p.found) == n {
			p.ok("%s: nothing came for it in %v", era, p.o.Linger)
		}
		p.failed(s.second(), "%s: after it", era)
	}
}
