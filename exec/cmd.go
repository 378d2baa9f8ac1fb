// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"io"
	"path/filepath"
	"runtime"
	"time"

	"github.com/weir-mcp/weir/internal/capture"
)

// The defaults of a [Cmd].
const (
	// DefaultStdout is how much of standard output is kept: three quarters of
	// it from the start, a quarter from the end.
	DefaultStdout = 32 << 10

	// DefaultStderr is the same for standard error.
	DefaultStderr = 8 << 10

	// DefaultGrace is how long a tree has to end after it was asked to.
	DefaultGrace = time.Second
)

// A Cmd describes a child process. Only Path has to be set. A Cmd is a value:
// it is not changed by running it, and may be run any number of times, at the
// same time too when Stdin and Sink allow it.
type Cmd struct {
	// Path is the program: a name that is looked up in PATH, or a path, which
	// is relative to Dir if it is relative. A program that would be found in
	// the current directory only is refused, as in os/exec.
	Path string

	// Args are the arguments, without the program's name. No shell sees them.
	Args []string

	// Dir is the working directory. Empty means that of this process.
	Dir string

	// Env is the environment, as "key=value"; of equal keys the last one
	// counts. Nil means that of this process.
	Env []string

	// CleanEnv starts from a minimal environment instead (where programs and
	// the user's files are, and the locale; see docs/exec.md), to which Env is
	// added. False means that Env is all there is.
	CleanEnv bool

	// Stdin is what the child reads. An *os.File is handed over as it is;
	// anything else is copied by a goroutine, whose errors are not reported. A
	// Reader that blocks keeps that goroutine, though not Run, until it
	// returns; its panic becomes one of Run. Nil means the null device: the
	// child never reads this process's input.
	Stdin io.Reader

	// Stdout and Stderr are how much is kept of each stream. Zero means
	// DefaultStdout and DefaultStderr.
	Stdout, Stderr Preview

	// Sink receives everything that the child writes, both streams with Redact
	// applied, one Write at a time. It gets a line when that is whole, so that
	// no line stands in one of the other stream: the unfinished line of each
	// stream is held back, up to MaxLine bytes of it, and a longer one is
	// passed on as it comes. The order between the streams is that in which
	// lines were read, which need not be that in which they were written. A last
	// line without line feed comes when its stream has ended. The child waits while a Write blocks. After an error, which is
	// Output.SinkErr, it receives nothing more and the child goes on; after a
	// panic too, which becomes one of Run when the tree is gone.
	//
	// If it has a method Keep() (how string, err error), as *artifact.Writer of
	// package result/artifact has, that is called when everything is written and
	// the previews do not hold it, or it is more than 5 KiB; how, which tells a
	// model how to read it, is Output.Full. Lines and Records, which return no
	// Output, do not call it: who wants to keep what they have yielded commits
	// the writer after the loop. Nil means none.
	Sink io.Writer

	// Redact are secrets that must not be seen. In the streams, in what Sink
	// receives, in names and in error texts each becomes "[redacted]", wherever the
	// pieces in which it arrives begin and end; and so does the beginning of
	// one, 4 bytes or more, at the very end of a stream. Empty strings count
	// for nothing.
	Redact []string

	// KeepSurvivors leaves the processes alone that the child has left behind
	// when it exits by itself; they are named in Output.Survivors. A time-out,
	// a cancel and the byte limit end the tree nevertheless. False means that
	// all are ended.
	KeepSurvivors bool

	// Grace is how long the tree has between the request to end (SIGTERM) and
	// the kill (SIGKILL), and how long the output is still read after the
	// child has exited while another process holds it open. Zero or less means
	// DefaultGrace.
	Grace time.Duration

	// Timeout ends the tree after this long. Zero or less means that only the
	// context does.
	Timeout time.Duration

	// KillAfter ends the tree once it has written more than this many bytes on
	// both streams together. What it writes while it ends is still read and
	// counted. A child that has exited before that was seen has just exited.
	// Zero or less means that it may write any amount: it is counted, and
	// dropped beyond the previews.
	KillAfter int64
}

// A Preview says how many bytes are kept of a stream's start and end. The zero
// Preview means the default of the stream; otherwise zero or less means none.
// What was kept is valid UTF-8 and cut at the edge of a character, or of a line
// where one is near.
type Preview struct {
	Head, Tail int
}

// Shell returns the Cmd that has the system's shell run line: "sh -c line", or
// "cmd /c line" on Windows. It is the one way to a shell, so that each use can
// be found in code: a part of line that comes from a model or a file may run
// anything.
func Shell(line string) Cmd {
	if runtime.GOOS == "windows" {
		return Cmd{Path: "cmd", Args: []string{"/d", "/s", "/c", line}}
	}
	return Cmd{Path: "/bin/sh", Args: []string{"-c", line}}
}

func (c *Cmd) grace() time.Duration {
	if c.Grace > 0 {
		return c.Grace
	}
	return DefaultGrace
}

// name is what the child is called in lists and texts: its program alone,
// since arguments may hold what nobody should see. A secret may be in several
// elements of the path.
func (c *Cmd) name() string { return filepath.Base(c.hide(c.Path)) }

// hide is text without the secrets.
func (c *Cmd) hide(text string) string {
	if len(c.Redact) == 0 {
		return text
	}
	return capture.NewSecrets(c.Redact).Hide(text)
}
