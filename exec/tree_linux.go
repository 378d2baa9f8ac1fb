// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"os"
	"runtime"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"
)

// system is what Linux adds to a tree.
type system struct {
	members []member // found in /proc, the leader aside; guarded by mu
}

// A member is a process of the tree that was seen in /proc.
type member struct {
	pid   int
	start uint64 // when it started; with pid, it identifies the process
	group bool   // it is in the leader's group
	name  string
	fd    int // pidfd, or -1 where the kernel has none
}

// ownThread keeps the goroutine on its thread until release. The kernel sends
// the parent-death signal when the thread that forked ends, not the process, and
// Go ends threads: those of goroutines that end while they are locked to them.
// So the goroutine that forks keeps its thread from others until the child has
// ended, which it waits for anyway. It takes no other goroutine's help: one of
// another synctest bubble could give none.
func ownThread() (release func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// fork starts the leader, from a thread that its caller keeps.
func (t *tree) fork(path string, argv []string, attr *syscall.ProcAttr) (err error) {
	attr.Sys.Pdeathsig = unix.SIGKILL
	t.pid, err = syscall.ForkExec(path, argv, attr)
	return err
}

// wait returns when the leader has ended. It is not reaped, so that its id is
// nobody else's when its group gets a signal.
func (t *tree) wait() {
	for unix.Waitid(unix.P_PID, t.pid, nil, unix.WEXITED|unix.WNOWAIT, nil) == unix.EINTR {
	}
}

// take reaps the leader and gives back what it took.
func (t *tree) take() (ws syscall.WaitStatus, usage syscall.Rusage, ok bool) {
	var pid int
	var err error
	for {
		if pid, err = syscall.Wait4(t.pid, &ws, 0, &usage); err != syscall.EINTR {
			break
		}
	}
	return ws, usage, err == nil && pid == t.pid
}

// peakMemory is 0 when it says nothing: the count of a child begins with what
// its parent had when it started it.
func peakMemory(usage *syscall.Rusage) int64 {
	var own syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &own) != nil || usage.Maxrss <= own.Maxrss {
		return 0
	}
	return usage.Maxrss << 10
}

// signalGroupLocked sends sig to the leader's group. Once the leader is reaped
// only members get signals, since its id may be another's.
func (t *tree) signalGroupLocked(sig syscall.Signal) {
	if !t.reaped {
		unix.Kill(-t.pid, sig)
	}
}

// terminate asks the tree to end.
func (t *tree) terminate() { t.signal(unix.SIGTERM) }

// kill ends the tree at once.
func (t *tree) kill() { t.signal(unix.SIGKILL) }

func (t *tree) signal(sig syscall.Signal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.forgotten {
		return
	}
	t.findLocked() // before the leader ends: its children would have another parent
	t.signalGroupLocked(sig)
	for _, m := range t.members {
		if m.group && !t.reaped {
			continue // it has got it
		}
		if m.fd >= 0 {
			unix.PidfdSendSignal(m.fd, sig, nil, 0)
		} else {
			unix.Kill(m.pid, sig) // seen a moment ago, with its start time
		}
	}
}

// alive reports whether anything is left of the tree, the leader aside.
func (t *tree) alive() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	seen := t.findLocked()
	return len(t.members) > 0 || !seen && !t.reaped // without /proc, only the kill is sure
}

// findLocked brings members up to date: the processes of the leader's session
// and group, the descendants of the leader and of those, and those that were
// found so before. It reports whether it could see anything at all.
func (t *tree) findLocked() bool {
	all := processes()
	in := make(map[int]bool, len(t.members)+1)
	_, there := all[t.pid]
	if !t.reaped {
		in[t.pid] = true
	}
	if !t.reaped || !there { // else the id is another's: nothing was left of the session
		for pid, p := range all {
			if p.session == t.pid || p.group == t.pid {
				in[pid] = true
			}
		}
	}
	for _, m := range t.members {
		if all[m.pid].start == m.start {
			in[m.pid] = true
		}
	}
	for more := true; more; {
		more = false
		for pid, p := range all {
			if !in[pid] && in[p.parent] {
				in[pid], more = true, true
			}
		}
	}
	t.members = slices.DeleteFunc(t.members, func(m member) bool {
		p := all[m.pid]
		there := p.start == m.start && !p.zombie
		if !there && m.fd >= 0 {
			unix.Close(m.fd)
		}
		return !there
	})
	for pid, p := range all {
		known := func(m member) bool { return m.pid == pid }
		if !in[pid] || pid == t.pid || p.zombie || slices.ContainsFunc(t.members, known) {
			continue
		}
		fd, err := unix.PidfdOpen(pid, 0)
		if err == unix.ESRCH {
			continue
		} else if err != nil {
			fd = -1
		}
		if again, ok := processOf(pid); !ok || again.start != p.start {
			if fd >= 0 {
				unix.Close(fd)
			}
			continue // the id has changed hands in between
		}
		t.members = append(t.members, member{pid: pid, start: p.start, group: p.group == t.pid, name: p.name, fd: fd})
	}
	return len(all) > 0
}

// forget ends the tree's use: what is left of it is left alone.
func (t *tree) forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.forgotten = true
	for _, m := range t.members {
		if m.fd >= 0 {
			unix.Close(m.fd)
		}
	}
	t.members = nil
}

// survivors lists what is left of the tree, and who else holds the pipes.
func (t *tree) survivors(pipes ...*os.File) []Survivor {
	t.mu.Lock()
	t.findLocked()
	var out []Survivor
	if !t.reaped {
		if p, ok := processOf(t.pid); ok && !p.zombie {
			out = append(out, Survivor{PID: t.pid, Name: p.name})
		}
	}
	for _, m := range t.members {
		out = append(out, Survivor{PID: m.pid, Name: m.name})
	}
	t.mu.Unlock()
	for _, h := range holders(pipes) {
		if !slices.ContainsFunc(out, func(s Survivor) bool { return s.PID == h.PID }) {
			out = append(out, h)
		}
	}
	return out[:min(len(out), maxSurvivors)]
}
