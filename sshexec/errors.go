// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"strings"
	"time"
)

// A Stage is how far a call has come. It is shown for running calls, and an
// [*Error] names the stage that did not pass.
type Stage string

// The stages, in their order. In those up to StageSession nothing has been run;
// StageStart ends when the server has taken the command.
const (
	StageQueue          Stage = "queue"          // waiting until fewer calls use the host, or the pool
	StageConnect        Stage = "connect"        // TCP, or the way through Host.Via
	StageHandshake      Stage = "handshake"      // versions, keys, and the host key
	StageAuthentication Stage = "authentication" // who we are
	StageSession        Stage = "session"        // opening the session in the connection
	StageStart          Stage = "start"          // handing over the command
	StageOutput         Stage = "output"         // the command runs, or its output is open
	StageWait           Stage = "wait"           // the output has ended, the status has not come
)

// An Error says that something did not come to pass on the way to another
// machine, or there. It is matched with errors.As on *Error. Its text is fit to
// be read by a model: it says what to do where that is known, and holds no
// secret.
//
// As the error of [Host.Run] it means that the command was not run. As
// exec.Output.Err it says what cut a run short.
type Error struct {
	Host  string // Host.Name
	Stage Stage

	// Err is why: the cause of a context, an *exec.StartError, an error about
	// authentication or a host key, one of the errors below, or what the
	// network said.
	Err error
}

// Errors that are found with errors.Is in an [*Error].
var (
	ErrClosed    = errors.New("closed: no more calls are taken")
	ErrBusy      = errors.New("too many calls wait for it; try again later, or run fewer at a time")
	ErrLost      = errors.New("the connection was lost")
	ErrKeepalive = errors.New("the connection was lost: keepalives had no answer")
	ErrNoStatus  = errors.New("the server closed the session without an exit status")
)

// errIdle ends a connection that nobody has used for Idle.
var errIdle = errors.New("idle")

// A timeoutError is a limit of time that is not the context's.
type timeoutError struct {
	what string // what did not happen
	d    time.Duration
}

func (e *timeoutError) Error() string { return e.what + " within " + e.d.String() }

// Timeout makes it a net.Error's kind of time-out.
func (e *timeoutError) Timeout() bool { return true }

// Is makes it one that errors.Is finds as a deadline.
func (e *timeoutError) Is(target error) bool { return target == context.DeadlineExceeded }

// A toldError is an error in whose text may be what a server said. It shows
// the beginning of it, and no control characters.
type toldError struct{ err error }

// maxTold is how much of that is shown, in bytes.
const maxTold = 300

func (e *toldError) Error() string { return plain(strings.TrimPrefix(e.err.Error(), "ssh: "), maxTold) }
func (e *toldError) Unwrap() error { return e.err }

func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("sshexec: ")
	b.WriteString(e.Host)
	b.WriteString(": ")
	b.WriteString(string(e.Stage))
	if e.Err != nil {
		b.WriteString(": ")
		b.WriteString(strings.TrimPrefix(strings.TrimPrefix(e.Err.Error(), "ssh: "), "sshexec: "))
	}
	return b.String()
}

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }
