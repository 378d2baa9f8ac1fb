// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// modeEnv selects what the test binary does when a test starts it as a child.
const modeEnv = "WEIR_STDIO_TEST_MODE"

// patience is a fail-safe for what should take milliseconds.
const patience = 20 * time.Second

// modes are the children's programs. They panic when something is wrong, which the parent sees as an exit status.
var modes = map[string]func(){}

func TestMain(m *testing.M) {
	if mode := os.Getenv(modeEnv); mode != "" {
		modes[mode]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// child returns a command that runs mode in a process of its own.
func child(t *testing.T, mode string) *exec.Cmd {
	t.Helper()
	if modes[mode] == nil {
		t.Fatalf("no mode %q", mode)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, exe)
	cmd.Env = append(os.Environ(), modeEnv+"="+mode, "GORACE=atexit_sleep_ms=0")
	cmd.WaitDelay = time.Second
	return cmd
}

// output runs cmd and returns what it wrote.
func output(t *testing.T, cmd *exec.Cmd) (stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	if e := cmd.Run(); e != nil {
		t.Fatalf("child: %v\nstdout: %s\nstderr: %s", e, out.String(), err.String())
	}
	return out.String(), err.String()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// until waits for a state to be seen.
func until(seen func() bool) {
	for end := time.Now().Add(patience); !seen(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			panic("not seen in time")
		}
	}
}

// running reports that a goroutine is in the function.
func running(function string) bool {
	stacks := make([]byte, 1<<16)
	return strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), function)
}

// must claims.
func must() *Guard {
	g, err := Claim()
	check(err)
	return g
}

// frames is the whole protocol of a child that sends two frames.
const frames = "{\"frame\":1}\n{\"frame\":2}\n"

// between claims, and runs print between two frames.
func between(print func()) func() {
	return func() {
		captured = os.Stdout
		g := must()
		send(g, 1)
		print()
		send(g, 2)
		g.Release()
	}
}

// captured is os.Stdout as it was before the claim.
var captured *os.File

func send(g *Guard, n int) {
	_, err := fmt.Fprintf(g.Out(), "{\"frame\":%d}\n", n)
	check(err)
}

// prints are ways to print that every system has.
var prints = map[string]func(){
	"fmt.Println":               func() { fmt.Println("stray") },
	"os.Stdout":                 func() { _, _ = os.Stdout.WriteString("stray\n") },
	"a copy of os.Stdout":       func() { _, _ = captured.WriteString("stray\n") },
	"log to os.Stdout":          func() { log.New(captured, "", 0).Print("stray") },
	"println":                   func() { println("stray") },
	"a child given os.Stdout":   func() { childPrints(os.Stdout) },
	"a child given the old one": func() { childPrints(captured) },
}

func init() {
	modes["print"] = func() { fmt.Println("stray") }
	for way, print := range prints {
		modes["print by "+way] = between(print)
	}
}

func childPrints(stdout *os.File) {
	exe, err := os.Executable()
	check(err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), modeEnv+"=print")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, stdout, os.Stderr
	check(cmd.Run())
}

// case 54: whatever prints to stdout, the host reads frames, and the text is on stderr.
func TestPrints(t *testing.T) {
	for way := range prints {
		t.Run(way, func(t *testing.T) {
			stdout, stderr := output(t, child(t, "print by "+way))
			if stdout != frames {
				t.Errorf("stdout:\n%q\nwant\n%q", stdout, frames)
			}
			if stderr != "stray\n" {
				t.Errorf("stderr %q, want the stray line", stderr)
			}
		})
	}
}

func init() {
	modes["echo"] = func() {
		g := must()
		defer g.Release()
		_, err := io.Copy(g.Out(), g.In())
		check(err)
	}
}

// A session of many frames, in chunks larger than any pipe.
func TestEcho(t *testing.T) {
	var in strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&in, "{\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n", i)
	}
	cmd := child(t, "echo")
	cmd.Stdin = strings.NewReader(in.String())
	stdout, stderr := output(t, cmd)
	if stdout != in.String() {
		t.Errorf("%d bytes came back of %d", len(stdout), in.Len())
	}
	if stderr != "" {
		t.Errorf("stderr: %s", stderr)
	}
}

func init() {
	modes["claim twice"] = func() {
		g := must()
		if _, err := Claim(); !errors.Is(err, ErrClaimed) {
			panic(fmt.Sprint("second claim: ", err))
		}
		g.Release()
		g.Release()
		g = must()
		send(g, 1)
		g.Release()
		if _, err := g.In().Read(make([]byte, 1)); !errors.Is(err, os.ErrClosed) {
			panic(fmt.Sprint("read after release: ", err))
		}
		if _, err := g.Out().Write([]byte("x")); !errors.Is(err, os.ErrClosed) {
			panic(fmt.Sprint("write after release: ", err))
		}
		fmt.Println(`{"frame":2}`) // is stdout again
	}
}

func TestClaimTwice(t *testing.T) {
	stdout, _ := output(t, child(t, "claim twice"))
	if stdout != frames {
		t.Errorf("stdout: %q", stdout)
	}
}

func init() {
	modes["close while reading"] = func() {
		g := must()
		failed := make(chan error)
		go func() {
			_, err := g.In().Read(make([]byte, 1))
			failed <- err
		}()
		send(g, 1)
		until(func() bool { return running("(*Input).Read(") })
		check(g.In().Close())
		if err := <-failed; !errors.Is(err, os.ErrClosed) {
			panic(err)
		}
		if runtime.GOOS == "linux" && running("stdio.detach") {
			panic("the read was left behind")
		}
		send(g, 2)
		g.Release()
	}
	modes["close while writing"] = func() {
		g := must()
		send(g, 1)
		failed := make(chan error)
		go func() {
			var err error
			for err == nil { // until the pipe is full and beyond
				_, err = g.Out().Write(make([]byte, 1<<20))
			}
			failed <- err
		}()
		buf := make([]byte, 1)
		_, err := io.ReadFull(g.In(), buf) // the parent saw the first megabyte start
		check(err)
		check(g.Out().Close())
		if err := <-failed; !errors.Is(err, os.ErrClosed) {
			panic(err)
		}
		if runtime.GOOS == "linux" && running("stdio.detach") {
			panic("the write was left behind")
		}
		g.Release()
	}
}

// case 65: a read of an idle stdin ends with Close.
func TestCloseEndsRead(t *testing.T) {
	cmd := child(t, "close while reading")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, _ := output(t, cmd)
	if stdout != frames {
		t.Errorf("stdout: %q", stdout)
	}
}

// A write to a host that does not read ends with Close.
func TestCloseEndsWrite(t *testing.T) {
	cmd := child(t, "close while writing")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	cmd.Stdout = w
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	head := make([]byte, 100)
	if _, err := io.ReadFull(r, head); err != nil { // then never again
		t.Fatal(err)
	}
	if _, err := stdin.Write([]byte("!")); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatalf("%v: %s", err, stderr.String())
	}
}
