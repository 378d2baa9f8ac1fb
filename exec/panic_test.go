// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/exec"
)

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// A badKeeper is a Sink whose Keep panics.
type badKeeper struct{ boom error }

func (badKeeper) Write(p []byte) (int, error)     { return len(p), nil }
func (b badKeeper) Keep() (how string, err error) { panic(b.boom) }

// TestPanics holds that a panic in a Sink or a Reader, which is on a goroutine
// where nobody could recover from it, is one of the caller's, after the child
// has run to its end.
func TestPanics(t *testing.T) {
	boom := errors.New("boom")
	sink := func([]byte) (int, error) { panic(boom) }
	for name, use := range map[string]func() *exec.Output{
		"sink": func() *exec.Output {
			cmd := child(t, "write", "1000000", "0")
			cmd.Sink = writerFunc(sink)
			return run(t, t.Context(), cmd)
		},
		"reader": func() *exec.Output {
			cmd := child(t, "cat")
			cmd.Stdin = readerFunc(sink)
			return run(t, t.Context(), cmd)
		},
		"lines": func() *exec.Output {
			cmd := child(t, "write", "1000000", "0")
			cmd.Sink = writerFunc(sink)
			n := 0
			for range exec.Lines(t.Context(), cmd) {
				n++
			}
			t.Errorf("%d lines and no panic", n)
			return nil
		},
		"keep": func() *exec.Output {
			cmd := child(t, "write", "1000000", "0")
			cmd.Sink = badKeeper{boom}
			return run(t, t.Context(), cmd)
		},
		"lines that are left": func() *exec.Output {
			cmd := child(t, "endless")
			cmd.Sink = writerFunc(sink)
			for range exec.Lines(t.Context(), cmd) {
				break
			}
			return nil
		},
	} {
		func() {
			defer func() {
				v := recover()
				err, _ := v.(error)
				if !errors.Is(err, boom) || !strings.Contains(err.Error(), "panic_test.go") {
					t.Errorf("%s: panic %v", name, v)
				}
			}()
			out := use()
			t.Errorf("%s: %v", name, out)
		}()
	}
	// Goexit, as a test that fails does, ends the Sink and not the reading.
	cmd := child(t, "write", "1000000", "0")
	cmd.Sink = writerFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, nil })
	if out := run(t, t.Context(), cmd); out.SinkErr == nil || !out.Success() || out.Stdout.Bytes < 900_000 {
		t.Errorf("Goexit: %v, %v", out.SinkErr, out)
	}
	cmd = child(t, "cat")
	cmd.Stdin = readerFunc(func([]byte) (int, error) { runtime.Goexit(); return 0, io.EOF })
	if out := run(t, t.Context(), cmd); !out.Success() {
		t.Errorf("Goexit in a reader: %v", out)
	}
}
