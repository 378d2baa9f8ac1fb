// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// idKinds asks with ids of all kinds that MCP allows.
func idKinds(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	try := func(ids ...string) (lost []string) {
		var rs []*request
		for _, id := range ids {
			r, b := s.build(jsontext.Value(id), s.probeMethod(), s.probeParams(), false)
			s.send(b)
			rs = append(rs, r)
		}
		end := time.Now().Add(p.o.Deadline)
		for _, r := range rs {
			if s.wait(r, max(time.Millisecond, time.Until(end))) != nil {
				lost = append(lost, clip(r.id))
			} else if got := idKey(r.answer.id); got != idKey(r.id) {
				lost = append(lost, fmt.Sprintf("%s, which came back as %s", clip(r.id), clip(r.answer.id)))
			}
		}
		return lost
	}
	common := []string{`"1"`, `"init-1"`, `0`, `-1`, `1774232524389`, `"` + strings.Repeat("i", 200) + `"`, `"号-\"\\\/é"`, `""`}
	if lost := try(common...); len(lost) > 0 {
		p.fault("no answer came for the id %s", strings.Join(lost, ", nor for "))
	}
	if p.over() {
		return
	}
	s.mayGuess = true // it may come back as another number
	if lost := try(`9007199254740993`); len(lost) > 0 && !p.over() {
		p.warn("no answer came for the id %s: above 2^53 it is not exact for a reader in JavaScript, and few hosts use such ids", lost[0])
	}
	p.failed(s.second(), "a request after them")
	p.ok("%d ids", len(common)+1)
}

func (s *session) probeMethod() string {
	if host.IsModern(s.proto) {
		return "server/discover"
	}
	return "ping"
}

func (s *session) probeParams() map[string]any {
	if host.IsModern(s.proto) {
		return map[string]any{}
	}
	return nil
}

// crlfIn ends every line with CR LF, from the first on.
func crlfIn(p *probe) {
	s := p.start("", sessionConfig{})
	if s == nil {
		return
	}
	opening, after := p.firstFrames(s)
	for i, r := range append(opening, after...) {
		s.send(append(bytes.TrimSuffix(r.frame, []byte("\n")), "\r\n"...))
		if r.request == nil {
			continue
		}
		d := p.o.Deadline
		if i == 0 {
			d = p.first()
		}
		if p.failed(s.wait(r.request, d), "a line that ended with CR LF") {
			return
		}
		if code, text, _ := r.request.answer.rpcError(); r.request.answer.err != nil {
			p.fault("%s, ended with CR LF, was answered with error %d: %s", r.request.method, code, clip(text))
			return
		}
	}
	p.ok("%d lines", len(opening)+len(after))
}

// first is how long the first answer of a server may take that has answered
// before.
func (p *probe) first() time.Duration {
	return min(p.patience(), max(p.o.Deadline, 3*p.opened))
}

// planned is a frame to be sent, and the request in it, nil for a notification.
type planned struct {
	*request
	frame []byte
}

// firstFrames are those that open a session, and one small request after them.
func (p *probe) firstFrames(s *session) (opening, after []planned) {
	add := func(list []planned, method string, args map[string]any) []planned {
		r, b := s.build(nil, method, args, false)
		return append(list, planned{r, b})
	}
	if host.IsModern(p.usual()) {
		s.proto = p.usual()
		return add(nil, "server/discover", map[string]any{}), add(nil, "server/discover", map[string]any{})
	}
	opening = add(nil, "initialize", map[string]any{
		"protocolVersion": p.usual(), "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "weir gate", "version": p.o.Version},
	})
	s.proto = p.usual()
	opening = append(opening, planned{nil, frame(nil, "notifications/initialized", nil)})
	return opening, add(nil, "ping", nil)
}

// blankIn sends empty lines between messages. They are none, and a host must
// not send them; a server must not fall over them either.
func blankIn(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	before := len(s.orphans)
	s.mayGuess = true
	s.send([]byte("\n"))
	s.send([]byte("\r\n"))
	s.send([]byte("  \t\n"))
	if p.failed(s.second(), "after empty lines") {
		return
	}
	s.settle(20 * time.Millisecond)
	if n := len(s.orphans) - before; n > 0 {
		p.warn("3 empty lines were answered with %s: %s", count(n, "error"), clip(s.orphans[before].raw))
		return
	}
	p.ok("3 empty lines were ignored")
}

// bomIn begins the session with a byte-order mark. JSON allows a reader to
// refuse it, so that a refusal is no fault; to be lost over it is.
func bomIn(p *probe) {
	s := p.start("", sessionConfig{})
	if s == nil {
		return
	}
	opening, _ := p.firstFrames(s)
	s.mayGuess = true
	s.send(append([]byte("\xef\xbb\xbf"), opening[0].frame...))
	err := s.until(p.first(), func() bool { return opening[0].answer != nil || len(s.orphans) > 0 })
	if opening[0].answer != nil && opening[0].answer.err == nil {
		for _, f := range opening[1:] {
			s.send(f.frame)
		}
		if !p.failed(s.second(), "after a byte-order mark") {
			p.ok("it was skipped")
		}
		return
	}
	if p.over() {
		return
	}
	// Refused, or ignored: the session must be possible all the same.
	if _, again := s.openEra(p.usual()); again != nil {
		p.fault("after a byte-order mark before the first message no session could be opened any more: %v", again)
		return
	}
	if err != nil {
		p.warn("the message after the byte-order mark was not answered; the next one was")
		return
	}
	p.warn("the message after the byte-order mark was refused; the next one was answered")
}

// splitWrites sends requests in pieces: each byte by itself, and cut inside
// characters of several bytes.
func splitWrites(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	const text = "汉字 é 😀"
	params := map[string]any{"name": "weir-no-such-tool", "arguments": map[string]any{"text": text}}
	r1, b1 := s.build(nil, s.probeMethod(), s.probeParams(), false)
	r2, b2 := s.build(nil, "tools/call", params, false)
	s.h.SendChunks(b1, 1, time.Millisecond)
	if p.failed(s.wait(r1, p.o.Deadline+time.Duration(len(b1))*3*time.Millisecond), "a request of %d bytes, in as many writes", len(b1)) {
		return
	}
	i := bytes.Index(b2, []byte("汉")) + 1 // inside the character
	s.h.SendChunks(b2[:i], 0, 0)
	s.within(20*time.Millisecond, nil)
	s.h.SendChunks(b2[i:], 7, time.Millisecond)
	if p.failed(s.wait(r2, p.o.Deadline), "a request that was cut inside a character") {
		return
	}
	p.failed(s.second(), "after requests in pieces")
	p.ok("a request byte by byte, and one that was cut inside a character")
}

// coalescedWrites sends many requests in one write.
func coalescedWrites(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	var all []byte
	var rs []*request
	for range 50 {
		r, b := s.build(nil, s.probeMethod(), s.probeParams(), false)
		rs, all = append(rs, r), append(all, b...)
	}
	half, b := s.build(nil, s.probeMethod(), s.probeParams(), false)
	all = append(all, b[:len(b)/2]...)
	s.send(all)
	s.within(20*time.Millisecond, nil)
	s.send(b[len(b)/2:])
	if p.failed(s.answered(append(rs, half)...), "50 requests and a half in one write, the rest in another") {
		return
	}
	p.ok("50 requests and a half in one write, the rest in another")
}

// bad is a line that a server cannot take, and what is said of it.
type bad struct {
	line string
	code int // of the error that JSON-RPC has for it
}

// malformedJSON sends lines that are no JSON, each followed by a request.
func malformedJSON(p *probe) {
	badLines(p, []bad{
		{`{bad`, -32700},
		{`{"jsonrpc":"2.0","id":901,`, -32700},
		{`{"jsonrpc":"2.0","id":902,"method":"ping"},`, -32700},
		{"{\"jsonrpc\":\"2.0\",\"id\":903,\"method\":\"p\xffng\"}", -32700},
		{`}`, -32700},
		{`not JSON at all`, -32700},
	})
}

// notARequest sends JSON that is no request, each followed by a request.
func notARequest(p *probe) {
	badLines(p, []bad{
		{`5`, -32600},
		{`"text"`, -32600},
		{`null`, -32600},
		{`{}`, -32600},
		{`{"a":1}`, -32600},
		{`{"jsonrpc":"2.0","id":904,"method":7}`, -32600},
		{`{"jsonrpc":"1.0","id":905}`, -32600},
	})
}

func badLines(p *probe, lines []bad) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	s.mayGuess = true
	var silent []string
	var codes []string
	for _, b := range lines {
		if s == nil {
			if s = p.open("again", p.usual()); s == nil {
				return
			}
			s.mayGuess = true
		}
		before := len(s.orphans)
		s.send([]byte(b.line + "\n"))
		err := s.second()
		if p.over() {
			return
		}
		if err != nil {
			p.fault("after the line %s: %v", clip(b.line), err)
			s = nil // what follows is tried with a new one
			if len(p.sessions) > 3 {
				return
			}
			continue
		}
		s.settle(20 * time.Millisecond)
		switch answers := s.orphans[before:]; {
		case len(answers) == 0:
			silent = append(silent, clip(b.line))
		case len(answers) > 1:
			p.warn("the line %s was answered %d times", clip(b.line), len(answers))
		case answers[0].err == nil && idKey(answers[0].id) != "" && hasID([]byte(b.line), answers[0].id):
			p.warn("the line %s was answered as if it were whole: %s", clip(b.line), clip(answers[0].raw))
		case answers[0].err == nil:
			p.fault("the line %s was answered with a result: %s", clip(b.line), clip(answers[0].raw))
		default:
			if code, _, _ := answers[0].rpcError(); code != b.code {
				codes = append(codes, fmt.Sprintf("%s with %d", clip(b.line), code))
			}
		}
	}
	switch {
	case len(silent) == len(lines):
		p.warn("none of them was answered with an error: the host is left to wait")
	case len(silent) > 0:
		p.warn("not answered with an error: %s", strings.Join(silent, "  and  "))
	}
	if len(codes) > 0 {
		p.note("answered with another code than %d: %s", lines[0].code, strings.Join(codes, ", "))
	}
	p.ok("%d lines, a request after each", len(lines))
}

