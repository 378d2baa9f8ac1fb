// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// needBig reports whether a tool was given for large results.
func (p *probe) needBig() bool {
	if len(p.o.Big) == 0 {
		p.cannot("give -big", "no tool was given that has large results")
		return false
	}
	return true
}

// mostPad is how many bytes an id is made longer by, at most, to make a frame
// of an exact size.
const mostPad = 800

// padded is a text id that is n bytes longer than the shortest.
func (s *session) padded(n int) jsontext.Value {
	s.nextID++
	return jsontext.Value(fmt.Sprintf(`"g%06d%s"`, s.nextID, strings.Repeat("p", n)))
}

// exact finds a call and the padding of an id whose response is a frame of
// exactly want bytes. base is the answer without the padding. why is a sentence
// when there is none.
func (p *probe) exact(s *session, want int64) (c Call, pad int, base sample, why string, err error) {
	l, err := s.lever(p.o.Big, byFrame, 1000, 2000)
	if err != nil {
		return c, 0, base, "", err
	}
	if l == nil {
		return c, 0, base, "no number or text in its arguments makes the result of -big larger", nil
	}
	if err := p.steeper(s, l, want/8); err != nil {
		return c, 0, base, "", err
	}
	n := l.reach(want - mostPad/2)
	for range 8 {
		if why := p.beyond(l, n, want); why != "" {
			return c, 0, base, why, nil
		}
		c = l.with(n)
		got, _, err := s.ask(c, s.padded(0))
		if err != nil {
			return c, 0, base, "", err
		}
		diff := want - got.frame
		switch {
		case got.failed:
			return c, 0, base, fmt.Sprintf("%s answers with an error (%s) where a frame of about %s was asked for", l, clip(got.text), size(want)), nil
		case got.marked && !l.first.marked && diff > mostPad:
			return c, 0, base, fmt.Sprintf("%s: the result is bounded to a frame of %s, and says so, where one of about %s was asked for", l, bytesOf(got.frame), size(want)), nil
		case diff >= 0 && diff <= mostPad:
			why, err := s.unsteady(c, got.frame, 2)
			return c, int(diff), got, why, err
		}
		step := int(min(float64(diff-mostPad/2)/l.slope, mostNumber))
		if step == 0 {
			break
		}
		n += step
	}
	return c, 0, base, fmt.Sprintf("%s does not grow to a frame of exactly %s", l, size(want)), nil
}

// steeper measures by how much the frame grows again, up to want bytes: where
// sizes vary a little the first samples say it badly.
func (p *probe) steeper(s *session, l *lever, want int64) error {
	n := l.reach(want)
	if n <= l.at || p.beyond(l, n, want) != "" {
		return nil
	}
	got, _, err := s.ask(l.with(n), nil)
	if d := got.frame - l.size; err == nil && !got.failed && !got.marked && d > 0 {
		l.at, l.size, l.slope = n, got.frame, float64(d)/float64(n-l.at)
	}
	return err
}

// again is how often a call is repeated before a difference in size is taken
// for a fault.
const again = 3

