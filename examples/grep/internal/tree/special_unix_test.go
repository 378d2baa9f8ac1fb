// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package tree

import (
	"errors"
	"net"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// FIFOs and sockets are passed over by a walk, and refused by name. Opening the
// FIFO would wait for ever: nobody has its other end.
func TestSpecialFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, named("a", "z"))
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root := openRoot(t, dir)
	tr := &Tree{Root: root}
	if got := walked(t, tr, ".", ""); !slices.Equal(got, []string{"a", "z"}) {
		t.Errorf("%q", got)
	}
	for _, name := range []string{"fifo", "socket"} {
		if _, err := Open(root, name); !errors.Is(err, ErrNotRegular) {
			t.Errorf("Open(%s): %v", name, err)
		}
		for _, err := range tr.Files(t.Context(), name, "") {
			if !errors.Is(err, ErrNotRegular) {
				t.Errorf("Files(%s): %v", name, err)
			}
		}
	}
	// Put there between the listing and the opening: still no wait.
	if _, err := (File{Path: "fifo", dir: root, name: "fifo"}).Open(); !errors.Is(err, ErrNotRegular) {
		t.Errorf("File.Open: %v", err)
	}
}
