// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"maps"
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
	first sample  // of a smaller value
	echo  bool    // the text came back as it was sent
}

// with is the call with the lever at n.
func (l *lever) with(n int) Call {
	args := maps.Clone(l.args)
	if l.text {
		args[l.member] = jsontext.Value(`"` + strings.Repeat(string(sent), max(0, n)) + `"`)
	} else {
		args[l.member] = jsontext.Value(fmt.Sprint(max(0, n)))
	}
	b, _ := json.Marshal(args, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	return Call{l.call.Tool, b}
}

// reach is the position at which the metric is about want; at most mostNumber.
func (l *lever) reach(want int64) int {
	return int(min(float64(l.at)+float64(want-l.size)/l.slope, mostNumber))
}

// Bounds of what a lever is set to. A text costs the gate and the server its
// size, so it is not made much longer than the result that is wanted.
const (
	mostText   = 16 << 20  // bytes, unless the result itself is to be larger
	mostNumber = 1<<31 - 1 // what each language can hold
)

// beyond says why a lever is not set to n for a result of want bytes; "" when
// it may be.
func (p *probe) beyond(l *lever, n int, want int64) string {
	most := max(min(4*int64(p.o.Limit), mostText), want+mostPad)
	switch {
	case l.text && int64(n) > most:
		return fmt.Sprintf("%s: a text of %s would have to be sent for a result of %s, and the gate sends at most %s", l, size(int64(n)), size(want), size(most))
	case n >= mostNumber:
		return fmt.Sprintf("%s: it would have to be over %s for a result of %s", l, number(mostNumber), size(want))
	}
	return ""
}

func (l *lever) String() string { return fmt.Sprintf("%s, by its argument %q", l.call.Tool, l.member) }

// sample is what one answer measures.
type sample struct {
	frame  int64  // bytes of the frame, without the LF
	field  int64  // bytes of the longest text in it
	blocks int64  // content blocks
	failed bool   // an error, or an error result
	marked bool   // it says that something is left out, or that it is an error
	run    int64  // bytes of the longest part of what was sent that came back
	around string // all but the text, to see whether something else came
	text   string
}

// metrics of a sample.
func byFrame(m sample) int64  { return m.frame }
func byField(m sample) int64  { return m.field }
func byBlocks(m sample) int64 { return m.blocks }

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
	out.text = r.Text()
	v := surveyOf(m.result)
	out.field, out.run, out.around = v.field, v.run, v.around
	out.marked = r.IsError || v.marked || saysCut(out.text)
	return out
}

// tooLongError is why a call has no answer: the server refused its line with
// an error that has no id.
type tooLongError struct {
	size int64  // bytes of the line
	text string // of the error
}

func (e *tooLongError) Error() string {
	return fmt.Sprintf("the server refuses a call of %s (%s)", bytesOf(e.size), clip(e.text))
}

// mostSure is the size of a line that each server has to take: the error for
// a longer one may have no id, since its id need not be read.
const mostSure = 64 << 10

// ask calls a tool and measures the answer. id is raw JSON, nil for the next.
func (s *session) ask(c Call, id jsontext.Value) (sample, *request, error) {
	r, b := s.build(id, "tools/call", c.params(), false)
	orphans := len(s.orphans)
	long := len(b) > mostSure
	s.mayGuess = s.mayGuess || long
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
		err := s.until(d, func() bool { return r.answer != nil || long && len(s.orphans) > orphans })
		switch {
		case r.answer != nil:
			return measure(r.answer), r, nil
		case err == nil:
			_, text, _ := s.orphans[orphans].rpcError()
			return sample{}, r, &tooLongError{int64(len(b)), text}
		}
		var silent *silentError
		if errors.As(err, &silent) {
			err = &silentError{fmt.Sprintf("%s was not answered %s", r.method, silent.text)}
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
				l.first, l.echo = a, l.text && n1 >= leastRun && a.run >= int64(n1)
				return l, nil
			}
		}
	}
	return nil, nil
}

// unasked is failed, for a call that may be longer than the server takes: that
// it refuses it is no fault, and the call could not be tried.
func (p *probe) unasked(s *session, err error, format string, args ...any) bool {
	var refused *tooLongError
	if !errors.As(err, &refused) {
		return p.failed(err, format, args...)
	}
	p.cannot("give -big a tool with results that are larger than its arguments", "%v", err)
	p.failed(s.second(), "after it")
	return true
}

// unsteady says how the size of a result changes when the same call is made
// again; "" when it does not, as far as was seen.
func (s *session) unsteady(c Call, frame int64, times int) (why string, err error) {
	for range times {
		got, _, err := s.ask(c, s.padded(0))
		if err != nil {
			return "", err
		}
		if got.frame != frame {
			return fmt.Sprintf("%s: its size is not the same each time: %s, then %s", c.Tool, bytesOf(frame), bytesOf(got.frame)), nil
		}
	}
	return "", nil
}
