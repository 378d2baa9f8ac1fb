// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

const callHelp = `weir call starts an MCP server over stdio, calls one of its tools, prints the
text of the result, and ends the server.

  weir call [flags] TOOL ['{"arg":…}'] -- COMMAND…   calls TOOL
  weir call [flags] -- COMMAND…                      lists the tools

The arguments of TOOL are one JSON object, such as '{"name":"x"}'; without it
TOOL is called without arguments.

The server's stderr is passed through. It runs in a process group of its own:
Ctrl-C cancels the call at the server (notifications/cancelled) and ends the
server in order, a second Ctrl-C kills it, with all it has started.

Pages: -all asks for one after the other, and says in sum on stderr what came.
To page by hand, set WEIR_CURSOR_KEY to the same text for each call: every call
starts a new server, and a Weir server without that takes only its own cursors.

Exit status:
  0    the tool answered, or the tools were listed
  1    the tool's result is an error; its text is on stderr
  2    the command line is wrong
  3    the server did not start, ended early, broke the protocol, or answered
       with a JSON-RPC error
  4    -timeout passed
  130  interrupted by Ctrl-C or a signal
go run ends with 1 instead of any of these but 0; a program made by go build
or go install ./cmd/weir keeps them.

Flags:
`

// call is one run of weir call.
type call struct {
	env     *environment
	era     eraFlag
	all     bool
	json    bool
	timeout time.Duration
	limit   int
	raw     rawFile

	tool string
	args jsontext.Value

	h      *host.Host
	status status
	faults faultLog
}

var (
	errInterrupted = errors.New("interrupted")
	errTimeout     = errors.New("-timeout passed")
	errIsError     = errors.New("the tool's result is an error")
)

func runCall(env *environment, args []string) int {
	c := &call{env: env}
	command, err := c.parse(args)
	if err != nil {
		return mistake(env, "call", err)
	}
	c.status = status{w: env.stderr, on: env.errTerminal}
	ctx, cancel := context.WithCancelCause(context.Background())
	defer cancel(nil)
	err = c.run(ctx, cancel, command)
	c.status.clear()
	if !errors.Is(err, errBabble) && !errors.Is(err, host.ErrEcho) { // these say it themselves
		c.faults.report(env.stderr)
	}
	if rawErr := c.raw.close(); err == nil {
		err = rawErr
	}
	var usage *usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errIsError):
		return exitFault
	case errors.As(err, &usage):
		return mistake(env, "call", err)
	}
	c.say("%s", strings.TrimPrefix(err.Error(), "host: "))
	switch {
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errTimeout):
		return exitTimeout
	}
	return exitServer
}

// parse reads the command line, and returns the command of the server. It
// changes nothing outside of c.
func (c *call) parse(args []string) ([]string, error) {
	c.limit = host.DefaultLimit
	fs := flag.NewFlagSet("weir call", flag.ContinueOnError)
	fs.Var(&c.era, "era", "`ERA` to speak: legacy (an initialize handshake for 2025-11-25, the default), modern (2026-07-28), or a revision")
	fs.BoolVar(&c.all, "all", false, "call again with the argument \"cursor\" until there are no more pages")
	fs.BoolVar(&c.json, "json", false, "print the raw result, one line of JSON for each page")
	fs.Var(&c.raw, "raw", "keep the server's stdout in `FILE`, byte for byte; what FILE held is lost once the server has started")
	fs.Func("timeout", "how `LONG` one answer may take, such as 30s; 0, the default, means as long as it takes", func(s string) (err error) {
		c.timeout, err = parseTimeout(s)
		return err
	})
	fs.Func("limit", fmt.Sprintf("most `BYTES` of one message from the server (default %d)", c.limit), func(s string) (err error) {
		c.limit, err = parseLimit(s)
		return err
	})
	own, command, missing := splitCommand(args)
	if err := parseFlags(c.env, fs, callHelp, own); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	rest := fs.Args()
	if len(rest) == 0 {
		if c.all {
			return nil, usagef("-all: there is no TOOL to call")
		}
		return command, nil
	}
	c.tool = rest[0]
	switch {
	case strings.TrimSpace(c.tool) == "":
		return nil, usagef("TOOL is empty: give its name, or leave it out to list the tools")
	case strings.HasPrefix(c.tool, "{"):
		return nil, usagef("TOOL is missing: its name comes before the arguments %s", quoted(c.tool))
	case len(rest) > 2:
		return nil, usagef("%s: after TOOL and its arguments comes --", quoted(rest[2]))
	case len(rest) == 2:
		var err error
		if c.args, err = parseArguments(rest[1]); err != nil {
			return nil, err
		}
	}
	if c.all && c.era.protocol() < "2025-06-18" {
		return nil, usagef("-all: -era %s has no structured content, and so no cursors; use 2025-06-18 or later", c.era)
	}
	return command, nil
}

// run starts the server, does the work, and leaves nothing behind.
func (c *call) run(ctx context.Context, interrupt context.CancelCauseFunc, command []string) error {
	cfg := host.Config{
		Protocol: c.era.protocol(), Limit: c.limit, EndOnOversize: true, Keep: 1,
		Stderr: &c.status, OnFrame: c.faults.see, Grace: c.env.grace,
	}
	cfg.Name, cfg.Version = "weir call", version()
	c.status.next = c.env.stderr
	c.faults.giveUp = interrupt
	if c.raw.given() {
		cfg.Raw = &c.raw
	}
	h, err := host.Start(cfg, exec.Command(command[0], command[1:]...))
	if err != nil {
		return err
	}
	c.h = h
	if c.raw.given() {
		if err := c.raw.open(); err != nil {
			h.Kill()
			h.Close()
			return err
		}
	}
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		select {
		case <-c.env.signals:
			interrupt(errInterrupted)
		case <-h.Done():
			return
		}
		select {
		case <-c.env.signals:
			h.Kill()
		case <-h.Done():
		}
	}()
	err = c.talk(ctx)
	if errors.Is(context.Cause(ctx), errBabble) {
		h.CloseOutput() // a write ends it, where the end of stdin does not
	}
	endErr := h.Close()
	<-watched
	if exit := h.Metrics().Exit; exit != nil && len(exit.Survivors) > 0 && ctx.Err() == nil {
		c.say("warning: the server left processes behind, which were killed: %v", exit.Survivors)
	}
	var over *host.OversizeError
	switch {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case errors.As(err, &over):
		return fmt.Errorf("%w; -limit raises it", over)
	case err == nil && endErr != nil:
		return fmt.Errorf("the server answered, and then ended with: %w", endErr)
	}
	return err
}

// talk opens the session and calls the tool, or lists the tools.
func (c *call) talk(ctx context.Context) error {
	opened, err := c.open(ctx)
	if err != nil {
		return err
	}
	if c.tool == "" {
		return c.list(ctx, opened)
	}
	return c.pages(ctx)
}

// say writes one line to stderr.
func (c *call) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if c.env.errTerminal {
		text = harmless(text)
	}
	c.status.clear()
	fmt.Fprintf(c.env.stderr, "weir call: %s\n", text)
}
