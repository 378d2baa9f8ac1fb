// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/sshexec"
)

func Example() {
	// Keys come from the agent and ~/.ssh, host keys from ~/.ssh/known_hosts.
	host := &sshexec.Host{Name: "web1", Address: "web1.invalid", User: "deploy", ConnectTimeout: 5 * time.Second}
	defer host.Close()

	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the user has left"))

	out, err := host.Run(ctx, exec.Cmd{Path: "journalctl", Args: []string{"--unit", "nginx", "--lines", "100"}})
	var e *sshexec.Error
	switch {
	case errors.As(err, &e): // it was not run
		fmt.Println(e.Stage)
		fmt.Println(err)
	case out.MayRun != "": // it may still run
		fmt.Println(out.MayRun)
	default:
		fmt.Println(out)
	}
	// Output:
	// queue
	// sshexec: web1: queue: the user has left
}

// Hosts by the names of ~/.ssh/config, with at most 32 connections among them.
func ExamplePool() {
	var config sshexec.Config
	pool := &sshexec.Pool{Open: config.Host}
	defer pool.Close()

	disk := func(ctx context.Context, name string) (string, error) {
		host, err := pool.Host(name)
		if err != nil {
			return "", err
		}
		out, err := host.Run(ctx, exec.Cmd{Path: "df", Args: []string{"-h"}, Timeout: time.Minute})
		if err != nil {
			return "", err
		}
		return out.String(), nil
	}
	_ = disk
}

// Leaving the loop ends the command on the other machine.
func ExampleHost_Lines() {
	host := &sshexec.Host{Address: "web1.example.com", User: "deploy"}
	defer host.Close()

	follow := func(ctx context.Context) (string, error) {
		for line, err := range host.Lines(ctx, exec.Cmd{Path: "tail", Args: []string{"-F", "/var/log/syslog"}}) {
			if err != nil {
				return "", err
			}
			if s := line.String(); len(s) > 0 {
				return s, nil
			}
		}
		return "", nil
	}
	_ = follow
}
