// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lever is a member of the arguments of a tool by which its result grows. The
// gate finds it by trying: it makes numbers larger and texts longer, and looks
// at what comes back.
type lever struct {
	call   Call
	args   map[string]jsontext.Value
	member string
	text   bool

	at    int     // a value
	size  int64   // what the metric was at it
	slope float64 // what it grows by for each step
}

// with is the call with the lever at n.
func (l *lever) with(n int) Call {
	args := maps.Clone(l.args)
	if l.text {
		args[l.member] = jsontext.Value(`"` + strings.Repeat("x", max(0, n)) + `"`)
	} else {
		args[l.member] = jsontext.Value(fmt.Sprint(max(0, n)))
	}
	b, _ := json.Marshal(args, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return Call{l.call.Tool, b}
}

// reach is the position at which the metric is about want.
func (l *lever) reach(want int64) int {
	return l.at + int(float64(want-l.size)/l.slope)
}

func (l *lever) String() string { return fmt.Sprintf("%s, by its argument %q", l.call.Tool, l.member) }

// sample is what one answer measures.
type sample struct {
	frame  int64 // bytes of the frame, without the LF
	field  int64 // bytes of the longest text in it
	blocks int64 // content blocks
	failed bool  // an error, or an error result
	marked bool  // it says that something is left out, or that it is an error
	text   string
}

// metrics of a sample.
func byFrame(m sample) int64  { return m.frame }
func byField(m sample) int64  { return m.field }
func byBlocks(m sample) int64 { return m.blocks }

// marks are the words by which a result says that it is not all.
var marks = []string{
	"truncat", "omitted", "left out", "cut off", "cursor", "more ", "limit", "too large", "too long", "too big", "exceed", "shortened", "remaining",
	"截断", "省略", "更多", "超过", "过大", "限制",
}

// measure reads an answer.
func measure(m *message) sample {
	out := sample{frame: m.size}
	if m.err != nil {
		out.failed, out.marked = true, true
		_, out.text, _ = m.rpcError()
		return out
	}
	r := readResult(m)
	out.failed = r.IsError
	out.blocks = int64(len(r.Content))
	out.field = longest(m.result)
	out.text = r.Text()
	var s struct {
		Meta       map[string]jsontext.Value `json:"_meta"`
		Structured map[string]jsontext.Value `json:"structuredContent"`
	}
	json.Unmarshal(m.result, &s, lenient...) // what cannot be read is not there
	out.marked = r.IsError || saysCut(s.Meta) || saysCut(s.Structured)
	for _, note := range gapNote.FindAllString(strings.ToLower(out.text), 100) { // between the head and the tail that were kept
		out.marked = out.marked || hasMark(note)
	}
	// The words stand at the start or at the end, beside the data.
	edge := strings.ToLower(out.text[:min(len(out.text), 2<<10)] + " " + out.text[max(0, len(out.text)-2<<10):])
	out.marked = out.marked || hasMark(edge)
	return out
}

// gapNote is a note in brackets that begins with an ellipsis, as it stands
// where a text breaks off and goes on later.
var gapNote = regexp.MustCompile(`\[\s*(?:…|\.\.\.)[^\[\]]{1,400}`)

// hasMark reports whether a text in lower case has one of the words.
func hasMark(text string) bool {
	return slices.ContainsFunc(marks, func(w string) bool { return strings.Contains(text, w) })
}

// cutNames are parts of the names of members that say that something is left
// out, in lower case and without anything but letters.
var cutNames = []string{"truncated", "omitted", "nextcursor", "hasmore", "leftout"}

// saysCut reports whether a member says that something is left out. One that
// is false, 0, null or empty says that nothing is.
func saysCut(members map[string]jsontext.Value) bool {
	for name, v := range members {
		switch strings.TrimSpace(string(v)) {
		case "false", "0", "null", `""`, "{}", "[]":
			continue
		}
		name = strings.NewReplacer("_", "", "-", "").Replace(strings.ToLower(name))
		if slices.ContainsFunc(cutNames, func(part string) bool { return strings.Contains(name, part) }) {
			return true
		}
	}
	return false
}

// longest is the size of the longest text in v, as decoded; names of members
// do not count.
func longest(v jsontext.Value) (most int64) {
	dec := jsontext.NewDecoder(strings.NewReader(string(v)), lenient...)
	for {
		kind, n := dec.StackIndex(dec.StackDepth())
		name := kind == '{' && n%2 == 0
		if dec.PeekKind() == '"' && !name {
			if v, err := dec.ReadValue(); err == nil && int64(len(v)) > most+2 {
				most = max(most, int64(len(textOf(v))))
				continue
			} else if err == nil {
				continue
			}
		}
		if _, err := dec.ReadToken(); err != nil {
			return most
		}
	}
}

// ask calls a tool and measures the answer. id is raw JSON, nil for the next.
func (s *session) ask(c Call, id jsontext.Value) (sample, *request, error) {
	r, b := s.build(id, "tools/call", c.params(), false)
	s.send(b)
	// What is large takes its time: a request until it has been read, an answer
	// as long as it comes.
	d := s.g.o.Deadline
	if len(b) > 1<<20 {
		if err := s.taken(); err != nil {
			return sample{}, r, err
		}
		d = max(d, s.g.patience())
	}
	for {
		before := s.tap.received()
		err := s.wait(r, d)
		if err == nil {
			return measure(r.answer), r, nil
		}
		if s.g.ctx.Err() != nil || s.tap.received() == before {
			return sample{}, r, err
		}
	}
}

// lever looks for a member of the arguments of the calls by which a metric
// grows; nil when there is none.
func (s *session) lever(calls []Call, metric func(sample) int64, n1, n2 int) (*lever, error) {
	for _, c := range calls {
		args := map[string]jsontext.Value{}
		if json.Unmarshal(c.Arguments, &args, lenient...) != nil {
			continue
		}
		for _, member := range sortedKeys(args) {
			kind := args[member].Kind()
			if kind != '0' && kind != '"' {
				continue
			}
			l := &lever{call: c, args: args, member: member, text: kind == '"'}
			a, _, err := s.ask(l.with(n1), nil)
			if err != nil {
				return nil, err
			}
			if a.failed {
				continue
			}
			b, _, err := s.ask(l.with(n2), nil)
			if err != nil {
				return nil, err
			}
			if d := metric(b) - metric(a); !b.failed && d > 0 {
				l.at, l.size, l.slope = n2, metric(b), float64(d)/float64(n2-n1)
				return l, nil
			}
		}
	}
	return nil, nil
}

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
// exactly want bytes. nil means that there is none; why is in the sentence.
func (p *probe) exact(s *session, want int64) (c Call, pad int, why string, err error) {
	l, err := s.lever(p.o.Big, byFrame, 1000, 2000)
	if err != nil {
		return c, 0, "", err
	}
	if l == nil {
		return c, 0, "no number or text in its arguments makes the result of -big larger", nil
	}
	n := l.reach(want - mostPad/2)
	for range 8 {
		c = l.with(n)
		got, _, err := s.ask(c, s.padded(0))
		if err != nil {
			return c, 0, "", err
		}
		diff := want - got.frame
		switch {
		case got.failed:
			return c, 0, fmt.Sprintf("%s answers with an error (%s) where a frame of about %s was asked for", l, clip(got.text), size(want)), nil
		case diff >= 0 && diff <= mostPad:
			return c, int(diff), "", nil
		}
		step := int(float64(diff-mostPad/2) / l.slope)
		if step == 0 {
			break
		}
		n += step
	}
	return c, 0, fmt.Sprintf("%s does not grow to a frame of exactly %s", l, size(want)), nil
}

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
	c, pad, why, err := p.exact(s, want)
	if p.failed(err, "on the way to a response of %s", bytesOf(want)) {
		return
	}
	if why != "" {
		p.cannot("give -big a tool whose result grows up to -limit with a number or a text in its arguments; or the server's own limit as -limit", "%s", why)
		return
	}
	got, _, err := s.ask(c, s.padded(pad))
	switch {
	case p.failed(err, "a response of %s did not come", bytesOf(want)):
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
	c, pad, why, err := p.exact(s, under)
	if p.failed(err, "on the way to a response of %s", bytesOf(under)) {
		return
	}
	if why != "" {
		p.cannot("give -big a tool whose result grows past -limit with a number or a text in its arguments; or the server's own limit as -limit", "%s", why)
		return
	}
	got, _, err := s.ask(c, s.padded(pad+2))
	if !p.failed(err, "a call whose response would have %s", bytesOf(under+2)) && !p.overLimit(got) {
		p.fault("a response that would have %s came as one of %s, and does not say so: only the id was made longer", bytesOf(under+2), bytesOf(got.frame))
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
	case l.text && got.field < int64(n):
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
	n := l.reach(want) + 1
	got, _, err := s.ask(l.with(n), nil)
	switch {
	case p.failed(err, "the call of %s", l):
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
		got, _, err := s.ask(l.with(n), nil)
		if !p.failed(err, "a call of %s whose response would have %s", l, size(want)) && !p.overLimit(got) {
			p.short(l, n, got)
		}
	}
	if !p.tried {
		p.cannot("give -big a tool and arguments that ask for more than it returns", "whether anything was left out cannot be seen")
		return
	}
	p.failed(s.second(), "after it")
}
