// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package porting is the code of docs/porting.md: a tool that runs a command on
// another machine, from CombinedOutput of golang.org/x/crypto/ssh to sshexec.
package porting

import (
	"context"
	"fmt"

	"golang.org/x/crypto/ssh"

	"github.com/weir-mcp/weir/tool"
)

type naiveInput struct {
	Unit string `json:"unit"`
}

// naive returns whatever the machine prints. Do not keep it like this.
func naive(client *ssh.Client) func(context.Context, naiveInput) (string, error) {
	return func(ctx context.Context, in naiveInput) (string, error) {
		session, err := client.NewSession()
		if err != nil {
			return "", err
		}
		defer session.Close()
		out, err := session.CombinedOutput("systemctl status " + in.Unit)
		if err != nil {
			return "", fmt.Errorf("systemctl: %w", err)
		}
		return string(out), nil
	}
}

func addNaive(tools *tool.Registry, client *ssh.Client) {
	tool.AddFunc(tools, tool.Info{Name: "unit_status", Description: "Shows the status of a unit."}, naive(client))
}
