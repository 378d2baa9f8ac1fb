// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"runtime"
	"runtime/metrics"
	"testing"
	"time"
)

// The heap's floor is there from the first collection on, until it is let go.
func TestHeapFloor(t *testing.T) {
	live := func() int64 {
		runtime.GC()
		sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
		metrics.Read(sample)
		return int64(sample[0].Value.Uint64())
	}
	until := func(what string, ok func() bool) {
		t.Helper()
		for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatal("not within 10 s: " + what)
			}
		}
	}
	before := live()
	lower := raiseHeapFloor()
	until("raised", func() bool { return live() > before+heapFloor/2 })
	if grown := live() - before; grown > heapFloor+heapFloor/2 {
		t.Errorf("the live heap grew by %d bytes, want about %d", grown, heapFloor)
	}
	lower()
	until("lowered", func() bool { return live() < before+heapFloor/2 })
}
