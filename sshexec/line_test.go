// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// posixShells are those of this machine that should understand a quoted word.
func posixShells(t testing.TB) (paths []string) {
	t.Helper()
	for _, name := range []string{"dash", "bash", "mksh", "zsh", "sh"} {
		if path, err := osexec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
	}
	if len(paths) == 0 {
		t.Skip("no shell")
	}
	return paths
}

// FuzzQuote holds that a real shell takes a quoted word for the text that it
// was, and for nothing else.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"", "a", "a b", "it's", "''", "$HOME", "`id`", "a\nb", "\\", "\\'", "!x", "~", "-n", "汉", "\xff\xfe", "*", "{a,b}", "#", "a=b", "\r\n", "\x1b[0m", "if"} {
		f.Add(s, "x")
	}
	shells := posixShells(f)
	f.Fuzz(func(t *testing.T, a, b string) {
		if strings.ContainsRune(a+b, 0) || len(a)+len(b) > 50_000 {
			return
		}
		for _, shell := range shells {
			if strings.HasSuffix(shell, "mksh") && strings.ContainsRune(a+b, '\r') {
				continue
			}
			cmd := osexec.Command(shell, "-c", "printf '%s|%s' "+quote(a)+" "+quoteAlways(b))
			out, err := cmd.Output()
			if want := a + "|" + b; err != nil || string(out) != want {
				t.Errorf("%s: %q and %q came as %q, %v", shell, a, b, out, err)
			}
		}
	})
}

// FuzzDecode holds the same for what is written so that no shell changes it.
func FuzzDecode(f *testing.F) {
	for _, s := range []string{"a", "it's \"x\"", "\\0101", "$x `y`", "a\nb", "'1\n7\x013", "!", "%s %%", "汉\xff"} {
		f.Add(s)
	}
	shells := posixShells(f)
	for _, name := range []string{"fish", "tcsh"} {
		if path, err := osexec.LookPath(name); err == nil {
			shells = append(shells, path)
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) || len(s) > 10_000 {
			return
		}
		line := inSh("printf %s " + quote(s))
		for _, shell := range shells {
			cmd := osexec.Command(shell, "-c", line)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.Output()
			if err != nil || string(out) != s {
				t.Errorf("%s: %q came as %q, %v", shell, s, out, err)
			}
		}
	})
}

// markedIn passes text through a marker in pieces of n bytes.
func markedIn(text string, n int) (out string, marks []mark) {
	var b bytes.Buffer
	m := newMarker("0123", func(p []byte) { b.Write(p) }, func(m mark) { marks = append(marks, m) })
	for len(text) > 0 {
		k := min(n, len(text))
		m.take([]byte(text[:k]))
		text = text[k:]
	}
	m.end()
	return b.String(), marks
}

// TestMarker holds that the wrapper's line is taken out of standard error, and
// nothing else.
func TestMarker(t *testing.T) {
	for _, tt := range []struct {
		in, out string
		pid     int
		kind    shellKind
		why     byte
	}{
		{"weir:0123:4711:p\n", "", 4711, posixShell, 0},
		{"weir:0123:4711:p\nmore\n", "more\n", 4711, posixShell, 0},
		{"banner\nweir:0123:4711:s\nx", "banner\nx", 4711, otherShell, 0},
		{"no line endweir:0123:4711:r\nx", "no line endx", 4711, restrictedShell, 0},
		{"weir:0123:n\n", "", 0, 0, 'n'},
		{"weir:0123:x\n", "", 0, 0, 'x'},
		{"cd: no\nweir:0123:d\n", "cd: no\n", 0, 0, 'd'},
		{"weir:0124:4711:p\n", "weir:0124:4711:p\n", 0, 0, 0},
		{"weir:0123:x:p\nweir:0123:1:p\nweir:0123:\n", "weir:0123:x:p\nweir:0123:1:p\nweir:0123:\n", 0, 0, 0},
		{"weir:0123:$$:p\nweir:0123:22:p\n", "weir:0123:$$:p\n", 22, posixShell, 0},
		{"weir:0123:22:p\nweir:0123:23:p\n", "weir:0123:23:p\n", 22, posixShell, 0},
		{"weir:weir:0123:22:p\n", "weir:", 22, posixShell, 0},
		{"we", "we", 0, 0, 0},
		{"weir:0123:4711", "weir:0123:4711", 0, 0, 0},
		{"", "", 0, 0, 0},
	} {
		for n := 1; n < 40; n++ {
			out, marks := markedIn(tt.in, n)
			var got mark
			if len(marks) > 0 {
				got = marks[0]
			}
			if out != tt.out || len(marks) > 1 || got != (mark{tt.pid, tt.kind, tt.why}) {
				t.Errorf("%q in pieces of %d: %q, %v", tt.in, n, out, marks)
			}
		}
	}
}

