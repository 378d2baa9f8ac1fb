// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package host

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// awaitGone waits until there is no process (or group, for a negative pid).
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	for range 2000 {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d is still there", pid)
}

// TestWrapper: a server started through a launcher, as by go run, is reached
// by all that the host does, and nothing is left behind.
func TestWrapper(t *testing.T) {
	for name, end := range map[string]func(h *Host) error{
		"close": func(h *Host) error { return h.Close() },
		"kill":  func(h *Host) error { h.Kill(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			h := startChild(t, Config{}, "wrapper")
			if got := callText(t, h, "echo", args{"text": "through"}); got != "through" {
				t.Errorf("echo returned %q", got)
			}
			if err := h.AwaitStderr(soon(t), "serving "); err != nil {
				t.Fatal(err)
			}
			var wrapper, server int
			text, _ := h.Stderr()
			for line := range strings.Lines(text) {
				what, pid, _ := strings.Cut(strings.TrimSpace(line), " ")
				switch n, _ := strconv.Atoi(pid); what {
				case "wrapper":
					wrapper = n
				case "serving":
					server = n
				}
			}
			if wrapper != h.Pid() || server == 0 || server == wrapper {
				t.Fatalf("pids: host says %d, wrapper %d, server %d", h.Pid(), wrapper, server)
			}
			if err := end(h); err != nil {
				t.Errorf("end: %v", err)
			}
			<-h.Done()
			if left := h.Metrics().Exit.Survivors; left != nil {
				t.Errorf("survivors are %v", left)
			}
			awaitGone(t, server)
			awaitGone(t, -wrapper)
		})
	}
}

