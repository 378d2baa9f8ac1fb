// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package gate is the release gate for tool servers: it starts an MCP server
// over stdio, in any language, again and again, does to it what hosts do and
// what happens to hosts, and says what came of it, a verdict for each check.
//
// It looks at the bytes of the server's stdout before any parsing, and at
// each fault by itself: a line that is not UTF-8, ends in CR LF, holds two
// objects and answers with a changed id shows all four.
package gate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"crypto/rand"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// Defaults of the zero fields of Options.
const (
	DefaultLimit    = 4 << 20
	DefaultDeadline = 5 * time.Second
	DefaultIdle     = 10 * time.Second
	DefaultOversize = 64 << 20
	DefaultParallel = 4
	DefaultPatience = 30 * time.Second
)

// Call is a tool with its arguments, a JSON object or nil.
type Call struct {
	Tool      string
	Arguments jsontext.Value
}

func (c Call) params() map[string]any {
	p := map[string]any{"name": c.Tool}
	if c.Arguments != nil {
		p["arguments"] = c.Arguments
	}
	return p
}

func (c Call) String() string {
	if c.Arguments == nil {
		return c.Tool
	}
	return c.Tool + " " + clip(c.Arguments)
}

// Options say what to run. Only Command is required.
type Options struct {
	// Command starts the server; it is started many times.
	Command []string
	// Dir is where it is started. Empty means the current folder.
	Dir string
	// Env is added to its environment. Nil means nothing.
	Env []string
	// Only are the names of the checks to run. Nil means all.
	Only []string

	// Call is a quick tool with a small result, Slow one that takes several
	// seconds and heeds a cancel, Big one with a large result, Noisy one that
	// writes to stderr. Of several, each check takes the first that does for
	// it. Nil means that what needs one is not tried.
	Call, Slow, Big, Noisy []Call
	// Stopped is what the server writes to stderr each time when a cancelled
	// call of the first Slow has ended. Empty means that it says nothing, and
	// that the end is looked for in its processes.
	Stopped string

	// Limit is the frame limit to try, in bytes of a frame without its LF.
	// Zero means DefaultLimit.
	Limit int
	// Deadline is how long an answer may take after a cancel or a fault. Zero
	// means DefaultDeadline.
	Deadline time.Duration
	// Idle is how long the idle server is watched. Zero means DefaultIdle.
	Idle time.Duration
	// Linger is how long is waited for what must not come for a call that was
	// cancelled. Zero means Deadline.
	Linger time.Duration
	// Oversize is the size in bytes of a line that no server needs to take.
	// Zero means DefaultOversize.
	Oversize int
	// Patience is how long the opening of a session may take. Zero means
	// DefaultPatience.
	Patience time.Duration
	// Parallel is how many processes of the server run at once. Zero means
	// DefaultParallel.
	Parallel int
	// Version introduces the gate. Empty means "0".
	Version string

	// Raw returns where the stdout of a session goes, byte for byte; the
	// session of the name "plain" is the plain conversation. A nil writer
	// means that it goes nowhere. Nil means none.
	Raw func(session string) (io.WriteCloser, error)
	// Progress is called, by one goroutine at a time, when a check begins or
	// ends. Nil means not at all.
	Progress func(Progress)
}

// Progress is how far a run has come.
type Progress struct {
	Done, Total int
	Running     []string // checks, in the order in which they began
}

// ErrStart is wrapped by Run's error when the server could not be started.
var ErrStart = errors.New("the server could not be started")

// UnknownToolError is Run's error when a tool was given that the server does
// not list.
type UnknownToolError struct {
	Flag string   // that named it, without dash: "call", "slow", "big" or "noisy"
	Tool string   // the name that was given
	Have []string // the tools that are listed, at least one
}

func (e *UnknownToolError) Error() string {
	return fmt.Sprintf("gate: -%s: the server lists no tool %q", e.Flag, e.Tool)
}

// run is one run of the gate.
type run struct {
	o     Options
	ctx   context.Context
	notes notes
	mark  string

	seq       atomic.Int64
	sessions  atomic.Int64
	bytes     atomic.Int64
	messages  atomic.Int64
	answers   atomic.Int64
	progressN atomic.Int64

	legacy   string         // what initialize came to, "" when it came to nothing
	noLegacy error          // why it came to nothing
	modern   bool           // server/discover was answered
	server   string         // name and version
	names    []string       // of the tools in list
	list     jsontext.Value // the result of tools/list, pages joined

	firstSession *session      // of the opening
	opened       time.Duration // how long the first opening took
	called       atomic.Int64  // calls that did what a tool does

	slowCourse course

	looking sync.Mutex // held while a slow call that runs a child is looked for
	forker  int        // guarded by looking: index in Slow of one that does, and one more; 0 before

	mu     sync.Mutex // guards all below
	live   map[*session]bool
	rawErr error
}

