// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A Request is a request to be sent. Only Method is required.
type Request struct {
	Method string
	// Params become the params by the rules of JSON v2; a jsontext.Value is
	// sent as it is. In the modern era, and with Progress, _meta is added
	// to an object. Nil means none.
	Params any
	// ID is the request's id as raw JSON. Nil means the next number.
	ID jsontext.Value
	// Protocol is the revision to send the request by. Empty means that of
	// the last Initialize or Discover, else Config.Protocol.
	Protocol string
	// Progress is called by the dispatcher with each progress notification.
	// Nil means that none is asked for.
	Progress func(Progress)
}

// Progress is one progress notification.
type Progress struct {
	Progress float64 `json:"progress"`
	Total    float64 `json:"total"` // 0 when unknown
	Message  string  `json:"message"`
}

// Pending is a request that was sent.
type Pending struct {
	// ID is the request's id as raw JSON, and Sent when it was queued.
	ID     jsontext.Value
	Method string
	Sent   time.Time

	h        *Host
	out      *outgoing
	modern   bool
	token    string // key in tokens, "" for none
	progress func(Progress)

	next      *Pending // guarded by h.mu: the one before it with the same id
	cancelled bool     // guarded by h.mu

	once   sync.Once
	done   chan struct{} // closed by settle
	result jsontext.Value
	err    error
}

func (p *Pending) settle(result jsontext.Value, err error) {
	p.once.Do(func() {
		p.result, p.err = result, err
		close(p.done)
	})
}

// Done is closed when the request was answered, cancelled, or lost.
func (p *Pending) Done() <-chan struct{} { return p.done }

// Wait waits for the response and returns its result. The error is an *Error
// for the server's own error, ErrCancelled, ErrOverload, or wraps ErrEnded,
// ErrEcho or an *OversizeError. When ctx ends first the request stays open, and
// the error is a *NoResponseError.
func (p *Pending) Wait(ctx context.Context) (jsontext.Value, error) {
	select {
	case <-p.done:
		return p.result, p.err
	case <-ctx.Done():
	}
	select {
	case <-p.done: // both: the response is worth more
		return p.result, p.err
	default:
		return nil, &NoResponseError{Method: p.Method, Err: context.Cause(ctx), Diagnosis: p.h.Diagnose()}
	}
}

// Cancel stops waiting for the request and tells the server, with the reason
// if it is not empty. A request of which nothing was written yet is taken
// back instead.
func (p *Pending) Cancel(reason string) error {
	if p.out != nil && p.h.w.withdraw(p.out) {
		p.h.mu.Lock()
		p.h.removeLocked(p)
		p.h.mu.Unlock()
		p.settle(nil, ErrCancelled)
		return nil
	}
	return p.h.Cancel(p.ID, reason)
}

// Begin sends a request and does not wait for the response.
func (h *Host) Begin(r Request) (*Pending, error) {
	if h.queue.isFull() {
		return nil, ErrOverload
	}
	p := &Pending{ID: r.ID, Method: r.Method, Sent: time.Now(), h: h, progress: r.Progress, done: make(chan struct{})}
	if p.ID == nil {
		p.ID = strconv.AppendInt(nil, h.ids.Add(1), 10)
	}
	protocol := r.Protocol
	if protocol == "" {
		protocol = h.protocolOf(r.Method)
	}
	p.modern = IsModern(protocol)
	var token jsontext.Value
	if r.Progress != nil {
		token, p.token = p.ID, idKey(p.ID)
	}
	params, err := h.params(r.Params, protocol, token)
	if err != nil {
		return nil, fmt.Errorf("host: params of %s: %w", r.Method, err)
	}
	b := append([]byte(`{"jsonrpc":"2.0","id":`), p.ID...)
	p.out = &outgoing{data: message(b, r.Method, params)}
	if err := h.addPending(p); err != nil {
		return nil, err
	}
	if err := h.w.send(p.out); err != nil {
		h.mu.Lock()
		h.removeLocked(p)
		h.mu.Unlock()
		return nil, err
	}
	h.stats.requests.Add(1)
	return p, nil
}

// message appends method and params, and ends the frame.
func message(b []byte, method string, params jsontext.Value) []byte {
	b = append(b, `,"method":`...)
	b, _ = jsontext.AppendQuote(b, method)
	if params != nil {
		b = append(b, `,"params":`...)
		b = append(b, params...)
	}
	return append(b, "}\n"...)
}

