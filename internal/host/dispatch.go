// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"

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
	var note notification
	if f.Kind == Notification {
		note = readNotification(&f)
	}
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
		p = h.notifiedLocked(&f, note)
	case ServerRequest:
		if p = h.echoedLocked(&f); p == nil && h.legacy == "" && h.modern {
			f.Faults |= FaultRequest
		}
	}
	h.noteLocked(f)
	if line {
		h.keepLocked(f)
	}
	h.mu.Unlock()
	h.stats.dispatchedN.Add(1)
	h.stats.judged(&f)
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
		p.settle(nil, &OversizeError{Size: f.Size, Limit: h.cfg.Limit, Cut: f.tail == nil})
	case p.progress != nil:
		var params Progress
		if json.Unmarshal(f.Params, &params, lenient...) == nil {
			p.progress(params)
		}
	}
	if f.Kind == Oversize && h.cfg.EndOnOversize {
		h.finish()
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
		if !h.untold && !h.over {
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

// notification is what the params of a notification say of where it belongs.
type notification struct {
	Token jsontext.Value `json:"progressToken"`
	Meta  struct {
		Subscription jsontext.Value `json:"io.modelcontextprotocol/subscriptionId"`
	} `json:"_meta"`
}

func readNotification(f *Frame) (n notification) {
	json.Unmarshal(f.Params, &n, lenient...) // what cannot be read is not there
	return n
}

// notifiedLocked finds the request that a notification belongs to.
func (h *Host) notifiedLocked(f *Frame, n notification) *Pending {
	if n.Meta.Subscription != nil {
		f.Protocol = LatestModern
	}
	if f.Method != "notifications/progress" {
		return nil
	}
	p := h.tokens[idKey(n.Token)]
	switch {
	case p == nil:
		if !h.untold && !h.over {
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

// maxFaulty is how many faulty lines are kept for Faulty, and faultyKeep how
// much of each, in bytes.
const (
	maxFaulty  = 100
	faultyKeep = 1 << 10
)

// noteLocked keeps f for Faulty if it has a fault.
func (h *Host) noteLocked(f Frame) {
	if f.Faults == 0 || len(h.faulty) >= maxFaulty {
		return
	}
	if len(f.Raw) > faultyKeep { // what shares its memory goes too
		f = Frame{Seq: f.Seq, At: f.At, Kind: f.Kind, Faults: f.Faults, Raw: bytes.Clone(f.Raw[:faultyKeep]), Size: f.Size,
			Method: strings.Clone(f.Method[:min(len(f.Method), faultyKeep)]), Answers: f.Answers, Late: f.Late, Protocol: f.Protocol}
	}
	h.faulty = append(h.faulty, f)
}

// Faulty returns the first 100 lines, and members of batches, with a fault:
// what is malformed, and what is no protocol at all. They are kept however
// much came after them; one longer than a KiB is cut to that, and has neither
// an ID nor Params, Result or Err then. Metrics counts all of them.
func (h *Host) Faulty() []Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.faulty)
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
// error wraps ErrEnded when no such line will come. Nothing waits for match.
func (h *Host) Find(ctx context.Context, match func(Frame) bool) (found Frame, err error) {
	seen := -1
	err = h.until(ctx, func() bool {
		for _, f := range h.framesFrom(seen + 1) {
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

// framesFrom returns the lines kept with Seq seq or more.
func (h *Host) framesFrom(seq int) []Frame {
	h.mu.Lock()
	defer h.mu.Unlock()
	at, _ := slices.BinarySearchFunc(h.frames, seq, func(f Frame, seq int) int { return f.Seq - seq })
	return slices.Clone(h.frames[at:])
}

// reply answers a request of the server: ping, which every legacy host owes,
// and for all else that there is no such method. It waits until a line that
// Send has begun is whole.
func (h *Host) reply(f Frame) {
	b := append([]byte(`{"jsonrpc":"2.0","id":`), f.ID...)
	if f.Method == "ping" {
		b = append(b, `,"result":{}}`+"\n"...)
	} else {
		b = append(b, `,"error":{"code":-32601,"message":"this host has no such method"}}`+"\n"...)
	}
	h.w.send(&outgoing{data: b, auto: true}) // a server that does not read gets no answer
}