// Run runs the checks. The error is for a run that could not be done: the
// server could not be started (ErrStart), or ctx ended. Whatever happens, no
// process of the server is left.
func Run(ctx context.Context, o Options) (*Report, error) {
	o = o.withDefaults()
	if len(o.Command) == 0 || o.Command[0] == "" {
		return nil, errors.New("gate: no command")
	}
	for _, name := range o.Only {
		if _, ok := Find(name); !ok {
			return nil, fmt.Errorf("gate: there is no check %q", name)
		}
	}
	g := &run{o: o, ctx: ctx, live: make(map[*session]bool), mark: rand.Text()}
	began := time.Now()
	results, err := g.checks()
	if err == nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = g.rawErr
	}
	if err != nil {
		return nil, err
	}
	r := &Report{
		Command: o.Command, Server: g.server, Eras: g.eras(), Limit: o.Limit, Deadline: o.Deadline.Seconds(),
		Results: results, Sessions: int(g.sessions.Load()), Bytes: g.bytes.Load(), Seconds: time.Since(began).Seconds(),
	}
	return r, nil
}

func (o Options) withDefaults() Options {
	o.Limit = cmp.Or(max(o.Limit, 0), DefaultLimit)
	o.Deadline = cmp.Or(max(o.Deadline, 0), DefaultDeadline)
	o.Idle = cmp.Or(max(o.Idle, 0), DefaultIdle)
	o.Linger = cmp.Or(max(o.Linger, 0), o.Deadline)
	o.Oversize = cmp.Or(max(o.Oversize, 0), DefaultOversize)
	o.Patience = cmp.Or(max(o.Patience, 0), DefaultPatience)
	o.Parallel = cmp.Or(max(o.Parallel, 0), DefaultParallel)
	o.Version = cmp.Or(o.Version, "0")
	return o
}

func (g *run) patience() time.Duration { return g.o.Patience }

// eras are the revisions that the server speaks, and that checks use.
func (g *run) eras() (list []string) {
	if g.legacy != "" {
		list = append(list, g.legacy)
	}
	if g.modern {
		list = append(list, host.LatestModern)
	}
	return list
}

