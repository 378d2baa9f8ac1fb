// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// A process of /proc, as its stat file has it.
type procStat struct {
	pid, parent, group, session int
	start                       uint64 // in ticks since the system started
	zombie                      bool   // it has ended
	name                        string // of its program, cut by the kernel to 15 bytes
}

// processes are all that can be seen; without /proc none.
func processes() map[int]procStat {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	all := make(map[int]procStat, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := processOf(pid); ok {
				all[pid] = p
			}
		}
	}
	return all
}

// processOf is one of them; false when there is none of that id.
func processOf(pid int) (p procStat, ok bool) {
	fd, err := unix.Open("/proc/"+strconv.Itoa(pid)+"/stat", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return procStat{}, false
	}
	defer unix.Close(fd)
	var buf [512]byte
	n, err := unix.Read(fd, buf[:])
	if err != nil {
		return procStat{}, false
	}
	return parseStat(buf[:n])
}

// parseStat reads "pid (name) state ppid pgrp session …"; see proc_pid_stat(5).
// The name may hold anything, also parentheses.
func parseStat(b []byte) (p procStat, ok bool) {
	open, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if open < 1 || end < open {
		return procStat{}, false
	}
	f := bytes.Fields(b[end+1:])
	if len(f) < 20 {
		return procStat{}, false
	}
	number := func(b []byte) (n int) {
		n, err := strconv.Atoi(string(b))
		ok = ok && err == nil
		return n
	}
	ok = true
	p = procStat{
		pid:     number(b[:open-1]),
		name:    string(b[open+1 : end]),
		zombie:  f[0][0] == 'Z' || f[0][0] == 'X',
		parent:  number(f[1]),
		group:   number(f[2]),
		session: number(f[3]),
		start:   uint64(number(f[19])),
	}
	return p, ok
}

// holders lists the processes, this one aside, that have the writing end of one
// of the pipes open.
func holders(pipes []*os.File) (out []Survivor) {
	var want []string
	for _, f := range pipes {
		var st unix.Stat_t
		raw, err := f.SyscallConn()
		if err != nil {
			continue
		}
		if raw.Control(func(fd uintptr) { err = unix.Fstat(int(fd), &st) }) == nil && err == nil {
			want = append(want, fmt.Sprintf("pipe:[%d]", st.Ino))
		}
	}
	if len(want) == 0 {
		return nil
	}
	for pid, p := range processes() {
		if pid == os.Getpid() || p.zombie {
			continue
		}
		if holds(pid, want) {
			out = append(out, Survivor{PID: pid, Name: p.name})
		}
	}
	slices.SortFunc(out, func(a, b Survivor) int { return a.PID - b.PID })
	return out
}

// holds reports whether a process has one of the named pipes open to write.
func holds(pid int, pipes []string) bool {
	path := "/proc/" + strconv.Itoa(pid) + "/fd"
	dir, err := os.Open(path)
	if err != nil {
		return false // it has ended, or is another user's
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	var buf [64]byte
	for _, name := range names {
		n, err := unix.Readlink(path+"/"+name, buf[:])
		if err != nil || !slices.Contains(pipes, string(buf[:n])) {
			continue
		}
		// The link's own permissions are those that the file was opened with.
		var st unix.Stat_t
		if unix.Lstat(path+"/"+name, &st) == nil && st.Mode&unix.S_IWUSR != 0 {
			return true
		}
	}
	return false
}
