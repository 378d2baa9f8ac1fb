// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// reopen opens the pipe behind fd anew. Unlike a duplicate, that has a mode of its own: it can be non-blocking while
// whoever shares fd with us (a shell, the host, fd 2) sees nothing of it. It fails for anything but a pipe, and where /proc
// or the permission is missing.
func reopen(fd, access int, stat *unix.Stat_t) (int, error) {
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return 0, unix.ENXIO
	}
	return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), access|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

// waits reports that the poller can wait for what stat describes.
func waits(stat *unix.Stat_t) bool {
	kind := stat.Mode & unix.S_IFMT
	return kind == unix.S_IFIFO || kind == unix.S_IFSOCK
}

// pipe returns the ends of a close-on-exec pipe, both blocking.
func pipe() (r, w int, err error) {
	var fds [2]int
	err = unix.Pipe2(fds[:], unix.O_CLOEXEC)
	return fds[0], fds[1], err
}
