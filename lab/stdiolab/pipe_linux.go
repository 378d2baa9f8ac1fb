// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// pipeSize is the capacity of a pipe in bytes, 0 where f is none.
func pipeSize(f *os.File) int {
	n := 0
	control(f, func(fd uintptr) (err error) {
		n, err = unix.FcntlInt(fd, unix.F_GETPIPE_SZ, 0)
		return err
	})
	return max(n, 0)
}

// setPipeSize asks for a capacity. The kernel rounds it up, and refuses it past what the user may have.
func setPipeSize(f *os.File, n int) error {
	err := control(f, func(fd uintptr) error {
		_, err := unix.FcntlInt(fd, unix.F_SETPIPE_SZ, n)
		return err
	})
	if err != nil {
		return fmt.Errorf("F_SETPIPE_SZ %d: %w", n, err)
	}
	return nil
}

// pending is how many bytes wait in a pipe.
func pending(f *os.File) (n int, err error) {
	err = control(f, func(fd uintptr) (err error) {
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
		return err
	})
	return n, err
}

// block makes reads of f plain blocking system calls, which spares the host the detour over its poller.
func block(f *os.File) error {
	return control(f, func(fd uintptr) error { return unix.SetNonblock(int(fd), false) })
}

// nap sleeps more exactly than a timer of the runtime, which rounds up to a millisecond in an idle process.
func nap(d time.Duration) {
	ts := unix.NsecToTimespec(d.Nanoseconds())
	unix.Nanosleep(&ts, nil)
}

func control(f *os.File, call func(fd uintptr) error) error {
	c, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	return errors.Join(c.Control(func(fd uintptr) { inner = call(fd) }), inner)
}
