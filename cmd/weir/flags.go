// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/weir-mcp/weir/internal/host"
)

// usageError is a mistake in the command line; its text names the flag or the
// argument.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }

// splitCommand divides a command line at the first "--".
func splitCommand(args []string) (own, command []string, err error) {
	i := slices.Index(args, "--")
	switch {
	case i < 0:
		return args, nil, usagef("no server: give the command that starts it after --")
	case i == len(args)-1:
		return args[:i], nil, usagef("no server: nothing comes after --")
	}
	return args[:i], args[i+1:], nil
}

// parseFlags parses a subcommand's own arguments. -h prints help to stdout,
// and is flag.ErrHelp.
func parseFlags(env *environment, fs *flag.FlagSet, help string, args []string) error {
	fs.SetOutput(io.Discard)
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(env.stdout, help)
		fs.SetOutput(env.stdout)
		fs.PrintDefaults()
		return flag.ErrHelp
	case err != nil:
		return usagef("%v", err)
	}
	for _, a := range fs.Args() {
		if len(a) > 1 && a[0] == '-' {
			return usagef("flag %s: flags come before TOOL", a)
		}
	}
	return nil
}

// mistake reports a mistake in the command line of a subcommand.
func mistake(env *environment, name string, err error) int {
	if errors.Is(err, flag.ErrHelp) {
		return exitOK
	}
	fmt.Fprintf(env.stderr, "weir %s: %v\n(weir %s -h explains)\n", name, err, name)
	return exitUsage
}

// eraFlag is the flag -era: a word or a revision.
type eraFlag string

func (e *eraFlag) String() string { return string(*e) }

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", host.LatestLegacy, host.LatestModern}

func (e *eraFlag) Set(s string) error {
	switch {
	case s == "legacy", s == "modern", slices.Contains(revisions, s):
		*e = eraFlag(s)
		return nil
	}
	return fmt.Errorf("not legacy, modern or one of %q", revisions)
}

// protocol is the revision that the flag asks for.
func (e *eraFlag) protocol() string {
	switch *e {
	case "legacy", "":
		return host.LatestLegacy
	case "modern":
		return host.LatestModern
	}
	return string(*e)
}

// rawFile is the flag -raw: a file that gets the server's stdout byte for byte.
type rawFile struct {
	f   *os.File // nil when the flag was not given
	err error    // the first error of a write
}

func (r *rawFile) String() string { return "" }

// Set keeps the name's file open at once, so that a mistake stops everything.
func (r *rawFile) Set(name string) (err error) {
	r.f, err = os.Create(name)
	return err
}

func (r *rawFile) Write(p []byte) (int, error) {
	n, err := r.f.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

func (r *rawFile) close() error {
	if r.f == nil {
		return nil
	}
	if err := r.f.Close(); r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return fmt.Errorf("-raw: %w", r.err)
	}
	return nil
}
