// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"log/slog"
	"math"
	"strconv"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// maxProgressMessage is the most bytes of text in one progress notification.
const maxProgressMessage = 1 << 10

// progress is the newest report of a call. At most one notification of a call
// waits for stdout; it is encoded when the writer picks it, so that a slow
// host gets the newest value only.
type progress struct {
	waiting     *progressFrame
	done, total float64
	message     string
}

// A progressFrame is one notifications/progress.
type progressFrame struct {
	frame wire.Frame
	c     *call
}

// A callPeer is what the server lends to a call's Request.
type callPeer struct{ c *call }

var _ tool.Peer = callPeer{}

func (p callPeer) Go(fn func()) { p.c.spawn.start(fn) }

func (p callPeer) Log() *slog.Logger { return p.c.se.callLog(p.c) }

// Progress reports that done of total is reached. It never waits; it does
// nothing without a token, for a value that is not greater than the last one,
// and once the response is on its way.
func (p callPeer) Progress(done, total float64, message string) {
	c := p.c
	if c.token == "" || math.IsNaN(done) || math.IsInf(done, 0) {
		return
	}
	if math.IsNaN(total) || math.IsInf(total, 0) || total < 0 {
		total = 0
	}
	se := c.se
	se.mu.Lock()
	defer se.mu.Unlock()
	if c.phase != running || c.answered || c.progress != nil && done <= c.progress.done {
		return
	}
	if c.progress == nil {
		c.progress = new(progress)
	}
	g := c.progress
	g.done, g.total, g.message = done, total, quote.Cut(message, maxProgressMessage)
	if g.waiting == nil {
		g.waiting = &progressFrame{c: c}
		g.waiting.frame.Source = g.waiting
		se.sendLocked(&g.waiting.frame)
	}
}

// Begin encodes the newest report (wire.Source). Nothing is sent for a call
// that was cancelled.
func (f *progressFrame) Begin(*wire.Frame) bool {
	c := f.c
	c.se.mu.Lock()
	defer c.se.mu.Unlock()
	g := c.progress
	g.waiting = nil
	if c.phase != running {
		return false
	}
	b := append([]byte(nil), `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":`...)
	b = wire.AppendScalar(b, c.token)
	b = append(b, `,"progress":`...)
	b = strconv.AppendFloat(b, g.done, 'f', -1, 64)
	if g.total > 0 {
		b = append(b, `,"total":`...)
		b = strconv.AppendFloat(b, g.total, 'f', -1, 64)
	}
	if g.message != "" && c.protocol >= rev2025March {
		b = append(b, `,"message":`...)
		b = quote.Append(b, g.message)
	}
	f.frame.Data = append(b, "}}\n"...)
	return true
}

func (f *progressFrame) Done(_ *wire.Frame, err error) {
	if err != nil {
		f.c.se.writeFailed(err)
	}
}

// withdrawLocked takes what waits for c out of the writer, to free its memory
// at once; what the writer has picked meanwhile is dropped by Begin.
func (se *session) withdrawLocked(c *call) {
	if g := c.progress; g != nil && g.waiting != nil {
		se.out.Withdraw(&g.waiting.frame)
		g.waiting = nil
	}
	if c.parcel != nil {
		c.parcel.forgetLocked(c)
	} else if c.answered && se.out.Withdraw(&c.response) {
		recycle(&c.response, c.buffer)
		c.buffer = nil
	}
}
