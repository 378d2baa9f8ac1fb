// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"context"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Send writes b to the server's stdin as it is, in one write up to 64 KiB:
// line ends are the caller's business. The ids of the requests in it are
// remembered, so that their responses count as asked for. What the host itself
// answers to requests of the server is not written into a line that was begun,
// but after its LF ends a Send. It does not wait
// until b is written; Flush does.
func (h *Host) Send(b []byte) error { return h.SendChunks(b, 0, 0) }

// SendChunks is Send in writes of n bytes, with a pause after each.
func (h *Host) SendChunks(b []byte, n int, every time.Duration) error {
	b = bytes.Clone(b)
	h.mu.Lock()
	h.sent.feed(b, h.sentLineLocked)
	h.mu.Unlock()
	return h.w.send(&outgoing{data: b, chunk: n, every: every})
}

// Flush waits until the pipe has taken all that was sent.
func (h *Host) Flush(ctx context.Context) error {
	return h.until(ctx, func() bool {
		waiting, _ := h.w.stuck()
		return waiting == 0
	})
}

// sentLineLocked takes note of the requests and cancels in one line.
func (h *Host) sentLineLocked(c cut) {
	if c.over {
		h.untold = true
		return
	}
	line := bytes.TrimPrefix(bytes.TrimSpace(c.line), []byte("\xef\xbb\xbf"))
	if len(line) > 0 && line[0] == '[' {
		for _, m := range members(line) {
			h.sentMessageLocked(m)
		}
		return
	}
	h.sentMessageLocked(line)
}

func (h *Host) sentMessageLocked(b []byte) {
	e, ok, err := parse(b)
	if err != nil || !ok {
		return
	}
	var params struct {
		RequestID jsontext.Value `json:"requestId"`
		Meta      struct {
			Token        jsontext.Value `json:"progressToken"`
			Version      jsontext.Value `json:"io.modelcontextprotocol/protocolVersion"`
			Capabilities jsontext.Value `json:"io.modelcontextprotocol/clientCapabilities"`
		} `json:"_meta"`
	}
	json.Unmarshal(e.params, &params, lenient...) // what cannot be read is not there
	method := text(e.method)
	if e.id == nil {
		if method == "notifications/cancelled" {
			h.stats.cancels.Add(1)
			if p := h.open[idKey(params.RequestID)]; p != nil {
				p.cancelled = true
			}
		}
		return
	}
	if idKey(e.id) == "" {
		return
	}
	h.stats.requests.Add(1)
	h.addLocked(&Pending{
		ID: e.id.Clone(), Method: method, Sent: time.Now(), h: h, done: make(chan struct{}),
		token: idKey(params.Meta.Token),
		modern: params.Meta.Version != nil || params.Meta.Capabilities != nil ||
			method == "server/discover" || method == "subscriptions/listen",
	})
}