// limitUnder wants a response of one byte less than the limit.
func limitUnder(p *probe) {
	if !p.needBig() {
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	want := int64(p.o.Limit) - 1
	c, pad, base, why, err := p.exact(s, want)
	if p.unasked(s, err, "on the way to a response of %s", bytesOf(want)) {
		return
	}
	if why != "" {
		p.cannot("give -big a tool whose result grows up to -limit with a number or a text in its arguments; or the server's own limit as -limit", "%s", why)
		return
	}
	got, _, err := s.ask(c, s.padded(pad))
	if !got.failed && got.frame != want && err == nil {
		why, err = s.unsteady(c, base.frame, again)
	}
	switch {
	case p.unasked(s, err, "a response of %s did not come", bytesOf(want)):
		return
	case why != "":
		p.cannot("give -big a tool whose result has the same size each time", "%s", why)
	case got.failed:
		p.fault("a response of %s was answered with an error, although one of %s came whole: %s", bytesOf(want), bytesOf(want-int64(pad)), clip(got.text))
	case got.frame != want:
		p.fault("a response that should have %s has %s: only the id was made longer", bytesOf(want), bytesOf(got.frame))
	default:
		p.ok("a frame of %s came whole", bytesOf(want))
	}
	p.failed(s.second(), "after it")
}

// limitOver asks for the same response with an id that is longer by two bytes.
func limitOver(p *probe) {
	if !p.needBig() {
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	under := int64(p.o.Limit) - 1
	c, pad, base, why, err := p.exact(s, under)
	if p.unasked(s, err, "on the way to a response of %s", bytesOf(under)) {
		return
	}
	if why != "" {
		p.cannot("give -big a tool whose result grows past -limit with a number or a text in its arguments; or the server's own limit as -limit", "%s", why)
		return
	}
	got, _, err := s.ask(c, s.padded(pad+2))
	if p.unasked(s, err, "a call whose response would have %s", bytesOf(under+2)) {
		return
	}
	if !p.overLimit(got) {
		why, err = s.unsteady(c, base.frame, again)
		switch {
		case p.failed(err, "the same call again"):
		case why != "":
			p.cannot("give -big a tool whose result has the same size each time", "%s", why)
		case got.around != base.around || addsTo(got.text, base.text):
			p.warn("a response that would have %s came as one of %s, with something else besides, which is not understood to say that it is not all", bytesOf(under+2), bytesOf(got.frame))
		default:
			p.fault("a response that would have %s came as one of %s, and does not say so: only the id was made longer", bytesOf(under+2), bytesOf(got.frame))
		}
	}
	p.failed(s.second(), "after it")
}

// overLimit judges the answer to a call whose response would have been over
// the limit, were it whole. It reports whether that settles it: an answer that
// is neither over the limit nor bounded in words is left to the caller.
func (p *probe) overLimit(got sample) bool {
	switch limit := int64(p.o.Limit); {
	case got.frame > limit && got.failed:
		p.fault("it was answered with an error of %s, itself over the limit of %s", bytesOf(got.frame), bytesOf(limit))
	case got.frame > limit:
		p.warn("a frame of %s came whole: a host with a limit of %s discards it, and the call is lost", bytesOf(got.frame), bytesOf(limit))
	case got.failed:
		p.ok("answered with an error of %s: %s", bytesOf(got.frame), clip(got.text))
	case got.marked:
		p.ok("bounded to a frame of %s, and said to be", bytesOf(got.frame))
	default:
		return false
	}
	return true
}

// short judges an answer that is smaller than what was asked for by a lever at
// n, and does not say so. Only of a text that is echoed is it known that it
// should have come whole: a number may as well say how much there may be at
// most, and there may be no more. Then a size that is exactly a round one is
// what gives a silent cut away.
func (p *probe) short(l *lever, n int, got sample) {
	switch {
	case l.echo && strings.Count(got.text, string(sent)) >= n:
		p.ok("%s: the text of %s came whole, in %s", l, bytesOf(int64(n)), count(got.blocks, "content block"))
	case l.echo && got.run < int64(n) && got.around != l.first.around:
		p.warn("%s: %s of the text of %s came back, with something else besides, which is not understood to say that it is not all", l, bytesOf(got.field), bytesOf(int64(n)))
	case l.echo && got.run < int64(n):
		p.fault("%s: %s of the text of %s came back, and the result does not say so", l, bytesOf(got.field), bytesOf(int64(n)))
	case got.blocks > 1 && got.blocks%1000 == 0:
		p.warn("%s: however much is asked for, exactly %s come, and the result does not say that more are left out: it looks like a silent cut", l, count(got.blocks, "content block"))
	case got.field >= 4<<10 && got.field%1024 == 0:
		p.warn("%s: however much is asked for, a text of exactly %s comes, and the result does not say that more is left out: it looks like a silent cut", l, bytesOf(got.field))
	default:
		p.cannot("give -big a tool that has more to return", "%s: however much is asked for, a frame of %s comes, which does not say that anything is left out: it may be all there is", l, bytesOf(got.frame))
	}
}

// hugeField asks for one field of 8 MiB.
func hugeField(p *probe) {
	const want = 8 << 20
	p.grow(byField, "field", want, 1000, 2000, func(got sample) bool {
		if got.field < want {
			return false
		}
		if got.frame <= int64(p.o.Limit) {
			p.ok("a field of %s came whole", bytesOf(got.field))
			return true
		}
		p.warn("a field of %s came whole, in a frame of %s: a host with a limit of %s discards it, and the call is lost", bytesOf(got.field), bytesOf(got.frame), bytesOf(int64(p.o.Limit)))
		return true
	})
}

// manyBlocks asks for 10,000 content blocks.
func manyBlocks(p *probe) {
	const want = 10_000
	p.grow(byBlocks, "content block", want, 20, 40, func(got sample) bool {
		if got.blocks < want {
			return false
		}
		if got.frame <= int64(p.o.Limit) {
			p.ok("%s came whole, in a frame of %s", count(got.blocks, "content block"), bytesOf(got.frame))
			return true
		}
		p.warn("%s came whole, in a frame of %s: a host with a limit of %s discards it, and the call is lost", count(got.blocks, "content block"), bytesOf(got.frame), bytesOf(int64(p.o.Limit)))
		return true
	})
}

// grow asks for a result of which a metric is want. whole judges one that has
// so much.
func (p *probe) grow(metric func(sample) int64, noun string, want int64, n1, n2 int, whole func(sample) bool) {
	if !p.needBig() {
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	l, err := s.lever(p.o.Big, metric, n1, n2)
	if p.failed(err, "on the way to %s", count(want, noun)) {
		return
	}
	if l == nil {
		p.cannot("give -big a tool of whose arguments a number or a text makes the "+noun+"s more", "no argument of -big makes them more")
		return
	}
	// Some grow by steps: as long as more comes, more is asked for.
	var got sample
	var n int
	for last := l.size; ; last = metric(got) {
		n = max(l.reach(want)+1, n+n/8)
		if why := p.beyond(l, n, want); why != "" {
			p.cannot("give -big a tool whose result grows more with a number or a text in its arguments", "%s", why)
			return
		}
		got, _, err = s.ask(l.with(n), nil)
		if err != nil || got.failed || got.marked || l.echo || metric(got) >= want || metric(got) <= last {
			break
		}
	}
	switch {
	case p.unasked(s, err, "the call of %s", l):
		return
	case !got.failed && whole(got):
	case metric(got) < want && !got.failed && !got.marked:
		p.short(l, n, got)
	case !p.overLimit(got):
		p.ok("a frame of %s", bytesOf(got.frame))
	}
	p.failed(s.second(), "after it")
}

// bounded makes the call of -big as it was given, then one whose result would
// be twice the limit.
func bounded(p *probe) {
	if !p.needBig() {
		return
	}
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	var l *lever
	for _, c := range p.o.Big {
		got, _, err := s.ask(c, nil)
		if p.failed(err, "the call of %s", c) {
			return
		}
		switch {
		case got.frame > int64(p.o.Limit):
			p.warn("%s: a frame of %s came whole: a host with a limit of %s discards it, and the call is lost", c, bytesOf(got.frame), bytesOf(int64(p.o.Limit)))
		case got.failed:
			p.ok("%s: answered with an error of %s: %s", c, bytesOf(got.frame), clip(got.text))
		case got.marked:
			p.ok("%s: bounded to a frame of %s, and said to be", c, bytesOf(got.frame))
		default:
			p.note("%s: a frame of %s, which does not say that anything is left out", c, bytesOf(got.frame))
			if l != nil {
				break
			}
			if l, err = s.lever([]Call{c}, byFrame, 1000, 2000); err != nil {
				p.failed(err, "%s with other arguments", c)
				return
			}
		}
	}
	if l != nil && !p.over() {
		want := 2 * int64(p.o.Limit)
		n := l.reach(want)
		if why := p.beyond(l, n, want); why != "" {
			p.cannot("give -big a tool whose result grows more with a number or a text in its arguments", "%s", why)
			return
		}
		got, _, err := s.ask(l.with(n), nil)
		if p.unasked(s, err, "a call of %s whose response would have %s", l, size(want)) {
			return
		}
		if !p.overLimit(got) {
			p.short(l, n, got)
		}
	}
	if !p.tried {
		p.cannot("give -big a tool and arguments that ask for more than it returns", "whether anything was left out cannot be seen")
		return
	}
	p.failed(s.second(), "after it")
}
