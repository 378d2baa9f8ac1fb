// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
)

// gate is a stream whose every write waits until the test lets it through.
type gate struct {
	writes chan []byte    // a copy of what is to be written
	answer chan gateReply // what the write returns
}

type gateReply struct {
	n   int // -1: all
	err error
}

func newGate() *gate { return &gate{make(chan []byte, 1), make(chan gateReply)} }

func (g *gate) Write(p []byte) (int, error) {
	g.writes <- append([]byte{}, p...)
	reply := <-g.answer
	if reply.n < 0 {
		reply.n = len(p)
	}
	return reply.n, reply.err
}

// partialGate is a gate that tells how much was taken.
type partialGate struct{ *gate }

func (g partialGate) WritePartial(p []byte) (int, error) { return g.Write(p) }

// next returns the write that waits at the gate, or "" if there is none.
func (g *gate) next() string {
	synctest.Wait()
	select {
	case p := <-g.writes:
		return string(p)
	default:
		return ""
	}
}

func (g *gate) pass() { g.reply(-1, nil) }

func (g *gate) reply(n int, err error) {
	g.answer <- gateReply{n, err}
	synctest.Wait()
}

// diary is a Source that writes down what it is told.
type diary struct {
	mu      sync.Mutex
	entries []string
	begin   func(f *Frame) bool // nil: true
	done    func(f *Frame, err error)
}

func (d *diary) note(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, fmt.Sprintf(format, args...))
}

func (d *diary) Begin(f *Frame) bool {
	ok := d.begin == nil || d.begin(f)
	d.note("begin %s %v", name(f), ok)
	return ok
}

func (d *diary) Done(f *Frame, err error) {
	d.note("done %s %v", name(f), err)
	if d.done != nil {
		d.done(f, err)
	}
}

// name is a frame's first word.
func name(f *Frame) string {
	word, _, _ := strings.Cut(strings.TrimSuffix(string(f.Data), "\n"), " ")
	return word
}

// read returns the entries so far and forgets them.
func (d *diary) read() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	s := strings.Join(d.entries, ", ")
	d.entries = nil
	return s
}

func (d *diary) frame(data string) *Frame { return &Frame{Data: []byte(data + "\n"), Source: d} }

// sized is a frame of n bytes with a name.
func (d *diary) sized(name string, n int) *Frame {
	return d.frame(name + " " + strings.Repeat("x", n-len(name)-2))
}

func check(t *testing.T, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s:\n got %.200q\nwant %.200q", what, got, want)
	}
}
