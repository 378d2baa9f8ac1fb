// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"errors"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"
)

// system is what Claim changed on a Unix system.
type system struct {
	saved   [3]int         // duplicates of fds 0 to 2 as they were, close-on-exec, or 0
	changed [3]bool        // the descriptor was put in non-blocking mode
	sigpipe chan os.Signal // nobody receives from it: being notified is what keeps the process alive
}

// claim does the work of Claim. When it fails, Release undoes what it did.
func (g *Guard) claim() (err error) {
	var stat [3]unix.Stat_t
	for fd := range stat {
		if err = unix.Fstat(fd, &stat[fd]); err != nil {
			return os.NewSyscallError("fstat", err)
		}
	}
	same := sameFile(1, 2, &stat[1], &stat[2])
	g.merged = same && stat[2].Mode&unix.S_IFMT != unix.S_IFCHR

	for fd := range g.system.saved {
		if g.system.saved[fd], err = duplicate(fd); err != nil {
			return err
		}
	}
	in, err := g.private(0, unix.O_RDONLY, &stat[0], sameFile(0, 2, &stat[0], &stat[2]))
	if err != nil {
		return err
	}
	g.in = newInput(in)
	out, err := g.private(1, unix.O_WRONLY, &stat[1], same)
	if err != nil {
		return err
	}
	if g.out, err = newOutput(out); err != nil {
		return err
	}

	null, err := unix.Open(os.DevNull, unix.O_RDWR|unix.O_CLOEXEC, 0)
	if err != nil {
		return &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
	defer unix.Close(null)
	r, w, err := pipe()
	if err != nil {
		return os.NewSyscallError("pipe", err)
	}
	defer unix.Close(w) // fd 1 is the one that stays
	var to *Output
	if !g.merged {
		// Never made non-blocking: true stands for "it is shared".
		file, err := g.private(2, unix.O_WRONLY, &stat[2], true)
		if err != nil {
			return errors.Join(err, unix.Close(r))
		}
		if to, err = newOutput(file); err != nil {
			return errors.Join(err, unix.Close(r))
		}
	}
	if err := unix.SetNonblock(r, true); err != nil {
		return errors.Join(os.NewSyscallError("fcntl", err), unix.Close(r))
	}
	g.stray = forward(newInput(os.NewFile(uintptr(r), "stray output")), to)

	if !signal.Ignored(unix.SIGPIPE) { // ignoring it is the user's own choice, and protects as well
		g.system.sigpipe = make(chan os.Signal, 1)
		signal.Notify(g.system.sigpipe, unix.SIGPIPE)
	}
	leads := []int{0: null, 1: w}
	if g.merged {
		leads = append(leads, null)
	}
	for fd, to := range leads {
		if err := unix.Dup2(to, fd); err != nil {
			return os.NewSyscallError("dup2", err)
		}
	}
	return nil
}

// restore makes fds 0 to 2 lead where they led, in the mode they had.
func (g *Guard) restore() {
	for fd, saved := range g.system.saved {
		if saved == 0 || fd == 2 && !g.merged {
			continue
		}
		_ = unix.Dup2(saved, fd) // cannot fail: both are open
		if g.system.changed[fd] {
			_ = unix.SetNonblock(saved, false)
		}
	}
}

// discard frees what restore needed.
func (g *Guard) discard() {
	for _, saved := range g.system.saved {
		if saved != 0 {
			_ = unix.Close(saved)
		}
	}
	if g.system.sigpipe != nil {
		signal.Stop(g.system.sigpipe)
	}
}

// private returns a descriptor of our own for what fd leads to. Where that can wait (a pipe or a socket), it is non-blocking,
// unless its mode is shared with fd 2 and cannot be had apart.
func (g *Guard) private(fd, access int, stat *unix.Stat_t, shared bool) (*os.File, error) {
	name := [...]string{"stdin", "stdout", "stderr"}[fd]
	if own, err := reopen(fd, access, stat); err == nil {
		return os.NewFile(uintptr(own), name), nil
	}
	own, err := duplicate(fd)
	if err != nil {
		return nil, err
	}
	flags, err := unix.FcntlInt(uintptr(own), unix.F_GETFL, 0)
	if err == nil && flags&unix.O_NONBLOCK == 0 && waits(stat) && !shared {
		err = unix.SetNonblock(own, true)
		g.system.changed[fd] = err == nil
	}
	if err != nil {
		return nil, errors.Join(os.NewSyscallError("fcntl", err), unix.Close(own))
	}
	return os.NewFile(uintptr(own), name), nil
}

// duplicate returns a close-on-exec duplicate of fd, above the standard descriptors.
func duplicate(fd int) (int, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return 0, os.NewSyscallError("fcntl", err)
	}
	return own, nil
}

// sameFile reports that descriptors a and b lead to one file. Where pipes have no inode number (macOS and other BSDs), it
// tells whether a and b share their mode, which is so after 2>&1. The flag it tries that with means nothing to a pipe.
func sameFile(a, b int, x, y *unix.Stat_t) bool {
	if x.Mode&unix.S_IFMT != y.Mode&unix.S_IFMT || x.Dev != y.Dev || x.Ino != y.Ino {
		return false
	}
	return x.Ino != 0 || sameMode(a, b)
}

// sameMode reports that a and b are one open file description. Both must be pipes or sockets.
func sameMode(a, b int) bool {
	before, err := unix.FcntlInt(uintptr(a), unix.F_GETFL, 0)
	if err != nil {
		return false
	}
	other, err := unix.FcntlInt(uintptr(b), unix.F_GETFL, 0)
	if err != nil || (before^other)&unix.O_APPEND != 0 {
		return false
	}
	if _, err := unix.FcntlInt(uintptr(a), unix.F_SETFL, before^unix.O_APPEND); err != nil {
		return false
	}
	after, err := unix.FcntlInt(uintptr(b), unix.F_GETFL, 0)
	_, _ = unix.FcntlInt(uintptr(a), unix.F_SETFL, before)
	return err == nil && (after^other)&unix.O_APPEND != 0
}
