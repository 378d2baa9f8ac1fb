// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// errPanicked is the cause of a context whose handler panicked; goroutines of
// the call may still see it.
var errPanicked = errors.New("the handler panicked")

// callOverhead is about what a call takes besides its response while that
// waits for stdout.
const callOverhead = 1 << 10

// maxIdle is how many workers wait for a next call; the rest end.
const maxIdle = 64

// work runs the calls that are ready, one after the other, on one goroutine and
// its grown stack.
func (se *session) work() {
	ch := make(chan bool, 1)
	se.mu.Lock()
	se.waking = false
	for {
		c := se.ready.pop()
		switch {
		case c != nil && c.settled: // cancelled before it began
			se.returnLocked(c)
			se.dispatchLocked()
		case c != nil:
			se.wakeWorkerLocked()
			se.mu.Unlock()
			se.run(c)
			se.mu.Lock()
			se.returnLocked(c)
			waking := se.waking
			se.waking = true // this worker is about to look
			se.dispatchLocked()
			se.waking = waking
		case len(se.idle) >= maxIdle || se.over:
			se.mu.Unlock()
			return
		default:
			se.idle = append(se.idle, ch)
			se.mu.Unlock()
			if !<-ch { // the session is over
				return
			}
			se.mu.Lock()
			se.waking = false
		}
	}
}

// run calls the handler and hands its response to the writer.
func (se *session) run(c *call) {
	done := false
	defer func() {
		if done {
			return
		}
		// A panic, or runtime.Goexit, which recover does not see: then this
		// goroutine goes on to end, and the call must return here.
		v := recover()
		se.panicked(c, v, debug.Stack())
		se.endContext(c, errPanicked)
		c.spawn.wait()
		if v == nil {
			se.mu.Lock()
			se.returnLocked(c)
			se.dispatchLocked()
			se.wakeWorkerLocked() // in place of this one
			se.mu.Unlock()
		}
	}()
	if c.resource != nil {
		se.serveResource(c)
		done = true
		return
	}
	res, err := c.tool.Serve(&c.ctx, c.req)
	if p := c.spawn.wait(); p != nil {
		se.panicked(c, p.value, p.stack)
	} else if (sendContext{&c.ctx}).Err() == nil { // else it was cancelled
		se.respond(c, res, err)
	}
	done = true
}

// returnLocked records that c's handler is back. The slot is free when
// nothing is owned any more either.
func (se *session) returnLocked(c *call) {
	c.ctx.release()
	if things := c.owner.Things(); len(things) > 0 {
		se.log.Warn("a handler returned and left things behind; ending them",
			"tool", c.name(), "id", c.id.Raw, "first", things[0].Kind+" "+things[0].Name)
		go func() {
			c.owner.Kill()
			c.owner.WhenIdle(func() {
				se.mu.Lock()
				se.freeLocked(c)
				se.dispatchLocked()
				se.mu.Unlock()
			})
		}()
		return
	}
	se.freeLocked(c)
}

// freeLocked gives back c's slot.
func (se *session) freeLocked(c *call) {
	if c.returned {
		return
	}
	c.returned = true
	c.req = nil
	se.sched.running--
	c.queue.running--
	se.unholdFrameLocked(c)
	se.releaseLocked(c)
}

// respond encodes what the handler returned and hands it to the writer.
func (se *session) respond(c *call, res result.Result, err error) {
	if err != nil {
		var e *tool.Error
		switch {
		case errors.As(err, &e):
			se.answer(c, wire.AppendError(nil, c.id, false, se.wireError(c, e)), nil, outcomeRefused)
		case (sendContext{&c.ctx}).Err() != nil:
			se.drop(c)
		default: // a *tool.InternalError
			ref := reference()
			se.log.Error("a tool's result could not be used", "ref", ref, "tool", c.name(), "id", c.id.Raw, "err", err)
			se.answerText(c, internalText(ref), outcomePanicked)
		}
		return
	}
	out := outcomeOK
	switch {
	case timedOut(c.ctx.ended()):
		out = outcomeTimedOut
	case res.IsError:
		out = outcomeFailed
	}
	se.holdMedia(c, res)
	data, buf, err := se.encode(c, res)
	if err == nil {
		se.answer(c, data, buf, out)
		return
	}
	var large *result.TooLargeError
	switch {
	case errors.As(err, &large):
		se.log.Warn("a response is over the frame limit", "tool", c.name(), "id", c.id.Raw, "limit", se.limits.MaxFrameOut)
		se.answerText(c, fmt.Sprintf("The result of %s has %d bytes or more, over the limit of %d bytes for one response. Ask for less: narrow the arguments, or lower maxBytes where the tool has it.",
			c.name(), large.Size, se.limits.MaxFrameOut), outcomeFailed)
	case (sendContext{&c.ctx}).Err() != nil:
		se.drop(c)
	default:
		ref := reference()
		se.log.Error("a tool's result could not be encoded", "ref", ref, "tool", c.name(), "id", c.id.Raw, "err", err)
		se.answerText(c, internalText(ref), outcomePanicked)
	}
}

