// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"time"
)

// Metrics are counters of a server. All but what waits now and the peaks only
// grow.
type Metrics struct {
	FramesIn, FramesOut   int64
	BytesIn, BytesOut     int64
	LargestIn, LargestOut int64 // bytes of the largest frame each way
	BadFrames             int64 // malformed, oversized, or not a request

	// Calls by outcome; each accepted call ends in exactly one of these. Requests
	// for resources count as calls.
	CallsOK        int64 // answered with a result
	CallsFailed    int64 // answered with an isError result
	CallsRefused   int64 // answered with a JSON-RPC error of the handler or the store
	CallsTimedOut  int64 // answered after CallTimeout
	CallsPanicked  int64 // answered after a panic
	CallsCancelled int64 // cancelled by the host, never answered
	CallsDropped   int64 // the stream ended before the answer was written

	CallsBusy int64 // not accepted: the queue was full

	CancelsRunning int64 // cancels that reached a running call
	CancelsQueued  int64 // cancels that reached a waiting call
	CancelsLate    int64 // cancels of a call that was written already, or unknown

	Discarded     int64 // requests left unanswered because ControlMemory was full
	LogsDiscarded int64 // log messages to the host dropped for the same reason

	WaitingFrames int64 // frames that wait for stdout now
	WaitingBytes  int64 // their bytes, as far as stdout has not taken them

	StdoutBlocked    time.Duration // time spent in writes to the host
	Stalls           int64         // times that StallWarning was reached
	PeakQueued       int64         // most calls that waited for a slot
	PeakQueuedBytes  int64         // most bytes of raw frames held
	PeakWaiting      int64         // most frames that waited for stdout
	PeakWaitingBytes int64         // most bytes that waited for stdout
}

// add adds o's counters to m and keeps the higher of each peak.
func (m *Metrics) add(o Metrics) {
	m.FramesIn += o.FramesIn
	m.FramesOut += o.FramesOut
	m.BytesIn += o.BytesIn
	m.BytesOut += o.BytesOut
	m.LargestIn = max(m.LargestIn, o.LargestIn)
	m.LargestOut = max(m.LargestOut, o.LargestOut)
	m.BadFrames += o.BadFrames
	m.CallsOK += o.CallsOK
	m.CallsFailed += o.CallsFailed
	m.CallsRefused += o.CallsRefused
	m.CallsTimedOut += o.CallsTimedOut
	m.CallsPanicked += o.CallsPanicked
	m.CallsCancelled += o.CallsCancelled
	m.CallsDropped += o.CallsDropped
	m.CallsBusy += o.CallsBusy
	m.CancelsRunning += o.CancelsRunning
	m.CancelsQueued += o.CancelsQueued
	m.CancelsLate += o.CancelsLate
	m.Discarded += o.Discarded
	m.LogsDiscarded += o.LogsDiscarded
	m.WaitingFrames += o.WaitingFrames
	m.WaitingBytes += o.WaitingBytes
	m.StdoutBlocked += o.StdoutBlocked
	m.Stalls += o.Stalls
	m.PeakQueued = max(m.PeakQueued, o.PeakQueued)
	m.PeakQueuedBytes = max(m.PeakQueuedBytes, o.PeakQueuedBytes)
	m.PeakWaiting = max(m.PeakWaiting, o.PeakWaiting)
	m.PeakWaitingBytes = max(m.PeakWaitingBytes, o.PeakWaitingBytes)
}

// LogValue groups the counters for a log line (slog.LogValuer).
func (m Metrics) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Int64("frames_in", m.FramesIn), slog.Int64("frames_out", m.FramesOut),
		slog.Int64("bytes_in", m.BytesIn), slog.Int64("bytes_out", m.BytesOut),
		slog.Int64("largest_in", m.LargestIn), slog.Int64("largest_out", m.LargestOut),
		slog.Int64("bad_frames", m.BadFrames),
		slog.Int64("ok", m.CallsOK), slog.Int64("failed", m.CallsFailed), slog.Int64("refused", m.CallsRefused),
		slog.Int64("timed_out", m.CallsTimedOut), slog.Int64("panicked", m.CallsPanicked),
		slog.Int64("cancelled", m.CallsCancelled), slog.Int64("dropped", m.CallsDropped), slog.Int64("busy", m.CallsBusy),
		slog.Int64("cancels_running", m.CancelsRunning), slog.Int64("cancels_queued", m.CancelsQueued),
		slog.Int64("cancels_late", m.CancelsLate),
		slog.Int64("discarded", m.Discarded), slog.Int64("logs_discarded", m.LogsDiscarded),
		slog.Duration("stdout_blocked", m.StdoutBlocked), slog.Int64("stalls", m.Stalls),
		slog.Int64("peak_queued", m.PeakQueued), slog.Int64("peak_queued_bytes", m.PeakQueuedBytes),
		slog.Int64("peak_waiting", m.PeakWaiting), slog.Int64("peak_waiting_bytes", m.PeakWaitingBytes),
	)
}
