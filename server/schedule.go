// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/weir-mcp/weir/tool"
)

// How much may overtake a call that waits for memory before nothing does.
const (
	overtakeCalls = 64
	overtakeTime  = time.Second
)

// A toolQueue holds the calls of one tool that wait for a slot.
type toolQueue struct {
	tool       *tool.Tool
	head, tail *call
	running    int
	most       int // how many may run at once
	need       int // memory that each reserves
	timeout    time.Duration
	waiting    bool // it stands in schedule.ring
}

func (q *toolQueue) push(c *call) {
	c.qprev = q.tail
	if q.tail != nil {
		q.tail.qnext = c
	} else {
		q.head = c
	}
	q.tail = c
}

func (q *toolQueue) remove(c *call) {
	if c.qprev != nil {
		c.qprev.qnext = c.qnext
	} else {
		q.head = c.qnext
	}
	if c.qnext != nil {
		c.qnext.qprev = c.qprev
	} else {
		q.tail = c.qprev
	}
	c.qprev, c.qnext = nil, nil
}

// A schedule decides which waiting call runs next. A free slot goes round the
// tools that have calls waiting, so that a quick tool is never behind a slow
// one's queue. It is guarded by its session's mutex.
type schedule struct {
	queues  map[string]*toolQueue
	ring    []*toolQueue // those with calls waiting; the next one to serve first
	waiting int          // calls in all queues
	running int          // slots taken
	stopped bool         // no call starts any more

	blocked   *call // the first call that was passed over for want of memory
	blockedAt time.Time
	overtaken int // calls that passed it
}

// queueOfLocked returns the queue of t's calls.
func (se *session) queueOfLocked(t *tool.Tool, name string) *toolQueue {
	q := se.sched.queues[name]
	if q != nil && q.tool == t {
		return q
	}
	if q == nil {
		se.pruneLocked()
		q = new(toolQueue)
		se.sched.queues[name] = q
	}
	info := t.Info()
	q.tool = t
	q.most = se.limits.perTool(info.MaxCalls)
	q.need = se.limits.reserve(info.Budget.WithDefaults(se.limits.Budget))
	q.timeout = se.limits.CallTimeout
	if info.Timeout > 0 {
		q.timeout = info.Timeout
	}
	return q
}

// pruneLocked forgets the queues of tools that were removed.
func (se *session) pruneLocked() {
	if len(se.sched.queues) < 64 {
		return
	}
	for name, q := range se.sched.queues {
		if _, ok := se.srv.tools().Lookup(name); !ok && q.running == 0 && q.head == nil {
			delete(se.sched.queues, name)
		}
	}
}

// enqueueLocked puts c in line.
func (se *session) enqueueLocked(c *call) {
	s, q := &se.sched, c.queue
	q.push(c)
	if !q.waiting {
		q.waiting = true
		s.ring = append(s.ring, q)
	}
	s.waiting++
}

// unqueueLocked takes c out of its line.
func (se *session) unqueueLocked(c *call) {
	s, q := &se.sched, c.queue
	q.remove(c)
	s.waiting--
	se.room.Signal()
	if s.blocked == c {
		s.blocked = nil
	}
	if q.head == nil {
		q.waiting = false
		for i, r := range s.ring {
			if r == q {
				s.ring = append(s.ring[:i], s.ring[i+1:]...)
				break
			}
		}
	}
}

// dispatchLocked starts every waiting call for which there is a slot and
// memory. It is called whenever one of these, or a call, may have come.
func (se *session) dispatchLocked() {
	s := &se.sched
	for !s.stopped && s.running < se.limits.MaxCalls && len(s.ring) > 0 {
		c := se.nextLocked()
		if c == nil {
			return
		}
		if s.blocked != nil && s.blocked != c {
			s.overtaken++
		}
		q := c.queue
		se.unqueueLocked(c)
		if q.waiting && len(s.ring) > 1 && s.ring[0] == q {
			s.ring = append(s.ring[1:], q) // the next tool's turn
		}
		se.startLocked(c)
	}
}

// nextLocked picks the call to start, or nil when none can.
func (se *session) nextLocked() *call {
	s := &se.sched
	if b := s.blocked; b != nil {
		if se.fitsLocked(b) && b.queue.running < b.queue.most {
			return b
		}
		if s.overtaken >= overtakeCalls || time.Since(s.blockedAt) >= overtakeTime {
			return nil
		}
	}
	for i, q := range s.ring {
		if q.running >= q.most {
			continue
		}
		c := q.head
		if !se.fitsLocked(c) {
			if s.blocked == nil {
				s.blocked, s.blockedAt, s.overtaken = c, time.Now(), 0
				se.flushBatchesLocked()
			}
			continue
		}
		if i > 0 {
			// Bring the tool to the front, so that the caller moves it behind
			// the others; those that were passed over keep their order.
			copy(s.ring[1:i+1], s.ring[:i])
			s.ring[0] = q
		}
		return c
	}
	return nil
}

// fitsLocked tells whether there is memory for c: enough is free, or c is
// larger than the whole and alone.
func (se *session) fitsLocked(c *call) bool {
	return se.held+c.queue.need <= se.limits.MaxResultMemory || se.held == 0
}

// startLocked gives c its slot.
func (se *session) startLocked(c *call) {
	q := c.queue
	se.sched.running++
	q.running++
	c.held = q.need
	se.held += c.held
	c.phase = running
	c.started = c.arrived
	if !c.fresh {
		c.started = time.Now()
	}
	c.deadline = c.started.Add(q.timeout)
	se.wakeAtLocked(c.deadline)
	se.ready.push(c)
	se.wakeWorkerLocked()
}

// A readyList holds the calls that have a slot and no worker yet, by the time
// at which they got it.
type readyList struct{ head, tail *call }

func (l *readyList) push(c *call) {
	if l.tail != nil {
		l.tail.qnext = c
	} else {
		l.head = c
	}
	l.tail = c
}

func (l *readyList) pop() *call {
	c := l.head
	if c == nil {
		return nil
	}
	l.head = c.qnext
	if l.head == nil {
		l.tail = nil
	}
	c.qnext = nil
	return c
}

// wakeWorkerLocked sees to it that a worker looks at what is ready: one at a
// time, and that one wakes the next before it calls a handler. So quick calls
// run one after the other on a worker that is awake, and no call waits for a
// handler that is not quick.
func (se *session) wakeWorkerLocked() {
	if se.waking || se.ready.head == nil {
		return
	}
	se.waking = true
	if n := len(se.idle); n > 0 {
		w := se.idle[n-1]
		se.idle = se.idle[:n-1]
		w <- true // has room for one, and its worker waits
		return
	}
	go se.work()
}