// checks runs what is wanted: first the opening, whose outcome the others
// need, then the rest, several at once, and last the checks of the stream,
// which live on what all the others have seen.
func (g *run) checks() ([]Result, error) {
	var wanted []Check
	for _, c := range Checks() {
		if len(g.o.Only) == 0 || slices.Contains(g.o.Only, c.Name) || c.Name == "handshake" {
			wanted = append(wanted, c)
		}
	}
	results := make([]Result, len(wanted))
	shown := newProgress(g.o.Progress, len(wanted))

	do := func(i int) {
		c := wanted[i]
		shown.begin(c.Name)
		defer shown.end(c.Name)
		began := time.Now()
		p := &probe{run: g, check: c}
		defer p.close()
		if c.Name != "handshake" && !c.stream && len(g.eras()) == 0 {
			p.cannot("a server that opens a session", "no session could be opened")
		} else if c.run != nil {
			c.run(p)
		}
		p.close()
		results[i] = p.result(time.Since(began))
	}

	// The opening, and the plain conversation.
	opening := slices.IndexFunc(wanted, func(c Check) bool { return c.Name == "handshake" })
	s, err := g.start("plain", sessionConfig{})
	if err != nil {
		return nil, err
	}
	g.firstSession = s
	do(opening)
	if g.ctx.Err() != nil {
		return nil, context.Cause(g.ctx)
	}
	if err := g.unknownTool(); err != nil {
		return nil, err
	}

	var rest []int
	for i, c := range wanted {
		if i != opening && !c.stream {
			rest = append(rest, i)
		}
	}
	slices.SortStableFunc(rest, func(a, b int) int { return wanted[b].long - wanted[a].long })
	var wg sync.WaitGroup
	next := make(chan int)
	for range min(g.o.Parallel, max(1, len(rest))) {
		wg.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for _, i := range rest {
		next <- i
	}
	close(next)
	wg.Wait()

	for i, c := range wanted {
		if c.stream {
			do(i)
		}
	}
	return results, nil
}

// unknownTool is an error when a tool was given that is not listed. A server
// that lists none may do so later.
func (g *run) unknownTool() error {
	for _, given := range []struct {
		flag  string
		calls []Call
	}{{"call", g.o.Call}, {"slow", g.o.Slow}, {"big", g.o.Big}, {"noisy", g.o.Noisy}} {
		for _, c := range given.calls {
			if len(g.names) > 0 && !slices.Contains(g.names, c.Tool) {
				return &UnknownToolError{given.flag, c.Tool, g.names}
			}
		}
	}
	return nil
}

func (g *run) nextMark() string { return g.mark + "-" + strconv.FormatInt(g.seq.Add(1), 10) }

func (g *run) began(s *session) {
	g.sessions.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.live[s] = true
}

func (g *run) closed(s *session) {
	g.bytes.Add(s.tap.received())
	for _, r := range s.order {
		// An error may come before the tool has done anything.
		if r.method == "tools/call" && r.did() {
			g.called.Add(1)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.live, s)
}

func (g *run) rawFailed(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.rawErr == nil && err != nil {
		g.rawErr = err
	}
}

func (g *run) sawMessage()  { g.messages.Add(1) }
func (g *run) sawAnswer()   { g.answers.Add(1) }
func (g *run) sawProgress() { g.progressN.Add(1) }

// probe is one check that runs.
type probe struct {
	*run
	outcome
	check    Check
	sessions []*session
}

func (p *probe) result(took time.Duration) Result {
	r := Result{Name: p.check.Name, What: p.check.What, Why: p.check.Why, Verdict: p.final(), Found: p.found, Seen: p.seen, Seconds: took.Seconds()}
	if r.Verdict == NotTried {
		r.Needs = p.needs
	}
	return r
}

// close ends the sessions of the check.
func (p *probe) close() {
	var wg sync.WaitGroup
	for _, s := range p.sessions {
		wg.Go(s.close)
	}
	wg.Wait()
	p.sessions = nil
}

// start starts a process without opening a session. nil means that the check
// is over; why is in its outcome.
func (p *probe) start(label string, cfg sessionConfig) *session {
	name := p.check.Name
	if label != "" {
		name += "-" + label
	}
	if p.ctx.Err() != nil {
		return nil
	}
	s, err := p.run.start(name, cfg)
	if err != nil {
		p.fault("one more process: %v", err)
		return nil
	}
	p.sessions = append(p.sessions, s)
	return s
}

// open starts a process and opens a session, by the era that protocol says.
func (p *probe) open(label, protocol string) *session {
	return p.openWith(label, protocol, sessionConfig{})
}

func (p *probe) openWith(label, protocol string, cfg sessionConfig) *session {
	s := p.start(label, cfg)
	if s == nil {
		return nil
	}
	if _, err := s.openEra(protocol); err != nil {
		if p.ctx.Err() == nil {
			p.fault("no session could be opened: %v", err)
		}
		return nil
	}
	s.rest()
	return s
}

// timeout is a context that also ends with the run.
func (g *run) timeout(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(g.ctx, d)
}

// usual is the era that checks use for which it does not matter.
func (p *probe) usual() string { return p.eras()[0] }

// cancelled reports whether the run is over.
func (p *probe) over() bool { return p.ctx.Err() != nil }

// failed takes err, which a wait has returned, as the fault that sentence
// tells; nil is none.
func (p *probe) failed(err error, format string, args ...any) bool {
	if err == nil {
		return false
	}
	if !p.over() {
		p.fault("%s: %v", fmt.Sprintf(format, args...), err)
	}
	return true
}

// progress tells how far a run has come.
type progress struct {
	tell func(Progress)

	mu sync.Mutex // guards now, and held while telling
	p  Progress
}

func newProgress(tell func(Progress), total int) *progress {
	return &progress{tell: tell, p: Progress{Total: total}}
}

func (p *progress) begin(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.p.Running = append(p.p.Running, name)
	p.say()
}

func (p *progress) end(name string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.p.Running, name); i >= 0 {
		p.p.Running = slices.Delete(slices.Clone(p.p.Running), i, i+1)
	}
	p.p.Done++
	p.say()
}

func (p *progress) say() {
	if p.tell != nil {
		p.tell(p.p)
	}
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// linux reports whether the processes of a server can be looked at.
var linux = runtime.GOOS == "linux"

// tools lists the tools, following the pages, as one result.
func (s *session) tools() (jsontext.Value, error) {
	var all []jsontext.Value
	var first map[string]jsontext.Value
	cursor, seen := "", map[string]bool{}
	for {
		params := map[string]any{}
		if cursor != "" {
			params["cursor"] = cursor
		}
		r := s.request("tools/list", params)
		if err := s.wait(r, s.g.patience()); err != nil {
			return nil, err
		}
		if code, text, _ := r.answer.rpcError(); r.answer.err != nil {
			return nil, fmt.Errorf("tools/list was answered with error %d: %s", code, clip(text))
		}
		var page map[string]jsontext.Value
		var list []jsontext.Value
		if err := json.Unmarshal(r.answer.result, &page, lenient...); err != nil {
			return nil, fmt.Errorf("the result of tools/list cannot be read: %w", err)
		}
		if err := json.Unmarshal(page["tools"], &list, lenient...); err != nil {
			return nil, fmt.Errorf("the tools of tools/list cannot be read: %w", err)
		}
		if first == nil {
			first = page
		}
		all = append(all, list...)
		cursor = textOf(page["nextCursor"])
		if cursor == "" {
			break
		}
		if seen[cursor] {
			return nil, fmt.Errorf("tools/list gave the cursor %q twice", clip(cursor))
		}
		seen[cursor] = true
	}
	s.g.names = namesOf(all)
	if all == nil {
		all = []jsontext.Value{}
	}
	joined, err := json.Marshal(all, jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, err
	}
	delete(first, "nextCursor")
	first["tools"] = joined
	return json.Marshal(first, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// namesOf are the names of tools, in their order; what has none is left out.
func namesOf(tools []jsontext.Value) (names []string) {
	for _, t := range tools {
		var v struct {
			Name string `json:"name"`
		}
		if json.Unmarshal(t, &v, lenient...) == nil && v.Name != "" {
			names = append(names, v.Name)
		}
	}
	return names
}
