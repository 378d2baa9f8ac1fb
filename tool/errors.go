// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"time"
)

// JSON-RPC error codes that this package uses.
const (
	codeInvalidParams = -32602
	codeInternal      = -32603
)

// An Error is a failure that the host should read, and not the model: it is
// sent as a JSON-RPC error. A handler returns one, alone or wrapped, where the
// call itself was wrong; what a model can put right is an ordinary error.
type Error struct {
	Code    int    // zero means -32603, internal error
	Message string // short; the host may show it
	Data    any    // encoded by the rules of result.Options; nil means none
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// An InternalError is an author's mistake that was found when a result was made
// ready: structured content that cannot be encoded or that does not fit the
// output schema. Its details are for the log; a server tells the peer no more
// than a reference to them.
type InternalError struct {
	Tool string
	Err  error
}

func (e *InternalError) Error() string {
	return fmt.Sprintf("internal error in tool %q: %v", e.Tool, e.Err)
}

// Unwrap returns e.Err.
func (e *InternalError) Unwrap() error { return e.Err }

// A Cancelled is the cause (see context.Cause) of a call's context that the
// peer cancelled. Nothing is sent for such a call.
type Cancelled struct {
	Reason string // as the peer gave it; may be empty
}

func (e *Cancelled) Error() string {
	if e.Reason == "" {
		return "cancelled by the peer"
	}
	return "cancelled by the peer: " + e.Reason
}

// A TimedOut is the cause of a call's context that ran longer than it may.
type TimedOut struct{ After time.Duration }

func (e *TimedOut) Error() string { return fmt.Sprintf("timed out after %v", e.After) }

// A Shutdown is the cause of a call's context whose server stops.
type Shutdown struct {
	Why string // "input ended", "signal: terminated", "context ended"
}

func (e *Shutdown) Error() string { return "stopped: " + e.Why }

// A HostGone is the cause of a call's context whose host takes no more output.
type HostGone struct{ Err error }

func (e *HostGone) Error() string { return fmt.Sprintf("host gone: %v", e.Err) }

// Unwrap returns e.Err.
func (e *HostGone) Unwrap() error { return e.Err }

// An argumentError is arguments that fit the schema and cannot be decoded.
type argumentError struct{ found problems }

func (e *argumentError) Error() string { return "invalid arguments:\n" + e.found.String() }
