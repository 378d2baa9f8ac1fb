// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"io"
	"os"
	"sync"
)

// maxSlice bounds one blocking write and one blocking read in bytes. A pipe takes that much at once when it is empty, so
// a longer wait than usual means that nobody reads.
const maxSlice = 64 << 10

// transfer is one read or one write: it waits until at least one byte went over, or fails.
type transfer func(p []byte) (int, error)

// Input is the protocol's stdin. One goroutine at a time may call Read; Close may be called from any.
type Input struct {
	end
	regular bool
}

var _ io.ReadCloser = (*Input)(nil)

// Read reads what is there, waiting for the first byte. A pipe or a socket waits in the runtime's poller and holds no
// thread. After Close, and in a Read that Close interrupts, the error is os.ErrClosed.
//
// Where a read cannot be interrupted (a terminal; a console on Windows), Close makes Read return, but the system's read
// stays behind on a goroutine of its own until something arrives, which is then lost.
func (in *Input) Read(p []byte) (int, error) { return in.do(p) }

// Regular reports that stdin is a regular file: it never makes a reader wait, and its end is known to come.
func (in *Input) Regular() bool { return in.regular }

// Close makes a pending Read return, and every later one. It is safe to call more than once.
func (in *Input) Close() error { return in.shut() }

// Output is the protocol's stdout. Writes from several goroutines are serialised; Close may be called from any.
type Output struct {
	end

	mu sync.Mutex // held for one write
}

var _ io.WriteCloser = (*Output)(nil)

// WritePartial makes one write and returns how much of p was taken, at least one byte where p is not empty and err is
// nil: whoever calls it sees a slow reader make progress, where Write would show nothing until the end. A pipe or a
// socket waits in the runtime's poller. Anything else is given at most 64 KiB.
//
// After Close, and in a write that Close interrupts, the error is os.ErrClosed. Where a write cannot be interrupted (a
// terminal; a console on Windows; a socket whose mode is shared with fd 2), the system's write stays behind on a
// goroutine of its own, so that bytes of p may still leave. When the host is gone, the error is the system's: errors.Is(err, syscall.EPIPE) on Unix.
func (out *Output) WritePartial(p []byte) (int, error) {
	out.mu.Lock()
	defer out.mu.Unlock()
	if len(p) == 0 {
		return 0, nil
	}
	return out.do(p)
}

// Write writes all of p by WritePartial.
func (out *Output) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		n, err := out.WritePartial(p[written:])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// Close makes a pending write return, and every later one. The descriptor that the host's pipe ends in stays open until
// the process ends, since Release puts it back: the host sees no end of file here. It is safe to call more than once.
func (out *Output) Close() error { return out.shut() }

// end is what Input and Output have in common.
type end struct {
	file   *os.File
	move   transfer
	unlock func() error  // ends move early and frees the descriptor
	done   chan struct{} // closed by shut
	once   sync.Once
}

func (e *end) do(p []byte) (int, error) {
	if e.closed() {
		return 0, os.ErrClosed
	}
	n, err := e.move(p)
	if err != nil && err != io.EOF && e.closed() {
		err = os.ErrClosed
	}
	return n, err
}

func (e *end) shut() error {
	err := os.ErrClosed
	e.once.Do(func() {
		close(e.done) // first, so that an interrupted transfer finds it closed
		err = e.unlock()
	})
	if err == os.ErrClosed {
		return nil
	}
	return err
}

func (e *end) closed() bool {
	select {
	case <-e.done:
		return true
	default:
		return false
	}
}

// detachedRead turns a read that nothing can interrupt into one that ends with done. The slice it reads into is its own,
// for the read may end long after the caller has gone.
func detachedRead(read transfer, done <-chan struct{}) transfer {
	var own []byte
	return func(p []byte) (int, error) {
		if own == nil {
			own = make([]byte, maxSlice)
		}
		part := own[:min(len(p), len(own))]
		n, err := detach(done, read, part)
		return copy(p, part[:n]), err
	}
}

// detachedWrite is detachedRead for a write.
func detachedWrite(write transfer, done <-chan struct{}) transfer {
	var own []byte
	return func(p []byte) (int, error) {
		own = append(own[:0], p[:min(len(p), maxSlice)]...)
		return detach(done, write, own)
	}
}

// detach runs t on a goroutine of its own and returns its outcome, or os.ErrClosed as soon as done is closed; t then
// ends alone.
func detach(done <-chan struct{}, t transfer, p []byte) (int, error) {
	type outcome struct {
		n   int
		err error
	}
	ended := make(chan outcome, 1)
	go func() {
		n, err := t(p)
		ended <- outcome{n, err}
	}()
	select {
	case o := <-ended:
		return o.n, o.err
	case <-done:
		return 0, os.ErrClosed
	}
}

// sliced is a transfer of at most maxSlice bytes.
func sliced(t transfer) transfer {
	return func(p []byte) (int, error) { return t(p[:min(len(p), maxSlice)]) }
}

func regular(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode().IsRegular()
}