// FuzzMarker holds that pieces do not matter, and that nothing is lost.
func FuzzMarker(f *testing.F) {
	f.Add("a", "b", 3, true)
	f.Add("weir:0123:", "weir:", 1, false)
	f.Fuzz(func(t *testing.T, before, after string, n int, has bool) {
		if n < 1 || strings.Contains(before+after, ":") {
			return
		}
		text, want := before+after, before+after
		if has {
			text = before + "weir:0123:77:p\n" + after
		}
		out, marks := markedIn(text, n)
		if out != want || has != (len(marks) == 1) {
			t.Errorf("%q in pieces of %d: %q, %v", text, n, out, marks)
		}
	})
}

// TestGuardList holds the guard's bookkeeping, with a shell of this machine and
// no server: at the end of its input it ends what is on its list, and only if
// it is the call's.
func TestGuardList(t *testing.T) {
	t.Parallel()
	needProc(t)
	for _, shell := range append(posixShells(t), "busybox") {
		args := []string{"-c", guardScript}
		switch {
		case strings.HasSuffix(shell, "zsh"):
			continue // it is run by sh there
		case shell == "busybox":
			path, err := osexec.LookPath(shell)
			if err != nil {
				continue
			}
			shell, args = path, append([]string{"sh"}, args...)
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			sleeper := func(id string) *osexec.Cmd {
				cmd := osexec.Command("setsid", "sleep", tempSleep())
				cmd.Env = append(os.Environ(), idName+"="+id)
				if err := cmd.Start(); err != nil {
					t.Skip(err)
				}
				go cmd.Wait()
				t.Cleanup(func() { cmd.Process.Kill() })
				return cmd
			}
			live := func(c *osexec.Cmd) bool {
				return slices.Contains(processes(strings.Join(c.Args[1:], " ")), c.Process.Pid)
			}
			ids := []string{newID(), newID(), newID(), newID()}
			mine, taken, other, asked := sleeper(ids[0]), sleeper(ids[1]), sleeper("someone else's"), sleeper(ids[3])
			for _, c := range []*osexec.Cmd{mine, taken, other, asked} {
				eventually(t, "it sleeps", func() bool { return live(c) })
			}
			cmd := osexec.Command(shell, args...)
			in, _ := cmd.StdinPipe()
			var out sshdtest.Buffer
			cmd.Stdout = &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(in, "a %d %s 10\na %d %s 10\na %d %s 10\nd %d %s\n", mine.Process.Pid, ids[0], taken.Process.Pid, ids[1], other.Process.Pid, ids[2], taken.Process.Pid, ids[1])
			fmt.Fprintf(in, "l %d %s\n", asked.Process.Pid, ids[3])
			list := ids[3] + " " + strconv.Itoa(asked.Process.Pid) + " sleep\n" + ids[3] + " -\n"
			eventually(t, "it lists", func() bool { return strings.Contains(out.String(), list) })
			fmt.Fprintf(in, "k %d %s 10 0\n", asked.Process.Pid, ids[3])
			eventually(t, "it ends what it is asked to", func() bool { return strings.HasSuffix(out.String(), ids[3]+" +\n") && !live(asked) })
			if !live(mine) || !live(taken) || !live(other) {
				t.Error("it has ended another")
			}
			in.Close()
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}
			eventually(t, "it ends what is on the list", func() bool { return !live(mine) })
			if !live(taken) {
				t.Error("it has ended what was taken off the list")
			}
			if !live(other) {
				t.Error("it has ended a process whose id was the call's before")
			}
		})
	}
}

