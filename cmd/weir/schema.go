// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/toollist"
)

const schemaHelp = `weir schema prints the tools of an MCP server as JSON that is the same each
time, for review in version control; or says what hosts reject in it, or what
changed since it was saved.

  weir schema [flags] -- COMMAND…             prints the tools
  weir schema -lint [flags] -- COMMAND…       reports what hosts reject
  weir schema -diff FILE [flags] -- COMMAND…  reports what changed since FILE

In place of -- COMMAND… may stand one file with a saved list: what weir schema
or weir call -json printed, or the response to tools/list. So two files are
compared without a server: weir schema -diff OLD NEW.

Save the list with the code, and compare with it in CI:

  weir schema -- COMMAND… > tools.json
  weir schema -diff tools.json -- COMMAND…

-diff judges each change. "breaks callers" means that calls which were right
are refused, or that results hold what callers do not expect; "review" that it
depends on what the tool does, or on the caller, as with a description, a
default or a hint; "compatible" that what worked goes on to work. A new input
schema has to take all that the old one took, a new output schema may only let
through what the old one did. A model reads the list anew each time; programs,
saved prompts and tests do not.

Exit status:
  0    printed; or no host rejects anything; or no change breaks callers
  1    -lint: a host rejects a tool, the server or its requests; -diff: a change
       breaks callers; with -strict also for warnings, and changes to review
  2    the command line is wrong, or a file is not there or holds no list
  3    the server did not start, ended early, broke the protocol, or answered
       with a JSON-RPC error
  4    -timeout passed
  130  interrupted by Ctrl-C or a signal
go run ends with 1 instead of any of these but 0; a program made by go build
or go install ./cmd/weir keeps them.

Flags:
`

// schema is one run of weir schema.
type schema struct {
	session
	lint   bool
	diff   oldList
	strict bool
	json   bool
}

func runSchema(env *environment, args []string) int {
	s := &schema{session: session{env: env, name: "schema"}}
	command, file, err := s.parse(args)
	if err != nil {
		return mistake(env, "schema", err)
	}
	if file != "" {
		list, err := readList(file)
		if err != nil {
			return mistake(env, "schema", err)
		}
		return s.end(s.report(list, file))
	}
	return s.serve(command, s.talk)
}

// parse reads the command line, and the list to compare with. It returns the
// command of the server, or the file to read instead of asking one.
func (s *schema) parse(args []string) (command []string, file string, err error) {
	fs := flag.NewFlagSet("weir schema", flag.ContinueOnError)
	s.flags(fs)
	fs.BoolVar(&s.lint, "lint", false, "report what known hosts reject or mishandle, and what to change")
	fs.Var(&s.diff, "diff", "report what changed since `FILE` was saved, and whether that breaks callers")
	fs.BoolVar(&s.strict, "strict", false, "with -lint, exit with 1 for warnings too; with -diff, for changes to review")
	fs.BoolVar(&s.json, "json", false, "with -lint or -diff, print the report as one JSON value")
	own, command, missing := splitCommand(args)
	if err := parseFlags(s.env, fs, schemaHelp, "FILE", own); err != nil {
		return nil, "", err
	}
	rest := fs.Args()
	switch {
	case s.lint && s.diff.given():
		return nil, "", usagef("-lint and -diff: give one of them")
	case s.strict && !s.lint && !s.diff.given():
		return nil, "", usagef("-strict: it is for -lint and -diff")
	case s.json && !s.lint && !s.diff.given():
		return nil, "", usagef("-json: it is for -lint and -diff; the tools are printed as JSON anyway")
	case len(rest) > 0 && !slices.Contains(args, "--"):
		if len(rest) > 1 {
			return nil, "", usagef("%s: one file is enough", quoted(rest[1]))
		}
		if set := serverFlag(fs); set != "" {
			return nil, "", usagef("-%s: there is no server to ask; %s is read", set, quoted(rest[0]))
		}
	case missing != nil:
		return nil, "", usagef("%v, or a file with a saved list", missing)
	case len(rest) > 0:
		return nil, "", usagef("%s: before -- there are only flags", quoted(rest[0]))
	}
	if err := s.diff.read(); err != nil {
		return nil, "", err
	}
	if len(rest) > 0 {
		return nil, rest[0], nil
	}
	return command, "", nil
}

// serverFlag is the first flag given that is about a server; "" for none.
func serverFlag(fs *flag.FlagSet) (name string) {
	fs.Visit(func(f *flag.Flag) {
		if name == "" && slices.Contains([]string{"era", "limit", "raw", "timeout"}, f.Name) {
			name = f.Name
		}
	})
	return name
}

// talk asks for all pages of the list.
func (s *schema) talk(ctx context.Context, opened jsontext.Value) error {
	all, err := within(ctx, &s.session, "tools/list", func(ctx context.Context) (all []byte, err error) {
		for page, err := range s.h.Pages(ctx, "tools/list") {
			if err != nil {
				return nil, err
			}
			all = append(append(all, page...), '\n')
		}
		return all, nil
	})
	if err != nil {
		return err
	}
	list, err := toollist.Parse(all)
	if err != nil {
		return fmt.Errorf("result of tools/list: %w", err)
	}
	return s.report(list, serverName(opened))
}

// report prints what was asked for about the list that where has.
func (s *schema) report(list *toollist.List, where string) error {
	s.status.clear()
	switch {
	case s.lint:
		return s.linted(list, where)
	case s.diff.given():
		return s.changed(list, where)
	}
	if len(list.Tools) == 0 {
		fmt.Fprintf(s.env.stderr, "weir schema: %s has no tools\n", where)
	}
	return s.printText(string(list.Append(nil)))
}

// oldList is the flag -diff: a file with a saved list.
type oldList struct {
	name string
	list *toollist.List
}

func (o *oldList) String() string { return o.name }

func (o *oldList) Set(name string) error {
	if name == "" {
		return errors.New("the name of a file is empty")
	}
	o.name = name
	return nil
}

func (o *oldList) given() bool { return o.name != "" }

// read reads the file, if there is one: before a server is started, since what
// is wrong with it is soon said.
func (o *oldList) read() (err error) {
	if !o.given() {
		return nil
	}
	if o.list, err = readList(o.name); err != nil {
		return usagef("-diff: %v", err)
	}
	return nil
}

// readList reads a saved list.
func readList(name string) (*toollist.List, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, &usageError{err.Error()}
	}
	list, err := toollist.Parse(text)
	if err != nil {
		return nil, usagef("%s holds no list of tools: %s", quoted(name), strings.TrimPrefix(err.Error(), "jsontext: "))
	}
	return list, nil
}
