// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"flag"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
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
	session
	all  bool
	json bool

	tool string
	args jsontext.Value
}

func runCall(env *environment, args []string) int {
	c := &call{session: session{env: env, name: "call"}}
	command, err := c.parse(args)
	if err != nil {
		return mistake(env, "call", err)
	}
	return c.serve(command, c.talk)
}

// parse reads the command line, and returns the command of the server. It
// changes nothing outside of c.
func (c *call) parse(args []string) ([]string, error) {
	fs := flag.NewFlagSet("weir call", flag.ContinueOnError)
	c.flags(fs)
	fs.BoolVar(&c.all, "all", false, "call again with the argument \"cursor\" until there are no more pages")
	fs.BoolVar(&c.json, "json", false, "print the raw result, one line of JSON for each page")
	own, command, missing := splitCommand(args)
	if err := parseFlags(c.env, fs, callHelp, "TOOL", own); err != nil {
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

// talk calls the tool, or lists the tools.
func (c *call) talk(ctx context.Context, opened jsontext.Value) error {
	if c.tool == "" {
		return c.list(ctx, opened)
	}
	return c.pages(ctx)
}
