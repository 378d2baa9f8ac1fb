// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"

	"github.com/weir-mcp/weir/internal/wire"
)

// maxBatch is the most members of one batch.
const maxBatch = 100

// A batch is a JSON-RPC batch, which only revision 2025-03-26 has. Its
// responses leave as one array when all members are done; earlier, with those
// that are done, when the array reaches MaxFrameOut or a call waits for
// memory. It is guarded by its session's mutex.
type batch struct {
	se      *session
	pending int // members without an answer; the reader counts as one while it reads
	done    *batchFrame
}

// A batchFrame is one array of responses.
type batchFrame struct {
	frame   wire.Frame
	se      *session
	members []member
	size    int // of their bytes
	control int // of ControlMemory, until the writer picks it
}

// A member is the response of one member: of a call, or made by the reader.
type member struct {
	c    *call // nil when the reader made it
	data []byte
}

// batchOf reads the members of a batch and answers each.
func (se *session) batchOf(frame []byte) {
	members, err := wire.SplitBatch(frame, maxBatch)
	if se.revision != rev2025March && (err == nil || err.Code != wire.CodeParse) {
		err = &wire.Error{Code: wire.CodeInvalidRequest, Message: "batches are part of revision 2025-03-26 only; send one message a line"}
	}
	if err != nil {
		se.badFrame("a batch that could not be read", "err", err.Message)
		se.refuse(nil, wire.ID{}, err)
		return
	}
	b := &batch{se: se, pending: 1}
	se.mu.Lock()
	se.batches[b] = struct{}{}
	se.mu.Unlock()
	for _, m := range members {
		se.mu.Lock()
		b.pending++
		se.mu.Unlock()
		se.message(b, bytes.Clone(m)) // a call that waits keeps its own bytes, not the whole batch
	}
	se.mu.Lock()
	b.memberGoneLocked()
	se.mu.Unlock()
}

// addLocked takes the response of a call.
func (b *batch) addLocked(c *call, data []byte) {
	b.putLocked(member{c, data})
	c.parcel = b.done
	if b.se.sched.blocked != nil {
		b.flushLocked() // another call waits for the memory that this holds
	}
	b.memberGoneLocked()
}

// addControlLocked takes a response that the reader made.
func (b *batch) addControlLocked(data []byte) {
	b.putLocked(member{nil, data})
	b.done.control += len(data) + controlOverhead
	b.memberGoneLocked()
}

func (b *batch) putLocked(m member) {
	if b.done != nil && b.done.size+len(m.data)+2 > b.se.limits.MaxFrameOut {
		b.flushLocked()
	}
	if b.done == nil {
		b.done = &batchFrame{se: b.se}
		b.done.frame.Source = b.done
	}
	b.done.members = append(b.done.members, m)
	b.done.size += len(m.data)
}

// memberGoneLocked counts a member that has its answer, or will have none.
func (b *batch) memberGoneLocked() {
	b.pending--
	if b.pending == 0 {
		delete(b.se.batches, b)
		b.flushLocked()
	}
}

// flushLocked sends what is done.
func (b *batch) flushLocked() {
	if b.done == nil {
		return
	}
	f := b.done
	b.done = nil
	f.frame.Size = f.size
	b.se.sendLocked(&f.frame)
}

// flushBatchesLocked sends what is done of every batch, because a call waits
// for the memory that it holds.
func (se *session) flushBatchesLocked() {
	for b := range se.batches {
		b.flushLocked()
	}
}

// forgetLocked frees the response of a call that was cancelled after it had
// been added.
func (f *batchFrame) forgetLocked(c *call) {
	for i, m := range f.members {
		if m.c == c {
			f.size -= len(m.data)
			f.members = append(f.members[:i], f.members[i+1:]...)
			break
		}
	}
	if len(f.members) == 0 {
		f.se.out.Withdraw(&f.frame) // where it waits there; else it is dropped by Begin
	}
}

// Begin builds the array of the members that were not cancelled (wire.Source).
func (f *batchFrame) Begin(*wire.Frame) bool {
	f.se.mu.Lock()
	defer f.se.mu.Unlock()
	f.freeLocked()
	b := make([]byte, 0, f.size+2)
	kept := f.members[:0]
	for _, m := range f.members {
		if m.c != nil && !f.se.beginLocked(m.c) {
			continue
		}
		kept = append(kept, m)
		sep := byte(',')
		if len(b) == 0 {
			sep = '['
		}
		b = append(b, sep)
		b = append(b, m.data[:len(m.data)-1]...) // without its LF
	}
	f.members = kept
	if len(kept) == 0 {
		return false
	}
	f.frame.Data = append(b, ']', '\n')
	return true
}

func (f *batchFrame) freeLocked() {
	f.se.uncontrolLocked(f.control)
	f.control = 0
}

func (f *batchFrame) Done(_ *wire.Frame, err error) {
	f.se.mu.Lock()
	f.freeLocked() // if it was never picked
	for _, m := range f.members {
		if m.c != nil {
			f.se.doneLocked(m.c, err)
		}
	}
	f.se.dispatchLocked()
	f.se.mu.Unlock()
	if err != nil {
		f.se.writeFailed(err)
	}
}
