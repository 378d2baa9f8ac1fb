// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// maxMove bounds one read(2) and one write(2): macOS refuses 2 GiB.
	maxMove = 1 << 30
	// maxRest bounds what is still read from the stray pipe at the end: more than any pipe holds.
	maxRest = 1 << 20
)

// newInput reads from file, and closes it.
func newInput(file *os.File) *Input {
	in := &Input{end: end{file: file, unlock: file.Close, done: make(chan struct{})}, regular: regular(file)}
	switch {
	case in.regular:
		in.move = file.Read
	case polled(file):
		in.move = newPollReader(file).read
	default:
		in.move = detachedRead(patient(file, unix.POLLIN, file.Read), in.done)
	}
	return in
}

// newOutput writes to file, and closes it.
func newOutput(file *os.File) (*Output, error) {
	out := &Output{end: end{file: file, unlock: file.Close, done: make(chan struct{})}}
	switch {
	case polled(file):
		conn, err := file.SyscallConn()
		if err != nil {
			return nil, err
		}
		w := &pollWriter{conn: conn, name: file.Name()}
		w.try = w.attempt
		out.move = w.write
	case regular(file):
		out.move = sliced(file.Write)
	default:
		out.move = detachedWrite(patient(file, unix.POLLOUT, file.Write), out.done)
	}
	return out, nil
}

// polled reports that the runtime's poller waits for file, so that Close interrupts a transfer.
func polled(file *os.File) bool { return file.SetDeadline(time.Time{}) == nil }

// pollWriter makes one write(2) each time the descriptor can take something, and waits for that in the poller.
type pollWriter struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // attempt, as a value made once
	name string

	p   []byte // of the write under way, as are n and err
	n   int
	err error
}

func (w *pollWriter) write(p []byte) (int, error) {
	w.p, w.n, w.err = p[:min(len(p), maxMove)], 0, nil
	closed := w.conn.Write(w.try)
	w.p = nil
	if closed != nil {
		return 0, closed
	}
	if w.err != nil {
		return 0, &os.PathError{Op: "write", Path: w.name, Err: w.err}
	}
	return w.n, nil
}

// attempt reports whether the write has an outcome; false makes the poller wait.
func (w *pollWriter) attempt(fd uintptr) bool {
	for {
		n, err := syscall.Write(int(fd), w.p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		}
		w.n, w.err = max(n, 0), err
		return true
	}
}

// patient makes t wait where another process has made the descriptor non-blocking under us, as programs that share a
// terminal do to each other.
func patient(file *os.File, events int16, t transfer) transfer {
	fd := int32(file.Fd())
	return func(p []byte) (int, error) {
		for {
			n, err := t(p)
			if n > 0 || !errors.Is(err, unix.EAGAIN) {
				return n, err
			}
			if _, err := unix.Poll([]unix.PollFd{{Fd: fd, Events: events}}, -1); err != nil && err != unix.EINTR {
				return 0, os.NewSyscallError("poll", err)
			}
		}
	}
}

// rest reads what the pipe still holds, without waiting.
func rest(file *os.File, buf []byte, keep func([]byte)) {
	conn, err := file.SyscallConn()
	if err != nil {
		return
	}
	_ = conn.Control(func(fd uintptr) { // an error means that the pipe is closed
		for total := 0; total < maxRest; {
			n, err := unix.Read(int(fd), buf)
			if err == unix.EINTR {
				continue
			}
			if n <= 0 {
				return
			}
			total += n
			keep(buf[:n])
		}
	})
}
