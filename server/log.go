// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/weir-mcp/weir/internal/logsink"
)

// logVariable names a file that gets a copy of the log at debug level, since
// a host may throw a server's stderr away.
const logVariable = "WEIR_LOG"

// logFlush bounds how long the end of a session waits for the log.
const logFlush = 250 * time.Millisecond

// openLog makes the server's log: what the author gave, or stderr, and the
// file that WEIR_LOG names; each behind a queue of its own, so that one that
// is stuck holds up neither a reply nor the other.
func (s *Server) openLog() *serverLog {
	var handlers []slog.Handler
	l := new(serverLog)
	add := func(h slog.Handler) {
		sink := logsink.New(h)
		l.sinks = append(l.sinks, sink)
		handlers = append(handlers, sink)
	}
	if s.Log != nil {
		add(s.Log.Handler())
	} else {
		add(slog.NewTextHandler(os.Stderr, nil))
	}
	var failed error
	if path := os.Getenv(logVariable); path != "" {
		f, err := logsink.OpenFile(path)
		if err == nil {
			add(slog.NewTextHandler(f, &slog.HandlerOptions{Level: slog.LevelDebug}))
		}
		failed = err
	}
	l.Logger = slog.New(slog.NewMultiHandler(handlers...))
	if failed != nil {
		l.Warn("the log file cannot be opened; check "+logVariable, "err", failed)
	}
	if _, err := listCursors.Encode(listScope(""), listPosition{}); err != nil {
		l.Warn("no cursor can be made, so no page can be continued", "err", err) // the key is too short
	}
	return l
}

// A serverLog is a logger that never waits.
type serverLog struct {
	*slog.Logger
	sinks []*logsink.Handler
}

// flush waits a moment for what was logged to be written.
func (l *serverLog) flush() {
	ctx, cancel := context.WithTimeout(context.Background(), logFlush)
	defer cancel()
	for _, s := range l.sinks {
		_ = s.Flush(ctx) // it says no more than that the time is over
	}
}
