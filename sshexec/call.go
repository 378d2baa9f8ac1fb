// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/capture"
	"github.com/weir-mcp/weir/internal/owner"
)

// A call is one command on its way to the other machine, and there.
type call struct {
	h       *Host
	cmd     exec.Cmd
	id      string
	name    string // of the program, without secrets
	secrets capture.Secrets
	began   time.Time
	gone    func()                  // tells the owner
	abandon context.CancelCauseFunc // ends the waiting for a session

	timer *time.Timer // of after, nil until it is needed

	stage atomic.Value         // Stage
	dial  atomic.Pointer[dial] // while it waits for that
	pid   atomic.Int64         // of the process over there, 0 while it is not known
	known chan struct{}        // closed when the wrapper has told
	why   atomic.Int32         // mark.why

	conn *conn
	ch   ssh.Channel
	out  stream
	err  stream
	sink capture.Sink
	fed  atomic.Pointer[capture.Panic] // of Cmd.Stdin

	sent    atomic.Int32  // one of the states below
	status  status        // set before exited is closed
	exited  chan struct{} // closed when the status is there, or will never come
	closed  chan struct{} // closed when the server has closed the channel
	once    sync.Once     // closes exited
	reading atomic.Int32  // streams whose reader is not done
	drained chan struct{} // closed when reading is zero
	shut    atomic.Bool   // the channel is closed from our side
	cut     chan struct{} // closed when nothing that is read counts any more
	total   atomic.Int64  // read on both streams; kept for KillAfter only
	limit   chan struct{} // receives once total has passed KillAfter
	killed  chan struct{} // closed when the owner wants it gone
	kill    sync.Once
	holds   atomic.Int32 // of the session: by conduct, and by the server
	letGo   sync.Once
	late    atomic.Pointer[time.Timer] // looks after a channel that is not closed

	watch   *time.Timer // has the guard watch it; set before pid
	watched atomic.Bool
	watcher atomic.Pointer[guard] // by which; set before watched
	over    atomic.Bool           // nobody has to watch it any more
	ended   *answer               // of the guard, once it was asked
	patient bool                  // standard output is read at somebody else's pace
	read    func()                // reads standard output to its end
	reader  sync.Once             // calls read
}

// Whether the command was handed over. The step away from notSent is taken
// once, so that a call that was given up is not sent late.
const (
	notSent int32 = iota
	sentState
	givenUp
)

// status is how a process ended, as the server told.
type status struct {
	known  bool
	code   int    // -1 when a signal ended it
	signal string // its name, or ""
}

