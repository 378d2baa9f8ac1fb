// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"syscall"
	"testing"
	"time"
)

// TestOrphanSession: so does one that has a session, and so a group, of its
// own; and it is ended.
func TestOrphanSession(t *testing.T) {
	setsid, err := exec.LookPath("setsid")
	if err != nil {
		t.Skip(err)
	}
	server := childCmd("serve")
	failed, _ := watch(func(t testing.TB) {
		cmd := exec.Command("/bin/sh", "-c", `"$1" sleep 60 </dev/null >/dev/null 2>&1 & exec "$0"`, server.Path, setsid)
		cmd.Env = server.Env
		c := Config{Grace: 300 * time.Millisecond}.StartCmd(t, cmd)
		if _, err := c.Call(context.Background(), "hello", nil); err != nil {
			t.Errorf("%v", err)
		}
	})
	m := regexp.MustCompile(`^servertest: the server left processes behind: \[(\d+)\]`).FindStringSubmatch(failed)
	if m == nil {
		t.Fatalf("the test was told %q", failed)
	}
	pid, _ := strconv.Atoi(m[1])
	for range 1000 {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	t.Errorf("process %d lives on", pid)
}

// TestNoCommand: Start without a command fails its test in words.
func TestNoCommand(t *testing.T) {
	failed, _ := watch(func(t testing.TB) { Start(t) })
	if want := "servertest: Start has no command: give the server's path and its arguments"; failed != want {
		t.Errorf("the test was told %q, want %q", failed, want)
	}
}

// TestManyFaults: of a server that writes without end what is no protocol,
// the test is told of some, and of how many more there were.
func TestManyFaults(t *testing.T) {
	lines := ""
	for i := range 1000 {
		lines += fmt.Sprintf("tick %d\n", i)
	}
	failed, _ := watch(func(t testing.TB) {
		c := New(t, answers{"silent": lines + `{"jsonrpc":"2.0","id":$ID,"result":{"content":[]}}`})
		if _, err := c.Call(context.Background(), "silent", nil); err != nil {
			t.Errorf("%v", err)
		}
	})
	if got := len(regexp.MustCompile(`frame \d+: not JSON`).FindAllString(failed, -1)); got != maxTold {
		t.Errorf("the test was told of %d lines, want %d", got, maxTold)
	}
	if !regexp.MustCompile(`servertest: 900 more frames like these`).MatchString(failed) {
		t.Errorf("the test was told\n%.300s", failed)
	}
}
