// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"errors"
	"io/fs"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/weir-mcp/weir/exec"
)

// TestStartError holds that what could not be started says why, and what to do.
func TestStartError(t *testing.T) {
	dir := t.TempDir()
	file := func(name, text string, mode os.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	plain := file("plain", "text", 0o644)
	script := file("script", "#!/no/such/interpreter\n", 0o755)
	garbage := file("garbage", "\x00\x01\x02\x03", 0o755)
	closed, err := os.Open(plain)
	if err != nil {
		t.Fatal(err)
	}
	closed.Close()
	for _, tt := range []struct {
		name   string
		cmd    exec.Cmd
		reason exec.Reason
		is     error
		text   string
	}{
		{"no path", exec.Cmd{}, exec.NotFound, nil, "no program"},
		{"not in PATH", exec.Cmd{Path: "no-such-program"}, exec.NotFound, nil, `"no-such-program" was not found in PATH`},
		{"no such path", exec.Cmd{Path: "/no/such"}, exec.NotFound, fs.ErrNotExist, `"/no/such" does not exist`},
		{"not executable", exec.Cmd{Path: plain}, exec.NotExecutable, fs.ErrPermission, "permissions"},
		{"a directory", exec.Cmd{Path: dir}, exec.NotExecutable, fs.ErrPermission, "directory"},
		{"no interpreter", exec.Cmd{Path: script}, exec.NotFound, fs.ErrNotExist, "first line"},
		{"not a program", exec.Cmd{Path: garbage}, exec.NotExecutable, syscall.ENOEXEC, "interpreter"},
		{"no directory", exec.Cmd{Path: "true", Dir: "/no/such/dir"}, exec.BadDirectory, fs.ErrNotExist, `"/no/such/dir" cannot be used: no such file`},
		{"a file as directory", exec.Cmd{Path: "true", Dir: plain}, exec.BadDirectory, nil, "not a directory"},
		{"too long", exec.Cmd{Path: "true", Args: []string{strings.Repeat("x", 16<<20)}}, exec.ArgumentsTooLong, syscall.E2BIG, "too long"},
		{"NUL in an argument", exec.Cmd{Path: "true", Args: []string{"a\x00b"}}, exec.BadArgument, nil, "NUL"},
		{"NUL in the path", exec.Cmd{Path: "tr\x00ue"}, exec.BadArgument, nil, "NUL"},
		{"NUL in the environment", exec.Cmd{Path: "true", Env: []string{"A=\x00"}}, exec.BadArgument, nil, "NUL"},
		{"a secret", exec.Cmd{Path: "/no/hunter2", Redact: []string{"hunter2"}}, exec.NotFound, nil, `"/no/[redacted]" does not exist`},
		{"a secret with a quote", exec.Cmd{Path: "/no/hun\"ter2", Redact: []string{"hun\"ter2"}}, exec.NotFound, fs.ErrNotExist, `"/no/[redacted]" does not exist`},
		{"a secret in the name", exec.Cmd{Path: "hunter2", Redact: []string{"hunter2"}}, exec.NotFound, osexec.ErrNotFound, `"[redacted]" was not found`},
		{"a secret in the directory", exec.Cmd{Path: "true", Dir: "/no/hunt\ner2", Redact: []string{"hunt\ner2"}}, exec.BadDirectory, fs.ErrNotExist, `"/no/[redacted]" cannot be used`},
		{"a closed file", exec.Cmd{Path: "true", Stdin: closed}, exec.OtherReason, fs.ErrClosed, "no standard input"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, err := exec.Run(t.Context(), tt.cmd)
			var start *exec.StartError
			if out != nil || !errors.As(err, &start) {
				t.Fatalf("%v, %v", out, err)
			}
			if start.Reason != tt.reason || tt.is != nil && !errors.Is(err, tt.is) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%s: %v (%v), want %s", start.Reason, err, start.Err, tt.reason)
			}
			for _, text := range []string{err.Error(), start.Path, start.Err.Error()} {
				if len(text) > 500 || strings.Contains(text, "er2") {
					t.Errorf("%q", text)
				}
			}
		})
	}
}

// TestCurrentDirectory holds that a program is not taken from there by chance.
func TestCurrentDirectory(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("here", []byte("#!/bin/sh\necho ran\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", ".:"+os.Getenv("PATH"))
	var start *exec.StartError
	if _, err := exec.Run(t.Context(), exec.Cmd{Path: "here"}); !errors.As(err, &start) || start.Reason != exec.NotExecutable {
		t.Errorf("%v", err)
	}
	if out := run(t, t.Context(), exec.Cmd{Path: "./here"}); out.Stdout.Head != "ran\n" {
		t.Errorf("%+v", out)
	}
	sub := t.TempDir()
	if err := os.WriteFile(filepath.Join(sub, "there"), []byte("#!/bin/sh\npwd\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out := run(t, t.Context(), exec.Cmd{Path: "./there", Dir: sub}); out.Stdout.Head != sub+"\n" {
		t.Errorf("%+v", out)
	}
}
