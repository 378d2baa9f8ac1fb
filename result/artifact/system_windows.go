// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// private reports nothing on Windows: what may look into a directory is
// inherited from the one above, and that for temporary files is the user's.
func private(fs.FileInfo) bool { return true }

// tryLock takes the lock of f for as long as f is open, unless it is taken. The
// locked range is far behind the key, which stays readable.
func tryLock(f *os.File) bool {
	at := &windows.Overlapped{OffsetHigh: 1}
	flags := uint32(windows.LOCKFILE_EXCLUSIVE_LOCK | windows.LOCKFILE_FAIL_IMMEDIATELY)
	return windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, at) == nil
}

// unlock does nothing: the handle is this process's alone, and the lock its own.
func unlock(*os.File) {}

// syncNames has nothing to do: a directory cannot be flushed.
func syncNames(*os.File) error { return nil }
