// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"os"
	"path/filepath"
)

// checkPrivate does not look at access control lists.
func checkPrivate(string) error { return nil }

// checkOwned does not look at access control lists.
func checkOwned(string) error { return nil }

// systemHostKeyFiles are the known_hosts files for all users.
func systemHostKeyFiles() []string {
	return []string{filepath.Join(systemDir(), "ssh_known_hosts"), filepath.Join(systemDir(), "ssh_known_hosts2")}
}

// systemDir is where the files for all users are.
func systemDir() string {
	if dir := os.Getenv("ProgramData"); dir != "" {
		return filepath.Join(dir, "ssh")
	}
	return `C:\ProgramData\ssh`
}
