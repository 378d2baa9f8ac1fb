// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

var update = flag.Bool("update", false, "write the table of prints to testdata/prints.md")

// printRow is one line of the table: what is seen of a print, with stderr read, stuck, and one with stdout.
type printRow struct {
	name, way string
	lands     string // stderr or nowhere
	waits     bool   // while stderr is stuck
	merged    string // with 2>&1
	note      string
}

var printRows = []printRow{
	{"`fmt.Print`, `os.Stdout.Write`", "fmt.Print", "stderr", false, "nowhere", ""},
	{"`log.Print`", "log", "stderr", true, "nowhere", "the package's default is `os.Stderr`"},
	{"a `log.Logger` made with `os.Stdout`", "log-stdout", "stderr", false, "nowhere", "also when made before serving"},
	{"`slog.Info`", "slog", "stderr", true, "nowhere", "the default logger writes through `log`"},
	{"a `slog` handler on `os.Stderr`", "slog-stderr", "stderr", true, "nowhere", ""},
	{"a `slog` handler on `os.Stdout`", "slog-stdout", "stderr", false, "nowhere", "also when made before serving"},
	{"builtin `println`", "println", "stderr", true, "nowhere", ""},
	{"a panic that ends the process", "panic", "stderr", true, "nowhere", "a panic in a handler does not end it"},
	{"C's `printf`, flushed", "printf", "stderr", false, "nowhere", ""},
	{"C's `printf`, not flushed", "printf-unsent", "nowhere", false, "nowhere", "stays in C's buffer (4 KiB with glibc) until `fflush` or until that is full"},
	{"a child with inherited stdout", "child", "stderr", false, "nowhere", "its stdin is at its end"},
	{"a child with inherited stderr", "child-stderr", "stderr", true, "nowhere", ""},
}

// case 54: each row of the table in docs/backpressure.md is a run of a program of its own.
func TestPrintTable(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a program")
	}
	exe := filepath.Join(t.TempDir(), "prints")
	if out, err := exec.Command("go", "build", "-o", exe, "./testdata/prints").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| what prints | goes to | while nobody reads stderr | with `2>&1` | |\n| --- | --- | --- | --- | --- |\n")
	for _, row := range printRows {
		stuck := "goes on; what does not fit is dropped and counted"
		if row.waits {
			stuck = "waits until it is read"
		}
		if row.lands == "nowhere" {
			stuck = "goes on"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s | %s |\n", row.name, row.lands, stuck, row.merged, row.note)
		t.Run(row.way, func(t *testing.T) {
			if strings.HasPrefix(row.way, "printf") && strings.TrimSpace(string(cgo)) != "1" {
				t.Skip("no cgo")
			}
			t.Run("read", func(t *testing.T) { row.read(t, exe) })
			t.Run("stuck", func(t *testing.T) { row.stuck(t, exe) })
			t.Run("merged", func(t *testing.T) { row.mergedWith(t, exe) })
		})
	}
	const golden = "testdata/prints.md"
	if *update {
		if err := os.WriteFile(golden, []byte(table.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want, err := os.ReadFile(golden); err != nil || table.String() != string(want) {
		t.Errorf("%s is not the table of this run (%v); go test -run TestPrintTable -update writes it:\n%s", golden, err, table.String())
	}
}

func (row printRow) command(t *testing.T, exe string, n int) *exec.Cmd {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return exec.CommandContext(ctx, exe, row.way, fmt.Sprint(n))
}

// want is the whole protocol: a panic ends it.
func (row printRow) want() string {
	if row.way == "panic" {
		return frames[:len(frames)/2]
	}
	return frames
}

func (row printRow) read(t *testing.T, exe string) {
	cmd := row.command(t, exe, 5)
	var stdout, stderr strings.Builder
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil && row.way != "panic" {
		t.Fatal(err)
	}
	if stdout.String() != row.want() || strings.Contains(stderr.String(), "stray") != (row.lands == "stderr") {
		t.Errorf("stdout %q, stderr %q", stdout.String(), stderr.String())
	}
}

func (row printRow) mergedWith(t *testing.T, exe string) {
	cmd := row.command(t, exe, 5)
	out, err := cmd.CombinedOutput() // one pipe for both
	if err != nil && row.way != "panic" {
		t.Fatal(err)
	}
	if string(out) != row.want() {
		t.Errorf("stdout and stderr: %q", out)
	}
}

// stuck prints more than the pipe and the buffer for stray output hold.
func (row printRow) stuck(t *testing.T, exe string) {
	n := 1 << 20
	if row.lands == "nowhere" {
		n = 1000 // of which C's buffer holds
	}
	stdoutR, stdoutW := pipes(t)
	stderrR, stderrW := pipes(t)
	cmd := row.command(t, exe, n)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = stdoutW, stderrW
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	stdoutW.Close()
	stderrW.Close()

	text := make(<-chan string)
	if row.waits {
		until(func() bool { return held(stderrR) >= 15<<12 }) // it is full, but for the rest of a page
		if got := held(stdoutR); got != len(frames)/2 {
			t.Errorf("%d bytes of the protocol, want one frame", got)
		}
		text = readAll(stderrR)
	}
	want := row.want()
	got := make([]byte, len(want))
	if _, err := io.ReadFull(stdoutR, got); err != nil || string(got) != want {
		t.Errorf("%v: %q", err, got)
	}
	stdin.Close()
	if err := cmd.Wait(); err != nil && row.way != "panic" {
		t.Error(err)
	}
	if row.waits {
		want := n / 5
		if row.way == "println" || row.way == "panic" {
			want = 1 // the runtime does not go on with a write that a signal cut short
		}
		if all := <-text; strings.Count(all, "stray") < want {
			t.Errorf("%d bytes on stderr", len(all))
		}
	}
}

// held is how many bytes wait in the pipe.
func held(r *os.File) int {
	n, err := unix.IoctlGetInt(int(r.Fd()), unix.TIOCINQ)
	check(err)
	return n
}
