// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package artifact

import (
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// private reports whether the directory belongs to this user and nobody else
// can look into it.
func private(fi fs.FileInfo) bool {
	st, ok := fi.Sys().(*syscall.Stat_t)
	return ok && int64(st.Uid) == int64(os.Geteuid()) && fi.Mode().Perm()&0o077 == 0
}

// tryLock takes the lock of f for as long as f is open, unless it is taken.
func tryLock(f *os.File) bool {
	return unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB) == nil
}

// unlock gives the lock up, whoever has the file open.
func unlock(f *os.File) { unix.Flock(int(f.Fd()), unix.LOCK_UN) }

// syncNames makes the names in a directory last.
func syncNames(dir *os.File) error { return dir.Sync() }
