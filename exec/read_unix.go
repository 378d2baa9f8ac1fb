// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec

import (
	"io"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// readNow reads what is in a pipe and does not wait.
func readNow(pipe *os.File, b []byte) (n int, err error) {
	pipe.SetReadDeadline(time.Time{})
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	err = raw.Read(func(fd uintptr) bool {
		for {
			if n, readErr = unix.Read(int(fd), b); readErr != unix.EINTR {
				return true // whatever came of it
			}
		}
	})
	switch {
	case err != nil:
		return 0, err
	case readErr == unix.EAGAIN:
		return 0, errCut
	case readErr != nil:
		return 0, readErr
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// closePipe closes a pipe; a goroutine that reads or writes it returns.
func closePipe(f *os.File) { f.Close() }
