// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"time"

	"github.com/weir-mcp/weir/exec"
)

const (
	// settleTime is how long the streams may stay open after the process has
	// exited before those who hold them are asked to end, as in exec.
	settleTime = 100 * time.Millisecond

	// killWait is how long processes are waited for after they were killed.
	killWait = 500 * time.Millisecond

	// replyTime is how long the other machine has to answer, beside what it is
	// asked to wait.
	replyTime = 500 * time.Millisecond

	// markTime is how long a command that has to end is waited for to tell its
	// process id.
	markTime = 200 * time.Millisecond

	// closeTime is how long the server has to close a channel, so that the rest
	// of the output is read.
	closeTime = 300 * time.Millisecond
)

// conduct hands the command over, waits for its end, brings that about where it
// must, and reports it. It is called once.
func (c *call) conduct(ctx context.Context) (*exec.Output, error) {
	c.at(StageStart)
	started := make(chan error, 1)
	timeout := c.after(c.h.patience())
	c.conn.run(func() {
		started <- c.handOver()
		c.readOut()
	})
	select {
	case err := <-started:
		if err != nil && (c.sent.Load() == notSent || !isClosed(c.conn.lost) && !isClosed(c.closed)) {
			return nil, c.abort(ctx, err)
		}
		if err == nil {
			c.at(StageOutput)
		} // else the channel ended before the answer: it may have run
	case <-ctx.Done():
		return c.giveUp(ctx)
	case <-c.killed:
		return c.giveUp(ctx)
	case <-timeout:
		return c.giveUp(ctx)
	}
	if c.cmd.Stdin != nil {
		go c.feed() // Close does not wait for who reads Stdin
	}
	end := c.await(ctx, c.exited, nil)
	switch {
	case end != "":
		c.end(ctx, true)
	case c.status.known:
		end = c.tidy(ctx)
	default:
		c.conn.alive() // or is it the connection that has ended?
		end = exec.Unknown
	}
	o := c.report(ctx, end)
	if why := c.why.Load(); why != 0 && o.End == exec.Exited {
		return nil, c.notThere(byte(why), o)
	}
	return o, nil
}

// abort ends a call whose command was not run.
func (c *call) abort(ctx context.Context, err error) error {
	if isClosed(c.conn.lost) {
		err = c.conn.cause
	}
	err = c.fail(err)
	c.close()
	c.leave()
	return err
}

// giveUp ends a call whose start the server has not confirmed.
func (c *call) giveUp(ctx context.Context) (*exec.Output, error) {
	end, cause := exec.Cancelled, context.Cause(ctx)
	switch {
	case isClosed(c.killed):
		cause = errKilled
	case ctx.Err() == nil:
		end, cause = exec.Unknown, &timeoutError{"the server did not say that it has taken the command", c.h.patience()}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		end = exec.TimedOut
	}
	if c.sent.CompareAndSwap(notSent, givenUp) {
		c.conn.check() // it has not answered about a variable
		return nil, c.abort(ctx, cause)
	}
	c.conn.run(c.readOut)
	// It may have begun, and its answer be on the way to us, or be waiting for its
	// turn here.
	c.awaitMark()
	if c.pid.Load() != 0 && c.conn.currentGuard() != nil {
		c.end(ctx, true)
	} else {
		c.signal("KILL") // nobody can say whether there is something to be killed
	}
	o := c.report(ctx, end)
	if o.Cause == "" {
		o.Cause = c.secrets.Hide(cause.Error())
	}
	o.Err = c.fail(cause)
	return o, nil
}

// await returns "" when done is closed or later comes, or the reason to stop.
func (c *call) await(ctx context.Context, done <-chan struct{}, later <-chan time.Time) (end exec.End) {
	select {
	case <-done:
	case <-later:
	case <-c.limit:
		end = exec.OutputLimit
	case <-c.killed:
		end = exec.Cancelled
	case <-ctx.Done():
		end = exec.Cancelled
		if errors.Is(ctx.Err(), context.DeadlineExceeded) {
			end = exec.TimedOut
		}
	}
	if isClosed(done) {
		return ""
	}
	return end
}

// tidy ends what the process has left behind after it has exited by itself.
func (c *call) tidy(ctx context.Context) exec.End {
	if isClosed(c.drained) {
		return exec.Exited
	}
	patience := c.grace()
	if !c.cmd.KeepSurvivors && c.pid.Load() != 0 {
		patience = min(settleTime, patience)
	}
	if end, done := c.awaitStreams(ctx, patience); done {
		return end
	}
	// Somebody has the streams open, or the way is slow.
	if c.cmd.KeepSurvivors {
		return exec.PipesHeld
	}
	c.end(ctx, false)
	if end, done := c.awaitStreams(ctx, c.grace()); done && (end != exec.Exited || c.ended == nil || !c.ended.ended()) {
		return end
	}
	return exec.PipesHeld
}

