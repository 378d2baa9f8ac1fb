// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servertest is a host for tests of tool servers: it connects to a
// server in this process or to a real child process, over real pipes or in
// memory, and talks to it in either era of the protocol.
//
//	c := servertest.New(t, srv)
//	res, err := c.Call(ctx, "grep", map[string]any{"pattern": "func main"})
//
// Everything the server writes is watched. A test fails when a line is not
// one JSON-RPC message in UTF-8 ended by LF, when a response or progress
// belongs to no open request, when a message does not match the JSON schema
// of its revision (where the schemas are at hand, see Config.NoSchema), when
// the server does not end after its stdin is closed, ends with an error, or
// leaves a goroutine or (seen on Linux) a process behind. A failing test says
// which side was stuck, if one was (see Client.Diagnose).
//
// The server's output is read by a reader of its own, from the start to the
// end of the server, whatever the test does meanwhile: bytes are counted, cut
// into lines, and queued for a bounded dispatcher. A host can also be a bad
// one, on purpose: Pause, Take and SetPace decide when the output is read,
// Send and SendChunks write any bytes.
//
// docs/testing.md shows how a server is tested with it.
package servertest

import (
	"context"
	"errors"
	"io"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/host"
)

// A Server is what New connects to. *server.Server is one.
type Server interface {
	Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error
}

// Config is how a Client behaves. The zero value is what New, NewInMemory and
// Start use.
type Config struct {
	// Protocol is the revision to speak: the one asked for by the initialize
	// handshake up to 2025-11-25, the one in each request's _meta from
	// 2026-07-28 on. Empty means 2025-11-25.
	Protocol string

	// Limit bounds a frame from the server, in bytes without its line end. A
	// longer one is discarded as it comes, to its LF, and never parsed; it is
	// reported as a fault, and the request that it answers (when the id stands
	// in its first KiB, or at its end) fails with an *OversizeError. Zero
	// means 64 MiB.
	Limit int
	// EndOnOversize ends the session at a frame over Limit, as soon as it is
	// over it: open requests are lost (ErrEnded, *OversizeError), stdin is
	// closed, and the server is stopped. False means to go on after the
	// frame's LF.
	EndOnOversize bool

	// Queue bounds the frames that wait for the test to take them (its
	// progress functions can hold the others up). Zero means 4096.
	Queue int
	// Overload is what happens past Queue. Reading goes on in any case. Zero
	// means OverloadRefuse.
	Overload Overload

	// Restart begins a new session when the host had to end one, because of
	// EndOnOversize or OverloadEnd, at most ten times: the process is reaped,
	// a new one started, and the handshake repeated. Calls made meanwhile wait
	// for it; those that were open are not repeated. False means that the
	// session stays ended. See also Client.Restart.
	Restart bool

	// Keep bounds the bytes of the frames that Frames returns; the oldest go
	// first. Zero means 64 MiB.
	Keep int

	// Raw gets the server's stdout byte for byte, before anything looks at
	// it. It must not block: the reader calls it. Nil means none.
	Raw io.Writer

	// StderrUnread leaves a child's stderr unread, on purpose. False means
	// that it is read, see Client.Stderr.
	StderrUnread bool

	// Grace is how long the server may take to end once its stdin is closed,
	// before it is told to, and then before it is killed. Zero means 3 s.
	Grace time.Duration

	// Stall is how long nothing may move before Client.Diagnose calls a side
	// stuck. Zero means 1 s.
	Stall time.Duration

	// AllowFaults lets the server write what is not protocol: such lines are
	// still counted and kept (see Client.Faulty), but fail no test. A response
	// over Limit is such a fault, and so is a session that ended because of
	// one. False means that they fail the test.
	AllowFaults bool

	// NoSchema switches the schema checks off. They are off by themselves
	// where there are no schemas: the folder with one folder for each
	// revision is named by WEIR_SPEC, or else is ../shared/spec beside the
	// root of this module. False means that they are done where they can be.
	NoSchema bool

	// NoLeakCheck lets goroutines of the server outlive the test. False means
	// that one which does fails it.
	NoLeakCheck bool
}

