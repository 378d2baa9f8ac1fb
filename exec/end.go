// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"context"
	"errors"
	"time"
)

// settle is how long the streams may stay open after the child has exited
// before those who hold them are asked to end. What the child started in the
// background and is about to end, such as the far side of a pipe, needs a
// moment; what was left behind on purpose does not get Grace.
const settle = 100 * time.Millisecond

// killWait is how long a tree is waited for after it was killed.
const killWait = 500 * time.Millisecond

// maxSurvivors is how many survivors an Output names.
const maxSurvivors = 16

// conduct waits for the end of the child, brings it about where it must, and
// reports it. It is called once.
func (p *process) conduct(ctx context.Context) *Output {
	stop := stops{ctx: ctx, limit: p.limit}
	if d := p.cmd.Timeout; d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		stop.timeout = timer.C
		stop.after = d
	}
	end := stop.wait(p.exited, nil)
	switch {
	case end != "":
		p.end(time.Now().Add(p.cmd.grace()))
	case p.cmd.KeepSurvivors:
		end = p.leave(&stop)
	default:
		end = p.tidy(&stop)
	}
	return p.report(&stop, end)
}

// leave waits for the end of the streams after the child has exited by itself,
// for Grace, and lets its tree live.
func (p *process) leave(stop *stops) End {
	end := p.awaitStreams(stop, p.cmd.grace())
	if end != Exited && end != PipesHeld {
		p.end(time.Now().Add(p.cmd.grace()))
	}
	return end
}

// tidy ends what the child has left behind after it has exited by itself.
func (p *process) tidy(stop *stops) End {
	until := time.Now().Add(p.cmd.grace())
	if !isClosed(p.drained) {
		timer := time.NewTimer(min(settle, p.cmd.grace()))
		defer timer.Stop()
		if end := stop.wait(p.drained, timer.C); end != "" {
			p.end(until)
			return end
		}
	}
	if isClosed(p.drained) {
		if !p.tree.alone() {
			p.end(until)
		}
		return Exited
	}
	// Somebody has the streams open, or their readers are slow.
	left := p.tree.alive()
	p.end(until)
	end := p.awaitStreams(stop, 0)
	if end == Exited && left {
		end = PipesHeld
	}
	return end
}

// awaitStreams waits for the end of the streams after the child has exited by
// itself, for as long as d where somebody holds them: then it is PipesHeld. It
// waits longer for their readers while those have something to read.
func (p *process) awaitStreams(stop *stops, d time.Duration) End {
	if isClosed(p.drained) {
		return Exited
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	for {
		end := stop.wait(p.drained, timer.C)
		switch {
		case isClosed(p.drained):
			return Exited
		case end != "":
			return end
		case p.out.held() || p.err.held():
			return PipesHeld
		}
		timer.Reset(settle)
	}
}

// end asks the tree to end, waits for it until then, and kills it.
func (p *process) end(until time.Time) {
	p.tree.terminate()
	if p.awaitEnd(until, true) {
		return
	}
	p.tree.kill()
	if p.awaitEnd(time.Now().Add(killWait), false) && !isClosed(p.drained) {
		// What is left in the pipes is read, unless someone else holds them.
		timer := time.NewTimer(settle)
		defer timer.Stop()
		select {
		case <-p.drained:
		case <-timer.C:
		}
	}
}

// awaitEnd waits until the leader has ended and nothing of its tree is left,
// and, if streams is set, until both streams have ended. It reports whether
// all that came to pass in time.
func (p *process) awaitEnd(until time.Time, streams bool) bool {
	var drained chan struct{} // nil when it is not waited for
	if streams {
		drained = p.drained
	}
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		return false
	}
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if drained != nil && isClosed(drained) {
			drained = nil
		}
		if drained == nil && !p.tree.alive() {
			return true
		}
		left := time.Until(until)
		if left <= 0 {
			return false
		}
		if drained == nil {
			left = min(left, pause)
		}
		timer.Reset(left)
		select {
		case <-drained:
		case <-timer.C:
		}
	}
}

// report closes the pipes, reaps the leader and says what happened.
func (p *process) report(stop *stops, end End) *Output {
	o := &Output{End: end, ExitCode: -1, PID: p.tree.pid, Name: p.cmd.name()}
	if held := !isClosed(p.drained); held || p.cmd.KeepSurvivors || !isClosed(p.exited) {
		o.Survivors = p.tree.survivors(p.out.pipe, p.err.pipe)
		for i, s := range o.Survivors {
			o.Survivors[i].Name = p.cmd.hide(s.Name)
		}
	}
	p.release()
	if isClosed(p.exited) {
		s := p.tree.reap()
		p.tree.forget()
		p.gone()
		if s.known {
			o.ExitCode, o.Signal, o.CPU, o.PeakMemory = s.code, s.signal, s.cpu, s.memory
		}
	} else { // it could not be killed; its owner has to wait for it
		go func() {
			<-p.exited
			p.tree.reap()
			p.tree.forget()
			p.gone()
		}()
	}
	if o.End == Exited && o.Signal != "" {
		o.End = Signalled
	}
	if end == Cancelled || end == TimedOut {
		o.Cause = p.cmd.hide(stop.cause.Error())
	}
	o.Stdout, o.Stderr = p.out.result(), p.err.result()
	o.Full = p.sink.Keep(o.Stdout.Truncated || o.Stderr.Truncated, o.Stdout.Bytes+o.Stderr.Bytes)
	o.SinkErr = p.sink.Err()
	o.Elapsed = time.Since(p.began)
	return o
}

// release ends the reading and closes the pipes.
func (p *process) release() {
	if !isClosed(p.drained) {
		p.out.cut()
		p.err.cut()
		// The readers return when they have read what is there, unless a Sink
		// holds them. A loop over Lines takes the time it takes.
		var late <-chan time.Time
		if !p.patient {
			timer := time.NewTimer(p.cmd.grace())
			defer timer.Stop()
			late = timer.C
		}
		select {
		case <-p.drained:
		case <-late:
		}
	}
	closePipe(p.out.pipe)
	closePipe(p.err.pipe)
	if p.stdin != nil {
		closePipe(p.stdin)
	}
}

// stops are the reasons to end a child.
type stops struct {
	ctx     context.Context
	timeout <-chan time.Time
	after   time.Duration // what timeout was set to
	limit   <-chan struct{}

	cause error // of the first time-out or cancel; nothing later changes it
}

// over is the channel of a timer that has run out.
var over = func() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}()

// wait returns "" when done is closed or later comes, or the reason to stop.
// When done is closed there is none any more.
func (s *stops) wait(done <-chan struct{}, later <-chan time.Time) (end End) {
	select {
	case <-done:
	case <-later:
	case <-s.timeout:
		s.timeout = over // it stays so
		end, s.cause = TimedOut, errors.New("the time limit of "+s.after.String()+" was over")
	case <-s.limit:
		end = OutputLimit
	case <-s.ctx.Done():
		end, s.cause = Cancelled, context.Cause(s.ctx)
		if errors.Is(s.ctx.Err(), context.DeadlineExceeded) {
			end = TimedOut
		}
	}
	if isClosed(done) {
		return ""
	}
	return end
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
