// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// wait returns when the leader has ended. It is not reaped yet, so that its id
// cannot be another's when its group is killed.
func (c *child) wait() {
	for unix.Waitid(unix.P_PID, c.pid(), nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// survivors lists the processes of a group that have not ended.
func survivors(group int) (pids []int) {
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
		if len(f) > 2 && f[2] == strconv.Itoa(group) && f[0] != "Z" && f[0] != "X" {
			pids = append(pids, pid)
		}
	}
	return pids
}
