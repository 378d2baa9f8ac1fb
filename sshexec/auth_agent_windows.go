// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
)

// pipePrefix begins the name of a named pipe.
const pipePrefix = `\\.\pipe\`

// defaultAgent is the agent's socket when none is given: that of the
// environment, else the pipe of the system's own agent.
func defaultAgent() string {
	if s := os.Getenv("SSH_AUTH_SOCK"); s != "" {
		return s
	}
	const pipe = pipePrefix + "openssh-ssh-agent"
	if _, err := os.Stat(pipe); err != nil {
		return ""
	}
	return pipe
}

// dialAgent connects to the agent's named pipe or socket. A pipe is opened for
// overlapped operations, so that closing it ends a read.
func dialAgent(ctx context.Context, socket string) (io.ReadWriteCloser, error) {
	if strings.HasPrefix(strings.ReplaceAll(socket, "/", `\`), pipePrefix) {
		const overlapped = 0x40000000 // FILE_FLAG_OVERLAPPED
		return os.OpenFile(socket, syscall.O_RDWR|overlapped, 0)
	}
	var d net.Dialer
	return d.DialContext(ctx, "unix", socket)
}
