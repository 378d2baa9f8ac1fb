// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/gate"
)

const gateHelp = `weir gate runs the release gate against an MCP server over stdio, in any
language: it starts the server again and again, does to it what hosts do and
what happens to hosts, and prints a verdict for each check, what was seen, and
why it matters.

  weir gate [flags] -- COMMAND…

Without knowing the server's tools it looks at its stdout byte by byte, at what
it does with odd and broken input, at its end, and at its use of the machine.
What needs a tool is tried when one is given, with its arguments as one JSON
object; each flag may be given several times:

  -call NAME ['{"arg":…}']   a quick tool with a small result
  -slow NAME ['{"arg":…}']   one that takes several seconds (best: three, less than
                             -deadline) and heeds a cancel;
                             better two: one that works in the server itself,
                             and one that runs a child process
  -big NAME ['{"arg":…}']    one with a large result. Its numbers and texts are
                             made larger, to reach a size to the byte (texts up
                             to 4 times -limit); cancel-c4 needs 256 KiB or more
                             in one result
  -noisy NAME ['{"arg":…}']  one that writes to stderr, much or often

The tools are called for real, many times. The server's stderr is looked at and
not shown. Some checks look through /proc, which only Linux has.

Verdicts: pass; fault (a host will lose answers, or more); warning (no rule is
broken, or only one that a host can live with); not tried, with what to give.

Exit status:
  0    no fault; with -strict, nothing but passes
  1    a fault; with -strict, also a warning or what was not tried
  2    the command line is wrong, or names a tool that the server does not list
  3    the command of the server could not be executed, or a report (stdout,
       -junit, -raw) could not be written. A server that runs and ends at once
       is a fault
  130  interrupted by Ctrl-C or a signal; no process of the server is left

Checks (the cases of a release gate are numbered 1 to 8):
`

// gateRun is one run of weir gate.
type gateRun struct {
	env    *environment
	o      gate.Options
	json   bool
	junit  string
	strict bool
	raw    string
	status status
}

func runGate(env *environment, args []string) int {
	r := &gateRun{env: env}
	if err := r.parse(args); err != nil {
		return mistake(env, "gate", err)
	}
	var junit *junitFile
	if r.junit != "" {
		f, err := createJUnit(r.junit)
		if err != nil {
			return mistake(env, "gate", usagef("-junit: %v", err))
		}
		junit = f
		defer f.discard()
	}
	if r.raw != "" {
		r.o.Raw = r.openRaw
	}
	r.status = status{w: env.stderr, on: env.errTerminal}
	r.o.Version = version()
	if env.errTerminal {
		r.o.Progress = r.progress
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	go func() {
		select {
		case <-env.signals:
			cancel(errInterrupted)
		case <-ctx.Done():
		}
	}()
	report, err := gate.Run(ctx, r.o)
	r.status.clear()
	if err == nil {
		err = r.print(report)
	}
	var unknown *gate.UnknownToolError
	if errors.As(err, &unknown) {
		err = noTool(unknown)
	}
	if junit != nil {
		var b bytes.Buffer
		var failed error
		switch {
		case report != nil:
			failed = report.JUnit(&b, r.strict)
		case errors.Is(err, gate.ErrStart):
			failed = gate.JUnitFailure(&b, err)
		}
		if failed == nil && b.Len() > 0 {
			failed = junit.write(b.Bytes())
		}
		if failed != nil && err == nil {
			err = fmt.Errorf("-junit: %w", failed)
		}
	}
	var usage *usageError
	switch {
	case err == nil && report.Failed(r.strict):
		return exitFault
	case err == nil:
		return exitOK
	case errors.As(err, &usage):
		return mistake(env, "gate", err)
	}
	text := strings.TrimPrefix(err.Error(), "gate: ")
	if env.errTerminal {
		text = harmless(text)
	}
	fmt.Fprintf(env.stderr, "weir gate: %s\n", text)
	if errors.Is(err, errInterrupted) {
		return exitInterrupted
	}
	return exitServer
}

// openRaw opens the file of a session: that of the plain conversation is the
// one that -raw names, the others have the session's name after it.
func (r *gateRun) openRaw(session string) (io.WriteCloser, error) {
	name := r.raw
	if session != "plain" {
		name += "." + session
	}
	f, err := os.Create(name)
	if err != nil {
		return nil, usagef("-raw: %v", err)
	}
	return f, nil
}

// noTool says that the server has no such tool, and which was probably meant.
func noTool(e *gate.UnknownToolError) error {
	text := fmt.Sprintf("-%s: there is no tool %s (there are %s)", e.Flag, quoted(e.Tool), some(e.Have))
	if len(e.Have) == 1 {
		text = fmt.Sprintf("-%s: there is no tool %s (there is %s alone)", e.Flag, quoted(e.Tool), e.Have[0])
	}
	if near := nearest(e.Tool, e.Have); len(near) > 0 {
		text += fmt.Sprintf(": did you mean %s?", near[0])
	}
	return usagef("%s", text)
}

// some lists the first names.
func some(names []string) string {
	const most = 20
	if len(names) > most {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return strings.Join(names, ", ")
}

// progress shows how far the run has come, on a terminal.
func (r *gateRun) progress(p gate.Progress) {
	r.status.set(fmt.Sprintf("%d of %d checks done; %s", p.Done, p.Total, strings.Join(p.Running, ", ")))
}

// print writes the report to stdout.
func (r *gateRun) print(report *gate.Report) error {
	if r.json {
		b, err := json.Marshal(report, jsontext.Multiline(true), jsontext.AllowInvalidUTF8(true))
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(r.env.stdout, "%s\n", b)
		return err
	}
	var b strings.Builder
	if err := report.Text(&b); err != nil {
		return err
	}
	text := b.String()
	if r.env.outTerminal {
		text = harmless(text)
	}
	_, err := io.WriteString(r.env.stdout, text)
	return err
}