// Overload says what happens when the server's frames come faster than the
// test takes them. The reader goes on reading in any case.
type Overload = host.Overload

const (
	// OverloadRefuse drops the frames that do not fit, fails the requests
	// that they answered with ErrOverload, and refuses new ones likewise
	// until the queue has been empty.
	OverloadRefuse = host.OverloadRefuse
	// OverloadCancel does the same, and cancels every open request.
	OverloadCancel = host.OverloadCancel
	// OverloadEnd ends the session: open requests are lost (ErrEnded,
	// ErrOverload), stdin is closed, and the server is stopped.
	OverloadEnd = host.OverloadEnd
)

// failSafe bounds each wait of a test whose context has no deadline.
const failSafe = 30 * time.Second

// New runs srv in this process over two pipes of the operating system, which
// have a capacity and can be full, and returns a client of it. The test's
// cleanup ends both. It fails the test at once when there are no pipes.
func New(t testing.TB, srv Server) *Client { return Config{}.New(t, srv) }

// NewInMemory is New over pipes in memory, for tests within a bubble of
// testing/synctest, whose time does not pass for who waits for a pipe of the
// operating system. They have no capacity: a write ends when it has been read.
// (They are like those of io.Pipe, but a read can be interrupted, by Pause.)
func NewInMemory(t testing.TB, srv Server) *Client { return Config{}.NewInMemory(t, srv) }

// Start starts a server as a child process, in a process group of its own (a
// job on Windows), over three pipes, and returns a client of it. The test's
// cleanup ends the whole group and, on Linux, what has left it: all whose
// environment has the variable WEIR_HOST_SESSION, which is set for the server.
// It fails the test at once when the command is missing or cannot be started.
func Start(t testing.TB, command ...string) *Client { return Config{}.Start(t, command...) }

// New is the function New with c.
func (c Config) New(t testing.TB, srv Server) *Client {
	t.Helper()
	cl := c.client(t)
	h, err := host.Run(cl.hostConfig(), cl.leaks.wrap(srv.Serve))
	if err != nil {
		t.Fatal(err)
	}
	return cl.use(h, failSafe)
}

// NewInMemory is the function NewInMemory with c.
func (c Config) NewInMemory(t testing.TB, srv Server) *Client {
	t.Helper()
	cl := c.client(t)
	return cl.use(host.RunInMemory(cl.hostConfig(), cl.leaks.wrap(srv.Serve)), 0)
}

// Start is the function Start with c.
func (c Config) Start(t testing.TB, command ...string) *Client {
	t.Helper()
	if len(command) == 0 {
		t.Fatal("servertest: Start has no command: give the server's path and its arguments")
	}
	return c.StartCmd(t, exec.Command(command[0], command[1:]...))
}

// StartCmd is Start for a command with a folder or an environment of its own.
// Its streams must not be set. It is not changed, and may be used again.
func (c Config) StartCmd(t testing.TB, cmd *exec.Cmd) *Client {
	t.Helper()
	cl := c.client(t)
	h, err := host.Start(cl.hostConfig(), cmd)
	if err != nil {
		t.Fatal(err)
	}
	return cl.use(h, failSafe)
}

func (c Config) client(t testing.TB) *Client {
	return &Client{t: t, cfg: c, leaks: newLeaks(), opening: make(chan struct{}, 1), asked: make(map[*host.Host]bool)}
}

func (c *Client) hostConfig() host.Config {
	return host.Config{
		Protocol: c.cfg.Protocol, Name: "servertest", Version: "1",
		Limit: c.cfg.Limit, EndOnOversize: c.cfg.EndOnOversize,
		Queue: c.cfg.Queue, Overload: c.cfg.Overload, Keep: c.cfg.Keep,
		Raw: c.cfg.Raw, StderrUnread: c.cfg.StderrUnread, Grace: c.cfg.Grace, Stall: c.cfg.Stall,
		Track: true, OnFrame: c.check,
	}
}

