// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package porting holds the steps of docs/porting.md, which quotes it: a grep
// tool as it is often found, and what becomes of it. The whole tool is
// examples/grep.
package porting

import (
	"context"
	"fmt"
	"os/exec"

	"github.com/weir-mcp/weir/tool"
)

type naiveInput struct {
	Pattern string `json:"pattern" jsonschema:"description=what to search for"`
	Path    string `json:"path" jsonschema:"description=where to search"`
}

// naive runs grep and returns all it printed. Do not keep it like this.
func naive(ctx context.Context, in naiveInput) (string, error) {
	out, err := exec.CommandContext(ctx, "grep", "-rn", in.Pattern, in.Path).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("grep: %w", err)
	}
	return string(out), nil
}

func addNaive(tools *tool.Registry) {
	tool.AddFunc(tools, tool.Info{Name: "grep", Description: "Searches files."}, naive)
}