// TestEnvSent holds that a variable goes apart from the line where the server
// takes that, and into the line where it does not; a server is asked once.
func TestEnvSent(t *testing.T) {
	type got struct {
		env  map[string]string
		line string
	}
	lines := make(chan got, 10)
	asked := 0
	f := (&fake{
		env:     func(name string) bool { asked++; return strings.HasPrefix(name, "LC_") },
		session: func(s *fakeSession) { lines <- got{s.env, s.command}; s.reply(true); s.status(0) },
	}).start(t)
	h := f.host(t)
	h.link.shell.Store(int32(posixShell))
	for range 2 {
		mustRun(t, t.Context(), h, exec.Cmd{Path: "x", Env: []string{"LC_A=secret", "B=open", "LC_A=secret2"}})
		g := <-lines
		if g.env["LC_A"] != "secret2" || len(g.env) != 1 || strings.Contains(g.line, "secret") || !strings.Contains(g.line, "B=open") {
			t.Errorf("%v, %q", g.env, g.line)
		}
	}
	if asked != 3 {
		t.Errorf("it was asked %d times, want 3", asked)
	}
	h.Bare = true
	mustRun(t, t.Context(), h, exec.Cmd{Path: "git", Args: []string{"a b"}})
	if g := <-lines; g.line != "'git' 'a b'" {
		t.Errorf("bare: %q", g.line)
	}
	var e *exec.StartError
	if _, err := h.Run(t.Context(), exec.Cmd{Path: "git", Env: []string{"B=c"}}); !errors.As(err, &e) || e.Reason != exec.BadArgument {
		t.Errorf("bare, with a variable: %v", err)
	}
}

// collect is all that a loop over Lines gets.
func collect(ctx context.Context, h *Host, cmd exec.Cmd) (lines []string, err error) {
	for line, e := range h.Lines(ctx, cmd) {
		if e != nil {
			err = e
			continue
		}
		lines = append(lines, line.String())
	}
	return lines, err
}

// TestLines holds that lines come as those of exec do.
func TestLines(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	lines, err := collect(t.Context(), h, sh("printf 'a\\r\\nb\\n\\nlast'"))
	if err != nil || strings.Join(lines, "|") != "a|b||last" {
		t.Errorf("%q, %v", lines, err)
	}
	lines, err = collect(t.Context(), h, sh("seq 200000; echo why >&2; exit 3"))
	var exit *exec.ExitError
	if len(lines) != 200000 || lines[199999] != "200000" || !errors.As(err, &exit) || exit.Output.ExitCode != 3 || exit.Output.Stderr.Head != "why\n" || exit.Output.Stdout.Bytes != 1288895 {
		t.Errorf("%d lines, %v", len(lines), err)
	}
	var e *Error
	if _, err := collect(t.Context(), h, exec.Cmd{Path: "no-such-program"}); !errors.As(err, &e) || e.Stage != StageStart {
		t.Errorf("%v", err)
	}
	sleep := tempSleep()
	cmd := sh("echo a; exec sleep " + sleep)
	cmd.Timeout = 300 * time.Millisecond
	if lines, err := collect(t.Context(), h, cmd); len(lines) != 1 || !errors.As(err, &exit) || exit.Output.End != exec.TimedOut || !errors.As(err, &e) {
		t.Errorf("%q, %v", lines, err)
	}
	// Leaving the loop ends the command, also by a panic.
	for _, name := range []string{"break", "panic"} {
		func() {
			defer func() {
				if v := recover(); (name == "panic") != (v != nil) {
					t.Errorf("panic %v", v)
				}
			}()
			n := 0
			for _, err := range h.Lines(t.Context(), sh("sleep "+sleep+" & yes")) {
				if err != nil {
					t.Error(err)
				}
				if n++; n == 100_000 {
					if name == "panic" {
						panic(name)
					}
					break
				}
			}
		}()
		if left := processes("sleep " + sleep); len(left) > 0 {
			t.Errorf("%s: %v are left", name, left)
		}
	}
	// The body's pace is the command's.
	n := 0
	for line, err := range h.Lines(t.Context(), sh("seq 12000")) {
		if err != nil {
			t.Fatal(err)
		}
		if n++; line.String() != strconv.Itoa(n) {
			t.Fatalf("line %d is %q", n, line)
		}
		if n == 1 {
			time.Sleep(500 * time.Millisecond)
		}
	}
	if n != 12000 {
		t.Errorf("%d lines", n)
	}
}

