// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package hosts drives Weir's examples with hosts that were written by others: the clients of go-sdk and mcp-go here, the
// TypeScript client and the MCP Inspector's command line by the scripts in node/. Each check is a sentence; one that fails says what was
// found instead.
package hosts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// Options says which hosts to run.
type Options struct {
	Only []string  // names; none means all, those on Node.js only where it is installed
	Out  io.Writer // a line a check; nil means discard it
}

// Names lists the hosts.
func Names() []string { return []string{"go-sdk", "mcp-go", "typescript", "inspector"} }

// ErrFailed is returned when a check failed; which one was printed.
var ErrFailed = errors.New("a check failed")

// patience bounds one check. It is a fail-safe and measures nothing.
const patience = 60 * time.Second

// Run builds the examples and runs the checks. Its last line is "N passed, N failed".
func Run(ctx context.Context, o Options) error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	for _, n := range o.Only {
		if !slices.Contains(Names(), n) {
			return fmt.Errorf("no host %q; there are %s", n, strings.Join(Names(), ", "))
		}
	}
	w, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	s := servers{}
	if s.fixture, err = w.Build(ctx, w.Root, "./examples/fixture"); err != nil {
		return err
	}
	if s.grep, err = w.Build(ctx, w.Root, "./examples/grep"); err != nil {
		return err
	}
	if s.tree, err = os.MkdirTemp(w.Bin, "tree-"); err != nil {
		return err
	}
	if s.matches, err = plant(s.tree); err != nil {
		return err
	}
	if s.git, err = w.Build(ctx, w.Root, "./examples/git"); err != nil {
		return err
	}
	if s.repo, err = os.MkdirTemp(w.Bin, "repo-"); err != nil {
		return err
	}
	if s.commits, err = plantGit(ctx, s.repo); err != nil {
		return err
	}

	c := &checks{out: o.Out}
	for _, h := range goHosts {
		if wanted(o, h.name) {
			h.run(ctx, c, s)
		}
	}
	for _, name := range []string{"typescript", "inspector"} {
		if wanted(o, name) {
			if err := runNode(ctx, c, w, s, name, len(o.Only) > 0); err != nil {
				return err
			}
		}
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	fmt.Fprintf(o.Out, "%d passed, %d failed\n", c.passed, c.failed)
	if c.failed > 0 {
		return ErrFailed
	}
	return nil
}

func wanted(o Options, name string) bool { return len(o.Only) == 0 || slices.Contains(o.Only, name) }

// servers is what the hosts talk to.
type servers struct {
	fixture, grep string   // programs
	tree          string   // what grep serves
	matches       []string // path:line of every line in tree that has "match", sorted
	git           string   // program
	repo          string   // what git serves
	commits       []string // ids of every commit in repo, the newest first
}

// checks counts.
type checks struct {
	out            io.Writer
	passed, failed int
}

// check runs f, which returns what is wrong.
func (c *checks) check(ctx context.Context, name string, f func(context.Context) error) {
	if ctx.Err() != nil {
		return
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("not done in %v", patience))
	defer cancel()
	err := f(ctx)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	c.result(name, err)
}

func (c *checks) result(name string, err error) {
	if err == nil {
		c.passed++
		fmt.Fprintf(c.out, "ok    %s\n", name)
		return
	}
	c.failed++
	fmt.Fprintf(c.out, "FAIL  %s: %v\n", name, err)
}

// session is one library's client, connected to one server.
type session interface {
	revision() string                            // the protocol revision agreed on
	tools(ctx context.Context) ([]string, error) // all pages of the list
	call(ctx context.Context, tool string, arguments map[string]any) (reply, error)
	resources(ctx context.Context) ([]string, error)      // the URIs of all pages of the list
	read(ctx context.Context, uri string) (string, error) // the text of a resource
	close()
}

// reply is the result of a call.
type reply struct {
	text       string // of all text blocks
	structured []byte // JSON as the library gives it back; nil for none
	isError    bool
}

// program is a server to start.
type program struct {
	path   string
	args   []string
	stderr *drive.Tail
}

// goHost is a client library in one era.
type goHost struct {
	name     string
	revision string
	dial     func(ctx context.Context, p program, revision string) (session, error)
}

var goHosts = []goHost{
	{"go-sdk", "2025-11-25", dialGoSDK},
	{"go-sdk", "2026-07-28", dialGoSDK},
	{"mcp-go", "2025-11-25", dialMCPGo},
	{"mcp-go", "2026-07-28", dialMCPGo},
}

// run runs every check with this host.
func (h goHost) run(ctx context.Context, c *checks, s servers) {
	h.with(ctx, c, "fixture", program{path: s.fixture}, fixtureChecks)
	h.with(ctx, c, "fixture -tools 6000", program{path: s.fixture, args: []string{"-tools", "6000"}}, longListChecks)
	h.with(ctx, c, "fixture -artifacts", program{path: s.fixture, args: artifactArgs}, artifactChecks)
	h.with(ctx, c, "grep", program{path: s.grep, args: []string{"-root", s.tree}}, grepChecks(s))
	h.with(ctx, c, "git", program{path: s.git, args: []string{"-root", s.repo}}, gitChecks(s))
}

// namedCheck is a check on a session.
type namedCheck struct {
	name string
	f    func(context.Context, session, *drive.Tail) error
}

// with starts one server and runs checks on it, one after the other, in one session.
func (h goHost) with(ctx context.Context, c *checks, server string, p program, list []namedCheck) {
	prefix := h.name + " " + h.revision + ", " + server + ": "
	p.stderr = drive.NewTail()
	var s session
	c.check(ctx, prefix+"connects", func(ctx context.Context) (err error) {
		if s, err = h.dial(ctx, p, h.revision); err != nil {
			return fmt.Errorf("%w; stderr: %q", err, p.stderr.Last())
		}
		if got := s.revision(); got != h.revision {
			return fmt.Errorf("revision %s was agreed on", got)
		}
		return nil
	})
	if s == nil {
		return
	}
	defer s.close()
	for _, k := range list {
		c.check(ctx, prefix+k.name, func(ctx context.Context) error { return k.f(ctx, s, p.stderr) })
	}
}