// TestSurvivor: a process that outlives the server, ignores SIGTERM and holds
// stdout open is killed with the group; the end is not waited for longer than
// Grace.
func TestSurvivor(t *testing.T) {
	h := startChild(t, Config{Grace: time.Second}, "serve")
	pid, err := strconv.Atoi(callText(t, h, "spawn", nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	e := h.Metrics().Exit
	if e == nil || !e.OutputHeld || e.Code != 0 {
		t.Errorf("exit is %+v", e)
	}
	if runtime.GOOS == "linux" && !slices.Equal(e.Survivors, []int{pid}) {
		t.Errorf("survivors are %v, want %d", e.Survivors, pid)
	}
	awaitGone(t, pid)
}

func TestExit(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	_, err := h.Call(soon(t), "exit", args{"n": 7})
	var exit *exec.ExitError
	if !errors.Is(err, ErrEnded) || !errors.As(err, &exit) || exit.ExitCode() != 7 {
		t.Errorf("the call ended with %v", err)
	}
	if err := h.Wait(soon(t)); !errors.As(err, &exit) {
		t.Errorf("Wait: %v", err)
	}
	if e := h.Metrics().Exit; e.Code != 7 {
		t.Errorf("exit is %+v", e)
	}
	if d := h.Diagnose(); !strings.Contains(d, "ended (exit status 7)") {
		t.Error(d)
	}
}

// TestEnds: what a request is told of a server that has ended: how, and at which
// point.
func TestEnds(t *testing.T) {
	h := startChild(t, Config{}, "end")
	if _, err := h.Open(soon(t)); fmt.Sprint(err) != "host: the session has ended: the server ended with exit status 0 before it answered initialize" {
		t.Errorf("Open: %v", err)
	}
	<-h.Done()
	if _, err := h.Request(soon(t), "ping", nil); fmt.Sprint(err) != "host: the session has ended: the server ended with exit status 0 before ping was sent" {
		t.Errorf("a request after that: %v", err)
	}

	h = startChild(t, Config{}, "shut") // closes its stdin, then ends
	if err := h.AwaitStderr(soon(t), "shut"); err != nil {
		t.Fatal(err)
	}
	for err := error(nil); err == nil; err = h.Notify("notifications/x", nil) { // until a write has failed
	}
	if _, err := h.Request(soon(t), "ping", nil); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "the server ended with exit status 0 before ping was sent") {
		t.Errorf("a request to a server that does not read: %v", err)
	}

	release := make(chan struct{})
	h, err := Run(Config{}, func(context.Context, io.ReadCloser, io.WriteCloser) error { <-release; return nil })
	if err != nil {
		t.Fatal(err)
	}
	h.CloseInput()
	if _, err := h.Request(soon(t), "ping", nil); !errors.Is(err, errInputClosed) {
		t.Errorf("a request after CloseInput: %v", err)
	}
	close(release)
	<-h.Done()
	if _, err := h.Request(soon(t), "ping", nil); fmt.Sprint(err) != "host: the session has ended: Serve returned nil before ping was sent" {
		t.Errorf("a request after Serve: %v", err)
	}
}

// TestEndsAfterHandshake: a server that is gone before the handshake's last
// message is sent.
func TestEndsAfterHandshake(t *testing.T) {
	var h *Host
	started := make(chan struct{})       // h is set
	cfg := Config{OnFrame: func(Frame) { // holds the answer back until the end is known
		<-started
		h.until(soon(t), func() bool { return h.Metrics().Exit != nil })
	}}
	var err error
	h, err = Run(cfg, func(_ context.Context, in io.ReadCloser, out io.WriteCloser) error {
		in.Read(make([]byte, 1<<10))
		io.WriteString(out, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"x","version":"1"}}}`+"\n")
		return errStopReading
	})
	if err != nil {
		t.Fatal(err)
	}
	close(started)
	if _, err := h.Open(soon(t)); !errors.Is(err, errStopReading) || !strings.HasSuffix(err.Error(), " after it answered initialize") {
		t.Errorf("Open: %v", err)
	}
}

// TestEcho: a program that returns what it reads is not taken for a server that
// refuses.
func TestEcho(t *testing.T) {
	for _, protocol := range []string{LatestLegacy, LatestModern} {
		h := startChild(t, Config{Protocol: protocol}, "echo")
		if _, err := h.Open(soon(t)); !errors.Is(err, ErrEcho) {
			t.Errorf("%s: Open: %v", protocol, err)
		}
		f, err := h.Next(soon(t), 0)
		if err != nil || f.Faults != FaultEcho || f.Faults.String() != "our own request, sent back" {
			t.Errorf("%s: faults %v, %v", protocol, f.Faults, err)
		}
		if err := h.Close(); err != nil {
			t.Errorf("%s: Close: %v", protocol, err)
		}
	}
}

// TestStubborn: a server that ignores the end of its input is asked to end, and
// killed when it ignores that too.
func TestStubborn(t *testing.T) {
	for mode, want := range map[string]syscall.Signal{"deaf": syscall.SIGTERM, "sleep": syscall.SIGKILL} {
		h := startChild(t, Config{Grace: 300 * time.Millisecond}, mode)
		if err := h.AwaitStderr(soon(t), mode); err != nil {
			t.Fatal(err)
		}
		err := h.Close()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != want {
			t.Errorf("%s: Close: %v, want %v", mode, err, want)
		}
		awaitGone(t, -h.Pid())
	}
}

// TestClosePaused: a host that had stopped reading reads on when it closes, so
// that the server can answer and end.
func TestClosePaused(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	h.Pause()
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("big", args{"n": 1 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	if _, err := p.Wait(soon(t)); err != nil {
		t.Errorf("the call: %v", err)
	}
}

// TestStuckServe: a Serve in this process that never returns does not hold
// Close for ever.
func TestStuckServe(t *testing.T) {
	release := make(chan struct{})
	h, err := Run(Config{Grace: 20 * time.Millisecond}, func(context.Context, io.ReadCloser, io.WriteCloser) error {
		<-release
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(); err == nil || !strings.Contains(err.Error(), "did not end although it was killed") {
		t.Errorf("Close: %v", err)
	}
	close(release)
	<-h.Done()
}

// TestHostGone: the server sees the death of its host as a failed write, and
// what waits for it ends.
func TestHostGone(t *testing.T) {
	h := startChild(t, Config{}, "serve")
	callText(t, h, "echo", nil)
	h.CloseOutput()
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("echo", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrEnded) { // by SIGPIPE, as is the rule for fd 1
		t.Errorf("the call ended with %v", err)
	}
}

// TestStdoutClosed: a server that closes its stdout and lives on leaves no
// request waiting.
func TestStdoutClosed(t *testing.T) {
	h := startChild(t, Config{Grace: 50 * time.Millisecond}, "serve")
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("closestdout", nil)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Wait(soon(t)); !errors.Is(err, ErrEnded) || !strings.Contains(err.Error(), "has closed its stdout") {
		t.Errorf("the call ended with %v", err)
	}
	if _, err := h.Request(soon(t), "ping", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("a request after that: %v", err)
	}
	if d := h.Diagnose(); d != "the server has closed its stdout, and lives on; no request is open" {
		t.Error(d)
	}
}

// TestDescriptors: however a session ends, its pipes are closed.
func TestDescriptors(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("descriptors are counted in /proc")
	}
	count := func() int {
		list, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	once := func() {
		h := startChild(t, Config{Limit: 1000, EndOnOversize: true}, "serve")
		s := NewSessions(h, true)
		h.Call(soon(t), "big", args{"n": 2000})
		next, err := s.Await(soon(t))
		if err != nil {
			t.Fatal(err)
		}
		next.Kill()
		<-next.Done()
		if err := s.Restart(soon(t)); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		Start(Config{}, exec.Command("/no/such/program"))
		if h, err = Run(Config{}, (&fake{}).serve); err != nil {
			t.Fatal(err)
		}
		h.Close()
	}
	once() // what the runtime keeps for itself is there from now on
	before := count()
	for range 3 {
		once()
	}
	if after := count(); after > before {
		t.Errorf("%d descriptors, then %d", before, after)
	}
}

func TestStartErrors(t *testing.T) {
	if _, err := Start(Config{}, exec.Command("/no/such/program")); err == nil || !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a program that is not there: %v", err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Stdin = os.Stdin
	if _, err := Start(Config{}, cmd); err == nil {
		t.Error("a command with a stream was started")
	}
}

func TestStderr(t *testing.T) {
	var all strings.Builder
	h := startChild(t, Config{Stderr: &all}, "serve")
	callText(t, h, "stderr", args{"n": 3 << 20})
	if err := h.AwaitStderr(soon(t), "last line\n"); err != nil {
		t.Fatal(err)
	}
	text, n := h.Stderr()
	want := int64(len("serving ") + len(strconv.Itoa(h.Pid())) + len("\nfirst line\n") + 3<<20 + len("\nlast line\n"))
	if n != want || len(text) > 1<<20 || !strings.Contains(text, "\nfirst line\ne") || !strings.Contains(text, "bytes left out]\ne") {
		t.Errorf("%d bytes (want %d), %d kept", n, want, len(text))
	}
	h.Close()
	if _, n = h.Stderr(); int64(all.Len()) != n {
		t.Errorf("%d bytes passed on, want %d", all.Len(), n)
	}
}

// TestStderrUnread: on purpose, stderr fills up and stops who writes to it.
func TestStderrUnread(t *testing.T) {
	h := startChild(t, Config{StderrUnread: true, Grace: 50 * time.Millisecond}, "serve")
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("stderr", args{"n": 3 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	if got := callText(t, h, "echo", args{"text": "a"}); got != "a" {
		t.Errorf("echo returned %q", got)
	}
	select {
	case <-p.Done():
		t.Error("3 MiB went into a pipe that nobody reads")
	case <-time.After(50 * time.Millisecond): // nothing can be waited for: it shall not happen
	}
}
