// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
)

// Start starts cmd, whose streams must not be set, in a process group of its
// own (a job on Windows), and connects a host to it. A server that a launcher
// starts (go run, npx, a shell) is in that group too: signals reach it, and
// nothing of the group is left after Close.
func Start(cfg Config, cmd *exec.Cmd) (*Host, error) {
	if cmd.Stdin != nil || cmd.Stdout != nil || cmd.Stderr != nil {
		return nil, errors.New("host: the command's streams are set")
	}
	given := cmd // stays as it is, to be started again
	again := func(cfg Config) (*Host, error) { return Start(cfg, given) }
	cmd = sameCommand(given)
	var files []*os.File
	closeAll := func() {
		for _, f := range files {
			f.Close()
		}
	}
	pipe := func() (r, w *os.File, err error) {
		if r, w, err = os.Pipe(); err == nil {
			files = append(files, r, w)
		}
		return r, w, err
	}
	inR, inW, err := pipe()
	if err != nil {
		return nil, fmt.Errorf("host: %w", err)
	}
	outR, outW, err := pipe()
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("host: %w", err)
	}
	errR, errW, err := pipe()
	if err != nil {
		closeAll()
		return nil, fmt.Errorf("host: %w", err)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
	p := &child{cmd: cmd}
	if cfg.Track {
		p.mark = trackName + "=" + rand.Text()
		cmd.Env = append(cmd.Environ(), p.mark)
	}
	if err := p.start(); err != nil {
		closeAll()
		return nil, fmt.Errorf("host: start of the server: %w", err)
	}
	inR.Close()
	outW.Close()
	errW.Close()
	return start(cfg, p, outR, inW, errR, again), nil
}

// trackName is the variable that marks the processes of a server: a child
// inherits it, also one that has left its parent and its group.
const trackName = "WEIR_HOST_SESSION"

// sameCommand is cmd for another start.
func sameCommand(cmd *exec.Cmd) *exec.Cmd {
	same := &exec.Cmd{Path: cmd.Path, Args: cmd.Args, Env: cmd.Env, Dir: cmd.Dir, ExtraFiles: cmd.ExtraFiles, Err: cmd.Err}
	if cmd.SysProcAttr != nil {
		attr := *cmd.SysProcAttr
		same.SysProcAttr = &attr
	}
	return same
}

// child is a server in a process of its own.
type child struct {
	cmd *exec.Cmd
	group
	mark   string // in the environment of all that it starts, "" for none
	reaped bool
	err    error
}

func (c *child) pid() int { return c.cmd.Process.Pid }

func (c *child) reap() {
	if !c.reaped {
		c.reaped, c.err = true, c.cmd.Wait()
	}
}

// exit is how the child, which is reaped, has ended.
func (c *child) exit() Exit {
	return Exit{Err: c.err, Code: c.cmd.ProcessState.ExitCode()}
}

// Pid is the process id of the server that Start started, which is that of
// its process group too; 0 for a server in this process.
func (h *Host) Pid() int { return h.peer.pid() }