// awaitStreams waits for the end of the streams after the process has exited
// by itself, until nothing has come for as long as d. It reports what ended the
// waiting: the streams, or a reason to stop, which it brings about.
func (c *call) awaitStreams(ctx context.Context, d time.Duration) (exec.End, bool) {
	timeout := c.after(d)
	for {
		came := c.out.came.Load() + c.err.came.Load()
		end := c.await(ctx, c.drained, timeout)
		switch {
		case isClosed(c.drained):
			return exec.Exited, true
		case end != "":
			c.end(ctx, false)
			return end, true
		case c.out.came.Load()+c.err.came.Load() == came && (c.out.waiting.Load() || c.err.waiting.Load()):
			return "", false
		}
		timeout = c.after(d)
	}
}

// end asks the processes to end, waits for it, and has them killed. Live means
// that the leader has not ended as far as is known. What cannot be reached is
// not waited for.
func (c *call) end(ctx context.Context, live bool) {
	grace := c.grace()
	if isClosed(c.killed) {
		grace = 0
	}
	c.awaitMark()
	pid, g := int(c.pid.Load()), c.conn.currentGuard()
	if pid != 0 && g != nil {
		c.ended = g.end(pid, c.id, grace, live)
		if c.awaitAnswer(c.ended, grace+2*killWait+replyTime) {
			if live {
				c.awaitEnd(replyTime)
			}
			return
		}
	}
	if !live || isClosed(c.conn.lost) {
		return
	}
	// Without a guard, the server is asked to pass a signal on.
	if grace > 0 {
		if !c.signal("TERM") {
			return
		}
		if c.awaitEnd(grace) {
			return
		}
	}
	if c.signal("KILL") {
		c.awaitEnd(killWait)
	}
}

// awaitMark waits a moment for what the wrapper tells, which may be behind what
// the command has written to standard output.
func (c *call) awaitMark() {
	if c.h.Bare || isClosed(c.known) {
		return
	}
	timeout := c.after(markTime)
	select {
	case <-c.known:
	case <-timeout:
	case <-c.conn.lost:
	}
}

// awaitAnswer waits for a guard's answer.
func (c *call) awaitAnswer(a *answer, d time.Duration) bool {
	timeout := c.after(d)
	select {
	case <-a.done:
	case <-timeout:
	case <-c.conn.lost:
	}
	return isClosed(a.done) && a.ok
}

// awaitEnd waits until the process has exited and both streams have ended, and
// reports whether they have.
func (c *call) awaitEnd(d time.Duration) bool {
	timeout := c.after(d)
	for _, done := range []<-chan struct{}{c.exited, c.drained} {
		select {
		case <-done:
		case <-timeout:
			return false
		case <-c.conn.lost:
			return false
		}
	}
	return true
}

// signal asks the server to send a signal to the process, and reports whether
// it has. OpenSSH does so since 7.9, to the whole process group, but not for a
// forced command.
func (c *call) signal(name string) bool {
	payload := sshStrings(name)
	if c.stage.Load() == StageStart { // the answer to an earlier request is waited for
		c.conn.run(func() { c.ch.SendRequest("signal", false, payload) })
		return false
	}
	answer := make(chan bool, 1)
	c.conn.run(func() {
		ok, err := c.ch.SendRequest("signal", true, payload)
		answer <- ok && err == nil
	})
	timeout := c.after(replyTime)
	select {
	case ok := <-answer:
		return ok
	case <-c.exited:
		return true
	case <-timeout:
		return false
	}
}

// close ends the session from our side.
func (c *call) close() {
	ch := c.ch
	if isClosed(c.closed) {
		return
	}
	c.shut.Store(true)
	c.conn.run(func() { ch.Close() })
}

// leave gives up what the call holds. If the server does not close the channel,
// the connection is in doubt.
func (c *call) leave() {
	c.gone()
	c.stopTimer()
	late := time.AfterFunc(closeTime, func() { c.conn.run(c.doubt) })
	c.late.Store(late)
	if isClosed(c.closed) {
		late.Stop()
	}
	c.release()
}

// doubt is for a channel that the server has not closed in time.
func (c *call) doubt() {
	if isClosed(c.closed) || isClosed(c.conn.lost) {
		return
	}
	c.close()
	c.conn.check()
	timer := time.NewTimer(lateTime)
	defer timer.Stop()
	select {
	case <-c.closed:
	case <-c.conn.lost:
	case <-timer.C:
		c.conn.retire()
		c.giveBack()
	}
}
