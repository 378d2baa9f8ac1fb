// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/server/servertest"
)

// gitBelow is a git of that subcommand that the process pid has started, or 0.
func gitBelow(pid int, subcommand string) int {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, stat := range stats {
		data, err := os.ReadFile(stat)
		if err != nil {
			continue
		}
		_, rest, _ := strings.Cut(string(data), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 2 || fields[1] != strconv.Itoa(pid) || fields[0] == "Z" {
			continue
		}
		line, err := os.ReadFile(filepath.Join(filepath.Dir(stat), "cmdline"))
		if err == nil && strings.Contains(string(line), "\x00"+subcommand+"\x00") {
			child, _ := strconv.Atoi(filepath.Base(filepath.Dir(stat)))
			return child
		}
	}
	return 0
}

// await waits until f holds.
func await(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// C2: a git that would go on for hours is cancelled. Case 56.
func TestCancelReachesGit(t *testing.T) {
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"a.txt": strings.Repeat("ab", 3000) + "\n"})
	commit(t, dir, "one")
	c := startGit(t, servertest.Config{}, "-root", dir)
	// 1: start.
	long, err := c.BeginCall(t.Context(), "git_grep", args{"pattern": `(.*)(.*)(.*)(.*)(.*)\5\4\3\2\1x`})
	if err != nil {
		t.Fatal(err)
	}
	// 2: wait until git is seen to run.
	var child int
	await(t, "git grep", 20*time.Second, func() bool { child = gitBelow(c.Pid(), "grep"); return child != 0 })
	// 3: cancel.
	if err := c.Cancel(long.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	// 4: git is gone, within the grace of exec and a second.
	await(t, "the end of git", 5*time.Second, func() bool {
		_, err := os.Stat(fmt.Sprintf("/proc/%d", child))
		return err != nil
	})
	// 5: another call is answered.
	r, err := c.Call(t.Context(), "git_log", args{})
	if err != nil || r.IsError {
		t.Fatalf("%v, %v", r, err)
	}
}

// A page that is full ends git, which would have printed gigabytes.
func TestFullPageEndsGit(t *testing.T) {
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"a.txt": strings.Repeat("a line that matches\n", 200_000)})
	commit(t, dir, "one")
	c := startGit(t, servertest.Config{}, "-root", dir)
	r, err := c.Call(t.Context(), "git_grep", args{"pattern": "matches"})
	if err != nil || r.IsError || !strings.Contains(r.Text(), "Use cursor") {
		t.Fatalf("%v, %v", r, err)
	}
	if child := gitBelow(c.Pid(), "grep"); child != 0 {
		t.Errorf("git grep runs on as %d", child)
	}
}
