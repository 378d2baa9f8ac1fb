// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"io"
	"os"
	"runtime"
	"syscall"
	"time"
)

// pollReader makes one read(2) each time the descriptor has something, and waits for that in the poller. Where a host
// answers each answer at once, it looks again for a moment first: being woken costs a process several times what a
// short call costs it, most of all on a virtual machine, since caches and branch predictors are cold by then.
type pollReader struct {
	conn syscall.RawConn
	try  func(fd uintptr) bool // attempt, as a value made once
	name string
	pace pace

	p     []byte // of the read under way, as are the fields below
	n     int
	err   error
	since time.Time // when nothing was there; zero before
}

func newPollReader(file *os.File) *pollReader {
	conn, err := file.SyscallConn()
	if err != nil {
		panic("stdio: " + err.Error()) // only a nil file has none
	}
	r := &pollReader{conn: conn, name: file.Name()}
	r.try = r.attempt
	return r
}

func (r *pollReader) read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	r.p, r.n, r.err, r.since = p[:min(len(p), maxMove)], 0, nil, time.Time{}
	closed := r.conn.Read(r.try)
	r.p = nil
	if closed != nil {
		return 0, closed
	}
	if !r.since.IsZero() {
		r.pace.waited(time.Since(r.since))
	}
	switch {
	case r.err != nil:
		return 0, &os.PathError{Op: "read", Path: r.name, Err: r.err}
	case r.n == 0:
		return 0, io.EOF
	}
	return r.n, nil
}

// attempt reports whether the read has an outcome; false makes the poller wait.
func (r *pollReader) attempt(fd uintptr) bool {
	if r.once(fd) {
		return true
	}
	if !r.since.IsZero() {
		return false // woken for nothing
	}
	r.since = time.Now()
	if !r.pace.quick() {
		return false
	}
	for time.Since(r.since) < linger {
		runtime.Gosched() // the call that the host waits for goes first
		if r.once(fd) {
			r.pace.met()
			return true
		}
	}
	r.pace.missed()
	return false
}

func (r *pollReader) once(fd uintptr) bool {
	for {
		n, err := syscall.Read(int(fd), r.p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN:
			return false
		}
		r.n, r.err = max(n, 0), err
		return true
	}
}
