// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

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
	case args[i+1] == "":
		return args[:i], nil, usagef("no server: the command after -- is empty")
	}
	return args[:i], args[i+1:], nil
}

// parseFlags parses a subcommand's own arguments. -h prints help to stdout,
// and is flag.ErrHelp. Flags after the first argument, which the help calls
// first, are refused.
func parseFlags(env *environment, fs *flag.FlagSet, help, first string, args []string) error {
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
			return usagef("flag %s: flags come before %s", a, first)
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
	last := len(revisions) - 1
	return fmt.Errorf("not legacy, modern, %s or %s", strings.Join(revisions[:last], ", "), revisions[last])
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

// parseTimeout reads the flag -timeout.
func parseTimeout(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	switch _, number := strconv.ParseFloat(s, 64); {
	case err != nil && number == nil:
		return 0, fmt.Errorf("give a unit, such as %ss", s)
	case err != nil:
		return 0, errors.New("not a time such as 5s, 1m30s or 500ms")
	case d < 0:
		return 0, errors.New("less than no time")
	}
	return d, nil
}

// parseLimit reads the flag -limit.
func parseLimit(s string) (int, error) {
	n, err := strconv.Atoi(s)
	switch {
	case errors.Is(err, strconv.ErrRange):
		return 0, errors.New("more than this machine can count")
	case err != nil:
		return 0, errors.New("not a number of bytes such as 67108864")
	case n <= 0:
		return 0, errors.New("less than one byte")
	}
	return n, nil
}

// parseArguments reads the arguments of a tool.
func parseArguments(s string) (jsontext.Value, error) {
	const want = `give one JSON object, such as '{"name":"x"}'`
	v := jsontext.Value(s)
	switch err := v.Compact(); {
	case strings.TrimSpace(s) == "":
		return nil, usagef("the arguments are empty: leave them out, or %s", want)
	case err != nil:
		return nil, usagef("arguments %s are not JSON (%s): %s", quoted(s), strings.TrimPrefix(err.Error(), "jsontext: "), want)
	case v.Kind() != '{':
		return nil, usagef("arguments %s are not an object: %s", quoted(s), want)
	}
	return v, nil
}

// quoted shows an argument of the command line as it came, shortened.
func quoted(s string) string {
	if runes := []rune(s); len(runes) > 100 {
		s = string(runes[:100]) + "…"
	}
	if s != harmless(s) || strings.ContainsAny(s, "\n'") {
		return strconv.Quote(s)
	}
	return "'" + s + "'"
}
