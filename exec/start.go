// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
)

// A Reason says why a child could not be started.
type Reason string

// The reasons of a [StartError].
const (
	NotFound         Reason = "not found"          // no such program, or no interpreter for a script
	NotExecutable    Reason = "not executable"     // there, but it may not or cannot be run
	BadDirectory     Reason = "bad directory"      // Cmd.Dir is not there, or may not be entered
	ArgumentsTooLong Reason = "arguments too long" // more than the system takes, the environment included
	BadArgument      Reason = "bad argument"       // an argument, a path or a variable that contains NUL
	OtherReason      Reason = "other"              // anything else, such as too many processes
)

// A StartError says that a child was not started. It is matched with errors.As
// on *StartError. Its text says what to do about it, and is fit to be read by
// a model: Cmd.Redact is applied.
type StartError struct {
	Reason Reason
	Path   string // Cmd.Path, with Cmd.Redact applied
	Err    error  // what the system said

	text string
}

func (e *StartError) Error() string {
	if e.text == "" { // made elsewhere, as sshexec does
		return fmt.Sprintf("%q: %s: %v", e.Path, e.Reason, e.Err)
	}
	return e.text
}

// Unwrap returns e.Err, so that errors.Is finds fs.ErrNotExist and the like.
func (e *StartError) Unwrap() error { return e.Err }

// lookPath finds the program.
func (c *Cmd) lookPath() (string, error) {
	if c.Path == "" {
		return "", c.startError(NotFound, errors.New("no program given"), "no program to run was given")
	}
	if strings.IndexByte(c.Path, 0) >= 0 {
		return "", c.startError(BadArgument, errors.New("NUL in the path"), "the path of the program contains NUL")
	}
	if filepath.Base(c.Path) != c.Path {
		return c.Path, nil
	}
	path, err := osexec.LookPath(c.Path)
	switch {
	case err == nil:
		return path, nil
	case errors.Is(err, osexec.ErrDot):
		return "", c.startError(NotExecutable, err, "program %q stands in the current directory and not in PATH, and is not run from there; give its path", c.Path)
	case errors.Is(err, fs.ErrPermission):
		return "", c.startError(NotExecutable, err, "program %q is in PATH but not executable", c.Path)
	}
	return "", c.startError(NotFound, err, "program %q was not found in PATH; check the name, or give its path", c.Path)
}

// explain makes a StartError of what starting path said.
func (c *Cmd) explain(path string, err error) *StartError {
	if c.Dir != "" {
		if why := badDir(c.Dir); why != nil {
			return c.startError(BadDirectory, why, "the working directory %q cannot be used: %v", c.Dir, cause(why))
		}
	}
	at := path
	if !filepath.IsAbs(at) && c.Dir != "" {
		at = filepath.Join(c.Dir, at)
	}
	switch {
	case tooLong(err):
		n := len(path)
		for _, a := range c.Args {
			n += len(a) + 1
		}
		return c.startError(ArgumentsTooLong, err, "the arguments of %q are too long for this system, one of them alone or all together: there are %d, with %d bytes; pass less, or pass it through a file or standard input", c.Path, len(c.Args), n)
	case badArgument(err):
		return c.startError(BadArgument, err, "an argument of %q contains NUL, which no program can be given", c.Path)
	case errors.Is(err, fs.ErrNotExist):
		if info, statErr := os.Stat(at); statErr == nil && !info.IsDir() {
			return c.startError(NotFound, err, "%q is there, but not what its first line (#!) or its header names to run it", c.Path)
		}
		return c.startError(NotFound, err, "program %q does not exist", c.Path)
	case notProgram(err):
		return c.startError(NotExecutable, err, "%q is not a program that this system can run; if it is a script, its first line has to name an interpreter (#!/bin/sh)", c.Path)
	case errors.Is(err, fs.ErrPermission):
		if info, statErr := os.Stat(at); statErr == nil && info.IsDir() {
			return c.startError(NotExecutable, err, "%q is a directory, not a program", c.Path)
		}
		return c.startError(NotExecutable, err, "%q is not executable; its permissions do not allow it to be run", c.Path)
	}
	return c.startError(OtherReason, err, "%q could not be started: %v", c.Path, cause(err))
}

// badDir is why dir cannot be a working directory, or nil.
func badDir(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return &fs.PathError{Op: "chdir", Path: dir, Err: errors.New("not a directory")}
	}
	return mayEnter(dir)
}

// cause is err without the operation and the path, which the text names.
func cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// startError is a StartError whose text tells what a has. Secrets are hidden in
// each of a by itself, since quotes change what they look like.
func (c *Cmd) startError(r Reason, err error, format string, a ...any) *StartError {
	for i, v := range a {
		switch v := v.(type) {
		case string:
			a[i] = c.hide(v)
		case error:
			a[i] = c.hide(v.Error())
		}
	}
	if text := err.Error(); c.hide(text) != text {
		err = &hidden{c.hide(text), err}
	}
	return &StartError{Reason: r, Path: c.hide(c.Path), Err: err, text: "exec: " + fmt.Sprintf(format, a...)}
}

// A hidden is an error without the secrets that its text has.
type hidden struct {
	text string
	err  error
}

func (h *hidden) Error() string        { return h.text }
func (h *hidden) Is(target error) bool { return errors.Is(h.err, target) }
