// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// seen is a Sink that closes a channel when a text has come.
type seen struct {
	text string
	had  string
	ch   chan struct{}
}

func newSeen(text string) *seen { return &seen{text: text, ch: make(chan struct{})} }

func (s *seen) Write(p []byte) (int, error) {
	if s.ch != nil && !isClosed(s.ch) {
		s.had += string(p)
		if strings.Contains(s.had, s.text) {
			close(s.ch)
		}
	}
	return len(p), nil
}

// TestEndReachesProcesses holds that what a command has started over there is
// gone, all of it, when the call is over: looked for on the server itself.
func TestEndReachesProcesses(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	mustRun(t, t.Context(), h, exec.Cmd{Path: "true"})
	conn := h.link.conn
	for _, tt := range []struct {
		name  string
		line  string // %s is a time to sleep
		cmd   exec.Cmd
		stop  string // cancel, or what ends it by itself
		end   exec.End
		sig   string
		least time.Duration
	}{
		{name: "silent", line: "echo ready; sleep %s", stop: "cancel", end: exec.Cancelled, sig: "SIGTERM"},
		{name: "a tree", line: "(sleep %[1]s & sleep %[1]s) & sh -c 'sleep %[1]s; true' & echo ready; sleep %[1]s", stop: "cancel", end: exec.Cancelled, sig: "SIGTERM"},
		{name: "printing", line: "echo ready; sleep %s & yes", stop: "cancel", end: exec.Cancelled, sig: "SIGTERM"},
		{name: "in a session of its own", line: "setsid sleep %[1]s & setsid sh -c 'sleep %[1]s & exec >/dev/null 2>&1; sleep %[1]s' & echo ready; sleep %[1]s", stop: "cancel", end: exec.Cancelled, sig: "SIGTERM"},
		{name: "stubborn", line: "trap '' TERM; echo ready; sleep %[1]s & wait; sleep %[1]s", cmd: exec.Cmd{Grace: 300 * time.Millisecond}, stop: "cancel", end: exec.Cancelled, sig: "SIGKILL", least: 300 * time.Millisecond},
		{name: "with input", line: "echo ready; sleep %s; cat", cmd: exec.Cmd{Stdin: strings.NewReader("x")}, stop: "cancel", end: exec.Cancelled, sig: "SIGTERM"},
		{name: "timed out", line: "echo ready; sleep %s", cmd: exec.Cmd{Timeout: 300 * time.Millisecond}, end: exec.TimedOut, sig: "SIGTERM", least: 300 * time.Millisecond},
		{name: "too much", line: "echo ready; sleep %s & yes", cmd: exec.Cmd{KillAfter: 1 << 20}, end: exec.OutputLimit, sig: "SIGTERM"},
		{name: "left behind", line: "sleep %s & echo ready", end: exec.PipesHeld},
		{name: "left behind in a session of its own", line: "setsid sleep %s & echo ready", end: exec.PipesHeld},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // over the one connection
			sleep := tempSleep()
			ready := newSeen("ready\n")
			cmd := tt.cmd
			cmd.Path, cmd.Args, cmd.Sink = "sh", []string{"-c", fmt.Sprintf(tt.line, sleep)}, ready
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.stop == "cancel" {
				go func() {
					<-ready.ch
					cancel(errors.New("not wanted any more"))
				}()
			}
			t.Cleanup(func() { killAll(processes("sleep " + sleep)) })
			began := time.Now()
			o := mustRun(t, ctx, h, cmd)
			if o.End != tt.end || o.Signal != tt.sig || o.MayRun != "" || len(o.Survivors) > 0 || !strings.HasPrefix(o.Stdout.Head, "ready\n") || o.Stdout.SoFar {
				t.Errorf("%+v", o)
			}
			if tt.end == exec.Cancelled && (o.Cause != "not wanted any more" || !strings.Contains(o.Err.Error(), "not wanted any more")) {
				t.Errorf("cause %q, error %v", o.Cause, o.Err)
			}
			if d := time.Since(began); d < tt.least || d > tt.least+5*time.Second {
				t.Errorf("it took %v", d)
			}
			if left := processes("sleep " + sleep); len(left) > 0 {
				t.Errorf("processes %v are left", left)
			}
			if o := mustRun(t, t.Context(), h, exec.Cmd{Path: "echo", Args: []string{"next"}}); o.Stdout.Head != "next\n" {
				t.Errorf("the next call: %+v", o)
			}
			if h.link.conn != conn {
				t.Error("the connection is another")
			}
		})
	}
}

