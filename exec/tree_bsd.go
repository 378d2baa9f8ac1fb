// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !linux

package exec

import (
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what other Unix systems add to a tree: nothing shows a process's
// end without reaping it everywhere, so the leader is reaped by wait.
type system struct {
	ws    syscall.WaitStatus
	usage syscall.Rusage
	ok    bool
}

func (t *tree) fork(path string, argv []string, attr *syscall.ProcAttr) (err error) {
	t.pid, err = syscall.ForkExec(path, argv, attr)
	return err
}

func (f far) descriptor() uintptr { return f.file.Fd() }

// ownThread does nothing: there is no signal that depends on the thread.
func ownThread() (release func()) { return func() {} }

// wait returns when the leader has ended, and reaps it.
func (t *tree) wait() {
	for {
		pid, err := syscall.Wait4(t.pid, &t.ws, 0, &t.usage)
		if err != syscall.EINTR {
			t.ok = err == nil && pid == t.pid
			return
		}
	}
}

func (t *tree) take() (syscall.WaitStatus, syscall.Rusage, bool) { return t.ws, t.usage, t.ok }

// peakMemory is in bytes on macOS, in KiB elsewhere.
func peakMemory(usage *syscall.Rusage) int64 {
	if runtime.GOOS == "darwin" || runtime.GOOS == "ios" {
		return int64(usage.Maxrss)
	}
	return int64(usage.Maxrss) << 10
}

// signalGroupLocked sends sig to the leader's group. The id of a group is not
// given to another process while one of it is left; when none is, and in the
// same moment the id has come to be another group's, that one would get it.
func (t *tree) signalGroupLocked(sig syscall.Signal) { unix.Kill(-t.pid, sig) }

func (t *tree) terminate() { t.signal(unix.SIGTERM) }
func (t *tree) kill()      { t.signal(unix.SIGKILL) }

func (t *tree) signal(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.forgotten {
		t.signalGroupLocked(sig)
	}
}

// alive reports whether anything is left of the group; the leader is not.
func (t *tree) alive() bool { return unix.Kill(-t.pid, 0) == nil }

// forget ends the tree's use: what is left of it is left alone.
func (t *tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgotten = true
}

// survivors says whether something is left of the group, by the group's id.
func (t *tree) survivors(...*os.File) []Survivor {
	if !t.alive() {
		return nil
	}
	return []Survivor{{PID: t.pid, Name: "process group"}}
}
