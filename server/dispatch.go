// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"fmt"
	"strconv"
	"time"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// frame deals with one line of input.
func (se *session) frame(line []byte) {
	if wire.IsBatch(line) {
		se.batchOf(line)
		return
	}
	se.message(nil, line)
}

// message deals with one message, alone or in a batch.
func (se *session) message(b *batch, data []byte) {
	msg, err := wire.Parse(data)
	if err != nil {
		se.badFrame("a frame that is not a request", "err", err.Message)
		se.refuse(b, msg.ID, err)
		return
	}
	switch msg.Kind {
	case wire.Request:
		q := &se.current
		*q = envelope{Message: msg, batch: b, size: len(data)}
		se.request(q)
		return
	case wire.Notification:
		se.notification(&msg)
	case wire.Response:
		// Nothing was asked: the server sends no requests.
		se.mu.Lock()
		se.counts.badFrames++
		se.mu.Unlock()
	}
	if b != nil {
		se.mu.Lock()
		b.memberGoneLocked()
		se.mu.Unlock()
	}
}

// request routes one request: all but those that become a call are answered at
// once.
func (se *session) request(q *envelope) {
	if err := se.classify(q); err != nil {
		se.refuse(q.batch, q.ID, err)
		return
	}
	if q.Method != "tools/call" && se.inFlight(q.ID) { // callTool looks under the lock that it takes anyway
		se.refuse(q.batch, q.ID, errInFlight)
		return
	}
	answer, known := se.method(q)
	switch {
	case !known:
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeMethodNotFound, Message: "unknown method " + strconv.Quote(quote.Cut(q.Method, 128))})
	case !q.modern && se.revision == "" && q.Method != "initialize" && q.Method != "ping":
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "send initialize first, or give _meta with " +
			`"io.modelcontextprotocol/protocolVersion" "` + rev2026July + `" and "io.modelcontextprotocol/clientCapabilities"`})
	case q.Params.Present && !q.Params.Object && string(q.Params.Raw) != "null":
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params must be an object"})
	case q.Params.Duplicate != "":
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params has " + strconv.Quote(q.Params.Duplicate) + " twice"})
	default:
		answer(se, q)
	}
}

// method returns what answers q's method in q's era.
func (se *session) method(q *envelope) (answer func(*session, *envelope), known bool) {
	switch q.Method {
	case "tools/call":
		return (*session).callTool, true
	case "tools/list":
		return (*session).listTools, true
	}
	if answer := se.resourceMethod(q.Method); answer != nil {
		return answer, true
	}
	if q.modern {
		switch q.Method {
		case "server/discover":
			return (*session).discover, true
		case "subscriptions/listen":
			return (*session).listen, true
		}
		return nil, false
	}
	switch q.Method {
	case "initialize":
		return (*session).initialize, true
	case "ping":
		return (*session).ping, true
	case "logging/setLevel":
		return (*session).setLevel, se.srv.Logging
	}
	return nil, false
}

func (se *session) ping(q *envelope) { se.answerResult(q.batch, q.ID, []byte("{}")) }

var errInFlight = &wire.Error{Code: wire.CodeInvalidRequest, Message: "a request with this id is in flight"}

// inFlight tells whether id is taken by a call or a subscription.
func (se *session) inFlight(id wire.ID) bool {
	se.mu.Lock()
	defer se.mu.Unlock()
	return se.inFlightLocked(id)
}

func (se *session) inFlightLocked(id wire.ID) bool {
	if _, ok := se.calls[id.Key]; ok {
		return true
	}
	_, ok := se.subs[id.Key]
	return ok
}

// notification deals with a message that is never answered.
func (se *session) notification(m *wire.Message) {
	switch m.Method {
	case "notifications/cancelled":
		id, ok := wire.ParseID(m.Params.RequestID)
		if !ok {
			return
		}
		reason, _ := m.Params.Member("reason")
		text, _ := stringOf(reason)
		se.cancel(id, quote.Cut(text, 1<<10))
	case "notifications/initialized":
		se.mu.Lock()
		se.legacyReady = se.revision != ""
		se.mu.Unlock()
	}
}

// cancel obeys notifications/cancelled. It takes the same lock as the step to
// writing, so that a call is either cancelled, and nothing is sent for it, or
// its response goes out whole.
func (se *session) cancel(id wire.ID, reason string) {
	se.mu.Lock()
	c := se.calls[id.Key]
	if c == nil {
		if sub := se.subs[id.Key]; sub != nil {
			sub.cancelLocked()
		} else {
			se.counts.cancelLate++
		}
		se.mu.Unlock()
		return
	}
	delete(se.calls, id.Key)
	wasQueued := c.phase == queued
	c.outcome = outcomeCancelled
	if wasQueued {
		se.counts.cancelsQueued++
		se.unqueueLocked(c)
		c.returned = true
		se.unholdFrameLocked(c)
	} else {
		se.counts.cancelsRunning++
		se.withdrawLocked(c)
	}
	se.settleLocked(c)
	se.dispatchLocked()
	se.mu.Unlock()
	if !wasQueued {
		se.endContext(c, &tool.Cancelled{Reason: reason})
	}
	se.log.Debug("a call was cancelled", "tool", c.name(), "id", c.id.Raw, "queued", wasQueued, "reason", reason, "age", time.Since(c.arrived))
}

