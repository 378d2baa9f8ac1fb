// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"io"
	"sync"
	"sync/atomic"

	"github.com/weir-mcp/weir/result"
)

// A Sink passes what both streams bring on to a writer, until that fails. The
// streams take turns at the ends of lines: see part.
type Sink struct {
	shown atomic.Bool // what comes is somebody's already: see Stream.Also

	mu       sync.Mutex // held while w writes; guards err and panicked
	w        io.Writer  // nil when there is none
	err      error
	panicked *Panic
}

// Init sets the writer. Nil means none.
func (s *Sink) Init(w io.Writer) { s.w = w }

// Set reports whether there is a writer: it wants to see things as they come.
func (s *Sink) Set() bool { return s.w != nil }

// write passes first and then on, with nothing of another stream between them.
// Either may be empty.
func (s *Sink) write(first, then []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range [...][]byte{first, then} {
		if len(b) == 0 || s.err != nil {
			continue
		}
		s.callLocked(func() error {
			n, err := s.w.Write(b)
			if err == nil && n < len(b) {
				err = io.ErrShortWrite
			}
			return err
		})
	}
}

// callLocked calls the writer, and keeps its error and its panic.
func (s *Sink) callLocked(fn func() error) {
	s.err = errEnded // unless fn returns
	defer func() {
		if s.err == errEnded {
			s.panicked = Recovered(recover())
		}
	}()
	s.err = fn()
}

var errEnded = errors.New("the Sink did not return")

// keepOver is how many bytes of output a budget of the default size, which
// counts escapes of up to 6 bytes and what is said beside it, has room for
// whatever they are.
const keepOver = (result.DefaultBytes - 2<<10) / 6

// Keep tells a writer that can keep things that they are wanted, and returns how
// they are read: when the previews do not hold all of so many bytes of output,
// or a result may not. It is for the end, when nothing more comes. An error is
// Err's. What somebody has received as it came ([Stream.Also]) is not kept.
func (s *Sink) Keep(truncated bool, size int64) (how string) {
	w, ok := s.w.(interface{ Keep() (string, error) })
	if !ok || s.shown.Load() || !truncated && size <= keepOver || !s.mu.TryLock() {
		return ""
	}
	defer s.mu.Unlock()
	if s.err == nil {
		s.callLocked(func() (err error) {
			how, err = w.Keep()
			return err
		})
	}
	return how
}

// Panicked is the panic of the writer, which gets nothing more, or nil.
func (s *Sink) Panicked() *Panic {
	if s.w == nil || !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	return s.panicked
}

// Err is the error so far. A Write that is stuck has none.
func (s *Sink) Err() error {
	if s.w == nil || !s.mu.TryLock() {
		return nil
	}
	defer s.mu.Unlock()
	return s.err
}
