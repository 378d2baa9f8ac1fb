// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/exec"
)

// TestRun holds what a command gets and what becomes of it: case 60, with a
// real server.
func TestRun(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	for _, tt := range []struct {
		name   string
		cmd    exec.Cmd
		end    exec.End
		code   int
		signal string
		stdout string
		stderr string
	}{
		{"true", exec.Cmd{Path: "true"}, exec.Exited, 0, "", "", ""},
		{"false", exec.Cmd{Path: "false"}, exec.Exited, 1, "", "", ""},
		{"a path", exec.Cmd{Path: "/bin/echo", Args: []string{"hi"}}, exec.Exited, 0, "", "hi\n", ""},
		{"arguments", exec.Cmd{Path: "printf", Args: []string{"[%s]", "", "a b", "$HOME; rm -rf *", "汉字", "-", "'\"", "a\nb", "\\", "!x", "~"}}, exec.Exited, 0, "", "[][a b][$HOME; rm -rf *][汉字][-]['\"][a\nb][\\][!x][~]", ""},
		{"both streams", sh("echo out; echo err >&2; exit 7"), exec.Exited, 7, "", "out\n", "err\n"},
		{"a signal", sh("kill -TERM $$"), exec.Signalled, -1, "SIGTERM", "", ""},
		{"input", exec.Cmd{Path: "cat", Stdin: strings.NewReader("some input")}, exec.Exited, 0, "", "some input", ""},
		{"no input", exec.Cmd{Path: "cat"}, exec.Exited, 0, "", "", ""},
		{"directory", exec.Cmd{Path: "pwd", Dir: "/usr/bin"}, exec.Exited, 0, "", "/usr/bin\n", ""},
		{"a keyword", exec.Cmd{Path: "env", Args: []string{"if"}}, exec.Exited, 127, "", "", "*"},
		{"variables", exec.Cmd{Path: "sh", Args: []string{"-c", "echo \"$A|$WEIR_TEST_B\""}, Env: []string{"A=0", "A=x 'y'", "WEIR_TEST_B=b\nc"}}, exec.Exited, 0, "", "x 'y'|b\nc\n", ""},
		{"clean", exec.Cmd{Path: "sh", Args: []string{"-c", "echo \"$A|$WEIR_TEST_B|$SSH_CLIENT|${HOME:+home}|${PATH:+path}\""}, CleanEnv: true, Env: []string{"A=a b", "WEIR_TEST_B=b"}}, exec.Exited, 0, "", "a b|b||home|path\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := mustRun(t, t.Context(), h, tt.cmd)
			if o.End != tt.end || o.ExitCode != tt.code || o.Signal != tt.signal || o.Stdout.Head != tt.stdout || o.Stderr.Head != tt.stderr && tt.stderr != "*" {
				t.Errorf("%s, %d %s, %q, %q", o.End, o.ExitCode, o.Signal, o.Stdout.Head, o.Stderr.Head)
			}
			if o.Host != "box" || o.PID == 0 || o.MayRun != "" || o.Err != nil || o.Stdout.SoFar || o.Stderr.SoFar {
				t.Errorf("%+v", o)
			}
		})
	}
}

// TestNotRun holds what a command that cannot be run is.
func TestNotRun(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	for _, tt := range []struct {
		cmd    exec.Cmd
		reason exec.Reason
		text   string
	}{
		{exec.Cmd{Path: "no-such-program"}, exec.NotFound, "no such program"},
		{exec.Cmd{Path: "/no/such/program"}, exec.NotFound, "no such program"},
		{exec.Cmd{Path: "/etc/passwd"}, exec.NotExecutable, "is no program"},
		{exec.Cmd{Path: "/tmp"}, exec.NotExecutable, "is no program"},
		{exec.Cmd{}, exec.NotFound, "no program"},
		{exec.Cmd{Path: "true", Dir: "/no/such"}, exec.BadDirectory, "/no/such"},
		{exec.Cmd{Path: "pwd", Dir: "no'such"}, exec.BadDirectory, "no'such"},
		{exec.Cmd{Path: "true", Args: []string{"a\x00b"}}, exec.BadArgument, "NUL"},
		{exec.Cmd{Path: "true", Env: []string{"A B=c"}}, exec.BadArgument, "A B"},
		{exec.Cmd{Path: "true", Env: []string{"hunter2"}}, exec.BadArgument, "NAME=value"},
		{exec.Cmd{Path: "echo", Args: []string{strings.Repeat("x", 200_000)}}, exec.ArgumentsTooLong, "standard input"},
		{exec.Cmd{Path: "hunter2", Redact: []string{"hunter2"}}, exec.NotFound, "[redacted]"},
	} {
		o, err := h.Run(t.Context(), tt.cmd)
		var e *Error
		var start *exec.StartError
		if o != nil || !errors.As(err, &e) || !errors.As(err, &start) {
			t.Errorf("%.40v: %v, %v", tt.cmd, o, err)
			continue
		}
		if e.Stage != StageStart || e.Host != "box" || start.Reason != tt.reason || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.40v: %s, %s: %v", tt.cmd, e.Stage, start.Reason, err)
		}
	}
	if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "true"}); !o.Success() {
		t.Errorf("after all that: %v", o)
	}
}

// TestNoInput holds that a command without Stdin reads the null device, from the
// first on and once the server need not be told, and that one with Stdin reads
// that.
func TestNoInput(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	for i := range 2 {
		if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "cat"}); !o.Success() || o.Stdout.Bytes != 0 {
			t.Errorf("%+v", o)
		}
		if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "cat", Stdin: strings.NewReader("in")}); o.Stdout.Head != "in" {
			t.Errorf("%+v", o)
		}
		if i == 0 {
			eventually(t, "the guard is up", func() bool {
				h.mu.Lock()
				defer h.mu.Unlock()
				return h.link.conn.null.Load()
			})
		}
	}
	for _, clean := range []bool{false, true} {
		cmd := exec.Cmd{Path: "readlink", Args: []string{"/proc/self/fd/0"}, CleanEnv: clean}
		if o := mustRun(t, t.Context(), h, cmd); o.Success() && o.Stdout.Head != os.DevNull+"\n" {
			t.Errorf("clean %v: it reads %q", clean, o.Stdout.Head)
		}
	}
}
