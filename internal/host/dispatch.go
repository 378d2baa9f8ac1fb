// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"context"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// dispatch takes frames from the queue, one after the other, and hands them
// to whom they belong.
func (h *Host) dispatch() {
	for {
		f, ok := h.queue.pop()
		if !ok {
			return
		}
		classify(&f)
		if f.Kind == BatchResponse {
			h.deliver(f, true)
			for _, m := range members(f.Raw) {
				part := Frame{Seq: f.Seq, At: f.At, Raw: m, Size: int64(len(m))}
				classify(&part)
				h.deliver(part, false)
			}
			continue
		}
		h.deliver(f, true)
	}
}

// deliver counts f, keeps it if it is a line, and settles what waits for it.
func (h *Host) deliver(f Frame, line bool) {
	h.mu.Lock()
	f.Protocol = h.legacy
	if f.Protocol == "" && h.modern {
		f.Protocol = LatestModern
	}
	var p *Pending
	switch f.Kind {
	case ResultResponse, ErrorResponse:
		p = h.answeredLocked(&f)
	case Oversize:
		if p = h.open[idKey(f.ID)]; p != nil {
			p = h.answeredLocked(&f)
		}
	case Notification:
		p = h.notifiedLocked(&f)
	case ServerRequest:
		if p = h.echoedLocked(&f); p == nil && h.legacy == "" && h.modern {
			f.Faults |= FaultRequest
		}
	}
	if line {
		h.keepLocked(f)
	}
	h.mu.Unlock()
	h.stats.dispatched(&f)
	if h.cfg.OnFrame != nil {
		h.cfg.OnFrame(f)
	}
	switch {
	case f.Kind == ServerRequest && p == nil:
		h.reply(f)
	case p == nil:
	case f.Kind == ServerRequest:
		p.settle(nil, fmt.Errorf("%w (%s)", ErrEcho, f.Method))
	case f.Kind == ResultResponse:
		p.settle(f.Result, nil)
	case f.Kind == ErrorResponse:
		p.settle(nil, f.Err)
	case f.Kind == Oversize:
		p.settle(nil, &OversizeError{Size: f.Size, Limit: h.cfg.Limit})
	case p.progress != nil:
		var params Progress
		if json.Unmarshal(f.Params, &params, lenient...) == nil {
			p.progress(params)
		}
	}
	h.event.broadcast()
}

// answeredLocked takes the request that f answers off the open ones.
func (h *Host) answeredLocked(f *Frame) *Pending {
	key := idKey(f.ID)
	if key == "" {
		if f.Kind == ResultResponse || f.ID != nil && f.ID.Kind() != 'n' {
			f.Faults |= FaultMessage
		}
		return nil // an error that no request could be found for
	}
	p := h.open[key]
	if p == nil {
		if !h.untold {
			f.Faults |= FaultUnasked
		}
		return nil
	}
	// Of two requests with one id the later is the one that gets refused, and
	// one that was cancelled is the last to be answered.
	if f.Err == nil || f.Err.Code != codeInvalidRequest {
		for q := p; q != nil; q = q.next {
			if !q.cancelled || p.cancelled {
				p = q
			}
		}
	}
	h.removeLocked(p)
	f.Answers, f.Late = p.Method, p.cancelled
	switch {
	case p.modern:
		f.Protocol = LatestModern
	case p.Method == "initialize" && f.Kind == ResultResponse:
		h.legacy = versionOf(f.Result)
		f.Protocol = h.legacy
	case h.legacy == "":
		f.Protocol = LatestLegacy
	default:
		f.Protocol = h.legacy
	}
	return p
}

const codeInvalidRequest = -32600

// echoedLocked takes the request of which f is the echo off the open ones: the
// other end is no server, but returns what it reads, as cat does. Only ping
// goes both ways.
func (h *Host) echoedLocked(f *Frame) *Pending {
	p := h.open[idKey(f.ID)]
	if p == nil || p.Method != f.Method || p.Method == "ping" {
		return nil
	}
	h.removeLocked(p)
	f.Faults |= FaultEcho
	return p
}

