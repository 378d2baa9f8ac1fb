// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sshexec

import (
	"context"
	"io"
	"net"
	"os"
)

// defaultAgent is the agent's socket when none is given; empty when there is
// no agent.
func defaultAgent() string { return os.Getenv("SSH_AUTH_SOCK") }

// dialAgent connects to the agent's socket.
func dialAgent(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
