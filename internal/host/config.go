// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"fmt"
	"io"
	"time"
)

// Defaults of the zero fields of a Config.
const (
	DefaultLimit      = 64 << 20
	DefaultQueue      = 4096
	DefaultQueueBytes = 256 << 20
	DefaultKeep       = 64 << 20
	DefaultUnsent     = 256 << 20
	DefaultStall      = time.Second
	DefaultGrace      = 3 * time.Second
)

// Overload says what happens when frames arrive faster than their consumers
// take them and the queue is full. The reader goes on reading in any case.
type Overload uint8

const (
	// OverloadRefuse drops frames that do not fit and fails the requests that
	// they answered with ErrOverload (all open ones, where a large frame does
	// not say at its start or its end which that is); new requests fail
	// likewise until the queue has been empty.
	OverloadRefuse Overload = iota
	// OverloadCancel does the same, and cancels every open request.
	OverloadCancel
	// OverloadEnd ends the session, in the way of Config.EndOnOversize.
	OverloadEnd
)

// Errors of requests. A *Error is the server's own answer.
var (
	ErrOverload  = errors.New("host: more frames arrived than were consumed")
	ErrCancelled = errors.New("host: request cancelled")
	ErrUnsent    = errors.New("host: the server does not read its stdin")
	ErrEnded     = errors.New("host: the session has ended")
	ErrEcho      = errors.New("host: the server sent our own request back")
)

// errInputClosed is the error of what is sent after CloseInput.
var errInputClosed = fmt.Errorf("%w: its stdin was closed by us", ErrEnded)

// errRestarted is why a session ended whose place a new one takes.
var errRestarted = errors.New("host: the session was ended to begin a new one")

// OversizeError reports a frame over the limit.
type OversizeError struct {
	Size  int64 // bytes, without the line end
	Limit int   // Config.Limit
	Cut   bool  // Size is what had come when the session was ended; the frame went on
}

func (e *OversizeError) Error() string {
	least := ""
	if e.Cut {
		least = "at least "
	}
	return fmt.Sprintf("host: a frame of %s%s is over the limit of %d", least, count(e.Size, "byte"), e.Limit)
}

// NoResponseError is the error of who stopped waiting for a response.
type NoResponseError struct {
	Method    string // of the request
	Err       error  // why the wait ended: the cause of its context
	Diagnosis string // what Diagnose said at that moment
}

func (e *NoResponseError) Error() string {
	return fmt.Sprintf("host: no response to %s: %v; %s", e.Method, e.Err, e.Diagnosis)
}

func (e *NoResponseError) Unwrap() error { return e.Err }

// Config is how a Host behaves. The zero value is ready to use; a Config must
// not be changed while a host uses it.
type Config struct {
	// Protocol is the revision that Open, and requests that name none, use.
	// Empty means 2025-11-25.
	Protocol string
	// Name and Version introduce the host. Empty means "weir" and "0".
	Name, Version string

	// Limit bounds one frame in bytes, without its line end. A longer one is
	// discarded as it arrives, to its LF, and the request that it answers
	// (when the id stands in its first KiB, or at its end) fails with an
	// *OversizeError. Zero means DefaultLimit.
	Limit int
	// EndOnOversize ends the session at a frame over the limit, as soon as it
	// is over it, with an *OversizeError: open requests are lost, stdin is
	// closed, and the server stopped as by Close, while what it still writes
	// is read and thrown away. False means to go on after the frame's LF.
	// Restart, or Sessions, begins a new session.
	EndOnOversize bool

	// Queue and QueueBytes bound the frames that wait for the dispatcher;
	// Overload is what happens past them. Zero means DefaultQueue,
	// DefaultQueueBytes and OverloadRefuse.
	Queue, QueueBytes int
	Overload          Overload

	// Keep bounds, in bytes, the frames kept for Frames; the oldest go first.
	// Zero means DefaultKeep.
	Keep int
	// Unsent bounds the bytes that wait for the server to read its stdin.
	// Zero means DefaultUnsent.
	Unsent int

	// Stall is how long nothing may move before Diagnose calls it stuck.
	// Zero means DefaultStall.
	Stall time.Duration
	// Grace is how long Close waits for the server to end by itself, then
	// again after a request to end, before it is killed. Zero means
	// DefaultGrace.
	Grace time.Duration

	// Track marks the environment of a server that Start starts, so that what
	// it leaves behind is found, named in Exit.Survivors, and killed whatever
	// session or group it has moved to, unless it has cleared its environment.
	// Linux only. False means that only the server's process group is looked
	// at.
	Track bool

	// Raw gets the server's stdout byte for byte, before anything looks at
	// it. It is called by the reader and must not block: Diagnose says so
	// when it does. Nil means none.
	Raw io.Writer
	// Stderr gets the server's stderr as it comes. While it blocks, stderr is
	// not read, and Diagnose says so. Nil means that stderr is only kept, see
	// Host.Stderr.
	Stderr io.Writer
	// StderrUnread leaves the server's stderr unread, on purpose.
	StderrUnread bool

	// OnFrame is called by the dispatcher with every frame, in order, before
	// what waits for the frame hears of it. Nil means nothing.
	OnFrame func(Frame)
}

func (c Config) withDefaults() Config {
	def := func(p *int, v int) {
		if *p <= 0 {
			*p = v
		}
	}
	def(&c.Limit, DefaultLimit)
	def(&c.Queue, DefaultQueue)
	def(&c.QueueBytes, DefaultQueueBytes)
	def(&c.Keep, DefaultKeep)
	def(&c.Unsent, DefaultUnsent)
	if c.Protocol == "" {
		c.Protocol = LatestLegacy
	}
	if c.Name == "" {
		c.Name = "weir"
	}
	if c.Version == "" {
		c.Version = "0"
	}
	if c.Stall <= 0 {
		c.Stall = DefaultStall
	}
	if c.Grace <= 0 {
		c.Grace = DefaultGrace
	}
	return c
}
