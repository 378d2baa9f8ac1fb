// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// session is one process of the server and what is said with it. It belongs
// to the goroutine of one check; the reader that feeds its tap runs for the
// life of the process and never waits for it.
type session struct {
	g    *run
	name string // of the check, and what tells its sessions apart
	h    *host.Host
	tap  *tap
	raw  io.Closer // nil for none
	tree *tree     // the processes of the server
	done bool
	warm bool // a call that starts a child was made before
	slow bool // to end what is left: its grace is longer than closeGrace

	proto    string // revision of requests; "" before there is one
	nextID   int
	open     map[string]*request // by key; every request that was sent, answered or not
	order    []*request
	orphans  []*message // errors without an id
	notices  []*message // notifications
	spoke    bool       // a message has come
	mayGuess bool       // something was sent that cannot be read, or from which an id may be read that we did not mean
	carry    []*line    // lines of an object that is not complete
	answers  int        // requests that were answered
	flood    string     // why the stream was given up, "" when it was not
	lastMsg  time.Time
	began    time.Time
	resting  resting

	unasked      int   // lines that nobody asked for
	unaskedBytes int64 // of them
}

// request is one request that was sent.
type request struct {
	id        jsontext.Value
	method    string
	token     bool
	sent      time.Time
	cancelled time.Time // zero when it was not
	answer    *message  // nil until it is answered
	progress  []*message
	strays    int      // lines that were no messages while it was open
	after     *request // of a cancelled one: the first that was sent right after the cancel, nil for none
	slow      int      // of a slow call: its index in Options.Slow
	said      int      // how often Options.Stopped had been said when it was cancelled
}

// errEnded is why no answer will come; its text says how the server ended.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }

// errSilent is why no answer came in time; its text says which side is stuck.
type silentError struct{ text string }

func (e *silentError) Error() string { return e.text }

// floodError is why the server is not listened to any more.
type floodError struct{ text string }

func (e *floodError) Error() string { return e.text }

// sessionConfig is how a session is unlike others.
type sessionConfig struct {
	stderrUnread bool
	grace        time.Duration // until what the server leaves behind in its group is killed; 0 means closeGrace
}

// start starts a process of the server.
func (g *run) start(name string, cfg sessionConfig) (*session, error) {
	cmd := exec.Command(g.o.Command[0], g.o.Command[1:]...)
	cmd.Dir = g.o.Dir
	mark := g.nextMark()
	cmd.Env = append(append(os.Environ(), g.o.Env...), markName+"="+mark)
	s := &session{g: g, name: name, open: make(map[string]*request), began: time.Now()}
	var raw io.Writer
	if g.o.Raw != nil {
		w, err := g.o.Raw(name)
		if err != nil {
			g.rawFailed(err)
			return nil, err
		}
		if w != nil {
			raw, s.raw = w, w
		}
	}
	s.tap = newTap(raw)
	s.tap.endless = max(endless, 4*int64(g.o.Limit))
	hc := host.Config{
		Name: "weir gate", Version: g.o.Version, Limit: maxLine, QueueBytes: maxLine, Keep: 1, Grace: cmp.Or(cfg.grace, closeGrace),
		Raw: s.tap, StderrUnread: cfg.stderrUnread,
	}
	before := snapshot()
	h, err := host.Start(hc, cmd)
	if err != nil {
		if s.raw != nil {
			s.raw.Close()
		}
		return nil, fmt.Errorf("%w: %s", ErrStart, strings.TrimPrefix(err.Error(), "host: start of the server: "))
	}
	s.h, s.slow = h, cfg.grace > closeGrace
	s.tree = &tree{root: h.Pid(), mark: mark, before: before}
	s.tree.began()
	g.began(s)
	return s, nil
}

// closeGrace is how long a server may take to end when a check is done with
// it and its end is not what the check is about.
const closeGrace = 500 * time.Millisecond

// close ends the process, with all that it has started, and looks at the rest
// of what it wrote.
func (s *session) close() {
	if s.done {
		return
	}
	s.done = true
	s.pump()
	if s.g.ctx.Err() != nil || s.flooded() {
		s.tap.ignore()
		s.h.Kill()
	} else if s.h.Metrics().Exit == nil {
		s.tree.all() // what loses its parent now is known
		s.h.CloseInput()
		if !s.within(closeGrace, s.h.Done()) {
			s.tap.ignore() // it may be cut off in the middle of a frame now
		}
	}
	if s.slow {
		s.h.Kill()
	}
	s.h.Close()
	s.tree.kill()
	s.drained()
	if s.raw != nil {
		if more := s.tap.received() - maxRaw; more > 0 && s.flood == "" {
			s.note("messages", Warning, "raw", "the copy of stdout ends after %s: %s more came", bytesOf(int64(maxRaw)), bytesOf(more))
		}
		err := s.raw.Close()
		if s.tap.rawErr != nil {
			err = s.tap.rawErr
		}
		s.g.rawFailed(err)
	}
	s.g.closed(s)
}