// A Client is the host of one server under test. Its methods may be called by
// any goroutine; those that can wait take a context, and where it has no
// deadline wait for at most 30 s (in memory: without a limit).
type Client struct {
	t        testing.TB
	cfg      Config
	leaks    *leaks
	sessions *host.Sessions
	failSafe time.Duration
	played   int // Seq of the next frame that Play expects

	opening chan struct{} // has room while no handshake is under way
	opened  bool          // guarded by opening

	mu    sync.Mutex          // guards all below
	asked map[*host.Host]bool // sessions that the test has ended itself
	over  bool                // the test must not be told anything any more
	bad   int                 // frames that fail the test
}

func (c *Client) use(h *host.Host, failSafe time.Duration) *Client {
	c.sessions, c.failSafe = host.NewSessions(h, c.cfg.Restart), failSafe
	c.t.Cleanup(c.cleanup)
	return c
}

// host is the present session.
func (c *Client) host() *host.Host { return c.sessions.Host() }

// ends takes note that the test ends the present session itself, and returns
// its host.
func (c *Client) ends() *host.Host {
	h := c.host()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked[h] = true
	return h
}

func (c *Client) hasEnded(h *host.Host) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.asked[h]
}

// errorf fails the test, unless it is over.
func (c *Client) errorf(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.over {
		c.t.Errorf(format, args...)
	}
}

// check judges one frame. The dispatcher calls it.
func (c *Client) check(f Frame) {
	if f.Faults != 0 && !c.cfg.AllowFaults {
		if c.tooMany() {
			return
		}
		c.errorf("servertest: frame %d: %s: %s", f.Seq, f.Faults, clip(f.Raw))
		return
	}
	if f.Faults == 0 && !c.cfg.NoSchema {
		if err := checkSchema(f); err != nil && !c.tooMany() {
			c.errorf("servertest: frame %d: %v\n%s", f.Seq, err, clip(f.Raw))
		}
	}
}

// maxTold is how many bad frames a test is told of one by one.
const maxTold = 100

// tooMany counts a bad frame, and reports whether only the count is to tell
// of it.
func (c *Client) tooMany() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bad++
	return c.bad > maxTold
}

// cleanup ends the server and says what it left behind.
func (c *Client) cleanup() {
	c.t.Helper()
	if c.t.Failed() {
		c.t.Logf("servertest: %s", c.Diagnose())
	}
	last := c.sessions.Close()
	c.mu.Lock()
	more := c.bad - maxTold
	c.mu.Unlock()
	if more > 0 {
		c.errorf("servertest: %d more frames like these", more)
	}
	for _, h := range c.sessions.All() {
		exit, err := h.Metrics().Exit, last
		if h != c.host() && exit != nil { // it was ended for the next one
			err = exit.Err
		}
		if c.hasEnded(h) {
			continue
		}
		if err != nil && !(c.cfg.AllowFaults && errors.As(err, new(*OversizeError))) {
			c.errorf("servertest: the server ended with: %v%s", err, stderrTail(h))
		}
		if exit != nil && exit.Survivors != nil {
			c.errorf("servertest: the server left processes behind: %v", exit.Survivors)
		}
	}
	if !c.cfg.NoLeakCheck {
		if left := c.leaks.find(); left != "" {
			c.errorf("servertest: the server left goroutines behind:\n%s", left)
		}
	}
	if h := c.host(); c.t.Failed() && h.Pid() != 0 {
		c.t.Logf("servertest: pid %d%s", h.Pid(), stderrTail(h))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.over = true
}

func stderrTail(h *host.Host) string {
	text, _ := h.Stderr()
	if text == "" {
		return ""
	}
	if n := len(text) - 4<<10; n > 0 {
		text = "…" + text[n:]
	}
	return "; its stderr:\n" + text
}

// context bounds ctx by the fail-safe where it has no deadline.
func (c *Client) context(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok || c.failSafe == 0 {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, c.failSafe)
}
