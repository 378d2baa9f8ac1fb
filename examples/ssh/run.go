// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/tool"
)

type runInput struct {
	Host           string   `json:"host" jsonschema:"minLength=1,maxLength=63" jsonschema_description:"Name of the machine, as the tool hosts lists it."`
	Command        string   `json:"command" jsonschema:"minLength=1,maxLength=4096" jsonschema_description:"The program, without arguments."`
	Args           []string `json:"args,omitempty" jsonschema:"maxItems=1000" jsonschema_description:"Its arguments, one item each. No shell sees them: quotes, variables, pipes and wildcards are only text."`
	TimeoutSeconds int      `json:"timeoutSeconds,omitzero" jsonschema:"minimum=1,maximum=600" jsonschema_description:"End the command after this time. It can only be less than what the server allows."`
	MaxBytes       int      `json:"maxBytes,omitzero" jsonschema:"minimum=1024" jsonschema_description:"Make the result smaller than usual: its size in bytes."`
}

func (f *fleet) addRun(tools *tool.Registry, store *artifact.Store) {
	info := tool.Info{
		Name: "run", Title: "Run a command",
		Description: "Runs a command on a machine and returns its exit status and what it wrote: the start and, above all, the end of both streams when that is long, and then all of it as an artifact. " +
			"It has no input and no terminal, and ends with the call. Which commands are allowed, the tool hosts lists.",
		ReadOnly: tool.Yes, OpenWorld: tool.Yes,
		Timeout: f.timeout + 10*time.Second,
	}
	some := f.may.any
	for i := range f.machines {
		for j := range f.machines[i].commands {
			c := &f.machines[i].commands[j]
			some = some || f.permits(c)
			if c.destructive && f.permits(c) {
				info.ReadOnly, info.Destructive = tool.No, tool.Yes
			}
		}
	}
	if f.may.any {
		info.ReadOnly, info.Destructive = tool.No, tool.Yes
		info.Description += " Here any command is allowed; a shell is one only when it is named: sh with the arguments -c and the line."
	}
	if some {
		tool.AddFunc(tools, info, func(ctx context.Context, in runInput) (*exec.Output, error) { return f.run(ctx, in, store) })
	}
}

// run is the handler of run.
func (f *fleet) run(ctx context.Context, in runInput, store *artifact.Store) (*exec.Output, error) {
	m, err := f.machine(in.Host)
	if err != nil {
		return nil, err
	}
	if err := f.check(m, in.Command, in.Args); err != nil {
		f.log.Warn("command refused", "host", m.name)
		return nil, err
	}
	host, err := f.reach(m)
	if err != nil {
		return nil, err
	}
	all, err := store.Create("run on "+m.name, "text/plain")
	if err != nil {
		return nil, err
	}
	defer all.Close()
	limit := f.timeout
	if d := time.Duration(in.TimeoutSeconds) * time.Second; d > 0 {
		limit = min(limit, d)
	}
	out, err := host.Run(ctx, exec.Cmd{
		Path: in.Command, Args: in.Args,
		Stdout:  exec.Preview{Head: 4 << 10, Tail: 16 << 10},
		Stderr:  exec.Preview{Head: 2 << 10, Tail: 6 << 10},
		Sink:    all,
		Redact:  f.secrets,
		Timeout: limit,
	})
	if err != nil {
		return nil, f.explain(m, err)
	}
	out.Stdout, out.Stderr = trim(out, in.MaxBytes)
	if partial := out.Stdout.Truncated || out.Stderr.Truncated || out.Stdout.Invalid || out.Stderr.Invalid; partial && out.Full == "" {
		if out.Full, err = all.Keep(); err != nil {
			f.log.Warn("an output is not kept", "host", m.name, "error", err)
		}
	}
	return out, nil
}

// trim are the streams of an output that is to take so many bytes; 0 means the
// budget.
func trim(out *exec.Output, most int) (stdout, stderr exec.Stream) {
	b := result.Budget{Bytes: most}.WithDefaults(result.Budget{})
	fitted := out.Result(b).Structured.(*exec.Output)
	return fitted.Stdout, fitted.Stderr
}

// check refuses a command that the policy does not allow there.
func (f *fleet) check(m *machine, program string, args []string) error {
	var marked *command
	for i := range m.commands {
		if c := &m.commands[i]; c.matches(program, args) {
			if f.permits(c) {
				return nil
			}
			marked = c
		}
	}
	if f.may.any {
		return nil
	}
	said := command{argv: append([]string{program}, args...)}
	if marked != nil {
		return fmt.Errorf("command: %s changes something on %s, and this server was started without -destructive: ask the operator, or the user, to do it", said.shown(), m.name)
	}
	allowed := f.allowed(m)
	if len(allowed) == 0 {
		return fmt.Errorf("command: no command may be run on %s", m.name)
	}
	same := slices.DeleteFunc(slices.Clone(allowed), func(s string) bool {
		first, _, _ := strings.Cut(s, " ")
		return first != program
	})
	if len(same) > 0 {
		return fmt.Errorf("command: %s is not allowed on %s. %s may be run there as: %s. %s", said.shown(), m.name, program, list(same, "; ", 1500), commandRules)
	}
	hint := ""
	if strings.ContainsAny(program, " \t") {
		hint = " command is the program alone; its arguments belong into args."
	}
	return fmt.Errorf("command: %s is not allowed on %s.%s Allowed there: %s", said.shown(), m.name, hint, list(allowed, "; ", 1500))
}
