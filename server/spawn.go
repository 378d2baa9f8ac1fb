// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"runtime/debug"
	"sync"
)

// spawned are the goroutines that a handler started with Request.Go.
type spawned struct {
	wg    sync.WaitGroup
	mu    sync.Mutex // guards first
	first *panicValue
}

type panicValue struct {
	value any // nil for runtime.Goexit
	stack []byte
}

// start runs fn in a goroutine and keeps its panic for wait.
func (s *spawned) start(fn func()) {
	s.wg.Go(func() {
		done := false
		defer func() {
			if done {
				return
			}
			v := recover()
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.first == nil {
				s.first = &panicValue{v, debug.Stack()}
			}
		}()
		fn()
		done = true
	})
}

// wait waits for all of them and returns the first panic, or nil.
func (s *spawned) wait() *panicValue {
	s.wg.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}