func (s *session) within(d time.Duration, c <-chan struct{}) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-c:
		return true
	case <-t.C:
		return false
	case <-s.g.ctx.Done():
		return false
	}
}

// drained looks at what came last, when no more can come.
func (s *session) drained() {
	s.pump()
	if l := s.tap.rest(); l != nil {
		s.see(l)
	}
	s.uncarry()
}

// newID is the next id, as raw JSON.
func (s *session) newID() jsontext.Value {
	s.nextID++
	return strconv.AppendInt(nil, int64(s.nextID), 10)
}

// params are the params of a request: args, with _meta as the era and a
// progress token ask for.
func (s *session) params(args map[string]any, token jsontext.Value) map[string]any {
	modern := host.IsModern(s.proto)
	if !modern && token == nil {
		return args
	}
	p := map[string]any{}
	for k, v := range args {
		p[k] = v
	}
	meta := map[string]any{}
	if modern {
		meta["io.modelcontextprotocol/protocolVersion"] = s.proto
		meta["io.modelcontextprotocol/clientInfo"] = map[string]string{"name": "weir gate", "version": s.g.o.Version}
		meta["io.modelcontextprotocol/clientCapabilities"] = struct{}{}
	}
	if token != nil {
		meta["progressToken"] = token
	}
	p["_meta"] = meta
	return p
}

// frame is a request as it goes over the wire, LF included. A nil id makes
// a notification.
func frame(id jsontext.Value, method string, params any) []byte {
	b := []byte(`{"jsonrpc":"2.0"`)
	if id != nil {
		b = append(append(b, `,"id":`...), id...)
	}
	b = append(b, `,"method":`...)
	b, _ = jsontext.AppendQuote(b, method)
	if params != nil {
		if v, err := json.Marshal(params, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true)); err == nil {
			b = append(append(b, `,"params":`...), v...)
		}
	}
	return append(b, "}\n"...)
}

// expect takes note of a request that is about to be sent.
func (s *session) expect(id jsontext.Value, method string) *request {
	r := &request{id: id, method: method, sent: time.Now()}
	for _, c := range s.order {
		if c.after == nil && !c.cancelled.IsZero() && r.sent.Sub(c.cancelled) < raced {
			c.after = r
		}
	}
	s.open[idKey(id)] = r
	s.order = append(s.order, r)
	return r
}

// build makes a request and takes note of it; the caller sends the frame.
func (s *session) build(id jsontext.Value, method string, args map[string]any, token bool) (*request, []byte) {
	if id == nil {
		id = s.newID()
	}
	var tok jsontext.Value
	if token {
		tok = id
	}
	var params any
	if p := s.params(args, tok); p != nil {
		params = p
	}
	b := frame(id, method, params)
	r := s.expect(id, method)
	r.token = token
	return r, b
}

// request sends a request.
func (s *session) request(method string, args map[string]any) *request {
	r, b := s.build(nil, method, args, false)
	s.send(b)
	return r
}

// send sends bytes. That the server is gone is found out by whoever waits.
func (s *session) send(b []byte) { s.h.Send(b) }

// call calls a tool, with a progress token.
func (s *session) call(c Call) *request {
	r, b := s.build(nil, "tools/call", c.params(), true)
	s.send(b)
	return r
}

// cancelFrame is the notification that cancels an id.
func (s *session) cancelFrame(id jsontext.Value) []byte {
	return frame(nil, "notifications/cancelled", map[string]any{"requestId": id, "reason": "weir gate no longer wants it"})
}

// cancel cancels r.
func (s *session) cancel(r *request) {
	s.pump()
	if s.g.o.Stopped != "" {
		text, _ := s.h.Stderr()
		r.said = strings.Count(text, s.g.o.Stopped)
	}
	r.cancelled = time.Now()
	s.send(s.cancelFrame(r.id))
}

