// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"fmt"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// What a session may hold that nobody asked for: lines that are no messages,
// notifications, progress, requests, and answers to nothing. A server that
// writes more writes without end.
const (
	maxUnasked      = 50_000
	maxUnaskedBytes = 256 << 20
)

// pump looks at the lines that have come since the last time, until the run
// or the stream is given up.
func (s *session) pump() {
	for _, l := range s.tap.take() {
		if s.flood != "" || s.g.ctx.Err() != nil {
			return
		}
		asked := s.answers
		s.see(l)
		if s.answers == asked {
			s.unasked++
			s.unaskedBytes += l.size
		}
		if s.unasked > maxUnasked || s.unaskedBytes > maxUnaskedBytes {
			s.tap.giveUp("the server writes on and on what nobody asked for: %s, %s", count(s.unasked, "line"), bytesOf(s.unaskedBytes))
		}
		s.flooded()
	}
	s.flooded()
}

// flooded reports whether the stream was given up, and takes note of it once.
func (s *session) flooded() bool {
	why, noEnd := s.tap.givenUp()
	if why == "" {
		return false
	}
	if s.flood == "" {
		s.flood = why
		check, kind := "messages", "flood"
		if noEnd {
			check, kind = "one-object", "endless"
		}
		s.note(check, Fault, kind, "%s; the rest was thrown away", why)
	}
	return true
}

func (s *session) note(check string, v Verdict, kind, format string, args ...any) {
	s.g.notes.add(check, v, kind, s.name, format, args...)
}

// where says at which place of the stream a line stands.
func where(l *line) string { return fmt.Sprintf("at byte %s of stdout", number(l.at)) }

// see looks at one line. Each fault is looked for by itself: bytes that are
// not UTF-8, the line end, what else stands on the line; and the messages in
// it are used whatever else is wrong.
func (s *session) see(l *line) {
	data := l.data
	if l.cut {
		s.giant(l)
		return
	}
	if !l.ended {
		s.note("one-object", Fault, "unended", "the last %s of stdout have no line end: %s", bytesOf(l.size), hex(data))
	}
	if rest, ok := bytes.CutSuffix(data, []byte("\r")); ok && l.ended {
		data = rest
		s.note("line-ends", Fault, "crlf", "a line ends with CR LF %s: %s", where(l), hex(tail(l.data, 16)))
	}
	if i := invalidAt(data); i >= 0 {
		from := max(0, i-8)
		s.note("utf8", Fault, "bytes", "bytes that are not UTF-8 %s, of a line of %s: %s",
			fmt.Sprintf("at byte %s of stdout", number(l.at+int64(i))), bytesOf(l.size), hex(data[from:min(len(data), i+8)]))
	}
	if rest, ok := bytes.CutPrefix(data, []byte("\xef\xbb\xbf")); ok {
		s.note("utf8", Fault, "bom", "a byte-order mark stands before a message %s: %s", where(l), hex(data))
		data = rest
	}
	if len(bytes.TrimSpace(data)) == 0 {
		if len(s.carry) > 0 {
			s.carry = append(s.carry, l)
			return
		}
		s.note("one-object", Warning, "blank", "an empty line %s", where(l))
		return
	}
	if len(s.carry) > 0 && s.joined(l, data) {
		return
	}
	s.parse(l, data, true)
}

// giant takes a line of which only the start and the end are kept: it answers
// the request whose id stands in one of them.
func (s *session) giant(l *line) {
	for _, r := range s.order {
		if r.answer == nil && (hasID(l.data, r.id) || hasID(l.end, r.id)) {
			s.answers++
			r.answer = &message{first: l.first, last: l.last, size: l.size, id: r.id, result: jsontext.Value("{}")}
			return
		}
	}
	s.note("messages", Warning, "giant", "a line of %s %s was not looked at: no host takes it", bytesOf(l.size), where(l))
}

// hasID reports whether the member id stands in a part of a line, with this
// value and no longer one.
func hasID(part []byte, id jsontext.Value) bool {
	for {
		i := bytes.Index(part, []byte(`"id":`))
		if i < 0 {
			return false
		}
		part = part[i+len(`"id":`):]
		if rest, ok := bytes.CutPrefix(bytes.TrimLeft(part, " \t"), id); ok && len(rest) > 0 && bytes.IndexByte([]byte(",} \t\r"), rest[0]) >= 0 {
			return true
		}
	}
}

