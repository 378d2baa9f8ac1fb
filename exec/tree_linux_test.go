// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/owner"
)

func init() {
	// runner runs a shell line and is itself killed meanwhile.
	children["runner"] = func(args []string) int {
		cmd := exec.Shell(args[0])
		cmd.Sink = os.Stdout
		out, err := exec.Run(context.Background(), cmd)
		fmt.Println(out, err)
		return 0
	}
	// closed has closed its standard descriptors when it runs a child that
	// does not read its input.
	children["closed"] = func([]string) int {
		os.Stdin.Close()
		os.Stdout.Close()
		cmd := exec.Shell("exec <&-; echo out; echo err >&2; sleep 0.1")
		cmd.Stdin = strings.NewReader(strings.Repeat("input", 100_000))
		out, err := exec.Run(context.Background(), cmd)
		if err != nil || out.String() != "out\n[standard error]\nerr" {
			fmt.Fprintln(os.Stderr, out, err)
			return 1
		}
		return 0
	}
	// group starts a process in a group of its own and leaves it.
	children["group"] = func(args []string) int {
		cmd := osexec.Command("sleep", "30")
		cmd.Stdout = os.Stdout
		cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		os.WriteFile(args[0], []byte(strconv.Itoa(cmd.Process.Pid)), 0o600)
		return 0
	}
	// threads ends many threads while children run, those that have started
	// them among them; it prints "died" when that ends a child too.
	children["threads"] = func([]string) int {
		var running, done sync.WaitGroup
		for range 20 {
			running.Add(1)
			done.Go(func() {
				cmd := exec.Shell("echo; sleep 1")
				cmd.Sink = writerFunc(func(p []byte) (int, error) { running.Done(); return len(p), nil })
				if out, err := exec.Run(context.Background(), cmd); err != nil || !out.Success() {
					fmt.Println("died:", out, err)
				}
			})
		}
		running.Wait()
		var locked sync.WaitGroup
		all := make(chan struct{})
		for range 100 {
			locked.Add(1)
			go func() {
				runtime.LockOSThread() // and ends so: with its thread
				locked.Done()
				<-all
			}()
		}
		locked.Wait()
		close(all)
		done.Wait()
		return 0
	}
}

// sh is a shell line whose tree tells its process ids through a file.
func sh(t *testing.T, line string) (cmd exec.Cmd, pids func() []int) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "pids")
	cmd = exec.Shell(strings.ReplaceAll(line, "PIDS", file))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Args[1] = strings.ReplaceAll(cmd.Args[1], "GROUP", "env "+childVariable+"=group "+self)
	return cmd, func() (out []int) {
		t.Helper()
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for f := range strings.FieldsSeq(string(data)) {
			pid, err := strconv.Atoi(f)
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, pid)
		}
		return out
	}
}

// lives tells whether a process runs: not gone, and not a zombie.
func lives(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return rest != "" && rest[0] != 'Z' && rest[0] != 'X'
}

// dead fails when one of the processes lives a second from now.
func dead(t *testing.T, pids []int) {
	t.Helper()
	if len(pids) == 0 {
		t.Error("no process ids")
	}
	for end := time.Now().Add(time.Second); ; time.Sleep(time.Millisecond) {
		var left []int
		for _, pid := range pids {
			if lives(pid) {
				left = append(left, pid)
			}
		}
		if len(left) == 0 {
			return
		}
		if time.Now().After(end) {
			t.Errorf("still there: %v", left)
			for _, pid := range left {
				unix.Kill(pid, unix.SIGKILL)
			}
			return
		}
	}
}

