// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import "runtime"

// heapFloor is the size of a slice that is held while stdio is served and
// never touched, so that it takes addresses and no memory. To the garbage
// collector it is live heap: about 9 MiB of garbage may gather before it runs,
// where Go's least heap lets 3, and a small server spent a sixth of its time
// in collecting every few milliseconds. It counts towards GOMEMLIMIT.
const heapFloor = 8 << 20

// raiseHeapFloor holds the slice from the first collection on, since to
// allocate it starts one, which would be felt at the start. The function that
// it returns lets go of it.
func raiseHeapFloor() (lower func()) {
	floor := new([]byte)
	first := new([16]byte) // as large as it takes to be collected by itself
	runtime.AddCleanup(first, func(floor *[]byte) { *floor = make([]byte, heapFloor) }, floor)
	return func() { runtime.KeepAlive(floor) }
}
