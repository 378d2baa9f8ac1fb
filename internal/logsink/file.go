// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package logsink

import "os"

// File is a log file with a limit.
type File struct{ f *os.File }

// OpenFile opens path for appending.
func OpenFile(path string) (*File, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &File{f}, nil
}

// Write appends p.
func (f *File) Write(p []byte) (int, error) { return f.f.Write(p) }

// Close closes the file.
func (f *File) Close() error { return f.f.Close() }
