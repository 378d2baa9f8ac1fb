// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"
	"context"
	"log/slog"
	"strconv"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
)

// severities are the protocol's log levels (RFC 5424), least severe first.
// A call's and a session's level is an index; severityOff sends nothing.
var severities = [...]string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}

const severityOff = len(severities)

// maxLogMessage is the most bytes of data in one message to the host; a
// longer record is sent as its text alone, cut.
const maxLogMessage = 8 << 10

func severityOf(level string) (int, bool) {
	for i, s := range severities {
		if s == level {
			return i, true
		}
	}
	return severityOff, false
}

// severityOfRecord maps slog's levels to the protocol's.
func severityOfRecord(l slog.Level) int {
	switch {
	case l < slog.LevelInfo:
		return 0
	case l < slog.LevelInfo+2:
		return 1
	case l < slog.LevelWarn:
		return 2
	case l < slog.LevelError:
		return 3
	case l < slog.LevelError+4:
		return 4
	}
	return 5
}

// setLevel answers logging/setLevel of the legacy era.
func (se *session) setLevel(q *envelope) {
	raw, _ := q.Params.Member("level")
	name, _ := stringOf(raw)
	level, ok := severityOf(name)
	if !ok {
		se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown log level " + strconv.Quote(quote.Cut(name, 64))})
		return
	}
	se.mu.Lock()
	se.level = level
	se.mu.Unlock()
	se.answerResult(q.batch, q.ID, []byte("{}"))
}

// callLog is the logger of one call: the server's log with the call's id and
// tool, and, where the host asked for it, notifications/message.
func (se *session) callLog(c *call) *slog.Logger {
	h := se.log.Handler().WithAttrs([]slog.Attr{slog.String("tool", c.name()), slog.String("id", c.id.Raw)})
	if int(c.logLevel) == severityOff {
		return slog.New(h)
	}
	return slog.New(&messageHandler{Handler: h, c: c})
}

// A messageHandler sends records to the host besides logging them.
type messageHandler struct {
	slog.Handler
	c   *call
	ops []func(slog.Handler) slog.Handler // WithAttrs and WithGroup, in order
}

func (h *messageHandler) Enabled(ctx context.Context, l slog.Level) bool {
	return severityOfRecord(l) >= int(h.c.logLevel) || h.Handler.Enabled(ctx, l)
}

func (h *messageHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return h.with(h.Handler.WithAttrs(attrs), func(d slog.Handler) slog.Handler { return d.WithAttrs(attrs) })
}

func (h *messageHandler) WithGroup(name string) slog.Handler {
	return h.with(h.Handler.WithGroup(name), func(d slog.Handler) slog.Handler { return d.WithGroup(name) })
}

func (h *messageHandler) with(inner slog.Handler, op func(slog.Handler) slog.Handler) slog.Handler {
	return &messageHandler{Handler: inner, c: h.c, ops: append(h.ops[:len(h.ops):len(h.ops)], op)}
}

func (h *messageHandler) Handle(ctx context.Context, r slog.Record) error {
	if s := severityOfRecord(r.Level); s >= int(h.c.logLevel) {
		h.c.se.sendMessage(h.c, s, h.data(ctx, r))
	}
	if h.Handler.Enabled(ctx, r.Level) {
		return h.Handler.Handle(ctx, r)
	}
	return nil
}

// data is the record as JSON: an object with the message and the attributes,
// or the message alone where that cannot be had.
func (h *messageHandler) data(ctx context.Context, r slog.Record) []byte {
	var buf bytes.Buffer
	var d slog.Handler = slog.NewJSONHandler(&buf, &slog.HandlerOptions{
		Level: slog.LevelDebug - 100,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if len(groups) == 0 && (a.Key == slog.TimeKey || a.Key == slog.LevelKey) {
				return slog.Attr{}
			}
			return a
		},
	})
	for _, op := range h.ops {
		d = op(d)
	}
	if err := d.Handle(ctx, r); err == nil && buf.Len() <= maxLogMessage {
		if b, err := quote.Raw(nil, bytes.TrimSpace(buf.Bytes())); err == nil {
			return b
		}
	}
	return quote.Append(nil, quote.Cut(r.Message, maxLogMessage))
}

// sendMessage sends a notifications/message of a call that is not answered
// yet. It is charged to ControlMemory, and dropped where that is full.
func (se *session) sendMessage(c *call, severity int, data []byte) {
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"`+severities[severity]+`","logger":`...)
	b = quote.Append(b, c.name())
	b = append(b, `,"data":`...)
	b = append(b, data...)
	b = append(b, "}}\n"...)
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase != running || c.answered {
		return
	}
	if se.control+len(b)+controlOverhead > se.limits.ControlMemory/2 { // the other half is for answers
		se.counts.logsDiscarded++
		return
	}
	se.control += len(b) + controlOverhead
	f := &messageFrame{controlFrame{se: se, size: len(b) + controlOverhead}, c}
	f.frame.Data, f.frame.Source = b, f
	se.sendLocked(&f.frame)
}

// A messageFrame is dropped when its call was cancelled before it was written.
type messageFrame struct {
	controlFrame
	c *call
}

func (f *messageFrame) Begin(*wire.Frame) bool {
	f.se.mu.Lock()
	defer f.se.mu.Unlock()
	f.freeLocked()
	return f.c.phase == running
}
