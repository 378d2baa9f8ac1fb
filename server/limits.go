// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"time"

	"github.com/weir-mcp/weir/result"
)

// The defaults of [Limits].
const (
	DefaultMaxFrameIn      = 16 << 20
	DefaultMaxFrameOut     = 4 << 20
	DefaultMaxCalls        = 256
	DefaultMaxQueue        = 4096
	DefaultMaxQueueBytes   = 64 << 20
	DefaultControlMemory   = 4 << 20
	DefaultMaxResultMemory = 32 << 20
	DefaultMaxListPage     = 1 << 20
	DefaultCallTimeout     = 10 * time.Minute
	DefaultGrace           = 2 * time.Second
	DefaultStallWarning    = 5 * time.Second
)

// Limits bounds what one session (one Serve) may use. The zero Limits holds
// the defaults; a field that is zero or negative means its default, and no
// field can mean "without limit". docs/limits.md has the memory that they add
// up to.
type Limits struct {
	// MaxFrameIn is the most bytes that one inbound frame may have, counted
	// before its line end. A longer one is discarded as it arrives and
	// answered with -32600, with its id when that could be read.
	// Zero means 16 MiB.
	MaxFrameIn int

	// MaxFrameOut is the most bytes that one outbound frame may have, counted
	// before its line end. A longer response is replaced by an isError result
	// that names size and limit. Zero means 4 MiB.
	MaxFrameOut int

	// Budget is what one result may put in front of a model, for tools that
	// have none of their own. Zero fields mean 32 KiB for each form, 1,000
	// items and 1 MiB of media.
	Budget result.Budget

	// MaxCalls is how many calls run at once. One tool may have at most three
	// quarters of them (tool.Info.MaxCalls can lower that); the rest wait.
	// Zero means 256.
	MaxCalls int

	// MaxQueue is how many calls may wait for a slot. One more is answered
	// with an error of code [CodeBusy]. Zero means 4,096.
	MaxQueue int

	// MaxQueueBytes bounds the raw frames of calls, counted from the moment
	// they are read until their handlers have returned. Past it calls are
	// answered with an error of code [CodeBusy]. Zero means 64 MiB.
	MaxQueueBytes int

	// ControlMemory bounds the answers that the reader makes itself (ping,
	// lists, errors) and log messages to the host while they wait for stdout.
	// Past it requests are discarded, counted and logged; cancels are still
	// obeyed. Zero means 4 MiB.
	ControlMemory int

	// MaxResultMemory bounds the results that are being made or wait for
	// stdout. A call reserves the smaller of 2 × Budget.Bytes + 8 KiB and
	// MaxFrameOut before it gets a slot, and keeps what its encoded response
	// needs until that is written or dropped. Zero means 32 MiB.
	MaxResultMemory int

	// MaxListPage is the most bytes of definitions in one page of tools/list,
	// and of descriptions in one of resources/list. Many hosts read only the
	// first page. Zero means 1 MiB.
	MaxListPage int

	// CallTimeout is how long a call may run, counted from when its slot is
	// taken, for tools that have no time-out of their own. Its context then
	// ends with a *tool.TimedOut as its cause. Zero means 10 minutes.
	CallTimeout time.Duration

	// Grace is how long a handler may take to return after its context ended
	// before it is named in the log, and how long a session that ends waits
	// for its calls. Zero means 2 seconds.
	Grace time.Duration

	// StallWarning is how long stdout may take no byte, although frames wait,
	// before that is logged. Zero means 5 seconds.
	StallWarning time.Duration
}

// withDefaults returns l with every unset field at its default.
func (l Limits) withDefaults() Limits {
	or := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	orDuration := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	or(&l.MaxFrameIn, DefaultMaxFrameIn)
	or(&l.MaxFrameOut, DefaultMaxFrameOut)
	or(&l.MaxCalls, DefaultMaxCalls)
	or(&l.MaxQueue, DefaultMaxQueue)
	or(&l.MaxQueueBytes, DefaultMaxQueueBytes)
	or(&l.ControlMemory, DefaultControlMemory)
	or(&l.MaxResultMemory, DefaultMaxResultMemory)
	or(&l.MaxListPage, DefaultMaxListPage)
	orDuration(&l.CallTimeout, DefaultCallTimeout)
	orDuration(&l.Grace, DefaultGrace)
	orDuration(&l.StallWarning, DefaultStallWarning)
	l.Budget = l.Budget.WithDefaults(result.Budget{})
	return l
}

// perTool is how many calls of one tool may run at once.
func (l Limits) perTool(own int) int {
	most := max(1, l.MaxCalls/4*3+l.MaxCalls%4*3/4)
	if own > 0 {
		return min(own, most)
	}
	return most
}

// reserve is what a call of a tool with budget b reserves before it runs.
func (l Limits) reserve(b result.Budget) int {
	if b.Bytes >= l.MaxFrameOut/2 {
		return l.MaxFrameOut
	}
	return min(2*b.Bytes+8<<10, l.MaxFrameOut)
}