// TestCloseSays holds that a command whose host is closed is said to be ended over
// there, where a guard knows it, and that it is.
func TestCloseSays(t *testing.T) {
	t.Parallel()
	needProc(t)
	for range 5 {
		h := testHost(t, sharedSSHD(t))
		sleep := tempSleep()
		t.Cleanup(func() { killAll(processes("sleep " + sleep)) })
		cmd := sh("echo ready; exec sleep " + sleep)
		ready := newSeen("ready\n")
		cmd.Sink = ready
		go func() {
			<-ready.ch
			guarded(h)
			h.mu.Lock()
			g := h.link.conn.currentGuard()
			h.mu.Unlock()
			for told := false; !told; time.Sleep(5 * time.Millisecond) {
				g.mu.Lock()
				told = g.watched > 0
				g.mu.Unlock()
			}
			<-g.list(1, newID()).done // it has read what came before
			h.Close()
		}()
		o := mustRun(t, t.Context(), h, cmd)
		if o.End != exec.Unknown || !errors.Is(o.Err, ErrClosed) || !strings.Contains(o.MayRun, "it is ended there when the server notices") || strings.Contains(o.String(), "another process") {
			t.Errorf("%v, may run: %q", o, o.MayRun)
		}
		eventually(t, "it is ended", func() bool { return len(processes("sleep "+sleep)) == 0 })
	}
}

// TestLostGuard holds that this is said too when the guard's session has already
// ended with the connection.
func TestLostGuard(t *testing.T) {
	over := make(chan struct{})
	close(over)
	c := &call{h: &Host{}, conn: &conn{lost: over}}
	c.watcher.Store(&guard{up: over})
	c.watched.Store(true)
	if text := c.mayRun(7); !strings.Contains(text, "it is ended there when") {
		t.Error(text)
	}
	c.watcher.Store(&guard{up: make(chan struct{})})
	if text := c.mayRun(7); !strings.Contains(text, "nothing there could be told") {
		t.Error(text)
	}
}

// TestKeepSurvivors holds that what is kept is named, and lives.
func TestKeepSurvivors(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	sleep := tempSleep()
	cmd := sh("sleep " + sleep + " & echo hi")
	cmd.KeepSurvivors, cmd.Grace = true, 300*time.Millisecond
	began := time.Now()
	o := mustRun(t, t.Context(), h, cmd)
	within(t, began, 5*time.Second)
	if o.End != exec.PipesHeld || o.Stdout.Head != "hi\n" || !o.Stdout.SoFar || len(o.Survivors) != 1 || o.Survivors[0].Name != "sleep" {
		t.Fatalf("%+v", o)
	}
	left := processes("sleep " + sleep)
	if len(left) != 1 || left[0] != o.Survivors[0].PID {
		t.Errorf("processes %v, survivors %v", left, o.Survivors)
	}
	killAll(left)
}

// TestBackground holds that a command in the background with its output
// elsewhere does not hold the call.
func TestBackground(t *testing.T) {
	t.Parallel()
	needProc(t)
	h := testHost(t, sharedSSHD(t))
	sleep := tempSleep()
	began := time.Now()
	o := mustRun(t, t.Context(), h, sh("sleep "+sleep+" >/dev/null 2>&1 & echo hi"))
	within(t, began, 5*time.Second)
	if o.End != exec.Exited || !o.Success() || o.Stdout.Head != "hi\n" {
		t.Errorf("%+v", o)
	}
	killAll(processes("sleep " + sleep))
}

