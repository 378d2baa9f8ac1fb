// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/owner"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// A phase is where a call stands between its frame and its response (I4).
type phase uint8

const (
	queued  phase = iota // waits for a slot and for memory
	running              // has a slot; its handler works, or its response waits to be written
	writing              // the writer has picked its response: it goes out whole
	gone                 // cancelled, written, or dropped
)

// An outcome is how a call ended, for the metrics.
type outcome uint8

const (
	outcomeOK outcome = iota
	outcomeFailed
	outcomeRefused
	outcomeTimedOut
	outcomePanicked
	outcomeCancelled
	outcomeDropped
)

// A call is one request in flight that takes a slot: tools/call, or one that a
// store has to answer (resources.go).
//
// It is linked into its session's live list from the moment it is read until
// it is both settled (its response was written or never will be) and returned
// (its handler is back and what it owned is gone).
type call struct {
	se       *session
	id       wire.ID
	protocol string           // revision that it is answered in
	tool     *tool.Tool       // nil with resource
	resource *resourceRequest // what it asks of the store instead of a tool, or nil
	queue    *toolQueue
	batch    *batch // the batch that it came in, or nil
	bytes    int    // its raw frame, counted in se.queueBytes until the handler returned
	arrived  time.Time
	token    string // progress token as sent; "" is none

	req    *tool.Request // nil once the handler is back: it holds the whole frame
	ctx    callContext
	owner  owner.Owner
	spawn  spawned
	accuse sync.Once // see session.named

	logLevel int8 // least syslog severity sent to the host; see messages.go

	// Everything below is guarded by se.mu.

	phase    phase
	answered bool // a response was handed to the writer; a later one is dropped
	settled  bool
	returned bool
	fresh    bool // just read: it has not waited in line
	named    bool // named in the log for ignoring its context
	outcome  outcome
	parcel   *batchFrame // the array that its response waits in, or nil
	held     int         // bytes of MaxResultMemory that it holds
	started  time.Time   // when it got its slot
	deadline time.Time   // when its context ends by itself
	endedAt  time.Time   // when its context ended, or zero

	response wire.Frame
	buffer   *buffer   // of response.Data
	progress *progress // nil before the first report

	prev, next   *call // in se.live, by arrival
	qprev, qnext *call // in queue, by arrival
}

// name is that of c's tool, or the method of what it asks of the store.
func (c *call) name() string {
	if c.resource != nil {
		return c.resource.method
	}
	return c.tool.Name()
}

// Begin is called by the writer as it picks the response (wire.Source). From
// here on a cancel comes too late, and the id is free for a new request, since
// the host may have read the response before Done runs.
func (c *call) Begin(*wire.Frame) bool {
	se := c.se
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.beginLocked(c)
}

// beginLocked takes c from running to writing, unless it was cancelled.
func (se *session) beginLocked(c *call) bool {
	if c.phase != running {
		return false
	}
	c.phase = writing
	delete(se.calls, c.id.Key)
	return true
}

// Done is called by the writer when the response was written or could not be.
func (c *call) Done(f *wire.Frame, err error) {
	se := c.se
	se.mu.Lock()
	se.doneLocked(c, err)
	se.dispatchLocked()
	se.mu.Unlock()
	recycle(f, c.buffer)
	c.buffer = nil
	if err != nil {
		se.writeFailed(err)
	}
}

func (se *session) doneLocked(c *call, err error) {
	se.stallOverLocked()
	if c.settled {
		return
	}
	if err != nil {
		c.outcome = outcomeDropped
	}
	if c.phase == running { // never picked: the writer was closed
		delete(se.calls, c.id.Key)
	}
	se.settleLocked(c)
}

// settleLocked records that nothing more will be sent for c.
func (se *session) settleLocked(c *call) {
	if c.settled {
		return
	}
	c.settled = true
	c.phase = gone
	if c.batch != nil && !c.answered {
		c.batch.memberGoneLocked()
	}
	se.counts.outcome(c.outcome)
	se.releaseLocked(c)
}

// releaseLocked gives back what c holds once it is settled and returned.
func (se *session) releaseLocked(c *call) {
	se.signalIdle()
	if !c.settled || !c.returned {
		return
	}
	se.held -= c.held
	c.held = 0
	se.live.remove(c)
}

// A callList is a list of calls by arrival, linked through prev and next.
type callList struct{ head, tail *call }

func (l *callList) add(c *call) {
	c.prev = l.tail
	if l.tail != nil {
		l.tail.next = c
	} else {
		l.head = c
	}
	l.tail = c
}

func (l *callList) remove(c *call) {
	if c.prev != nil {
		c.prev.next = c.next
	} else {
		l.head = c.next
	}
	if c.next != nil {
		c.next.prev = c.prev
	} else {
		l.tail = c.prev
	}
	c.prev, c.next = nil, nil
}

// A Call describes one call of a running server; see [Server.Calls].
type Call struct {
	ID    string        // the request's id, as JSON
	Tool  string        // or "resources/read", "resources/list"
	State string        // "queued", "running", "writing", or "lingering"
	Age   time.Duration // since its frame was read
	Owns  []Owned       // what it still owns
}

// Owned is something that a call owns: a child process, an SSH session.
type Owned struct {
	Kind string // such as "process"
	Name string // such as the command; never a secret
	ID   string // such as the process id
}

// snapshot lists the calls of a session, oldest first.
func (se *session) snapshot() []Call {
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.snapshotLocked(time.Now())
}

func (se *session) snapshotLocked(now time.Time) []Call {
	var out []Call
	for c := se.live.head; c != nil; c = c.next {
		d := Call{ID: c.id.Raw, Tool: c.name(), Age: now.Sub(c.arrived)}
		switch {
		case c.phase == queued:
			d.State = "queued"
		case c.settled:
			d.State = "lingering"
		case c.phase == writing:
			d.State = "writing"
		default:
			d.State = "running"
		}
		for _, t := range c.owner.Things() {
			d.Owns = append(d.Owns, Owned{Kind: t.Kind, Name: t.Name, ID: t.ID})
		}
		out = append(out, d)
	}
	return out
}

// String is c on one line, for a person.
func (c Call) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s for %v", c.ID, c.Tool, c.State, c.Age.Round(time.Millisecond))
	for _, o := range c.Owns {
		fmt.Fprintf(&b, ", %s %s (%s)", o.Kind, o.ID, o.Name)
	}
	return b.String()
}
