// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"os"

	"golang.org/x/sys/unix"
)

// A far is what the child has as one of its descriptors. It is no os.File: one
// enters the poller and has its mode changed, for a descriptor that this
// process never uses.
type far struct {
	fd   int
	ours bool // to be closed
}

func (f far) descriptor() uintptr { return uintptr(f.fd) }

func (f far) close() {
	if f.ours {
		unix.Close(f.fd)
	}
}

// openNull opens the null device to read.
func openNull() (far, error) {
	for {
		fd, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		switch err {
		case nil:
			return far{fd, true}, nil
		case unix.EINTR:
			continue
		}
		return far{}, &os.PathError{Op: "open", Path: os.DevNull, Err: err}
	}
}

// lend is a file that stays somebody else's.
func lend(f *os.File) (far, error) {
	fd := f.Fd()
	if fd == ^uintptr(0) {
		return far{}, os.ErrClosed
	}
	return far{fd: int(fd)}, nil
}

// pipeFrom is a pipe that the child writes to.
func pipeFrom() (near *os.File, end far, err error) {
	r, w, err := openPipe()
	if err != nil {
		return nil, far{}, err
	}
	return nearEnd(r, unix.O_RDONLY), far{w, true}, nil
}

// pipeTo is a pipe that the child reads from.
func pipeTo() (near *os.File, end far, err error) {
	r, w, err := openPipe()
	if err != nil {
		return nil, far{}, err
	}
	return nearEnd(w, unix.O_WRONLY), far{r, true}, nil
}

func openPipe() (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		return 0, 0, os.NewSyscallError("pipe2", err)
	}
	return p[0], p[1], nil
}

// nearEnd is this process's end of a pipe, opened with that mode.
func nearEnd(fd int, mode int) *os.File {
	if fd <= 2 {
		// A program that has closed one of its standard descriptors gets the
		// number again. Whoever writes to it by its number does not mean this
		// pipe, and Go takes a pipe of that number that nobody reads for the
		// end of the process.
		if up, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3); err == nil {
			unix.Close(fd)
			fd = up
		}
	}
	unix.FcntlInt(uintptr(fd), unix.F_SETFL, mode|unix.O_NONBLOCK)
	return os.NewFile(uintptr(fd), "|child")
}
