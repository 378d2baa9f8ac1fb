// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/internal/sshdtest"
)

// childVariable makes the test binary one of the programs in children.
const childVariable = "WEIR_TEST_CHILD"

// children are the programs that tests start, by the value of childVariable.
var children = map[string]func(args []string) int{}

func TestMain(m *testing.M) {
	if name := os.Getenv(childVariable); name != "" {
		run, ok := children[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such child:", name)
			os.Exit(120)
		}
		os.Exit(run(os.Args[1:]))
	}
	// The tests that run at the same time wait for other programs; they use little
	// of a processor. A -parallel on the command line has its way.
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		flag.Set("test.parallel", "8")
	}
	code := m.Run()
	shared.stop()
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

// shared is the server of the tests that need nothing special.
var shared sharedServer

type sharedServer struct {
	once sync.Once
	s    *sshdtest.Server
	end  []func()
}

// sharedSSHD is a server that lasts for all tests.
func sharedSSHD(t testing.TB) *sshdtest.Server {
	t.Helper()
	sshdtest.Need(t)
	shared.once.Do(func() { shared.s = sshdtest.Start(&longLived{TB: t, end: &shared.end}, sshdtest.Options{}) })
	if shared.s == nil {
		t.Fatal("the shared sshd did not start")
	}
	return shared.s
}

func (s *sharedServer) stop() {
	for i := len(s.end) - 1; i >= 0; i-- {
		s.end[i]()
	}
}

// A longLived is a test whose cleanup comes at the end of all.
type longLived struct {
	testing.TB
	end *[]func()
}

func (l *longLived) Cleanup(fn func()) { *l.end = append(*l.end, fn) }

func (l *longLived) TempDir() string {
	dir, err := os.MkdirTemp("", "weir-sshd")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// testHost is a Host for the server, closed with the test.
func testHost(t testing.TB, s *sshdtest.Server) *Host {
	t.Helper()
	h := &Host{Name: "box", Address: s.Addr, User: s.User, Auth: testAuth(s), HostKeys: testHostKeys(s)}
	t.Cleanup(func() { h.Close() })
	return h
}

// sh is a command for a shell over there.
func sh(line string) exec.Cmd { return exec.Cmd{Path: "sh", Args: []string{"-c", line}} }

// mustRun runs a command that has to be run.
func mustRun(t testing.TB, ctx context.Context, h *Host, cmd exec.Cmd) *exec.Output {
	t.Helper()
	out, err := h.Run(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// eventually waits for something that has to come to pass.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in 20 s: %s", what)
		}
	}
}

// within fails when more time has passed than the most.
func within(t testing.TB, began time.Time, most time.Duration) {
	t.Helper()
	if d := time.Since(began); d > most {
		t.Errorf("it took %v, want at most %v", d, most)
	}
}

// processes are the processes of this machine whose command line holds word,
// zombies and this one aside.
func processes(word string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, name := range names {
		data, err := os.ReadFile(name)
		pid, _ := strconv.Atoi(strings.Split(name, "/")[2])
		if err == nil && pid != os.Getpid() && strings.Contains(strings.ReplaceAll(string(data), "\x00", " "), word) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// killAll ends processes of this machine.
func killAll(pids []int) {
	for _, pid := range pids {
		if p, err := os.FindProcess(pid); err == nil {
			p.Kill()
		}
	}
}

// needProc skips a test that looks for processes where /proc does not show them.
func needProc(t testing.TB) {
	t.Helper()
	if _, err := os.Stat("/proc/self/cmdline"); err != nil {
		t.Skip("no /proc to look for processes in")
	}
}

var lastSleep atomic.Int64

// tempSleep is a number of seconds that no other test sleeps, to be found again.
func tempSleep() string {
	return strconv.FormatInt(100000+lastSleep.Add(1), 10) + "." + strconv.Itoa(os.Getpid())
}

func writeFile(t testing.TB, name string, data []byte) {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