// notifiedLocked finds the request that a notification belongs to.
func (h *Host) notifiedLocked(f *Frame) *Pending {
	var params struct {
		Token jsontext.Value `json:"progressToken"`
		Meta  struct {
			Subscription jsontext.Value `json:"io.modelcontextprotocol/subscriptionId"`
		} `json:"_meta"`
	}
	json.Unmarshal(f.Params, &params, lenient...) // what cannot be read is not there
	if params.Meta.Subscription != nil {
		f.Protocol = LatestModern
	}
	if f.Method != "notifications/progress" {
		return nil
	}
	p := h.tokens[idKey(params.Token)]
	switch {
	case p == nil:
		if !h.untold {
			f.Faults |= FaultUnasked
		}
	case p.cancelled:
		f.Late = true
		p = nil
	case p.modern:
		f.Protocol = LatestModern
	}
	return p
}

// keepLocked adds f to the frames kept, and drops old ones past Config.Keep.
func (h *Host) keepLocked(f Frame) {
	const overhead = 256 // of a Frame, about
	h.frames = append(h.frames, f)
	h.kept += len(f.Raw) + overhead
	for h.kept > h.cfg.Keep && len(h.frames) > 1 {
		h.kept -= len(h.frames[0].Raw) + overhead
		h.frames[0] = Frame{}
		h.frames = h.frames[1:]
		h.dropped++
	}
}

// Frames returns the lines received so far, in order, as far as they are kept
// (see Config.Keep); Seq tells what is missing.
func (h *Host) Frames() []Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.frames)
}

// Next waits for the first kept line with Seq seq or more, and returns it.
// The error wraps ErrEnded when no such line will come.
func (h *Host) Next(ctx context.Context, seq int) (Frame, error) {
	return h.Find(ctx, func(f Frame) bool { return f.Seq >= seq })
}

// Find waits for the first kept line that match accepts, and returns it. The
// error wraps ErrEnded when no such line will come.
func (h *Host) Find(ctx context.Context, match func(Frame) bool) (found Frame, err error) {
	seen := -1
	err = h.until(ctx, func() bool {
		h.mu.Lock()
		defer h.mu.Unlock()
		at, _ := slices.BinarySearchFunc(h.frames, seen+1, func(f Frame, seq int) int { return f.Seq - seq })
		for _, f := range h.frames[at:] {
			if match(f) {
				found = f
				return true
			}
			seen = f.Seq
		}
		return false
	})
	return found, err
}

// reply answers a request of the server: ping, which every legacy host owes,
// and for all else that there is no such method.
func (h *Host) reply(f Frame) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), f.ID...)
	if f.Method == "ping" {
		b = append(b, `,"result":{}}`+"\n"...)
	} else {
		b = append(b, `,"error":{"code":-32601,"message":"this host has no such method"}}`+"\n"...)
	}
	h.w.send(&outgoing{data: b}) // a server that does not read gets no answer
}

// overloaded does what Config.Overload says about a frame that did not fit.
func (h *Host) overloaded(f Frame) {
	h.stats.refused.Add(1)
	if h.cfg.Overload == OverloadEnd {
		h.end(ErrOverload)
		return
	}
	classify(&f)
	h.mu.Lock()
	var lost []*Pending
	if p := h.open[idKey(f.ID)]; p != nil && f.Method == "" && f.ID != nil {
		h.removeLocked(p)
		lost = append(lost, p)
	}
	var cancel []*Pending
	if h.cfg.Overload == OverloadCancel {
		for _, p := range h.open {
			if !p.cancelled {
				cancel = append(cancel, p)
			}
		}
	}
	h.mu.Unlock()
	for _, p := range lost {
		p.settle(nil, ErrOverload)
	}
	for _, p := range cancel {
		p.settle(nil, ErrOverload)
		h.Cancel(p.ID, ErrOverload.Error())
	}
}
