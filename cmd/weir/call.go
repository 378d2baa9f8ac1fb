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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

const callHelp = `weir call starts an MCP server over stdio, calls one of its tools, prints the
text of the result, and ends the server.

  weir call [flags] TOOL ['{"arg":…}'] -- COMMAND…   calls TOOL
  weir call [flags] -- COMMAND…                      lists the tools

The server's stderr is passed through. It runs in a process group of its own:
Ctrl-C cancels the call at the server (notifications/cancelled) and ends the
server in order, a second Ctrl-C kills it, with all it has started.

Exit status:
  0    the tool answered, or the tools were listed
  1    the tool's result is an error; its text is on stderr
  2    the command line is wrong
  3    the server did not start, ended early, broke the protocol, or answered
       with a JSON-RPC error
  4    -timeout passed
  130  interrupted by Ctrl-C or a signal

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
	c.faults.report(env.stderr)
	if rawErr := c.raw.close(); err == nil {
		err = rawErr
	}
	if err != nil && !errors.Is(err, errIsError) {
		fmt.Fprintf(env.stderr, "weir call: %s\n", strings.TrimPrefix(err.Error(), "host: "))
	}
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errIsError):
		return exitFault
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errTimeout):
		return exitTimeout
	}
	return exitServer
}

// parse reads the command line, and returns the command of the server.
func (c *call) parse(args []string) ([]string, error) {
	fs := flag.NewFlagSet("weir call", flag.ContinueOnError)
	fs.Var(&c.era, "era", "`ERA` to speak: legacy (an initialize handshake for 2025-11-25, the default), modern (2026-07-28), or a revision")
	fs.BoolVar(&c.all, "all", false, "call again with the argument \"cursor\" until there are no more pages")
	fs.BoolVar(&c.json, "json", false, "print the raw result, one line of JSON for each page")
	fs.Var(&c.raw, "raw", "keep the server's stdout in `FILE`, byte for byte")
	fs.DurationVar(&c.timeout, "timeout", 0, "how `LONG` one answer may take, such as 30s; 0 means as long as it takes")
	fs.IntVar(&c.limit, "limit", host.DefaultLimit, "most `BYTES` of one message from the server")
	own, command, missing := splitCommand(args)
	if err := parseFlags(c.env, fs, callHelp, own); err != nil {
		return nil, err
	}
	if missing != nil {
		return nil, missing
	}
	if c.limit <= 0 {
		return nil, usagef("-limit: %d is not a number of bytes", c.limit)
	}
	if c.timeout < 0 {
		return nil, usagef("-timeout: %v is negative", c.timeout)
	}
	rest := fs.Args()
	switch len(rest) {
	case 0:
		if c.all {
			return nil, usagef("-all: there is no TOOL to call")
		}
		return command, nil
	case 1:
	case 2:
		c.args = jsontext.Value(rest[1])
		if err := c.args.Compact(); err != nil {
			return nil, usagef("arguments %s: %v", rest[1], err)
		}
		if c.args.Kind() != '{' {
			return nil, usagef("arguments %s: not a JSON object", rest[1])
		}
	default:
		return nil, usagef("%q: after TOOL and its arguments comes --", rest[2])
	}
	c.tool = rest[0]
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
	if c.raw.f != nil {
		cfg.Raw = &c.raw
	}
	h, err := host.Start(cfg, exec.Command(command[0], command[1:]...))
	if err != nil {
		return err
	}
	c.h = h
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
	endErr := h.Close()
	<-watched
	if exit := h.Metrics().Exit; exit != nil && len(exit.Survivors) > 0 && ctx.Err() == nil {
		c.status.clear()
		fmt.Fprintf(c.env.stderr, "weir call: warning: the server left processes behind, which were killed: %v\n", exit.Survivors)
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
	opened, err := within(ctx, c.timeout, c.h.Open)
	if err != nil {
		return c.hint(err)
	}
	if c.tool == "" {
		return c.list(ctx, opened)
	}
	args, cursor := c.args, ""
	pages, items := 0, 0
	for {
		r, err := within(ctx, c.timeout, func(ctx context.Context) (*host.Result, error) {
			return c.h.CallProgress(ctx, c.tool, arguments(args), c.progress)
		})
		if err != nil {
			return err
		}
		c.status.clear()
		if err := c.print(r); err != nil {
			return err
		}
		if r.IsError {
			return errIsError
		}
		page := r.Page()
		if !c.all || page.More == "" {
			return nil
		}
		if page.More == cursor {
			return errors.New("the tool gave the same nextCursor twice")
		}
		cursor = page.More
		if args, err = withCursor(c.args, cursor); err != nil {
			return err
		}
		pages, items = pages+1, items+page.Items
		of := ""
		if page.Total >= 0 {
			of = fmt.Sprintf(" of %d", page.Total)
		}
		c.status.set(fmt.Sprintf("%d pages, %d%s items, %d bytes", pages, items, of, c.h.Metrics().Received))
	}
}

// arguments is nil for none, so that they are left out of the request.
func arguments(v jsontext.Value) any {
	if v == nil {
		return nil
	}
	return v
}

// within runs fn with the time limit of one answer.
func within[T any](ctx context.Context, limit time.Duration, fn func(context.Context) (T, error)) (T, error) {
	if limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, errTimeout)
		defer cancel()
	}
	return fn(ctx)
}

// hint adds to an error of the handshake what may help.
func (c *call) hint(err error) error {
	var rpc *host.Error
	if !errors.As(err, &rpc) {
		return err
	}
	other := "modern"
	if host.IsModern(c.era.protocol()) {
		other = "legacy"
	}
	return fmt.Errorf("%w (the server may need -era %s)", err, other)
}

// withCursor returns args with the argument "cursor" set.
func withCursor(args jsontext.Value, cursor string) (jsontext.Value, error) {
	members := map[string]jsontext.Value{}
	if args != nil {
		if err := json.Unmarshal(args, &members); err != nil {
			return nil, err
		}
	}
	quoted, err := jsontext.AppendQuote(nil, cursor)
	if err != nil {
		return nil, fmt.Errorf("nextCursor: %w", err)
	}
	members["cursor"] = quoted
	return json.Marshal(members, json.Deterministic(true))
}

func (c *call) progress(p host.Progress) {
	s := fmt.Sprintf("%s: %.6g", c.tool, p.Progress)
	if p.Total > 0 {
		s += fmt.Sprintf(" of %.6g", p.Total)
	}
	c.status.set(strings.TrimSpace(s + " " + p.Message))
}