// TestSurvivors: case 52. A process that outlives the child and holds its
// output does not hold Run; what becomes of it is as the Cmd says.
func TestSurvivors(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name        string
		line        string
		keep        bool
		timeout     time.Duration
		least, most time.Duration
		end         exec.End
		survives    bool // and is named
		soFar       bool
	}{
		{"in the group", "sleep 30 & echo $! >PIDS; echo hi", false, 0, 0, second, exec.PipesHeld, false, false},
		{"in the group, with a limit", "sleep 30 & echo $! >PIDS; echo hi", false, second, 0, second, exec.PipesHeld, false, false},
		{"in the group, deaf to SIGTERM", "(trap '' TERM; sleep 30) & echo $! >PIDS; echo hi", false, 0, 300 * time.Millisecond, 2 * second, exec.PipesHeld, false, false},
		{"in another group", "GROUP PIDS; echo hi", false, 0, 0, second, exec.PipesHeld, false, false},
		{"output elsewhere", "sleep 30 >/dev/null 2>&1 & echo $! >PIDS; echo hi", false, 0, 0, second, exec.Exited, false, false},
		{"kept", "sleep 30 & echo $! >PIDS; echo hi", true, 0, 300 * time.Millisecond, 2 * second, exec.PipesHeld, true, true},
		{"kept, output elsewhere", "sleep 30 >/dev/null 2>&1 & echo $! >PIDS; echo hi", true, 0, 0, second, exec.Exited, true, false},
		{"kept, with a limit", "sleep 30 & echo $! >PIDS; echo hi", true, 100 * time.Millisecond, 100 * time.Millisecond, second, exec.TimedOut, false, false},
		{"in another session, its parent alive", "(setsid sh -c 'echo $$ >PIDS; exec sleep 30'; :) & while ! test -s PIDS; do :; done; echo hi", false, 0, 0, second, exec.PipesHeld, false, false},
		{"in another session, its parent gone", "setsid sh -c 'echo $$ >PIDS; exec sleep 30' & while ! test -s PIDS; do :; done; echo hi", false, 0, 300 * time.Millisecond, 2 * second, exec.PipesHeld, true, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			cmd, pids := sh(t, tt.line)
			cmd.Grace = 300 * time.Millisecond
			cmd.Timeout = tt.timeout
			cmd.KeepSurvivors = tt.keep
			began := time.Now()
			out := run(t, t.Context(), cmd)
			within(t, began, tt.least, tt.most)
			if out.End != tt.end || out.ExitCode != 0 || out.Stdout.Head != "hi\n" || out.Stdout.SoFar != tt.soFar {
				t.Errorf("%+v", out)
			}
			pid := pids()[0]
			if !tt.survives {
				dead(t, []int{pid})
				if out.Survivors != nil {
					t.Errorf("survivors %+v", out.Survivors)
				}
				return
			}
			if !lives(pid) {
				t.Error("it was ended")
			}
			if len(out.Survivors) != 1 || out.Survivors[0] != (exec.Survivor{PID: pid, Name: "sleep"}) {
				t.Errorf("survivors %+v, want sleep, %d", out.Survivors, pid)
			}
			unix.Kill(pid, unix.SIGKILL)
		})
	}
}

// TestRedactSurvivors holds that the names of survivors are without secrets.
func TestRedactSurvivors(t *testing.T) {
	cmd, pids := sh(t, "sleep 30 & echo $! >PIDS; until grep -q sleep /proc/$!/comm; do :; done")
	cmd.Redact = []string{"leep"}
	cmd.KeepSurvivors, cmd.Grace = true, time.Millisecond
	out := run(t, t.Context(), cmd)
	unix.Kill(pids()[0], unix.SIGKILL)
	if len(out.Survivors) != 1 || out.Survivors[0].Name != "s[redacted]" {
		t.Errorf("%+v", out.Survivors)
	}
}

// TestTreeEnds: case 56. Not only the shell ends: a cancel ends the whole
// tree, those that left the group or the session too.
func TestTreeEnds(t *testing.T) {
	for i, line := range []string{
		`sh -c 'sleep 60 & echo $! >>PIDS; sh -c "echo \$\$ >>PIDS; echo; exec sleep 60"'`,
		`trap '' TERM; sleep 60 & echo $! $$ >PIDS; echo; wait; wait; sleep 60`,
		`GROUP PIDS; echo; sleep 60`,
		`setsid sh -c 'sleep 60 & echo $! $$ >PIDS; echo; wait' & wait`,
		`setsid sh -c 'trap "" TERM; (trap "" TERM; sleep 60) & echo $! $$ >PIDS; echo; wait; sleep 60' & wait`,
	} {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancel(t.Context())
			cmd, pids := sh(t, line)
			cmd.Grace = 300 * time.Millisecond
			seen := newFirstLine()
			cmd.Sink = seen
			began := make(chan time.Time, 1)
			go func() {
				<-seen.seen
				began <- time.Now()
				cancel()
			}()
			out := run(t, ctx, cmd)
			within(t, <-began, 0, cmd.Grace+time.Second)
			if out.End != exec.Cancelled || out.Survivors != nil {
				t.Errorf("%+v", out)
			}
			dead(t, append(pids(), out.PID))
		})
	}
}

// TestTermThenKill: case 56. SIGTERM comes first, and SIGKILL after Grace.
func TestTermThenKill(t *testing.T) {
	for _, tt := range []struct {
		child       string
		least, most time.Duration
		signal      string
		code        int
		output      string
	}{
		{"polite", 0, 2 * time.Second, "", 7, "ready\ngoodbye\n"},
		{"stubborn", 400 * time.Millisecond, 3 * time.Second, "SIGKILL", -1, "ready\n"},
	} {
		t.Run(tt.child, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			cmd := child(t, tt.child)
			cmd.Grace = 400 * time.Millisecond
			seen := newFirstLine()
			cmd.Sink = seen
			began := make(chan time.Time, 1)
			go func() {
				<-seen.seen
				began <- time.Now()
				cancel()
			}()
			out := run(t, ctx, cmd)
			within(t, <-began, tt.least, tt.most)
			if out.End != exec.Cancelled || out.Signal != tt.signal || out.ExitCode != tt.code || out.Stdout.Head != tt.output {
				t.Errorf("%+v", out)
			}
		})
	}
}

