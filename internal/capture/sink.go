// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"errors"
	"io"
	"sync"

	"github.com/weir-mcp/weir/result"
)

// A Sink passes what both streams bring on to a writer, until that fails.
type Sink struct {
	mu       sync.Mutex // held while w writes; guards err and panicked
	w        io.Writer  // nil when there is none
	err      error
	panicked *Panic
}

// Init sets the writer. Nil means none.
func (s *Sink) Init(w io.Writer) { s.w = w }

// Set reports whether there is a writer: it wants to see things as they come.
func (s *Sink) Set() bool { return s.w != nil }

func (s *Sink) write(b []byte) {
	if s.w == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return
	}
	s.err = errEnded // unless Write returns
	defer func() {
		if s.err == errEnded {
			s.panicked = Recovered(recover())
		}
	}()
	n, err := s.w.Write(b)
	if err == nil && n < len(b) {
		err = io.ErrShortWrite
	}
	s.err = err
}

var errEnded = errors.New("the Sink did not return")

// keepOver is how many bytes of output a budget of the default size, which
// counts escapes, may have no room for.
const keepOver = result.DefaultBytes / 2

// Keep tells a writer that can keep things that they are wanted, and returns how
// they are read: when the previews do not hold all of so many bytes of output,
// or a result may not. It is for the end, when nothing more comes. An error is
// Err's.
func (s *Sink) Keep(truncated bool, size int64) (how string) {
	w, ok := s.w.(interface{ Keep() (string, error) })
	if !ok || !truncated && size <= keepOver || !s.mu.TryLock() {
		return ""
	}
	defer s.mu.Unlock()
	if s.err == nil {
		how, s.err = w.Keep()
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