// callTool admits a tools/call.
func (se *session) callTool(q *envelope) {
	text, ok := textOf(q.Params.Name)
	if !ok {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.name must be the name of a tool"})
		return
	}
	args := q.Params.Arguments
	switch {
	case args == nil || string(args) == "null":
		args = nil
	case args.Kind() != '{':
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.arguments must be an object"})
		return
	}
	t, ok := se.srv.tools().Lookup(string(text))
	if !ok {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown tool " + strconv.Quote(quote.Cut(string(text), 128))})
		return
	}
	name := t.Name()
	c := &call{se: se, id: q.ID, protocol: q.protocol, tool: t, batch: q.batch, bytes: q.size, arrived: se.now(), token: string(q.meta.ProgressToken)}
	c.ctx.c = c
	c.req = &tool.Request{
		Tool:          name,
		ID:            q.ID.Raw,
		Protocol:      q.protocol,
		Client:        q.client,
		Meta:          q.meta.Raw,
		Arguments:     args,
		Peer:          callPeer{c},
		DefaultBudget: se.limits.Budget,
		Store:         se.srv.Artifacts,
	}
	c.logLevel = int8(severityOff)
	if se.srv.Logging && q.modern && q.meta.LogLevel != "" {
		level, _ := severityOf(q.meta.LogLevel)
		c.logLevel = int8(level)
	}
	se.admit(q, c)
}

// admit puts c in line, or answers why not. A call of a tool gets its queue
// here.
func (se *session) admit(q *envelope, c *call) {
	se.mu.Lock()
	if se.inFlightLocked(c.id) {
		se.mu.Unlock()
		se.refuse(q.batch, q.ID, errInFlight)
		return
	}
	for se.regular && !se.admitsLocked(c) && !se.over {
		se.room.Wait()
		se.readAt = time.Now()
		c.arrived = se.readAt // its time-out must not begin before it is let in
	}
	if !se.admitsLocked(c) || se.sched.stopped {
		se.counts.busy++
		running, waiting, stopped := se.sched.running, se.sched.waiting, se.sched.stopped
		se.mu.Unlock()
		e := &wire.Error{Code: CodeBusy, Message: "busy: too many calls are waiting; try again later"}
		if stopped {
			e.Message = "the server is shutting down"
		}
		e.Data = fmt.Appendf(nil, `{"running":%d,"queued":%d}`, running, waiting)
		se.refuse(q.batch, q.ID, e)
		return
	}
	if se.srv.Logging && !q.modern {
		c.logLevel = int8(se.level)
	}
	if c.tool != nil {
		c.queue = se.queueOfLocked(c.tool, c.name())
	}
	se.queueBytes += c.bytes
	se.counts.peakQueuedBytes = max(se.counts.peakQueuedBytes, int64(se.queueBytes))
	se.calls[c.id.Key] = c
	se.live.add(c)
	se.enqueueLocked(c)
	c.fresh = true
	se.dispatchLocked()
	c.fresh = false
	se.counts.peakQueued = max(se.counts.peakQueued, int64(se.sched.waiting))
	se.mu.Unlock()
}

// admitsLocked tells whether there is room for c in the queue. A frame that
// is larger than the whole is let in alone.
func (se *session) admitsLocked(c *call) bool {
	return se.sched.waiting < se.limits.MaxQueue &&
		(se.queueBytes+c.bytes <= se.limits.MaxQueueBytes || se.queueBytes == 0)
}

// initialize begins the legacy era, or begins it anew.
func (se *session) initialize(q *envelope) {
	if q.batch != nil {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidRequest, Message: "initialize must not be part of a batch"})
		return
	}
	raw, _ := q.Params.Member("protocolVersion")
	asked, ok := stringOf(raw)
	if !ok {
		se.refuse(nil, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.protocolVersion must be a string"})
		return
	}
	se.revision = negotiate(asked)
	info, _ := q.Params.Member("clientInfo")
	se.client = clientOf(info)
	se.mu.Lock()
	se.legacyReady = false
	se.mu.Unlock()

	b := append([]byte(nil), `{"protocolVersion":"`+se.revision+`","capabilities":`+se.srv.capabilities()+`,"serverInfo":`...)
	b = append(b, se.srv.implementation(se.revision)...)
	if se.srv.Instructions != "" {
		b = append(b, `,"instructions":`...)
		b = quote.Append(b, se.srv.Instructions)
	}
	se.answerResult(nil, q.ID, append(b, '}'))
}

// discover answers server/discover.
func (se *session) discover(q *envelope) {
	b := append([]byte(nil), `{"resultType":"complete","supportedVersions":["`+rev2026July+`"],"capabilities":`+se.srv.capabilities()...)
	if se.srv.Instructions != "" {
		b = append(b, `,"instructions":`...)
		b = quote.Append(b, se.srv.Instructions)
	}
	se.answerResult(q.batch, q.ID, se.srv.appendTail(b, q, true))
}