// begin makes a session for the command. When it fails, nothing is left.
func (h *Host) begin(ctx context.Context, cmd exec.Cmd) (_ *call, err error) {
	c := &call{
		h:       h,
		cmd:     cmd,
		id:      newID(),
		secrets: capture.NewSecrets(cmd.Redact),
		began:   time.Now(),
		gone:    func() {},
		exited:  make(chan struct{}),
		closed:  make(chan struct{}),
		drained: make(chan struct{}),
		cut:     make(chan struct{}),
		killed:  make(chan struct{}),
		known:   make(chan struct{}),
	}
	c.name = c.secrets.Hide(path.Base(cmd.Path))
	c.at(StageQueue)
	if ctx.Err() != nil {
		return nil, c.fail(context.Cause(ctx))
	}
	if err := c.validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	c.abandon = cancel
	if o := owner.FromContext(ctx); o != nil {
		c.gone = o.Add(owner.Thing{Kind: "ssh session", Name: c.name, State: c.show, Kill: c.killNow})
	}
	defer func() {
		if err != nil {
			c.gone()
			c.stopTimer()
		}
	}()
	if err := c.open(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// errKilled is the cause when the owner of a call ends what it owns.
var errKilled = errors.New("ended with the call that it belongs to")

func (c *call) at(s Stage) { c.stage.Store(s) }

// now is how far the call has come.
func (c *call) now() Stage {
	s := c.stage.Load().(Stage)
	if d := c.dial.Load(); d != nil {
		s = d.stage.Load().(Stage)
	}
	return s
}

// show is what a list of calls says about this one.
func (c *call) show() string {
	s := c.h.name() + " " + string(c.now())
	if pid := c.pid.Load(); pid != 0 {
		s += " process group " + strconv.FormatInt(pid, 10)
	}
	return s
}

// after is time.After with one timer for all that a call waits for, one after the
// other. Only the channel that it returned last receives.
func (c *call) after(d time.Duration) <-chan time.Time {
	if c.timer == nil {
		c.timer = time.NewTimer(d)
	} else {
		c.timer.Reset(d)
	}
	return c.timer.C
}

func (c *call) stopTimer() {
	if c.timer != nil {
		c.timer.Stop()
	}
}

// killNow ends the command at once and does not wait.
func (c *call) killNow() {
	c.kill.Do(func() { close(c.killed) })
	c.abandon(errKilled)
}

func (c *call) fail(err error) error { return c.h.fail(c.now(), err) }

// startError is the error of a command that is not run.
func (c *call) startError(r exec.Reason, format string, a ...any) error {
	return &Error{Host: c.h.name(), Stage: StageStart, Err: &exec.StartError{
		Reason: r,
		Path:   c.secrets.Hide(c.cmd.Path),
		Err:    errors.New(c.secrets.Hide(fmt.Sprintf(format, a...))),
	}}
}

// validate refuses what no line can say.
func (c *call) validate() error {
	m := &c.cmd
	if m.Path == "" {
		return c.startError(exec.NotFound, "no program to run was given")
	}
	for _, s := range append([]string{m.Path, m.Dir}, m.Args...) {
		if strings.IndexByte(s, 0) >= 0 {
			return c.startError(exec.BadArgument, "an argument, the path or the directory contains NUL")
		}
	}
	if err := checkEnv(m.Env); err != nil {
		return c.startError(exec.BadArgument, "%v", err)
	}
	if c.h.Bare && (m.Dir != "" || m.CleanEnv) {
		return c.startError(exec.BadArgument, "a host with Bare takes neither Dir nor CleanEnv")
	}
	return nil
}

// open gets a session on the host's connection.
func (c *call) open(ctx context.Context) error {
	h := c.h
	refusals, lost := 0, false
	for {
		c.at(StageQueue)
		if err := h.link.gate.acquire(ctx, h.closing(), orDefault(h.MaxWaiting, DefaultMaxWaiting), c.after, h.patience(), "no session of the host was free"); err != nil {
			return c.fail(err)
		}
		c.at(StageConnect)
		conn, err := h.acquire(ctx, &c.dial, false)
		if err != nil {
			h.link.gate.release()
			return err
		}
		c.conn = conn
		c.at(StageSession)
		var o session
		for try := range maxRefusals {
			if o, err = conn.openSession(ctx, c.after(h.patience()), h.patience(), func() { conn.release(); h.link.gate.release() }); !noRoom(err) {
				break
			}
			// A server that has read about sessions that are over may not have
			// counted them out yet.
			conn.dropSpare()
			sleep(ctx, time.Millisecond<<try)
		}
		switch {
		case err == nil:
			c.accept(o)
			return nil
		case errors.Is(err, errPending):
			return c.fail(c.sessionError(ctx, err)) // openSession gives the place back
		case !lost && ctx.Err() == nil && (errors.Is(err, io.EOF) || isClosed(conn.lost)):
			// The connection was lost while it was idle, and nothing has been run.
			lost = true
			conn.end(lostError(err))
			conn.release()
			h.link.gate.release()
			continue
		case !noRoom(err):
			conn.release()
			h.link.gate.release()
			return c.fail(c.sessionError(ctx, err))
		}
		// It takes fewer than we thought.
		if lowered := h.link.gate.lower(); !lowered {
			conn.dropGuard()
			if refusals++; refusals == maxAlone { // it takes none at all
				conn.release()
				return c.fail(&toldError{err})
			}
		}
		conn.release()
	}
}

// maxRefusals is how often a server is asked for a session that it refuses: for
// an eighth of a second.
const maxRefusals = 7

// maxAlone is how often all that is refused although no other call is there.
const maxAlone = 6

// noRoom tells whether the server has no session to give.
func noRoom(err error) bool {
	var no *ssh.OpenChannelError
	return errors.As(err, &no) && no.Reason != ssh.UnknownChannelType
}

// sleep waits for d, or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// patience is Host.SessionTimeout.
func (h *Host) patience() time.Duration { return orDefault(h.SessionTimeout, DefaultSessionTimeout) }

// sessionError says why there was no session.
func (c *call) sessionError(ctx context.Context, err error) error {
	var p *pendingError
	if errors.As(err, &p) {
		return p.err
	}
	if isClosed(c.conn.lost) {
		return c.conn.cause
	}
	return firstCause(ctx, &toldError{err})
}

// accept takes over an open session.
func (c *call) accept(o session) {
	c.ch = o.ch
	c.holds.Store(2)
	c.out.init(c, o.ch, c.cmd.Stdout, exec.DefaultStdout)
	c.err.init(c, o.ch.Stderr(), c.cmd.Stderr, exec.DefaultStderr)
	c.sink.Init(c.cmd.Sink)
	if !c.h.Bare {
		c.err.mark = newMarker(c.id, c.err.keep, c.marked)
	}
	if c.cmd.KillAfter > 0 {
		c.limit = make(chan struct{}, 1)
	}
	c.reading.Store(2)
	c.conn.run(func() { c.requests(o.requests) })
	c.conn.run(c.err.drain)
}

// release gives the session back once both who hold it have done so.
func (c *call) release() {
	if c.holds.Add(-1) == 0 {
		c.giveBack()
	}
}

func (c *call) giveBack() {
	c.letGo.Do(func() {
		c.conn.release()
		c.h.link.gate.release()
	})
}

// requests hears how the process ended, until the server closes the channel.
func (c *call) requests(in <-chan *ssh.Request) {
	for r := range in {
		switch r.Type {
		case "exit-status":
			if len(r.Payload) == 4 {
				c.exit(status{known: true, code: int(binary.BigEndian.Uint32(r.Payload))})
			}
		case "exit-signal":
			var m struct {
				Signal        string
				Core          bool
				Message, Lang string
			}
			if ssh.Unmarshal(r.Payload, &m) == nil {
				c.exit(status{known: true, code: -1, signal: signalName(m.Signal)})
			}
		}
		r.Reply(false, nil)
	}
	close(c.closed)
	c.conn.room.ended()
	if late := c.late.Load(); late != nil {
		late.Stop()
	}
	c.exit(status{code: -1})
	c.release()
}

// signalName is the name of a signal as exec has it.
func signalName(s string) string {
	for i := range len(s) {
		if c := s[i]; (c < 'A' || c > 'Z') && (c < '0' || c > '9') || i > 16 {
			return "unknown"
		}
	}
	return "SIG" + s
}

// exit says how the process ended. The first that says so counts.
func (c *call) exit(s status) {
	c.once.Do(func() {
		c.status = s
		close(c.exited)
	})
}

// marked is told what the wrapper has told.
func (c *call) marked(m mark) {
	defer close(c.known)
	if m.why != 0 {
		c.why.Store(int32(m.why))
		return
	}
	c.h.link.shell.Store(int32(m.kind))
	if g := c.conn.startGuard(m.kind); g != nil {
		c.watch = time.AfterFunc(watchTime, func() {
			if !isClosed(c.exited) {
				g.watch(m.pid, c.id, c.grace())
				c.watcher.Store(g)
				c.watched.Store(true)
				if c.over.Load() { // it may have been taken off the list before
					g.unwatch(m.pid, c.id)
				}
			}
		})
	}
	c.pid.Store(int64(m.pid)) // who sees this sees c.watch
}

// watchTime is how long a command has run before the guard is told of it, since
// most have ended before that. A cancel does not depend on it.
const watchTime = 50 * time.Millisecond

func (c *call) grace() time.Duration {
	if c.cmd.Grace > 0 {
		return c.cmd.Grace
	}
	return exec.DefaultGrace
}

// count adds to what was read, and calls for the end past KillAfter.
func (c *call) count(n int) {
	if c.limit != nil && c.total.Add(int64(n)) > c.cmd.KillAfter {
		select {
		case c.limit <- struct{}{}:
		default:
		}
	}
}

// readOut reads standard output to its end, unless somebody does.
func (c *call) readOut() { c.reader.Do(c.read) }

// streamDone is called by the reader of each stream when it is done.
func (c *call) streamDone() {
	if c.reading.Add(-1) == 0 {
		close(c.drained)
	}
}