func init() {
	// run runs a line over SSH with what the test gives it, until it is killed.
	children["run"] = func(args []string) int {
		s := &sshdtest.Server{Addr: args[0], User: args[1], KeyFile: args[2]}
		h := &Host{Address: s.Addr, User: s.User, Auth: testAuth(s), HostKeys: HostKeys{Files: []string{args[2] + ".host"}}}
		cmd := sh(args[3])
		ready := newSeen("ready")
		cmd.Sink = ready
		if len(args) > 4 {
			cmd.Stdin = os.Stdin
		}
		go func() { // say so once its guard knows of it
			time.AfterFunc(time.Minute, func() { os.Exit(91) }) // whoever started it is gone
			<-ready.ch
			for {
				time.Sleep(time.Millisecond)
				h.mu.Lock()
				c := h.link.conn
				h.mu.Unlock()
				g := c.currentGuard()
				if g == nil {
					continue
				}
				g.mu.Lock()
				told := g.watched > 0
				g.mu.Unlock()
				if told {
					<-g.list(1, newID()).done // it has read what came before
					fmt.Println("watched")
					return
				}
			}
		}()
		_, err := h.Run(context.Background(), cmd)
		fmt.Fprintln(os.Stderr, err)
		return 0
	}
}

// TestClientKilled holds that the processes of a client that is killed are
// ended on the other machine.
func TestClientKilled(t *testing.T) {
	t.Parallel()
	needProc(t)
	s := sharedSSHD(t)
	writeFile(t, s.KeyFile+".host", []byte(knownhosts.Line([]string{knownhosts.Normalize(s.Addr)}, s.HostKey)+"\n"))
	for _, input := range []bool{false, true} {
		for _, line := range []string{"echo ready $$; sleep %s", "trap '' TERM; echo ready $$; setsid sleep %[1]s & sleep %[1]s; sleep %[1]s"} {
			t.Run(fmt.Sprint(input, line[0] == 't'), func(t *testing.T) {
				t.Parallel()
				sleep := tempSleep()
				self, err := os.Executable()
				if err != nil {
					t.Fatal(err)
				}
				cmd := osexec.Command(self, s.Addr, s.User, s.KeyFile, fmt.Sprintf(line, sleep))
				if input {
					cmd.Args = append(cmd.Args, "input")
					w, err := cmd.StdinPipe()
					if err != nil {
						t.Fatal(err)
					}
					defer w.Close()
				}
				cmd.Env = append(os.Environ(), childVariable+"=run")
				var errs sshdtest.Buffer
				cmd.Stderr = &errs
				out := newSeen("watched")
				cmd.Stdout = out
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait(); killAll(processes("sleep " + sleep)) })
				select {
				case <-out.ch:
				case <-time.After(20 * time.Second):
					t.Fatalf("it did not begin: %s", errs.String())
				}
				if n := len(processes("sleep " + sleep)); n == 0 {
					t.Fatal("there is no process to look for")
				}
				cmd.Process.Kill()
				cmd.Wait()
				began := time.Now()
				eventually(t, "the processes end", func() bool { return len(processes("sleep "+sleep)) == 0 })
				t.Logf("gone %v after the client", time.Since(began))
			})
		}
	}
}

// TestForcedCommand holds that a command that the server puts in the place of
// ours is reported as one that nothing can end.
func TestForcedCommand(t *testing.T) {
	t.Parallel()
	needProc(t)
	for _, where := range []string{"authorized_keys", "ForceCommand"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			sleep := tempSleep()
			forced := "echo forced; exec sleep " + sleep
			o := sshdtest.Options{Config: "ForceCommand " + forced}
			if where == "authorized_keys" {
				o = sshdtest.Options{KeyOptions: `command="` + forced + `"`}
			}
			endForced(t, sshdtest.Start(t, o), sleep)
		})
	}
}