// holdMedia counts the media that the handler returned: it was not reserved,
// and may exceed MaxResultMemory; new calls wait then.
func (se *session) holdMedia(c *call, res result.Result) {
	n := 0
	for _, block := range res.Content {
		switch b := block.(type) {
		case result.ImageContent:
			n += len(b.Data)
		case result.AudioContent:
			n += len(b.Data)
		case result.EmbeddedContent:
			n += len(b.Resource.Blob)
		}
	}
	if n == 0 {
		return
	}
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase == running && !c.answered { // else it was answered in its place
		c.held += n
		se.held += n
	}
}

// encode builds the whole frame of a result, in a buffer that can be used
// again.
func (se *session) encode(c *call, res result.Result) ([]byte, *buffer, error) {
	if c.resource != nil { // the server's own words in place of a resource
		return c.resource.failed(c, res), nil, nil
	}
	buf := buffers(sizeHint(res)).Get().(*buffer)
	b := wire.AppendResultHead(buf.b[:0], c.id)
	limit := se.limits.MaxFrameOut
	if c.batch != nil {
		limit -= len("[]")
	}
	enc := result.Encoding{
		Protocol:   c.protocol,
		Limit:      limit - len(b) - 1,
		ServerInfo: se.srv.implementation(c.protocol),
	}
	b, err := enc.Append(sendContext{&c.ctx}, b, res)
	if err != nil {
		return nil, nil, err
	}
	return append(b, wire.ResultTail...), buf, nil
}

// sizeHint is about how large res will be, without looking at its bytes.
func sizeHint(res result.Result) int {
	n := smallBuffer / 4
	for _, block := range res.Content {
		switch b := block.(type) {
		case result.TextContent:
			n += len(b.Text)
		case result.ImageContent:
			n += len(b.Data)
		default:
			n += smallBuffer / 8
		}
	}
	if v, ok := res.Structured.(jsontext.Value); ok {
		n += len(v)
	}
	return n
}

// answerText answers c with an isError result of one line.
func (se *session) answerText(c *call, text string, out outcome) {
	data, buf, err := se.encode(c, result.Error(text))
	if err != nil { // the frame limit is smaller than the line, or the call was cancelled
		data = wire.AppendError(nil, c.id, false, &wire.Error{Code: wire.CodeInternal, Message: "response over the frame limit"})
	}
	se.answer(c, data, buf, out)
}

// answer hands c's one response to the writer, unless c was cancelled or
// answered already.
func (se *session) answer(c *call, data []byte, buf *buffer, out outcome) {
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase == running && !c.answered {
		se.answerLocked(c, data, buf, out)
	}
}

func (se *session) answerLocked(c *call, data []byte, buf *buffer, out outcome) {
	c.answered = true
	c.outcome = out
	se.held += len(data) + callOverhead - c.held
	c.held = len(data) + callOverhead
	if c.batch != nil {
		c.batch.addLocked(c, data)
		return
	}
	c.response.Data, c.buffer = data, buf
	c.response.Source = c
	se.sendLocked(&c.response)
}

// drop records that c will not be answered.
func (se *session) drop(c *call) {
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase == running && !c.answered {
		c.outcome = outcomeDropped
		delete(se.calls, c.id.Key)
		se.settleLocked(c)
	}
}

// panicked logs a panic under a reference and answers with that alone (I10).
func (se *session) panicked(c *call, v any, stack []byte) {
	ref := reference()
	if v == nil {
		v = "runtime.Goexit was called"
	}
	se.log.Error("a handler panicked", "ref", ref, "tool", c.name(), "id", c.id.Raw, "panic", fmt.Sprint(v), slog.String("stack", string(stack)))
	se.answerText(c, internalText(ref), outcomePanicked)
}

func internalText(ref string) string {
	return "internal error (ref " + ref + "); the server's log has the details under this reference"
}

// reference is an unguessable name that joins an answer to a log line.
func reference() string { return rand.Text()[:10] }

// selfAnswer answers a call whose handler did not come back within Grace of
// the end of its context. What the handler returns later is dropped.
func (se *session) selfAnswer(c *call, text string, out outcome) {
	data, buf, err := se.encode(c, result.Error(text))
	if err != nil {
		return
	}
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase != running || c.answered {
		return
	}
	reserved := c.held
	se.answerLocked(c, data, buf, out)
	// The handler still holds what it reserved.
	se.held += reserved - c.held
	c.held = reserved
}

// cutOff is the text for a call that the server answers in place of a handler
// that ignores its context.
func cutOff(cause error, grace time.Duration) string {
	return fmt.Sprintf("%v; the tool did not stop within %v after that, and nothing of its output is kept", cause, grace)
}

// maxErrorMessage bounds, in bytes as encoded, the message of an error that a
// handler has for the host.
const maxErrorMessage = 4 << 10

func (se *session) wireError(c *call, e *tool.Error) *wire.Error {
	w := &wire.Error{Code: e.Code, Message: quote.Cut(e.Message, maxErrorMessage)}
	if w.Code == 0 {
		w.Code = wire.CodeInternal
	}
	if e.Data != nil {
		data, err := result.Marshal(context.Background(), e.Data, result.DefaultBytes)
		if err != nil {
			se.log.Warn("the data of a tool's error is left out", "tool", c.name(), "id", c.id.Raw, "err", err)
		}
		w.Data = data
	}
	return w
}