// parse finds the messages on a line.
func (s *session) parse(l *line, data []byte, mayCarry bool) {
	vals, text, half := values(data)
	if len(vals) == 0 && half && mayCarry && (text[0] == '{' || text[0] == '[') {
		s.carry = []*line{{at: l.at, first: l.first, last: l.last, size: l.size, data: data, ended: l.ended}}
		return // the rest may stand on the lines that follow
	}
	n := 0
	for _, v := range vals {
		n += s.value(l, v)
	}
	if len(text) > 0 {
		before, rest, ok := embedded(text)
		s.stray(l, before)
		if ok {
			s.parse(l, rest, false)
		}
		return
	}
	if n > 1 || len(vals) > 1 {
		s.note("one-object", Fault, "several", "%d JSON values on one line %s: %s", max(n, len(vals)), where(l), hex(data))
	}
}

// value takes one JSON value of a line, and says how many messages it was.
func (s *session) value(l *line, v jsontext.Value) int {
	if v.Kind() == '[' {
		var list []jsontext.Value
		if json.Unmarshal(v, &list, lenient...) == nil && len(list) > 0 {
			if _, ok := newMessage(list[0], l); ok {
				if s.proto != "2025-03-26" {
					s.note("messages", Fault, "batch", "an array of messages %s: only 2025-03-26 has batches: %s", where(l), hex(v))
				}
				for _, e := range list {
					s.value(l, e)
				}
				return 1
			}
		}
	}
	m, ok := newMessage(v, l)
	if !ok {
		if v.Kind() == '{' {
			s.note("messages", Fault, "object", "a JSON object that is no JSON-RPC message %s: %s", where(l), clip(v))
			s.spoke = true
			return 1
		}
		s.stray(l, v)
		return 0
	}
	for _, problem := range m.wrong() {
		s.note("messages", Fault, problem, "a message is not one of JSON-RPC 2.0: %s %s: %s", problem, where(l), clip(v))
	}
	s.take(m)
	return 1
}

// joined adds a line to the object that was begun on the lines before, and
// reports whether it was taken as a part of it.
func (s *session) joined(l *line, data []byte) bool {
	if vals, text, _ := values(data); len(vals) == 1 && len(text) == 0 {
		if _, ok := newMessage(vals[0], l); ok { // a message of its own: what was begun never ended
			s.uncarry()
			return false
		}
	}
	first := s.carry[0]
	s.carry = append(s.carry, l)
	var all []byte
	for i, part := range s.carry {
		if i > 0 {
			all = append(all, '\n')
		}
		all = append(all, part.data...)
	}
	half := len(s.carry) < 2000 && len(all) < 1<<20
	if end := bytes.TrimSpace(data); half && end[len(end)-1] != '}' && end[len(end)-1] != ']' {
		return true // it cannot end here
	}
	vals, text, open := values(all)
	switch {
	case len(vals) > 0:
		s.note("one-object", Fault, "lines", "one JSON object stands on %d lines, %s: %s", len(s.carry), where(first), hex(all))
		s.carry = nil
		whole := &line{at: first.at, first: first.first, last: l.last, size: int64(len(all)), data: all, ended: true}
		for _, v := range vals {
			s.value(whole, v)
		}
		if len(text) > 0 {
			s.stray(l, text)
		}
		return true
	case half && open:
		return true
	}
	s.uncarry()
	return true
}

// uncarry gives up an object that was begun and does not end: each of its
// lines stands for itself.
func (s *session) uncarry() {
	lines := s.carry
	s.carry = nil
	for i, l := range lines {
		if i == 0 && len(lines) >= 1 && (l.data[0] == '{' || l.data[0] == '[') {
			s.note("one-object", Fault, "torn", "a JSON object ends in the middle, %s: %s … %s", where(l), hex(l.data[:min(16, len(l.data))]), hex(tail(l.data, 16)))
			continue
		}
		if len(bytes.TrimSpace(l.data)) > 0 {
			s.parse(l, l.data, false)
		}
	}
}

// stray takes note of what is no message, by when it came.
func (s *session) stray(l *line, text []byte) {
	text = bytes.TrimSpace(text)
	if len(text) == 0 {
		return
	}
	what := fmt.Sprintf("%s that are no message %s: %s", bytesOf(int64(len(text))), where(l), hex(text))
	var inside *request
	for _, r := range s.order {
		if r.method == "tools/call" && !r.sent.After(l.last) && (r.answer == nil || r.answer.last.After(l.last)) && r.cancelled.IsZero() {
			inside = r
		}
	}
	switch {
	case !s.spoke:
		s.note("stray-first", Fault, "", "%s, before the first message", what)
	case inside != nil:
		inside.strays++
		s.note("stray-call", Fault, "", "%s, while %s was running", what, inside.method)
	default:
		s.note("stray-between", Fault, "", "%s, between two messages", what)
	}
}

