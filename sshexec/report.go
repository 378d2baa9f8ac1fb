// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// report closes the session and says what happened.
func (c *call) report(ctx context.Context, end exec.End) *exec.Output {
	stage := c.now()
	if c.out.atEnd.Load() && c.err.atEnd.Load() && stage == StageOutput {
		stage = StageWait
	}
	pid := int(c.pid.Load())
	g := c.conn.currentGuard()
	exited := isClosed(c.exited) && c.status.known
	o := &exec.Output{Host: c.h.name(), End: end, ExitCode: -1, PID: pid, Name: c.name}
	if g != nil && pid != 0 {
		if end == exec.PipesHeld && c.cmd.KeepSurvivors && !isClosed(c.conn.lost) {
			c.ended = g.list(pid, c.id)
			c.awaitAnswer(c.ended, replyTime)
		}
		c.over.Store(true)
		if c.watch != nil && !c.watch.Stop() && !isClosed(c.conn.lost) {
			g.unwatch(pid, c.id)
		}
	}
	if !isClosed(c.drained) || !exited {
		c.close() // else the server does
		c.rest()
	}
	if isClosed(c.exited) { // it may have come by now
		exited = c.status.known
		o.ExitCode, o.Signal = c.status.code, c.status.signal
	}
	var cause error
	switch o.End {
	case exec.Exited:
		if o.Signal != "" {
			o.End = exec.Signalled
		}
	case exec.Cancelled, exec.TimedOut:
		if cause = errKilled; !isClosed(c.killed) {
			cause = context.Cause(ctx)
		}
	case exec.Unknown:
		if cause = ErrNoStatus; isClosed(c.conn.lost) {
			cause = c.conn.cause
		}
	}
	if cause != nil {
		o.Cause = c.secrets.Hide(cause.Error())
		o.Err = &Error{Host: c.h.name(), Stage: stage, Err: cause}
	}
	if c.ended != nil && g != nil {
		g.forget(c.id)
	}
	answered := c.ended != nil && isClosed(c.ended.done) && c.ended.ok
	if answered {
		o.Survivors = c.ended.left
		for i, s := range o.Survivors {
			o.Survivors[i].Name = c.secrets.Hide(s.Name)
		}
	}
	if !exited && !answered {
		o.MayRun = c.mayRun(pid)
		c.conn.check()
		if pid != 0 { // the connection may yet be found to be dead
			c.h.addOrphans(orphan{pid, c.id})
		}
	}
	o.Stdout, o.Stderr = c.out.result(), c.err.result()
	if !exited && isClosed(c.conn.lost) {
		o.Stdout.SoFar, o.Stderr.SoFar = true, true
	}
	o.Full = c.sink.Keep(o.Stdout.Truncated || o.Stderr.Truncated, o.Stdout.Bytes+o.Stderr.Bytes)
	o.SinkErr = c.sink.Err()
	o.Elapsed = time.Since(c.began)
	c.conn.prepare()
	c.leave()
	return o
}

// rest waits a moment for what is still on its way, and then lets nothing more
// count.
func (c *call) rest() {
	if !isClosed(c.drained) {
		d := closeTime
		if c.patient {
			d = c.grace()
		}
		select {
		case <-c.drained:
		case <-c.after(d):
		case <-c.conn.lost:
			select { // what had come is there
			case <-c.drained:
			case <-c.after(closeTime):
			}
		}
	}
	close(c.cut)
	if isClosed(c.drained) {
		return
	}
	settled := make(chan struct{})
	go func() {
		c.out.settle()
		c.err.settle()
		close(settled)
	}()
	select {
	case <-settled:
	case <-c.after(c.grace()): // a Sink holds it
	}
}

// mayRun says why the process may still run.
func (c *call) mayRun(pid int) string {
	switch {
	case pid == 0 && c.h.Bare:
		return "its process id is not known, since Host.Bare sends the command as it is"
	case pid == 0:
		return "its process id is not known: the server, or the shell there, did not run the command as it was sent (a forced command?), or had not begun"
	case isClosed(c.conn.lost) && c.watched.Load() && c.watcher.Load().isUp():
		return fmt.Sprintf("its process group there is %d; it is ended there when the server notices that the connection is gone", pid)
	}
	return fmt.Sprintf("its process group there is %d, and nothing there could be told to end it", pid)
}

// notThere is the error for a program or a directory that is not there.
func (c *call) notThere(why byte, o *exec.Output) error {
	switch why {
	case 'd':
		return c.startError(exec.BadDirectory, "the directory %q cannot be used there%s", c.cmd.Dir, lastLine(o))
	case 'x':
		return c.startError(exec.NotExecutable, "it is there, but is no program that may be executed")
	}
	return c.startError(exec.NotFound, "no such program there: check the name, or give its path")
}

func lastLine(o *exec.Output) string {
	if text := strings.TrimSpace(o.Stderr.Head); text != "" && len(text) < 500 {
		return ": " + text
	}
	return ""
}