// TestRecords holds that records end where they are said to.
func TestRecords(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	var got []string
	for r, err := range h.Records(t.Context(), sh("printf 'a\\nb\\r\\0c\\0'"), 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, r.String())
	}
	if !slices.Equal(got, []string{"a\nb\r", "c"}) {
		t.Errorf("%q", got)
	}
}

// TestPanics holds that a panic of the caller's own Sink or Stdin is the
// caller's, and leaves the host as it was.
func TestPanics(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	for _, cmd := range []exec.Cmd{
		{Path: "echo", Args: []string{"x"}, Sink: panicking{}},
		{Path: "cat", Stdin: panicking{}},
	} {
		func() {
			defer func() {
				if v := recover(); v == nil || !strings.Contains(fmt.Sprint(v), "in the caller's code") {
					t.Errorf("recovered %v", v)
				}
			}()
			h.Run(t.Context(), cmd)
		}()
	}
	if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "true"}); !o.Success() {
		t.Errorf("the next call: %+v", o)
	}
}

type panicking struct{}

func (panicking) Write([]byte) (int, error) { panic("in the caller's code") }
func (panicking) Read([]byte) (int, error)  { panic("in the caller's code") }

// TestBothStreams: case 55, over one window. Both streams are drained, and the
// counts are exact.
func TestBothStreams(t *testing.T) {
	h := testHost(t, sharedSSHD(t))
	block := "head -c 8388608 /dev/zero"
	o := mustRun(t, t.Context(), h, sh(block+" >&2; "+block+"; "+block+" >&2; "+block))
	if o.End != exec.Exited || o.Stdout.Bytes != 16<<20 || o.Stderr.Bytes != 16<<20 || o.Stdout.SoFar || len(o.Stdout.Head) > exec.DefaultStdout {
		t.Errorf("%s, %d and %d bytes", o.End, o.Stdout.Bytes, o.Stderr.Bytes)
	}
	cmd := sh("printf 'a secret b\\n' >&2; printf 'sec'; sleep 0.1; printf 'ret\\n'")
	cmd.Redact = []string{"secret"}
	if o := mustRun(t, t.Context(), h, cmd); o.Stdout.Head != "[redacted]\n" || o.Stderr.Head != "a [redacted] b\n" || o.Stdout.Bytes != 7 {
		t.Errorf("%+v", o)
	}
}

// TestLinesObeyContext holds that a loop ends with its context although the
// server closes neither the stream nor the connection: sshd keeps a channel open
// until the process has ended, and here nothing can end that.
func TestLinesObeyContext(t *testing.T) {
	t.Parallel()
	needProc(t)
	sleep := tempSleep()
	h := testHost(t, sshdtest.Start(t, sshdtest.Options{Config: "ForceCommand echo forced; exec sleep " + sleep}))
	t.Cleanup(func() { killAll(processes("sleep " + sleep)) })
	other := make(chan struct{})
	ready := newSeen("forced\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() { // holds the connection
		defer close(other)
		h.Run(ctx, exec.Cmd{Path: "x", Sink: ready})
	}()
	<-ready.ch
	lines := 0
	mine, stop := context.WithCancel(t.Context())
	defer stop()
	var last error
	var began time.Time
	for line, err := range h.Lines(mine, exec.Cmd{Path: "x"}) {
		if last = err; err == nil && string(line.Bytes) == "forced" {
			lines++
			began = time.Now()
			stop()
		}
	}
	within(t, began, lateTime)
	var exit *exec.ExitError
	if lines != 1 || !errors.As(last, &exit) || exit.Output.End != exec.Cancelled || exit.Output.MayRun == "" {
		t.Errorf("%d lines, %v", lines, last)
	}
	cancel()
	<-other
}