// take gives a message to whom it belongs.
func (s *session) take(m *message) {
	first := !s.spoke
	s.spoke = true
	s.lastMsg = m.last
	s.g.sawMessage()
	switch {
	case m.isResponse():
		s.response(m)
	case m.method != nil && m.id != nil:
		if host.IsModern(s.proto) {
			s.note("messages", Fault, "request", "a request came from the server (%s), in an era in which servers send none: %s", clip(textOf(m.method)), clip(m.raw))
		}
	case m.method != nil:
		s.notification(m, first)
	}
}

func (s *session) response(m *message) {
	key := idKey(m.id)
	if key == "" {
		s.orphans = append(s.orphans, m)
		switch {
		case m.result != nil && m.id != nil:
			s.note("ids", Fault, "noid", "a result came with the id %s: %s", clip(m.id), clip(m.raw))
		case m.err != nil && !s.mayGuess:
			s.note("ids", Warning, "unasked", "an error without an id came, although every line that was sent could be read: %s", clip(m.raw))
		}
		return
	}
	r := s.open[key]
	if r == nil {
		for _, k := range looseKeys(m.id) {
			if c := s.open[k]; c != nil && c.answer == nil {
				s.note("ids", Fault, "changed", "the id of %s was sent as %s and came back as %s", c.method, clip(c.id), clip(m.id))
				r = c
				break
			}
		}
	}
	switch {
	case r == nil && s.mayGuess:
		s.orphans = append(s.orphans, m)
	case r == nil:
		s.orphans = append(s.orphans, m)
		s.note("ids", Fault, "unknown", "an answer came for the id %s, which no request had: %s", clip(m.id), clip(m.raw))
	case r.answer != nil:
		s.note("ids", Fault, "twice", "%s (id %s) was answered twice: %s", r.method, clip(r.id), clip(m.raw))
	default:
		r.answer = m
		s.answers++
		s.g.sawAnswer()
	}
}

func (s *session) notification(m *message, first bool) {
	s.notices = append(s.notices, m)
	method := textOf(m.method)
	if first && method != "notifications/message" && !host.IsModern(s.proto) {
		s.note("order", Warning, "early", "%s came before anything was answered: %s", clip(method), clip(m.raw))
	}
	if method != "notifications/progress" {
		return
	}
	var p struct {
		Token    jsontext.Value `json:"progressToken"`
		Progress float64        `json:"progress"`
	}
	if json.Unmarshal(m.params, &p, lenient...) != nil {
		s.note("messages", Fault, "progress", "a progress notification cannot be read: %s", clip(m.raw))
		return
	}
	r := s.open[idKey(p.Token)]
	if r == nil || !r.token {
		s.note("order", Fault, "token", "progress came for the token %s, which no request gave: %s", clip(p.Token), clip(m.raw))
		return
	}
	s.g.sawProgress()
	if r.answer != nil {
		s.note("order", Fault, "after", "progress of %s (id %s) came after its answer: %s", r.method, clip(r.id), clip(m.raw))
	}
	if n := len(r.progress); n > 0 {
		var last struct {
			Progress float64 `json:"progress"`
		}
		json.Unmarshal(r.progress[n-1].params, &last, lenient...)
		if p.Progress <= last.Progress {
			s.note("order", Fault, "grow", "progress of %s (id %s) went from %v to %v: it must grow", r.method, clip(r.id), last.Progress, p.Progress)
		}
	}
	r.progress = append(r.progress, m)
}

// invalidAt is where b stops being UTF-8, -1 for nowhere.
func invalidAt(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return i
		}
		i += n
	}
	return -1
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

// settle waits until nothing has come for a moment, but not for ever: some
// servers are never silent.
func (s *session) settle(quiet time.Duration) {
	end := time.Now().Add(20 * quiet)
	for time.Now().Before(end) && s.g.ctx.Err() == nil {
		wake := s.tap.wait()
		s.pump()
		if !s.within(quiet, wake) {
			break
		}
	}
	s.pump()
}
