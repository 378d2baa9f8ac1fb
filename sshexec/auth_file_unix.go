// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sshexec

import (
	"fmt"
	"os"
	"syscall"
)

// checkPrivate refuses a private key that others than its owner may read, by
// the rule of the ssh program: it holds for files of this user.
func checkPrivate(file string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil // told by whoever reads it
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) == os.Getuid() && info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("it may be read by others (mode %04o); chmod 600 %s", info.Mode().Perm(), file)
	}
	return nil
}

// checkOwned refuses a configuration that somebody else may change.
func checkOwned(file string) error {
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil // told by whoever reads it
	}
	if info.Mode().Perm()&0o022 != 0 {
		return fmt.Errorf("it may be changed by others (mode %04o); chmod go-w %s", info.Mode().Perm(), file)
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && stat.Uid != 0 && int(stat.Uid) != os.Getuid() {
		return fmt.Errorf("it belongs to another user (%d)", stat.Uid)
	}
	return nil
}

// systemHostKeyFiles are the known_hosts files for all users.
func systemHostKeyFiles() []string {
	return []string{"/etc/ssh/ssh_known_hosts", "/etc/ssh/ssh_known_hosts2"}
}

// systemDir is where the files for all users are.
func systemDir() string { return "/etc/ssh" }
