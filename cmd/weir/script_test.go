// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "8")           // unless given: scripts wait for other processes, mostly
	os.Setenv("GORACE", "atexit_sleep_ms=0") // by default, a child built with -race waits 1 s at its end
	testscript.Main(leakChecked{m}, map[string]func(){
		"weir":       main,
		"fakeserver": fakeServer,
		"nothing":    func() {},
		"echoserver": func() { io.Copy(os.Stdout, os.Stdin) },
		"launcher": func() { // runs a command as go run does: as its child, on its own streams
			cmd := exec.Command(os.Args[1], os.Args[2:]...)
			cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
			if cmd.Run() != nil {
				os.Exit(1)
			}
		},
	})
}

// leakChecked fails a run that leaves goroutines behind.
type leakChecked struct{ m *testing.M }

func (l leakChecked) Run() int {
	code := l.m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exitcode": exitCode,
			"await":    await,
			"gone":     gone,
		},
	})
}

// exitCode runs a command that must end with a given status: exitcode N COMMAND…
func exitCode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exitcode N COMMAND...")
	}
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		exit, ok := err.(*exec.ExitError)
		if !ok {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if strconv.Itoa(got) != args[0] {
		ts.Fatalf("exit status %d, want %s", got, args[0])
	}
}

// await waits until a file contains a text: await FILE TEXT
func await(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: await FILE TEXT")
	}
	for range 4000 {
		data, _ := os.ReadFile(ts.MkAbs(args[0])) // it may not be there yet
		if strings.Contains(string(data), args[1]) {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("%s never contained %q", args[0], args[1])
}

// gone waits until the processes whose ids a file holds, one on a line after a
// word, have ended: gone FILE
func gone(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: gone FILE")
	}
	data, err := os.ReadFile(ts.MkAbs(args[0]))
	ts.Check(err)
	n := 0
	for line := range strings.Lines(string(data)) {
		_, id, ok := strings.Cut(strings.TrimSpace(line), "pid ")
		if !ok {
			continue
		}
		pid, err := strconv.Atoi(id)
		ts.Check(err)
		n++
		awaitEnd(ts, pid)
	}
	if n == 0 {
		ts.Fatalf("%s names no process", filepath.Base(args[0]))
	}
}

func awaitEnd(ts *testscript.TestScript, pid int) {
	for range 2000 {
		p, err := os.FindProcess(pid)
		if err != nil || p.Signal(syscall.Signal(0)) != nil {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	ts.Fatalf("process %d is still there", pid)
}
