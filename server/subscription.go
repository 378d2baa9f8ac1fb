// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/weir-mcp/weir/internal/wire"
)

const (
	maxSubscriptions = 64
	changeInterval   = 100 * time.Millisecond
)

// A subscription is one subscriptions/listen of the modern era. It holds its
// id but no slot. It is guarded by its session's mutex.
type subscription struct {
	se        *session
	id        wire.ID
	tools     bool // toolsListChanged was asked for
	ended     bool // nothing more is told
	cancelled bool // by the host: nothing more is sent at all
	notice
}

// cancelLocked obeys the host's cancel.
func (s *subscription) cancelLocked() {
	s.cancelled = true
	s.endLocked()
}

// endLocked forgets the subscription.
func (s *subscription) endLocked() {
	s.ended = true
	delete(s.se.subs, s.id.Key)
}

// listen answers subscriptions/listen: with an acknowledgement now, and a
// result when the session ends.
func (se *session) listen(q *envelope) {
	raw, _ := q.Params.Member("notifications")
	if raw.Kind() != '{' {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.notifications must be an object"})
		return
	}
	tools, ok := boolMember(raw, "toolsListChanged")
	if !ok {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.notifications.toolsListChanged must be true or false"})
		return
	}
	sub := &subscription{se: se, id: q.ID, tools: tools}
	sub.notice.send = func() bool { return !sub.ended }
	sub.notice.data = []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":` + sub.idMeta("") + `}}` + "\n")
	honoured := "{}"
	if tools {
		honoured = `{"toolsListChanged":true}`
	}
	ack := []byte(`{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":` + sub.idMeta("") + `,"notifications":` + honoured + "}}\n")

	se.mu.Lock()
	if len(se.subs) >= maxSubscriptions || se.sched.stopped {
		se.mu.Unlock()
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "too many subscriptions: 64 are open; cancel one first"})
		return
	}
	se.awaitControlLocked(ack)
	if se.controlFitsLocked(ack) {
		se.subs[q.ID.Key] = sub
		se.control += len(ack) + controlOverhead
		f := &ackFrame{controlFrame{se: se, size: len(ack) + controlOverhead}, sub}
		f.frame.Data, f.frame.Source = ack, f
		se.sendLocked(&f.frame)
	} else { // discarded, as every request is until stdout moves
		se.counts.discarded++
	}
	se.mu.Unlock()
}

// An ackFrame is dropped when the host cancelled the subscription before it
// was written.
type ackFrame struct {
	controlFrame
	sub *subscription
}

func (f *ackFrame) Begin(*wire.Frame) bool {
	f.se.mu.Lock()
	defer f.se.mu.Unlock()
	f.freeLocked()
	return !f.sub.cancelled
}

// idMeta is the _meta that names the subscription; more is put behind it.
func (s *subscription) idMeta(more string) string {
	return `{"io.modelcontextprotocol/subscriptionId":` + s.rawID() + more + `}`
}

// rawID is the id as it is echoed.
func (s *subscription) rawID() string { return string(wire.AppendScalar(nil, s.id.Raw)) }

// endSubscriptionsLocked ends every subscription from the server's side: a
// cancellation, then the request's result.
func (se *session) endSubscriptionsLocked() {
	for _, s := range se.subs {
		s.endLocked()
		se.sendLocked(&wire.Frame{Data: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + s.rawID() +
			`,"reason":"the server is stopping","_meta":` + s.idMeta("") + "}}\n")})
		se.sendLocked(&wire.Frame{Data: wire.AppendResult(nil, s.id, []byte(`{"resultType":"complete","_meta":`+
			s.idMeta(`,"io.modelcontextprotocol/serverInfo":`+string(se.srv.implementation(rev2026July)))+`}`))})
	}
}

// changes is what list_changed has to reach.
type changes struct {
	legacy notice
	over   bool
}

func (c *changes) stopLocked() { c.over = true }

// A notice is the list_changed of one subscriber: at most one waits for
// stdout, the first goes at once, and then one every 100 ms.
type notice struct {
	send    func() bool // whether it is still wanted; asked with the lock held
	data    []byte
	se      *session
	waiting bool // in the writer's queue
	due     bool // a change came too soon after the last notice
	last    time.Time
}

// toolsChanged is called by the registry after tools/list shows a change.
func (se *session) toolsChanged() {
	se.mu.Lock()
	defer se.mu.Unlock()
	now := time.Now()
	if se.legacyReady {
		l := &se.changed.legacy
		if l.data == nil {
			l.data = []byte(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n")
			l.send = func() bool { return se.legacyReady }
		}
		l.changedLocked(se, now)
	}
	for _, s := range se.subs {
		if s.tools {
			s.notice.changedLocked(se, now)
		}
	}
}

func (n *notice) changedLocked(se *session, now time.Time) {
	switch {
	case n.waiting || se.changed.over:
	case now.Sub(n.last) < changeInterval:
		n.due = true
		se.wakeAtLocked(n.last.Add(changeInterval))
	default:
		n.se, n.waiting, n.due = se, true, false
		f := &noticeFrame{n: n}
		f.frame.Data, f.frame.Source = n.data, f
		se.sendLocked(&f.frame)
	}
}

// tickLocked sends the notices that have become due.
func (c *changes) tickLocked(se *session, now time.Time) {
	if c.legacy.due {
		c.legacy.changedLocked(se, now)
	}
	for _, s := range se.subs {
		if s.notice.due {
			s.notice.changedLocked(se, now)
		}
	}
}

// A noticeFrame is one notice in the writer's queue.
type noticeFrame struct {
	frame wire.Frame
	n     *notice
}

// Begin lets the next change make a new notice, since a host that reads this
// one may ask for the list before that change (wire.Source).
func (f *noticeFrame) Begin(*wire.Frame) bool {
	n := f.n
	n.se.mu.Lock()
	defer n.se.mu.Unlock()
	n.waiting = false
	n.last = time.Now()
	return n.send()
}

func (f *noticeFrame) Done(_ *wire.Frame, err error) {
	if err != nil {
		f.n.se.writeFailed(err)
	}
}
