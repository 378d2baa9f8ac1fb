// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

// counts are the counters of one session that the reader and the writer do
// not keep themselves, guarded by the session's mutex.
type counts struct {
	badFrames                                 int64
	outcomes                                  [outcomeDropped + 1]int64
	busy                                      int64
	cancelsRunning, cancelsQueued, cancelLate int64
	discarded, logsDiscarded                  int64
	stalls                                    int64
	peakQueued, peakQueuedBytes               int64
}

func (c *counts) outcome(o outcome) { c.outcomes[o]++ }

// metrics adds up what the session, its reader and its writer counted.
func (se *session) metrics() Metrics {
	in, out := se.in.Stats(), se.out.Stats()
	se.mu.Lock()
	n := se.counts
	se.mu.Unlock()
	return Metrics{
		FramesIn: in.Frames, FramesOut: out.Frames,
		BytesIn: in.Bytes, BytesOut: out.Bytes,
		LargestIn: in.Largest, LargestOut: out.Largest,
		BadFrames: n.badFrames,
		CallsOK:   n.outcomes[outcomeOK], CallsFailed: n.outcomes[outcomeFailed], CallsRefused: n.outcomes[outcomeRefused],
		CallsTimedOut: n.outcomes[outcomeTimedOut], CallsPanicked: n.outcomes[outcomePanicked],
		CallsCancelled: n.outcomes[outcomeCancelled], CallsDropped: n.outcomes[outcomeDropped],
		CallsBusy:      n.busy,
		CancelsRunning: n.cancelsRunning, CancelsQueued: n.cancelsQueued, CancelsLate: n.cancelLate,
		Discarded: n.discarded, LogsDiscarded: n.logsDiscarded,
		WaitingFrames: out.WaitingFrames, WaitingBytes: out.WaitingBytes,
		StdoutBlocked: out.Blocked, Stalls: n.stalls,
		PeakQueued: n.peakQueued, PeakQueuedBytes: n.peakQueuedBytes,
		PeakWaiting: out.PeakWaitingFrames, PeakWaitingBytes: out.PeakWaitingBytes,
	}
}
