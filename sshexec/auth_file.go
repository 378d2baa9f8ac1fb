// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/user"
	"path/filepath"
	"strings"
)

// homeDir is the user's home directory: that of the account, as for the ssh
// program, which does not look at HOME. Tests replace it.
var homeDir = func() (string, error) {
	if u, err := user.Current(); err == nil && u.HomeDir != "" {
		return u.HomeDir, nil
	}
	return os.UserHomeDir()
}

// expandHome is a path with its leading "~", "~/" or "~name/" replaced.
func expandHome(path string) (string, error) {
	if !strings.HasPrefix(path, "~") {
		return path, nil
	}
	name, rest := path[1:], ""
	if i := strings.IndexFunc(path, func(r rune) bool { return r == '/' || os.IsPathSeparator(uint8(min(r, 127))) }); i >= 0 {
		name, rest = path[1:i], path[i+1:]
	}
	if name == "" {
		home, err := homeDir()
		if err != nil {
			return "", fmt.Errorf("the home directory is not known: %w", err)
		}
		return filepath.Join(home, rest), nil
	}
	u, err := user.Lookup(name)
	if err != nil {
		return "", fmt.Errorf("there is no user %s", quoted(name))
	}
	return filepath.Join(u.HomeDir, rest), nil
}

// readFile reads a whole file of at most limit bytes. It reads nothing that
// could block, such as a named pipe; the null device is an empty file. Its
// errors begin with the file's name.
func readFile(file string, limit int64) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	if file == os.DevNull {
		return nil, nil
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: is not a regular file", file)
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, fileError(file, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fileError(file, err)
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s: is larger than %d bytes", file, limit)
	}
	return data, nil
}

// fileError is err, which names an operation and perhaps a file, with the file
// in front.
func fileError(file string, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		err = path.Err
	}
	return fmt.Errorf("%s: %w", file, err)
}
