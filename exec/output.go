// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import "time"

// An End says how a child ended.
type End string

// The ways to end. Where several apply, it is the first of: TimedOut,
// Cancelled and OutputLimit, then PipesHeld, then Signalled and Exited. Unknown
// is for other machines only (package sshexec).
const (
	Exited      End = "exited"      // by itself, with Output.ExitCode
	Signalled   End = "signalled"   // by a signal that was not ours: Output.Signal
	TimedOut    End = "timedOut"    // ended at Cmd.Timeout or at its context's deadline
	Cancelled   End = "cancelled"   // ended with its context
	OutputLimit End = "outputLimit" // ended past Cmd.KillAfter
	PipesHeld   End = "pipesHeld"   // exited by itself, but another process held its output open until that was ended, or Grace was over
	Unknown     End = "unknown"     // on another machine: nothing told how it ended; Output.Cause says why
)

// An Output is what became of a child. A tool may return it as it is, or as
// [Output.Result]. Counts are exact, of what was read.
type Output struct {
	// Host is the machine that it ran on, as sshexec.Host names it. Empty means
	// this one.
	Host string `json:"host,omitempty" jsonschema:"description=machine that it ran on"`

	// End is how it ended.
	End End `json:"end" jsonschema:"description=how the process ended,enum=exited,enum=signalled,enum=timedOut,enum=cancelled,enum=outputLimit,enum=pipesHeld,enum=unknown"`

	// ExitCode is what the child exited with; -1 when it did not exit, since a
	// signal ended it, it could not be ended, or nothing told.
	ExitCode int `json:"exitCode" jsonschema:"description=exit status; -1 when it did not exit by itself"`

	// Signal is the name of the signal that ended it, such as "SIGKILL", and
	// empty when it exited.
	Signal string `json:"signal,omitempty" jsonschema:"description=signal that ended the process"`

	// Cause says why its context ended, where End tells that it has, and why
	// nothing is known where it is Unknown.
	Cause string `json:"cause,omitempty" jsonschema:"description=why it was stopped"`

	Stdout Stream `json:"stdout" jsonschema:"description=standard output"`
	Stderr Stream `json:"stderr" jsonschema:"description=standard error; text here is no error by itself"`

	// Survivors are processes of the child's tree that are known to be there
	// still, at most 16: those that were kept (Cmd.KeepSurvivors), that hold
	// the output open but have left the tree, or that could not be ended.
	Survivors []Survivor `json:"survivors,omitempty" jsonschema:"description=processes that it left running"`

	// MayRun is set when it may still be running on another machine, and says
	// why, with its process id there if that is known. Empty means that it has
	// ended, or is among Survivors.
	MayRun string `json:"mayRun,omitempty" jsonschema:"description=set when the process may still be running; says why"`

	// Elapsed is the time from the start until everything above was known.
	Elapsed time.Duration `json:"elapsed" jsonschema:"description=wall-clock time"`

	// CPU is the time that the child, and those of its children that it waited
	// for, have computed. Zero where the system does not tell.
	CPU time.Duration `json:"cpu,omitzero" jsonschema:"description=processor time"`

	// PeakMemory is the largest resident memory, in bytes, of the child or one
	// of the children that it waited for. Zero where the system does not tell;
	// on Linux that is when it is no more than this process's own, which a
	// child's count begins with.
	PeakMemory int64 `json:"peakMemory,omitzero" jsonschema:"description=peak resident memory in bytes"`

	// PID is the process id that the child had. On another machine, where it is
	// its process group too, 0 means that it is not known.
	PID int `json:"-"`

	// Name is what it is called in texts: the name of the program, without
	// secrets.
	Name string `json:"-"`

	// Full tells a model how to read all of the output, where Cmd.Sink has kept
	// it. Empty means that it has not.
	Full string `json:"full,omitempty" jsonschema:"description=how to read all of the output"`

	// SinkErr is what Cmd.Sink returned, or nil.
	SinkErr error `json:"-"`

	// Err is what went wrong between the start and the end on another machine,
	// or why it was ended there: an *sshexec.Error, which names the stage. Nil
	// when it ended by itself, and for a child of this machine.
	Err error `json:"-"`
}

// Success tells whether the child exited by itself with status 0. Text on
// standard error does not change that, nor does a survivor.
func (o *Output) Success() bool {
	return o.ExitCode == 0 && (o.End == Exited || o.End == PipesHeld)
}

// A Stream is what was kept and counted of one output stream.
type Stream struct {
	// Head is everything when Truncated is false, else the start. Tail is the
	// end when Truncated is true.
	Head string `json:"head" jsonschema:"description=all of the text, or its start when truncated"`
	Tail string `json:"tail,omitempty" jsonschema:"description=the end of the text when truncated"`

	Bytes   int64 `json:"bytes" jsonschema:"description=bytes written"`
	Lines   int64 `json:"lines" jsonschema:"description=lines written"`
	Dropped int64 `json:"dropped,omitzero" jsonschema:"description=bytes between head and tail that are not here"`

	Truncated bool `json:"truncated" jsonschema:"description=there is more text between head and tail"`
	Invalid   bool `json:"invalid,omitzero" jsonschema:"description=bytes that are not UTF-8 were replaced"`

	// SoFar is set when a process held the stream open and reading it was given
	// up: the counts are of what came until then.
	SoFar bool `json:"soFar,omitzero" jsonschema:"description=another process holds the stream open: more may come unread"`
}

// A Survivor is a process that is still there.
type Survivor struct {
	PID  int    `json:"pid" jsonschema:"description=process id"`
	Name string `json:"name" jsonschema:"description=name of its program"`
}