// oversizedIn sends a request that no server needs to take.
func oversizedIn(p *probe) {
	s := p.open("", p.usual())
	if s == nil {
		return
	}
	s.mayGuess = true
	oversized := int64(p.o.Oversize)
	_, before := s.tree.usage()
	r, b := s.build(nil, s.probeMethod(), map[string]any{"padding": ""}, false)
	b = bytes.Replace(b, []byte(`"padding":"`), append([]byte(`"padding":"`), bytes.Repeat([]byte("x"), p.o.Oversize)...), 1)
	peak := before
	watching := make(chan struct{})
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		for {
			if _, rss := s.tree.usage(); rss > peak {
				peak = rss
			}
			select {
			case <-watching:
				return
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	orphans := len(s.orphans)
	began := time.Now()
	s.send(b)
	next := s.probe()
	// As long as it takes bytes it works; after the last one the deadline runs.
	err := s.taken()
	took := time.Since(began)
	if err == nil {
		err = s.wait(next, max(p.o.Deadline, p.patience())) // slow is not dead
	}
	late := time.Since(began)
	if err == nil {
		err = s.all([]*request{s.probe()})
	}
	close(watching)
	<-watched
	if p.failed(err, "after a request of %s", size(oversized)) || p.over() {
		return
	}
	if late-took > p.o.Deadline {
		p.warn("after it had taken a request of %s, the next one was answered only %v later", size(oversized), round(late-took))
	}
	s.until(p.patience(), func() bool { return r.answer != nil || len(s.orphans) > orphans })
	switch {
	case r.answer != nil && r.answer.err == nil:
		p.ok("a request of %s was served, in %v: no limit was found below it", size(oversized), round(took))
	case r.answer != nil:
		code, text, _ := r.answer.rpcError()
		p.ok("a request of %s was refused with error %d (%s), in %v", size(oversized), code, clip(text), round(took))
	case len(s.orphans) > orphans:
		code, text, _ := s.orphans[orphans].rpcError()
		p.ok("a request of %s was refused with error %d (%s), in %v", size(oversized), code, clip(text), round(took))
	default:
		p.warn("a request of %s was not answered; the next one was", size(oversized))
	}
	if linux {
		grown := peak - before
		if grown > max(oversized, DefaultOversize) {
			p.warn("its memory grew by %s over a line of %s", size(grown), size(oversized))
		} else {
			p.note("its memory grew by %s", size(max(0, grown)))
		}
	}
}

// taken waits until the server has read all that was sent, for as long as it
// goes on reading.
func (s *session) taken() error {
	for {
		m := s.h.Metrics()
		switch {
		case m.Unsent == 0:
			return nil
		case m.Exit != nil:
			return &endedError{s.ending()}
		case s.g.ctx.Err() != nil:
			return s.g.ctx.Err()
		case time.Since(m.UnsentSince) > s.g.o.Deadline:
			return &silentError{fmt.Sprintf("the server has not taken a byte of stdin for %v, while %s wait", s.g.o.Deadline, size(int64(m.Unsent)))}
		}
		s.pump()
		s.within(5*time.Millisecond, nil)
	}
}

// unknownMethod asks for what is not there, before and after the opening.
func unknownMethod(p *probe) {
	for _, era := range p.eras() {
		s := p.open(era, era)
		if s == nil {
			continue
		}
		r := s.request("weir/no-such-method", map[string]any{})
		if p.failed(s.wait(r, p.o.Deadline), "in %s, a request of the method weir/no-such-method", era) {
			continue
		}
		code, text, ok := r.answer.rpcError()
		switch {
		case r.answer.err == nil:
			p.fault("in %s, a request of the method weir/no-such-method was answered with a result: %s", era, clip(r.answer.raw))
		case !ok || code != -32601:
			p.warn("in %s, an unknown method was answered with error %d (%s), not -32601", era, code, clip(text))
		default:
			p.ok("in %s, -32601: %s", era, clip(text))
		}
		before := len(s.orphans)
		s.mayGuess = true
		s.send(frame(nil, "notifications/weir-no-such-notification", nil))
		if p.failed(s.second(), "in %s, after an unknown notification", era) {
			continue
		}
		if len(s.orphans) > before {
			p.warn("in %s, an unknown notification was answered: %s", era, clip(s.orphans[before].raw))
		}
	}
}
