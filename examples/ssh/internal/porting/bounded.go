// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"context"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/sshexec"
	"github.com/weir-mcp/weir/tool"
)

type boundedInput struct {
	Host string `json:"host" jsonschema:"description=Which machine,enum=web1,enum=web2"`
	Unit string `json:"unit" jsonschema:"description=Name of the unit,pattern=^[a-z][a-z0-9@.-]*$"`
}

// newPool finds hosts as the ssh program does: ~/.ssh/config says how to reach
// them, the agent and key files how to get in, known_hosts whom to trust.
func newPool() *sshexec.Pool {
	var config sshexec.Config
	return &sshexec.Pool{Open: config.Host}
}

// addBounded is the tool that returns what became of the command.
func addBounded(tools *tool.Registry, pool *sshexec.Pool) {
	info := tool.Info{Name: "unit_status", Description: "Shows the status of a unit.", ReadOnly: tool.Yes}
	tool.AddFunc(tools, info, func(ctx context.Context, in boundedInput) (*exec.Output, error) {
		host, err := pool.Host(in.Host)
		if err != nil {
			return nil, err
		}
		return host.Run(ctx, exec.Cmd{
			Path: "systemctl", Args: []string{"status", "--no-pager", "--", in.Unit},
			Timeout: 30 * time.Second,
		})
	})
}
