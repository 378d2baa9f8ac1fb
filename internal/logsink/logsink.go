// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package logsink keeps logging out of the way of replies: a stderr that the host does not read, or a full disk, holds up
// one goroutine here and no caller.
package logsink

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"
)

const (
	maxRecords = 1024    // waiting records
	maxBytes   = 1 << 20 // their texts, counted before they are formatted
)

// Handler is a slog.Handler in front of another one that may block. Handle puts the record in a queue and returns; one
// goroutine, which exists while there is something to do, hands the records to the inner handler in their order.
//
// The queue holds 1,024 records and 1 MiB of text. When it is full, records are dropped and counted until it is empty
// again; then one record says how many are missing. All methods may be called from any goroutine. Handlers derived by
// WithAttrs and WithGroup share the queue.
type Handler struct {
	inner slog.Handler
	size  int // of the attributes that inner was given by WithAttrs
	queue *queue
}

var _ slog.Handler = (*Handler)(nil)

// Stats counts records.
type Stats struct {
	Written int64 // the inner handler returned nil
	Failed  int64 // the inner handler returned an error or panicked
	Dropped int64 // the queue was full
	Waiting int   // in the queue, or in the inner handler
}

// New returns a Handler in front of inner. It needs no end; Flush waits for what is queued.
func New(inner slog.Handler) *Handler {
	q := &queue{top: inner, idle: closed()}
	q.probe()
	return &Handler{inner: inner, queue: q}
}

// Enabled reports whether the inner handler may take records of this level, by
// what it said when it was last asked: by New, and whenever a record was handed to it. It is not asked
// here, since its answer may have to wait for the lock that a stuck Handle holds.
func (h *Handler) Enabled(_ context.Context, level slog.Level) bool {
	return int64(level) >= h.queue.floor.Load()
}

// Handle queues r and returns nil. It never waits for the inner handler.
//
// The values are fixed here: a LogValuer is resolved, an error, a Stringer or any other value of no basic kind becomes its
// text, and a text over 16 KiB is cut, so that the caller may go on changing what it logged. The inner handler gets ctx
// with its values and without its end.
func (h *Handler) Handle(ctx context.Context, r slog.Record) error {
	fixed := slog.NewRecord(r.Time, r.Level, cut(r.Message), r.PC)
	size := len(fixed.Message) + h.size
	r.Attrs(func(a slog.Attr) bool {
		a, n := fix(a)
		size += n
		fixed.AddAttrs(a)
		return true
	})
	h.queue.add(entry{h.inner, context.WithoutCancel(ctx), fixed, min(size, maxBytes)})
	return nil
}

// WithAttrs returns a Handler that adds attrs, fixed as by Handle, and shares the queue.
func (h *Handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	fixed := make([]slog.Attr, len(attrs))
	size := h.size
	for i, a := range attrs {
		var n int
		fixed[i], n = fix(a)
		size += n
	}
	return &Handler{h.inner.WithAttrs(fixed), size, h.queue}
}

// WithGroup returns a Handler that opens a group and shares the queue.
func (h *Handler) WithGroup(name string) slog.Handler {
	return &Handler{h.inner.WithGroup(name), h.size, h.queue}
}

// Flush waits until every record queued so far, and every one that comes meanwhile, was handed over. It returns ctx's
// error when that ends first; the records stay queued.
func (h *Handler) Flush(ctx context.Context) error {
	h.queue.mu.Lock()
	idle := h.queue.idle
	h.queue.mu.Unlock()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stats returns the counts so far.
func (h *Handler) Stats() Stats {
	h.queue.mu.Lock()
	defer h.queue.mu.Unlock()
	return h.queue.counts
}

// entry is one record on its way.
type entry struct {
	to     slog.Handler
	ctx    context.Context
	record slog.Record
	size   int
}

// queue is what a Handler and all derived from it share.
type queue struct {
	top   slog.Handler // reports the gaps
	floor atomic.Int64 // the least level that top takes

	mu      sync.Mutex    // guards the fields below
	entries []entry       // waiting, in order
	size    int           // sum of the sizes of the entries and of the one being written
	lost    int64         // dropped and not yet reported; nothing is queued while it is above zero
	idle    chan struct{} // closed while no goroutine writes
	counts  Stats
}

func closed() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}

func (q *queue) add(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.lost > 0 || q.counts.Waiting >= maxRecords || q.counts.Waiting > 0 && q.size+e.size > maxBytes {
		q.lost++
		q.counts.Dropped++
		return
	}
	q.entries = append(q.entries, e)
	q.size += e.size
	q.counts.Waiting++
	select {
	case <-q.idle:
		q.idle = make(chan struct{})
		go q.write()
	default:
	}
}

// write hands over what waits, and ends when nothing does.
func (q *queue) write() {
	for batch := q.take(nil); len(batch) > 0; batch = q.take(batch) {
		for i, e := range batch {
			err := deliver(e)
			q.probe()
			batch[i] = entry{}
			q.wrote(e, err)
		}
	}
}

// probe asks top which levels it takes; they may change while a program runs.
func (q *queue) probe() {
	floor := slog.LevelError + 4
	defer func() {
		_ = recover() // an Enabled that panics takes no more than it said
		q.floor.Store(int64(floor))
	}()
	for floor > slog.LevelDebug-4 && q.top.Enabled(context.Background(), floor-4) {
		floor -= 4
	}
	floor -= 3 // levels in between are for the inner handler to judge, when it is its turn
}

// take returns the next records, with used as room for later ones. When there are none, the goroutine is over.
func (q *queue) take(used []entry) []entry {
	q.mu.Lock()
	defer q.mu.Unlock()
	batch := q.entries
	q.entries = used[:0]
	if len(batch) == 0 && q.lost > 0 {
		gap := slog.NewRecord(time.Now(), slog.LevelWarn, "log records were dropped, because the log was not written in time", 0)
		gap.AddAttrs(slog.Int64("dropped", q.lost))
		q.lost = 0
		q.counts.Waiting++
		batch = append(batch, entry{to: q.top, ctx: context.Background(), record: gap})
	}
	if len(batch) == 0 {
		q.entries = nil
		close(q.idle)
	}
	return batch
}

func (q *queue) wrote(e entry, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.size -= e.size
	q.counts.Waiting--
	if err != nil {
		q.counts.Failed++
	} else {
		q.counts.Written++
	}
}
