// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package logsink

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func write(t *testing.T, f *File, s string) {
	t.Helper()
	if n, err := f.Write([]byte(s)); n != len(s) || err != nil {
		t.Fatal(n, err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return string(b)
}

func small(t *testing.T, path string) *File {
	t.Helper()
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	f.limit = 10
	return f
}

func TestFileRotates(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := small(t, path)
	for _, step := range []struct{ write, file, old string }{
		{"1234567\n", "1234567\n", ""},
		{"9\n", "1234567\n9\n", ""}, // exactly full
		{"a\n", "a\n", "1234567\n9\n"},
		{"longer than all\n", "longer than all\n", "a\n"},
		{"b\n", "b\n", "longer than all\n"},
	} {
		write(t, f, step.write)
		if file, old := content(t, path), content(t, path+".1"); file != step.file || old != step.old {
			t.Errorf("after %q: %q and %q, want %q and %q", step.write, file, old, step.file, step.old)
		}
	}
	if runtime.GOOS != "windows" {
		for _, p := range []string{path, path + ".1"} {
			if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v %v", p, info.Mode(), err)
			}
		}
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := f.Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
		t.Errorf("after Close: %v", err)
	}
}

func TestFileLimit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f, err := OpenFile(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	line := strings.Repeat("x", 1<<20-1) + "\n"
	for range 20 {
		write(t, f, line)
	}
	if file, old := len(content(t, path)), len(content(t, path+".1")); file != 4<<20 || old != maxFile {
		t.Errorf("%d and %d bytes", file, old)
	}
}

// A server appends to what an earlier one wrote, and follows another one's rotation.
func TestFileShared(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("an open file cannot be renamed")
	}
	path := filepath.Join(t.TempDir(), "log")
	a, b := small(t, path), small(t, path)
	write(t, a, "aaaa\n")
	write(t, b, "bbbb\n")
	write(t, a, "rotated by a\n")
	write(t, b, "c\n")
	if file, old := content(t, path), content(t, path+".1"); file != "c\n" || old != "rotated by a\n" {
		t.Errorf("%q and %q", file, old)
	}
	write(t, a, "d\n")
	if file := content(t, path); file != "c\nd\n" {
		t.Errorf("%q", file)
	}
}

// When a rotation fails, the limit holds, and writing goes on once it is possible.
func TestFileRotationFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	f := small(t, path)
	write(t, f, "123456789\n")
	if err := os.MkdirAll(filepath.Join(path+".1", "in the way"), 0o700); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := f.Write([]byte("x\n")); err == nil {
			t.Fatal("no error")
		}
	}
	if got := content(t, path); got != "123456789\n" {
		t.Errorf("%q", got)
	}
	if err := os.RemoveAll(path + ".1"); err != nil {
		t.Fatal(err)
	}
	write(t, f, "x\n")
	if file, old := content(t, path), content(t, path+".1"); file != "x\n" || old != "123456789\n" {
		t.Errorf("%q and %q", file, old)
	}
}

func TestFileRefuses(t *testing.T) {
	dir := t.TempDir()
	for _, path := range []string{dir, os.DevNull, filepath.Join(dir, "missing", "log")} {
		if runtime.GOOS == "windows" && path == os.DevNull {
			continue
		}
		f, err := OpenFile(path)
		if err == nil {
			f.Close()
			t.Errorf("%s: no error", path)
			continue
		}
		if !strings.Contains(fmt.Sprint(err), path) {
			t.Errorf("%s is not named in %v", path, err)
		}
	}
}
