// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/internal/host"
)

// opening finds out which eras the server speaks, and holds the plain
// conversation: what a host does that means well.
func opening(p *probe) {
	s := p.firstSession
	p.sessions = append(p.sessions, s)
	began := time.Now()
	answer, err := s.openEra(host.LatestLegacy)
	took := time.Since(began)
	p.opened = took
	legacyErr := err
	p.noLegacy = err
	if err == nil {
		p.legacy = s.proto
		p.server = serverName(answer, "serverInfo")
		p.ok("initialize came to %s in %v", p.legacy, round(took))
	}
	modern := s
	if p.legacy != "" {
		if modern, err = p.run.start("handshake-modern", sessionConfig{}); err != nil {
			p.fault("the server could not be started a second time: %v", err)
			return
		}
		p.sessions = append(p.sessions, modern)
	} else if s.h.Metrics().Exit != nil {
		if modern, err = p.run.start("plain-modern", sessionConfig{}); err == nil {
			p.sessions = append(p.sessions, modern)
		} else {
			modern = s
		}
	}
	modernErr := modern.discover(p.legacy != "", took)
	if modernErr == nil {
		p.modern = true
		p.ok("server/discover was answered")
		if p.server == "" {
			p.server = serverName(modern.order[len(modern.order)-1].answer, "io.modelcontextprotocol/serverInfo")
		}
	}
	if p.over() {
		return
	}
	if p.legacy == "" {
		if !p.modern {
			p.fault("no session could be opened: %v; and server/discover: %v", legacyErr, modernErr)
			return
		}
		if late := s.order[0].answer; modern == s && late != nil && late.err == nil {
			p.fault("initialize was answered only after %v: hosts wait less; if it has reason to, give -patience", round(late.last.Sub(s.order[0].sent)))
			return
		}
		s = modern
	}
	p.converse(s)
}

// discover asks for server/discover. A legacy server may ignore it: known to
// be one, it is given less time.
func (s *session) discover(legacy bool, opened time.Duration) error {
	s.proto = host.LatestModern
	r := s.request("server/discover", map[string]any{})
	d := s.g.patience()
	if legacy {
		d = min(d, max(s.g.o.Deadline, 3*opened))
	}
	if err := s.wait(r, d); err != nil {
		return err
	}
	if code, text, _ := r.answer.rpcError(); r.answer.err != nil {
		return &refusedError{code, text}
	}
	var v struct {
		Supported []string `json:"supportedVersions"`
	}
	if err := json.Unmarshal(r.answer.result, &v, lenient...); err != nil || len(v.Supported) == 0 {
		return errors.New("server/discover was answered without supportedVersions: " + clip(r.answer.raw))
	}
	return nil
}

// refusedError is an error that the server answered with.
type refusedError struct {
	code int
	text string
}

func (e *refusedError) Error() string {
	return fmt.Sprintf("answered with error %d: %s", e.code, clip(e.text))
}

// serverName is the name and version that an answer introduces the server by.
func serverName(m *message, member string) string {
	type info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	var v struct {
		Legacy info `json:"serverInfo"`
		Meta   struct {
			Modern info `json:"io.modelcontextprotocol/serverInfo"`
		} `json:"_meta"`
	}
	json.Unmarshal(m.result, &v, lenient...) // what cannot be read is not there
	i := v.Legacy
	if member != "serverInfo" {
		i = v.Meta.Modern
	}
	return strings.TrimSpace(clip(i.Name) + " " + clip(i.Version))
}

// converse is the plain conversation: the tools, a small request, an unknown
// method, and the tools that were given.
func (p *probe) converse(s *session) {
	tools, err := s.tools()
	switch {
	case p.over():
		return
	case err != nil:
		var rejected bool
		if r := s.order[len(s.order)-1]; r.answer != nil {
			code, _, _ := r.answer.rpcError()
			rejected = code == -32601
		}
		if rejected {
			p.note("the server has no tools (tools/list is answered with -32601)")
		} else if p.failed(err, "the tools could not be listed") {
			return
		}
	default:
		p.list = tools
		if len(p.names) == 0 {
			p.note("tools/list gives no tools: what needs one is not tried")
		}
	}
	if p.failed(s.answered(s.probe()), "a small request after tools/list") {
		return
	}
	s.settle(50 * time.Millisecond)
	s.answered(s.request("weir/no-such-method", map[string]any{})) // that is a check of its own
	for _, c := range p.o.Call {
		r := s.call(c)
		if p.failed(s.answered(r), "the call of %s", c) {
			return
		}
		if code, text, _ := r.answer.rpcError(); r.answer.err != nil {
			p.warn("%s was answered with error %d: %s", c, code, clip(text))
		} else if readResult(r.answer).IsError {
			p.warn("%s was answered with an error result: %s", c, clip(readResult(r.answer).Text()))
		}
		s.settle(50 * time.Millisecond)
	}
	p.failed(s.answered(s.probe()), "the last small request")
	s.settle(50 * time.Millisecond)
}

// readResult reads the result of a call; an empty one when it has none.
func readResult(m *message) *host.Result {
	if m == nil || m.result == nil {
		return &host.Result{}
	}
	r, err := host.NewResult(m.result)
	if err != nil {
		return &host.Result{Raw: m.result}
	}
	return r
}

// stream reports what all sessions have noticed about the stream.
func stream(p *probe) {
	p.notes.report(p.check.Name, &p.outcome)
	if len(p.found) > 0 {
		return
	}
	if p.messages.Load() == 0 {
		p.cannot("a server that writes something", "the server wrote no message")
		return
	}
	p.ok("%s in %s, %s", count(p.messages.Load(), "message"), count(p.run.sessions.Load(), "session"), size(p.bytes.Load()))
	if p.check.Name == "order" {
		p.note("%s among them", count(p.progressN.Load(), "progress notification"))
	}
}

// strayCall is stream for what comes inside a call: without one nothing is
// known.
func strayCall(p *probe) {
	p.notes.report(p.check.Name, &p.outcome)
	if len(p.found) > 0 {
		return
	}
	if len(p.o.Call)+len(p.o.Slow)+len(p.o.Big) == 0 || len(p.eras()) == 0 {
		p.cannot("give -call", "no tool was called")
		return
	}
	if p.called.Load() == 0 {
		p.cannot("give -call a tool with arguments that it takes", "no call did what its tool does: each was answered with an error, or none was made")
		return
	}
	p.ok("%s in %s, %s among them", count(p.messages.Load(), "message"), count(p.run.sessions.Load(), "session"), count(p.called.Load(), "call"))
}

// did reports whether a call is known to have reached its tool: it has a
// result that is no error, or ran until it was cancelled.
func (r *request) did() bool {
	if r.answer == nil {
		return !r.cancelled.IsZero() && r.cancelled.Sub(r.sent) >= settleTime
	}
	return r.answer.err == nil && (r.answer.size > 1<<20 || !readResult(r.answer).IsError)
}