// TestParentDeath: case 56. When this process is killed the child ends too.
func TestParentDeath(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(self, "echo $$; exec sleep 60")
	cmd.Env = append(os.Environ(), childVariable+"=runner")
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var pid int
	if _, err := fmt.Fscan(stdout, &pid); err != nil || !lives(pid) {
		t.Fatal(pid, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	dead(t, []int{pid})
}

// TestThreads holds that the end of a thread of this process is not taken for
// the end of the process.
func TestThreads(t *testing.T) {
	out := run(t, t.Context(), child(t, "threads"))
	if !out.Success() || out.Stdout.Bytes != 0 {
		t.Error(out)
	}
}

// TestDescriptors: case 54. A child has its three descriptors and no other of
// this process, whatever this one and the other children have open.
func TestDescriptors(t *testing.T) {
	r, w, err := os.Pipe() // as a protocol's
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	other, _ := sh(t, "sleep 0.3")
	done := make(chan struct{})
	go func() {
		defer close(done)
		run(t, t.Context(), other)
	}()
	// What this process itself was given to hand on, and a shell's own.
	const line = "readlink /proc/$$/fd/0 /proc/$$/fd/*; true"
	plain, err := osexec.Command("/bin/sh", "-c", line).Output()
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		out := run(t, t.Context(), exec.Shell(line))
		if n := out.Stdout.Lines; n != int64(strings.Count(string(plain), "\n")) || !strings.HasPrefix(out.Stdout.Head, "/dev/null\n") {
			t.Errorf("%s\nos/exec:\n%s", out, plain)
		}
	}
	<-done
}

// TestClosedDescriptors holds that a pipe to a child may get the number of a
// standard descriptor that was closed, and its end is not that of this process.
func TestClosedDescriptors(t *testing.T) {
	if out := run(t, t.Context(), child(t, "closed")); !out.Success() {
		t.Error(out)
	}
}

// TestStderrLast holds that both streams are read to their end, also when one
// ends long before the other and the child is gone.
func TestStderrLast(t *testing.T) {
	cmd := exec.Shell("exec >&-; head -c 600000 /dev/zero >&2")
	cmd.Sink = writerFunc(func(p []byte) (int, error) {
		time.Sleep(5 * time.Millisecond)
		return len(p), nil
	})
	if out := run(t, t.Context(), cmd); out.End != exec.Exited || out.Stderr.Bytes != 600_000 || out.Stderr.SoFar {
		t.Errorf("%s, %d bytes", out.End, out.Stderr.Bytes)
	}
}

// TestNullInput: case 54. A child that reads standard input, without one being
// given, eats nothing of this process's.
func TestNullInput(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(self, "cat; read x; echo done")
	cmd.Env = append(os.Environ(), childVariable+"=runner")
	r, w, err := os.Pipe() // as a host's, with a request in it, and open
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	w.WriteString("a request\n")
	cmd.Stdin = r
	out, err := cmd.Output()
	if err != nil || !strings.HasPrefix(string(out), "done\n") {
		t.Errorf("%q, %v", out, err)
	}
	if line, err := bufio.NewReader(r).ReadString('\n'); line != "a request\n" {
		t.Errorf("%q is left, %v", line, err)
	}
}

// TestNoTerminal holds that a child leads a session without a terminal to
// wait at.
func TestNoTerminal(t *testing.T) {
	out := run(t, t.Context(), exec.Shell("cut -d' ' -f6,7 /proc/$$/stat; echo $$ 0"))
	if session, want, _ := strings.Cut(out.Stdout.Head, "\n"); session+"\n" != want {
		t.Errorf("session and terminal %s, want %s", session, want)
	}
}

// TestOwner holds that a call knows its children while they live, and can
// kill them.
func TestOwner(t *testing.T) {
	var o owner.Owner
	cmd, _ := sh(t, "trap '' TERM; echo ready; sleep 60; sleep 60")
	cmd.Args = append(cmd.Args, "--password=hunter2")
	seen := newFirstLine()
	cmd.Sink = seen
	began := make(chan time.Time, 1)
	go func() {
		<-seen.seen
		things := o.Things()
		if len(things) != 1 || things[0].Kind != "process" || things[0].Name != "sh" || things[0].ID == "" {
			t.Errorf("%+v", things)
		}
		began <- time.Now()
		o.Kill()
	}()
	out := run(t, owner.NewContext(t.Context(), &o), cmd)
	within(t, <-began, 0, 900*time.Millisecond)
	if out.End != exec.Signalled || out.Signal != "SIGKILL" || len(o.Things()) != 0 {
		t.Errorf("%+v, owns %v", out, o.Things())
	}
	o.Kill() // nothing is left to kill
}
