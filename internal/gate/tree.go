// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// markName is the variable that marks the processes of a session: a child
// inherits it, also one that has left its parent and its group.
const markName = "WEIR_GATE_SESSION"

// tree is the processes of one session.
type tree struct {
	root  int
	since uint64 // when the root began
	mark  string

	before map[int]bool // ids of the processes that were there before the root

	mu    sync.Mutex        // guards known
	known map[identity]bool // whether a process is one of them: once it was seen to be, for life
}

// identity tells a process from a later one with the same id.
type identity struct {
	pid   int
	start uint64
}

// process is one of them, at one moment.
type process struct {
	pid    int
	parent int
	start  uint64        // tells it from a later one with the same id
	name   string        // of the program, as the system has it
	cpu    time.Duration // user and system
	rss    int64         // bytes
	dead   bool          // ended, and not yet reaped
}

func (p process) String() string { return fmt.Sprintf("%s (process %d)", p.name, p.pid) }

// snapshot lists the ids of the processes there are: before a server starts,
// all that are not its own.
func snapshot() map[int]bool {
	ids := make(map[int]bool)
	for _, pid := range pids() {
		ids[pid] = true
	}
	return ids
}

// began takes note of when the server began, which tells it from a later
// process with its id.
func (t *tree) began() {
	p, _ := stat(t.root)
	t.since = p.start
}

// all lists the processes of the tree: whatever bears the mark of the session,
// the descendants of the server, and what was one of them when it was looked
// at before, whoever its parent is now.
func (t *tree) all() []process {
	var list []process
	for _, pid := range pids() {
		if t.before[pid] {
			continue
		}
		if p, ok := stat(pid); ok {
			list = append(list, p)
		}
	}
	mark := markName + "=" + t.mark + "\x00"
	ours := make(map[int]bool)
	for _, p := range list {
		if p.pid == t.root && p.start == t.since || p.start >= t.since && t.bears(p, mark) {
			ours[p.pid] = true
		}
	}
	for again := true; again; {
		again = false
		for _, p := range list {
			if !ours[p.pid] && ours[p.parent] {
				ours[p.pid], again = true, true
			}
		}
	}
	out := list[:0]
	for _, p := range list {
		if ours[p.pid] {
			out = append(out, p)
		}
	}
	t.know(out)
	return out
}

// know takes note of processes that are of the tree: one that has changed its
// environment and lost its parent is found by nothing else.
func (t *tree) know(list []process) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.known == nil {
		t.known = make(map[identity]bool)
	}
	for _, p := range list {
		t.known[identity{p.pid, p.start}] = true
	}
}

// bears reports whether p bears the mark, or is known to be of the tree.
func (t *tree) bears(p process, mark string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	id := identity{p.pid, p.start}
	if is, ok := t.known[id]; ok {
		return is
	}
	is, ok := marked(p.pid, mark)
	if ok {
		if t.known == nil {
			t.known = make(map[identity]bool)
		}
		t.known[id] = is
	}
	return is
}

// children are the processes of the tree that run, without the server itself.
func (t *tree) children() []process {
	return slices.DeleteFunc(t.all(), func(p process) bool { return p.pid == t.root || p.dead })
}

// usage is the CPU time and the memory of the whole tree.
func (t *tree) usage() (cpu time.Duration, rss int64) {
	for _, p := range t.all() {
		cpu += p.cpu
		rss += p.rss
	}
	return cpu, rss
}

// without are the processes of list that are not in old.
func without(list, old []process) []process {
	return slices.DeleteFunc(slices.Clone(list), func(p process) bool {
		return slices.ContainsFunc(old, func(o process) bool { return o.pid == p.pid && o.start == p.start })
	})
}

// both are the processes of list that are in old too.
func both(list, old []process) []process {
	return slices.DeleteFunc(slices.Clone(list), func(p process) bool {
		return !slices.ContainsFunc(old, func(o process) bool { return o.pid == p.pid && o.start == p.start })
	})
}

func describe(list []process) string {
	const most = 5
	var names []string
	for _, p := range list[:min(len(list), most)] {
		names = append(names, p.String())
	}
	if len(list) > most {
		names = append(names, fmt.Sprintf("and %d more", len(list)-most))
	}
	return strings.Join(names, ", ")
}

// awaitProcesses looks at the tree again and again until cond, or the end of
// d: nobody tells when a process that is not ours begins or ends.
func (s *session) awaitProcesses(d time.Duration, cond func([]process) bool) (list []process, ok bool) {
	for end := time.Now().Add(d); ; {
		list = s.tree.children()
		if cond(list) {
			return list, true
		}
		if time.Now().After(end) || s.g.ctx.Err() != nil {
			return list, false
		}
		s.within(20*time.Millisecond, nil)
	}
}
