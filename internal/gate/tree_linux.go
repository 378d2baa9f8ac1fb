// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const tick = time.Second / 100 // of the times in /proc, on every system that Go runs on

var pageSize = int64(os.Getpagesize())

// pids lists the ids of all processes.
func pids() (list []int) {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil // without it nothing can be said
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // those that could be read
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			list = append(list, pid)
		}
	}
	return list
}

// marked reports whether the environment that a process was started with has
// the mark. Processes of others cannot be read, and are not ours. known is
// false for one of which nothing is known yet: it is just about to begin.
func marked(pid int, mark string) (is, known bool) {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	return err == nil && bytes.Contains(env, []byte(mark)), len(env) > 0 || errors.Is(err, fs.ErrPermission)
}

// stat reads one process. A line of stat is: pid (name) state ppid …, and the
// name may hold anything.
func stat(pid int) (p process, ok bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return p, false // it has ended meanwhile
	}
	text := string(data)
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return p, false
	}
	f := strings.Fields(text[end+1:])
	if len(f) < 22 {
		return p, false
	}
	num := func(i int) int64 { n, _ := strconv.ParseInt(f[i], 10, 64); return n }
	return process{
		pid: pid, name: text[open+1 : end], parent: int(num(1)),
		cpu: time.Duration(num(11)+num(12)) * tick, start: uint64(num(19)), rss: num(21) * pageSize,
		dead: f[0] == "Z" || f[0] == "X",
	}, true
}

// kill ends what is left of the tree.
func (t *tree) kill() {
	for range 50 {
		list := t.children()
		if len(list) == 0 {
			return
		}
		for _, p := range list {
			if now, ok := stat(p.pid); ok && now.start == p.start {
				syscall.Kill(p.pid, syscall.SIGKILL) // fails only when it has ended
			}
		}
		time.Sleep(2 * time.Millisecond) // until they have
	}
}
