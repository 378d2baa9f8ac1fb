// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import "time"

const (
	// linger is how long a reader looks again for input before it sleeps: about what sleeping and waking cost.
	linger = 100 * time.Microsecond
	// minQuick and maxQuick bound how many waits in a row must be shorter than linger before the reader lingers.
	minQuick = 2
	maxQuick = 1 << 10
)

// pace tells whether the next input is likely to come within linger, from the waits before. A host that thinks between
// two calls, as an agent does, never makes a reader linger; one that stops costs it linger once; and where lingering
// fails each time (host and server share a processor, so that the host only runs while we sleep), it is tried after
// twice as many quick waits each time, at most once in maxQuick.
type pace struct {
	run  int // quick waits in a row
	more int // how many of them are wanted beyond minQuick
}

// quick reports that it is worth lingering.
func (p *pace) quick() bool { return p.run >= minQuick+p.more }

// waited counts a wait that has ended with input, however it was spent.
func (p *pace) waited(d time.Duration) {
	if d >= linger {
		p.run = 0
		return
	}
	p.run = min(p.run+1, maxQuick)
}

// met says that input came while the reader lingered.
func (p *pace) met() { p.more = 0 }

// missed says that none came.
func (p *pace) missed() {
	p.run = 0
	p.more = min(2*(minQuick+p.more), maxQuick) - minQuick
}
