// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"testing"
	"time"
)

// A reader lingers only where the waits before were short, and ever more rarely where it was in vain.
func TestPace(t *testing.T) {
	const short, long = linger - 1, linger
	turn := func(p *pace, d time.Duration, met bool) (lingered bool) {
		if lingered = p.quick(); lingered && met {
			p.met()
		} else if lingered {
			p.missed()
		}
		p.waited(d)
		return lingered
	}
	count := func(p *pace, n int, d time.Duration, met bool) (lingered int) {
		for range n {
			if turn(p, d, met) {
				lingered++
			}
		}
		return lingered
	}

	t.Run("a host that thinks", func(t *testing.T) {
		var p pace
		if n := count(&p, 10_000, long, false); n != 0 {
			t.Errorf("lingered %d times", n)
		}
	})
	t.Run("a host that answers at once", func(t *testing.T) {
		var p pace
		if n := count(&p, 10_000, short, true); n != 10_000-minQuick {
			t.Errorf("lingered %d times of 10,000, want all but the first %d", n, minQuick)
		}
		if n := count(&p, 1000, long, false); n != 1 {
			t.Errorf("lingered %d times after it stopped, want once", n)
		}
	})
	t.Run("a host that only runs while we sleep", func(t *testing.T) {
		var p pace
		count(&p, 2*maxQuick, short, false)
		if n := count(&p, 100*(maxQuick+1), short, false); n != 100 {
			t.Errorf("lingered %d times in %d waits, want 100", n, 100*(maxQuick+1))
		}
		for !p.quick() {
			turn(&p, short, false)
		}
		turn(&p, short, true)
		count(&p, 1, long, false)
		if n := count(&p, 2*minQuick+1, short, true); n != 1 {
			t.Errorf("after it was worth it once: lingered %d times, want once", n)
		}
	})
}
