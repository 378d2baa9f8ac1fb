// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// hostTest is what servertest asks of a test, for a cell that is none: what would fail the test is the cell's error.
type hostTest struct {
	testing.TB // nil: servertest calls only what is below

	mu       sync.Mutex // guards what follows
	failures []string
	cleanups []func()
}

// inTest runs f with a test of its own, on a goroutine that Fatal may end, then the cleanups, and returns what went wrong.
func inTest(f func(t *hostTest) error) error {
	t := &hostTest{}
	done := make(chan error, 1)
	go func() {
		err := errors.New("the test ended early")
		defer func() { done <- err }()
		err = f(t)
	}()
	err := <-done
	if err != nil && len(t.failed()) > 0 && err.Error() == "the test ended early" {
		err = nil // Fatal has said why
	}
	for i := len(t.cleanups) - 1; i >= 0; i-- {
		t.cleanups[i]()
	}
	if said := t.failed(); len(said) > 0 {
		err = errors.Join(err, errors.New(strings.Join(said, "; ")))
	}
	return err
}

func (t *hostTest) failed() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.failures
}

func (t *hostTest) fail(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, what)
}

// Helper does nothing: there are no lines to point at.
func (t *hostTest) Helper() {}

// Logf does nothing: what matters is in the errors.
func (t *hostTest) Logf(string, ...any) {}

// Failed says whether anything went wrong.
func (t *hostTest) Failed() bool { return len(t.failed()) > 0 }

// Errorf notes what went wrong.
func (t *hostTest) Errorf(format string, args ...any) { t.fail(fmt.Sprintf(format, args...)) }

// Fatal notes it and ends the goroutine.
func (t *hostTest) Fatal(args ...any) {
	t.fail(fmt.Sprint(args...))
	runtime.Goexit()
}

// Cleanup runs f after the test, the last one first.
func (t *hostTest) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}
