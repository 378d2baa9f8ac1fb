// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !linux

package exec

import "os"

// A far is what the child has as one of its descriptors.
type far struct {
	file *os.File
	ours bool // to be closed
}

func (f far) close() {
	if f.ours {
		f.file.Close()
	}
}

// openNull opens the null device to read.
func openNull() (far, error) {
	f, err := os.Open(os.DevNull)
	return far{f, err == nil}, err
}

// lend is a file that stays somebody else's.
func lend(f *os.File) (far, error) {
	if f.Fd() == ^uintptr(0) {
		return far{}, os.ErrClosed
	}
	return far{file: f}, nil
}

// pipeFrom is a pipe that the child writes to.
func pipeFrom() (near *os.File, end far, err error) {
	r, w, err := os.Pipe()
	return r, far{w, err == nil}, err
}

// pipeTo is a pipe that the child reads from.
func pipeTo() (near *os.File, end far, err error) {
	r, w, err := os.Pipe()
	return w, far{r, err == nil}, err
}
