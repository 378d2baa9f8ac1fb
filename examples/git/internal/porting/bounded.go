// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/tool"
)

type boundedInput struct {
	Revision string `json:"revision,omitempty" jsonschema:"description=A branch\\, tag or commit,default=HEAD"`
}

// git is the command in a directory that the author has chosen.
func git(dir string, args ...string) exec.Cmd {
	return exec.Cmd{
		Path:     "git",
		Args:     append([]string{"--no-pager"}, args...),
		Dir:      dir,
		CleanEnv: true,
		Env:      []string{"GIT_TERMINAL_PROMPT=0", "LC_ALL=C.UTF-8"},
	}
}

// commit resolves a revision to an id, which no program takes for an option.
func commit(ctx context.Context, dir, revision string) (string, error) {
	if strings.HasPrefix(revision, "-") {
		return "", fmt.Errorf("revision %q: no revision begins with a dash", revision)
	}
	out, err := exec.Run(ctx, git(dir, "rev-parse", "--verify", "--quiet", "--end-of-options", revision+"^{commit}"))
	switch {
	case err != nil: // git could not be started
		return "", err
	case !out.Success():
		return "", fmt.Errorf("there is no commit %q here; HEAD is the current one", revision)
	}
	return strings.TrimSpace(out.Stdout.Head), nil
}

// addBounded is the tool that returns what became of git.
func addBounded(tools *tool.Registry, dir string) {
	info := tool.Info{Name: "git_log", Description: "Shows the history of a revision.", ReadOnly: tool.Yes}
	tool.AddFunc(tools, info, func(ctx context.Context, in boundedInput) (*exec.Output, error) {
		id, err := commit(ctx, dir, in.Revision)
		if err != nil {
			return nil, err
		}
		return exec.Run(ctx, git(dir, "log", "--oneline", id, "--"))
	})
}
