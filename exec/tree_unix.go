// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec

import (
	"errors"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A tree is a child, called its leader, and the processes that it starts. The
// leader has a session of its own, and so a process group: what it starts is
// in them unless it leaves them. There is no terminal in that session to read
// from or to be stopped by.
type tree struct {
	pid int

	mu        sync.Mutex // guards what is below, and what of system says so
	reaped    bool       // pid may be another's by now, unless something is left of the group
	status    status     // of the leader, once reaped
	forgotten bool       // nothing gets a signal any more

	system
}

// start starts the leader.
func (t *tree) start(path string, argv []string, dir string, env []string, files [3]far) error {
	attr := &syscall.ProcAttr{
		Dir:   dir,
		Env:   env,
		Files: []uintptr{files[0].descriptor(), files[1].descriptor(), files[2].descriptor()},
		Sys:   &syscall.SysProcAttr{Setsid: true},
	}
	return t.fork(path, argv, attr)
}

// reap returns the leader's status. It may be called once wait has returned.
func (t *tree) reap() status {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaped {
		return t.status
	}
	ws, usage, ok := t.take()
	t.reaped = true
	if !ok {
		return t.status // someone else has reaped it
	}
	t.status = status{
		known:  true,
		code:   ws.ExitStatus(),
		cpu:    time.Duration(usage.Utime.Nano() + usage.Stime.Nano()),
		memory: peakMemory(&usage),
	}
	if ws.Signaled() {
		if t.status.signal = unix.SignalName(ws.Signal()); t.status.signal == "" {
			t.status.signal = ws.Signal().String()
		}
	}
	return t.status
}

// alone asks what the leader, which has exited, has left of its group to end,
// and reports that nothing is left.
func (t *tree) alone() bool {
	t.mu.Lock()
	t.signalGroupLocked(unix.SIGTERM) // it is not reaped: the group is ours
	t.mu.Unlock()
	t.reap()
	return unix.Kill(-t.pid, 0) != nil
}

func badArgument(err error) bool { return errors.Is(err, unix.EINVAL) }
func tooLong(err error) bool     { return errors.Is(err, unix.E2BIG) }
func notProgram(err error) bool  { return errors.Is(err, unix.ENOEXEC) }

// mayEnter is why dir may not be entered, or nil.
func mayEnter(dir string) error {
	if err := unix.Access(dir, unix.X_OK); err != nil {
		return &os.PathError{Op: "chdir", Path: dir, Err: err}
	}
	return nil
}