func (h *Host) addPending(p *Pending) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.err != nil {
		return h.endedLocked("before " + p.Method + " was sent")
	}
	h.addLocked(p)
	return nil
}

func (h *Host) addLocked(p *Pending) {
	key := idKey(p.ID)
	p.next = h.open[key]
	h.open[key] = p
	if p.token != "" {
		h.tokens[p.token] = p
	}
	h.modern = h.modern || p.modern
}

func (h *Host) removeLocked(p *Pending) {
	key := idKey(p.ID)
	for at := h.open[key]; at != nil; at = at.next {
		if at.next == p {
			at.next = p.next
		}
	}
	switch {
	case h.open[key] != p:
	case p.next != nil:
		h.open[key] = p.next
	default:
		delete(h.open, key)
	}
	if h.tokens[p.token] == p {
		delete(h.tokens, p.token)
	}
}

// Request sends a request and waits for its result, as Pending.Wait does.
// When ctx ends first, the request is cancelled (initialize, which may not be
// cancelled, is only given up).
func (h *Host) Request(ctx context.Context, method string, params any) (jsontext.Value, error) {
	return h.Do(ctx, Request{Method: method, Params: params})
}

// Do is Request with all that a Request can say.
func (h *Host) Do(ctx context.Context, r Request) (jsontext.Value, error) {
	p, err := h.Begin(r)
	if err != nil {
		return nil, h.lost(ctx, err, "before "+r.Method+" was sent")
	}
	v, err := p.Wait(ctx)
	if ctx.Err() != nil && r.Method != "initialize" {
		select {
		case <-p.done:
		default:
			p.Cancel(context.Cause(ctx).Error())
		}
	}
	return v, err
}

// Call calls a tool. A result that says isError is not an error of Call.
func (h *Host) Call(ctx context.Context, tool string, args any) (*Result, error) {
	return h.CallProgress(ctx, tool, args, nil)
}

// CallProgress is Call with a function for the tool's progress.
func (h *Host) CallProgress(ctx context.Context, tool string, args any, progress func(Progress)) (*Result, error) {
	v, err := h.Do(ctx, Request{Method: "tools/call", Params: ToolParams(tool, args), Progress: progress})
	if err != nil {
		return nil, err
	}
	return NewResult(v)
}

// ToolParams are the params of a tools/call; nil arguments are left out.
func ToolParams(tool string, args any) any {
	return struct {
		Name      string `json:"name"`
		Arguments any    `json:"arguments,omitzero"`
	}{tool, args}
}

// Notify sends a notification. Params are as in Request; no _meta is added.
func (h *Host) Notify(method string, params any) error {
	raw, err := marshal(params)
	if err != nil {
		return fmt.Errorf("host: params of %s: %w", method, err)
	}
	return h.w.send(&outgoing{data: message([]byte(`{"jsonrpc":"2.0"`), method, raw)})
}

// Cancel sends notifications/cancelled for id (raw JSON), whether or not such
// a request is open. If one is, its Wait returns ErrCancelled, and a response
// that comes all the same is counted as late.
func (h *Host) Cancel(id jsontext.Value, reason string) error {
	h.cancelled(id)
	params := struct {
		RequestID jsontext.Value `json:"requestId"`
		Reason    string         `json:"reason,omitempty"`
	}{id, reason}
	return h.Notify("notifications/cancelled", params)
}

// maxGone bounds the cancelled requests that are remembered, to tell a late
// response from one that nobody asked for.
const maxGone = 4096

// cancelled takes note of a cancel for id.
func (h *Host) cancelled(id jsontext.Value) {
	h.stats.cancels.Add(1)
	key := idKey(id)
	h.mu.Lock()
	defer h.mu.Unlock()
	p := h.open[key]
	if p == nil || p.cancelled {
		return
	}
	h.giveUpLocked(p)
	p.settle(nil, ErrCancelled)
}

// giveUpLocked makes p one whose response will be late.
func (h *Host) giveUpLocked(p *Pending) {
	p.cancelled = true
	h.gone = append(h.gone, idKey(p.ID))
	for len(h.gone) > maxGone {
		if old := h.open[h.gone[0]]; old != nil && old.cancelled {
			h.removeLocked(old)
		}
		h.gone = h.gone[1:]
	}
}

func marshal(v any) (jsontext.Value, error) {
	if v == nil {
		return nil, nil
	}
	b, err := json.Marshal(v, json.Deterministic(true), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	return b, err
}
