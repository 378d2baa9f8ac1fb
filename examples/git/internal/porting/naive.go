// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package porting is the code of docs/porting.md: a tool around git log, from a
// program's whole output as one string to bounded pages.
package porting

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/weir-mcp/weir/tool"
)

type naiveInput struct {
	Repo     string `json:"repo"`
	Revision string `json:"revision"`
}

// naive returns whatever git prints. Do not keep it like this.
func naive(ctx context.Context, in naiveInput) (string, error) {
	cmd := exec.CommandContext(ctx, "git", "log", in.Revision)
	cmd.Dir = in.Repo
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("git log: %w", err)
	}
	return string(out), nil
}

func addNaive(tools *tool.Registry) {
	tool.AddFunc(tools, tool.Info{Name: "git_log", Description: "Shows the history."}, naive)
}
