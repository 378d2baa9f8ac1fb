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
	// they answered with ErrOverload; new requests fail likewise until the
	// queue has been empty.
	OverloadRefuse Overload = iota
	// OverloadCancel does the same, and cancels every open request.
	OverloadCancel
	// OverloadEnd ends the session.
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

// OversizeError reports a frame over the limit.
type OversizeError struct {
	Size  int64 // bytes, without the line end
	Limit int
}

func (e *OversizeError) Error() string {
	return fmt.Sprintf("host: a frame of %s is over the limit of %d", count(e.Size, "byte"), e.Limit)
}

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
	// (when the id stands in its first KiB) fails with an *OversizeError.
	// Zero means DefaultLimit.
	Limit int
	// EndOnOversize ends the session at a frame over the limit, with an
	// *OversizeError, instead of going on after its LF.
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

	// Raw gets the server's stdout byte for byte, before anything looks at
	// it. It is called by the reader and must not block. Nil means none.
	Raw io.Writer
	// Stderr gets the server's stderr as it comes. Nil means that it is only
	// kept, see Host.Stderr.
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