// endForced cancels a call whose command the server has replaced.
func endForced(t *testing.T, s *sshdtest.Server, sleep string) {
	t.Cleanup(func() {
		killAll(processes("sleep " + sleep))
	})
	h := testHost(t, s)
	ctx, cancel := context.WithCancel(t.Context())
	cmd := exec.Cmd{Path: "uptime", Sink: newSeen("")}
	ready := newSeen("forced\n")
	cmd.Sink = ready
	go func() {
		<-ready.ch
		cancel()
	}()
	began := time.Now()
	o := mustRun(t, ctx, h, cmd)
	within(t, began, 5*time.Second)
	if o.End != exec.Cancelled || o.PID != 0 || !strings.Contains(o.MayRun, "forced command") || !strings.Contains(o.String(), "may still be running") || o.Stdout.Head != "forced\n" {
		t.Errorf("%+v", o)
	}
	if n := len(processes("sleep " + sleep)); n != 1 {
		t.Errorf("%d forced commands run, want the one", n)
	}
}

// TestOtherShells holds that commands run, and are ended, whatever shell the
// account has; where one cannot be ended, the Output says so.
func TestOtherShells(t *testing.T) {
	t.Parallel()
	needProc(t)
	for _, tt := range []struct {
		shell string
		kind  shellKind
	}{
		{"/bin/sh", posixShell},
		{"/bin/dash", posixShell},
		{"/bin/bash", posixShell},
		{"/bin/mksh", posixShell},
		{"/usr/bin/zsh", otherShell},
		{"/usr/bin/fish", otherShell},
		{"/bin/tcsh", otherShell},
		{"/bin/rbash", restrictedShell},
	} {
		t.Run(tt.shell, func(t *testing.T) {
			if _, err := os.Stat(tt.shell); err != nil {
				t.Skip("not installed")
			}
			t.Parallel()
			// As a login shell is run by the server: with -c and the line.
			s := sshdtest.Start(t, sshdtest.Options{KeyOptions: `command="exec ` + tt.shell + ` -c \"$SSH_ORIGINAL_COMMAND\""`})
			h := testHost(t, s)
			for range 2 { // the second knows the shell
				o := mustRun(t, t.Context(), h, exec.Cmd{Path: "printf", Args: []string{"[%s]", "a b", "it's", "\\", "!x", "$HOME\n*", ""}, Env: []string{"A=it's\\\n"}})
				if want := "[a b][it's][\\][!x][$HOME\n*][]"; o.Stdout.Head != want || o.Stderr.Head != "" || o.PID == 0 || !o.Success() {
					t.Fatalf("%q, %q: %+v", o.Stdout.Head, o.Stderr.Head, o)
				}
			}
			if kind := shellKind(h.link.shell.Load()); kind != tt.kind {
				t.Errorf("taken for kind %d, want %d", kind, tt.kind)
			}
			if o := mustRun(t, t.Context(), h, sh("exit 3")); o.ExitCode != 3 {
				t.Errorf("%+v", o)
			}
			sleep := tempSleep()
			ctx, cancel := context.WithCancel(t.Context())
			cmd := sh("echo ready >&2; sleep " + sleep) // behind the marker on the same stream
			cmd.Grace = 20 * time.Second                // on a busy machine too, SIGTERM is what ends it
			ready := newSeen("ready\n")
			cmd.Sink = ready
			go func() {
				<-ready.ch
				if tt.kind != restrictedShell {
					guarded(h)
				}
				cancel()
			}()
			o := mustRun(t, ctx, h, cmd)
			left := processes("sleep " + sleep)
			if o.MayRun == "" && (len(left) > 0 || o.Signal != "SIGTERM") || o.MayRun != "" && !strings.Contains(o.MayRun, strconv.Itoa(o.PID)) {
				t.Errorf("left %v: %+v", left, o)
			}
			if (o.MayRun != "") != (tt.kind == restrictedShell) {
				t.Errorf("may run: %q", o.MayRun)
			}
			killAll(left)
		})
	}
}

// guarded waits until the host's connection has a guard, or has no hope of one:
// a command that is cancelled before that may go on.
func guarded(h *Host) {
	for range 5000 {
		h.mu.Lock()
		c := h.link.conn
		h.mu.Unlock()
		if c == nil {
			return
		}
		c.mu.Lock()
		up := c.guard != nil && c.guard.isUp()
		c.mu.Unlock()
		if up {
			return
		}
		time.Sleep(time.Millisecond)
	}
}