// until waits until cond, looking again whenever something has come.
func (s *session) until(d time.Duration, cond func() bool) error {
	t := time.NewTimer(d)
	defer t.Stop()
	for {
		wake := s.tap.wait()
		s.pump()
		if cond() {
			return nil
		}
		if s.flooded() {
			return &floodError{s.flood}
		}
		select {
		case <-wake:
		case <-s.h.Done():
			s.drained()
			if cond() {
				return nil
			}
			return &endedError{s.ending()}
		case <-t.C:
			s.pump()
			if cond() {
				return nil
			}
			why := s.h.Diagnose()
			if first, n := s.tap.partial(); n > 0 {
				why = fmt.Sprintf("a frame without end, %s so far, in %v; %s", bytesOf(n), round(time.Since(first)), why)
			}
			return &silentError{fmt.Sprintf("within %v (%s)", round(d), why)}
		case <-s.g.ctx.Done():
			return s.g.ctx.Err()
		}
	}
}

// wait waits for the answer to r.
func (s *session) wait(r *request, d time.Duration) error {
	err := s.until(d, func() bool { return r.answer != nil })
	var silent *silentError
	if errors.As(err, &silent) {
		return &silentError{fmt.Sprintf("%s was not answered %s", r.method, silent.text)}
	}
	return err
}

// ending says how the server has ended.
func (s *session) ending() string {
	m := s.h.Metrics()
	how := "the server closed its stdout"
	if m.Exit != nil {
		how = "the server ended (exit status 0)"
		if m.Exit.Err != nil {
			how = fmt.Sprintf("the server ended (%v)", m.Exit.Err)
		}
	}
	text, _ := s.h.Stderr()
	text = strings.TrimSpace(text)
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = strings.TrimSpace(text[i+1:])
	}
	if text != "" {
		how += fmt.Sprintf("; the last line of its stderr: %q", clip(text))
	}
	return how
}

// openEra opens the session by an era: a handshake for a legacy revision,
// server/discover for a modern one. The answer of the server is returned.
func (s *session) openEra(protocol string) (*message, error) {
	if host.IsModern(protocol) {
		s.proto = protocol
		r := s.request("server/discover", map[string]any{})
		if err := s.wait(r, s.g.patience()); err != nil {
			return nil, err
		}
		if code, text, ok := r.answer.rpcError(); ok || r.answer.err != nil {
			return r.answer, fmt.Errorf("server/discover was answered with error %d: %s", code, clip(text))
		}
		return r.answer, nil
	}
	return s.initialize(protocol)
}

// initialize does the handshake of the legacy era.
func (s *session) initialize(protocol string) (*message, error) {
	s.proto = ""
	r := s.request("initialize", map[string]any{
		"protocolVersion": protocol, "capabilities": struct{}{},
		"clientInfo": map[string]string{"name": "weir gate", "version": s.g.o.Version},
	})
	if err := s.wait(r, s.g.patience()); err != nil {
		return nil, err
	}
	if code, text, ok := r.answer.rpcError(); ok || r.answer.err != nil {
		return r.answer, fmt.Errorf("initialize was answered with error %d: %s", code, clip(text))
	}
	var v struct {
		Version string `json:"protocolVersion"`
	}
	json.Unmarshal(r.answer.result, &v, lenient...) // "" when it cannot be read
	s.proto = v.Version
	s.send(frame(nil, "notifications/initialized", nil))
	if v.Version == "" {
		return r.answer, errors.New("initialize was answered without a protocolVersion")
	}
	return r.answer, nil
}

// resting is what a server does while nothing is asked.
type resting struct {
	children []process // once the session was open
	load     float64   // share of a core; 0 when it was not looked at
	measured bool      // load was looked at
}

// rest takes note of the processes that run while nothing is asked.
func (s *session) rest() { s.resting.children = s.tree.children() }

// probe is a small request that every server of the era must answer.
func (s *session) probe() *request {
	if host.IsModern(s.proto) {
		return s.request("server/discover", map[string]any{})
	}
	return s.request("ping", nil)
}

// second makes the second, unrelated request that must be answered after
// whatever came before: a probe, and the tool of -call when there is one.
func (s *session) second() error {
	rs := []*request{s.probe()}
	if len(s.g.o.Call) > 0 {
		rs = append(rs, s.call(s.g.o.Call[0]))
	}
	return s.answered(rs...)
}

// answered waits for all of them, within one deadline.
func (s *session) answered(rs ...*request) error {
	end := time.Now().Add(s.g.o.Deadline)
	for _, r := range rs {
		if err := s.wait(r, max(time.Millisecond, time.Until(end))); err != nil {
			return err
		}
	}
	return nil
}

// exited waits for the end of the process.
func (s *session) exited(d time.Duration) (*host.Exit, bool) {
	ctx, cancel := context.WithTimeout(s.g.ctx, d)
	defer cancel()
	select {
	case <-s.h.Done():
		return s.h.Metrics().Exit, true
	case <-ctx.Done():
		return nil, false
	}
}
