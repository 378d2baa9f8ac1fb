// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/weir-mcp/weir/internal/host"
)

// faultLog takes note of the lines that are not as the protocol wants them.
type faultLog struct {
	giveUp context.CancelCauseFunc // ends the run

	mu    sync.Mutex // guards all below
	n     int64
	first host.Frame
	stray int64 // of n, those that are no messages at all
	open  bool  // the handshake is answered, or given up
}

func (l *faultLog) see(f host.Frame) {
	if f.Faults == 0 || f.Kind == host.Oversize {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		l.first = f
	}
	l.n++
	if f.Kind == host.Stray {
		l.stray++
	}
	if l.stray == mostBabble && !l.open {
		l.open = true
		l.giveUp(fmt.Errorf("%w, and wrote %s that are no messages of the protocol, the first %s",
			errBabble, count(l.stray, "line"), l.firstLocked()))
	}
}

// opened notes that the handshake is over.
func (l *faultLog) opened() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open = true
}

// firstLocked is the first line, shortened.
func (l *faultLog) firstLocked() string {
	line, more := l.first.Raw, ""
	if len(line) > 100 {
		line, more = line[:100], "…"
	}
	return strconv.Quote(string(line)) + more
}

// soFar tells of the lines seen, in a clause of a sentence; "" for none.
func (l *faultLog) soFar() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.n == 0 {
		return ""
	}
	return fmt.Sprintf(", but has written %s that the protocol does not know, the first %s", count(l.n, "line"), l.firstLocked())
}

// report writes a line about what was seen, if anything was.
func (l *faultLog) report(w io.Writer, name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	verb := "break"
	switch l.n {
	case 0:
		return
	case 1:
		verb = "breaks"
	}
	fmt.Fprintf(w, "weir %s: warning: %s of the server's stdout %s the protocol, first line %d (%s): %s\n",
		name, count(l.n, "line"), verb, l.first.Seq+1, l.first.Faults, l.firstLocked())
}
