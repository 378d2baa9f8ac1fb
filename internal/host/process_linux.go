// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// wait returns when the leader has ended. It is not reaped yet, so that its id
// cannot be another's when its group is killed.
func (c *child) wait() {
	for unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// survivors lists the processes that have not ended of a group, and those
// whose environment has the mark, if it is not empty.
func survivors(group int, mark string) (pids []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // without it nothing can be said
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + name + "/stat")
		if err != nil {
			continue // it has ended meanwhile
		}
		// pid (name) state ppid pgrp …; the name may hold anything.
		_, rest, _ := strings.Cut(string(stat[max(0, strings.LastIndexByte(string(stat), ')')):]), " ")
		f := strings.Fields(rest)
		if len(f) > 2 && f[0] != "Z" && f[0] != "X" && (f[2] == strconv.Itoa(group) || marked(pid, mark)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// marked reports whether the environment that a process was started with has
// the mark. Processes of other users cannot be read, and are not ours.
func marked(pid int, mark string) bool {
	if mark == "" {
		return false
	}
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && slices.Contains(strings.Split(string(env), "\x00"), mark)
}

// killMarked ends the processes with the mark, and those that they begin
// meanwhile.
func killMarked(mark string) {
	for range 50 {
		n := 0
		for _, pid := range survivors(-1, mark) {
			if marked(pid, mark) { // still: its id may be another's by now
				n++
				unix.Kill(pid, unix.SIGKILL) // fails only when it has ended
			}
		}
		if n == 0 {
			return
		}
		time.Sleep(2 * time.Millisecond) // until they have
	}
}
