// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// unprivileged gives up root's right to read everything until the test ends.
func unprivileged(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	const nobody = 65534
	if err := syscall.Setresuid(-1, nobody, -1); err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setresuid(-1, 0, -1); err != nil {
			panic(err) // the tests after this one would mean something else
		}
	})
}

// Files and directories that cannot be read are told, and the search goes on.
func TestUnreadable(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "match\n", "dir/b": "match\n", "secret": "match\n", "z": "match\n"})
	tools, _ := serve(t, dir)
	for _, name := range []string{"secret", "dir"} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, 0); err != nil {
			t.Fatal(err)
		}
		defer os.Chmod(path, 0o755)
	}
	unprivileged(t)
	p, text := call[matchPage](t, tools, "grep", args{"pattern": "match"})
	if len(p.Items) != 2 || p.Items[1].Path != "z" || p.Unreadable != 2 || p.Problem != "dir/: permission denied" || p.FilesSearched != 2 {
		t.Errorf("%+v", p)
	}
	if want := "Could not be read: 2, the first: dir/: permission denied."; !strings.HasSuffix(text, want) {
		t.Errorf("the text does not end in %q: %q", want, text)
	}
	if got := refused(t, tools, "read_file", args{"path": "secret"}); !strings.Contains(got, `no permission to read "secret"`) {
		t.Error(got)
	}
}

// A name that is not UTF-8: its matches are found, shown with U+FFFD, and a
// cursor goes on within that very file.
func TestNameIsNotUTF8(t *testing.T) {
	dir := t.TempDir()
	bad := "b\xff\xfe"
	write(t, dir, map[string]string{"a": "match\n", bad: strings.Repeat("match\n", 100), "c": "match\n"})
	tools, _ := serve(t, dir)
	items, pages := grepAll(t, tools, args{"pattern": "match", "maxBytes": 2048}, nil)
	if len(items) != 102 || pages < 5 || items[50].Path != "b\ufffd\ufffd" || items[100].Line != 100 || items[101].Path != "c" {
		t.Errorf("%d items on %d pages, %+v", len(items), pages, items[50])
	}
}

// FIFOs and devices are never opened: their other end may never come.
func TestFIFO(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "match\n", "z": "match\n"})
	if err := syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o644); err != nil {
		t.Fatal(err)
	}
	tools, opened := serve(t, dir)
	if items, _ := grepAll(t, tools, args{"pattern": "match"}, nil); len(items) != 2 || len(*opened) != 2 {
		t.Errorf("%+v, opened %q", items, *opened)
	}
	for _, name := range []string{"grep", "read_file"} {
		in := args{"path": "fifo"}
		if name == "grep" {
			in["pattern"] = "match"
		}
		if got := refused(t, tools, name, in); !strings.Contains(got, `"fifo"`) {
			t.Error(got)
		}
	}
}
