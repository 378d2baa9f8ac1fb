// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix && !linux

package stdio

import (
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// reopen always fails: only Linux has a way to open a pipe anew.
func reopen(_, _ int, _ *unix.Stat_t) (int, error) { return 0, unix.ENOTSUP }

// waits reports that the poller can wait for what stat describes. On macOS it cannot for a named pipe, whose last writer
// may leave unseen.
func waits(stat *unix.Stat_t) bool {
	switch stat.Mode & unix.S_IFMT {
	case unix.S_IFSOCK:
		return true
	case unix.S_IFIFO:
		named := stat.Ino != 0 && stat.Nlink != 0
		return !named || runtime.GOOS != "darwin" && runtime.GOOS != "ios"
	}
	return false
}

// pipe returns the ends of a close-on-exec pipe, both blocking.
func pipe() (r, w int, err error) {
	var fds [2]int
	syscall.ForkLock.RLock() // no child is forked before the flags are set
	defer syscall.ForkLock.RUnlock()
	if err := unix.Pipe(fds[:]); err != nil {
		return 0, 0, err
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	return fds[0], fds[1], nil
}
