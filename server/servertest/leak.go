// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/weir-mcp/weir/internal/host"
)

// leakWait is how long goroutines may take to end after Serve has returned.
const leakWait = time.Second

const leakLabel = "weir/servertest"

var leakID atomic.Int64

// leaks finds the goroutines that a server has started and left behind. They
// are known by a profiler label, which each goroutine inherits from the one
// that starts it, so that tests which run in parallel do not see each other's.
// (A goroutine that a timer starts carries no label.)
type leaks struct{ id string }

func newLeaks() *leaks { return &leaks{strconv.FormatInt(leakID.Add(1), 10)} }

func (l *leaks) wrap(serve host.ServeFunc) host.ServeFunc {
	return func(ctx context.Context, r io.ReadCloser, w io.WriteCloser) (err error) {
		pprof.Do(ctx, pprof.Labels(leakLabel, l.id), func(ctx context.Context) { err = serve(ctx, r, w) })
		return err
	}
}

// find waits for the server's goroutines to end, and returns the stacks of
// those that do not.
func (l *leaks) find() string {
	wait := time.Millisecond
	for end := time.Now().Add(leakWait); ; wait *= 2 {
		left := l.stacks()
		if left == "" || time.Now().After(end) {
			return left
		}
		time.Sleep(wait)
	}
}

// stacks returns the stacks of the server's goroutines, each with who started
// it. The profile, which knows the labels, does not say that; the traces of all
// goroutines do, and are matched by their lines of code.
func (l *leaks) stacks() string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return err.Error()
	}
	mark := strconv.Quote(leakLabel) + ":" + strconv.Quote(l.id)
	var left []string
	var traces map[string]string
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		if !strings.Contains(stack, mark) {
			continue
		}
		if traces == nil {
			traces = allTraces()
		}
		if strings.HasPrefix(stack, "goroutine profile: ") {
			_, stack, _ = strings.Cut(stack, "\n")
		}
		number, _, _ := strings.Cut(stack, " @ ")
		trace, ok := traces[code(stack)]
		switch {
		case !ok: // it has moved on between the two
			trace = stack
		case number != "1":
			trace = number + " goroutines such as " + trace
		}
		left = append(left, trace)
	}
	return strings.Join(left, "\n\n")
}

// allTraces returns the traces of all goroutines, by their lines of code.
func allTraces() map[string]string {
	buf := make([]byte, 1<<20)
	for n := runtime.Stack(buf, true); n == len(buf) && n < 64<<20; n = runtime.Stack(buf, true) {
		buf = make([]byte, 2*len(buf))
	}
	buf = bytes.TrimRight(buf, "\x00")
	traces := make(map[string]string)
	for trace := range strings.SplitSeq(strings.TrimSpace(string(buf)), "\n\n") {
		own, _, _ := strings.Cut(trace, "\ncreated by ")
		traces[code(own)] = trace
	}
	return traces
}

// place matches a line of code in a trace or a profile.
var place = regexp.MustCompile(`\t(\S[^\t\n]*\.(?:go|s):\d+)(?: \+0x[0-9a-f]+)?(?:\n|$)`)

// code is the lines of code on a stack, those of package runtime left out: the
// profile and the traces differ in which of them they show.
func code(stack string) string {
	var places []string
	for _, m := range place.FindAllStringSubmatch(stack, -1) {
		if !strings.Contains(m[1], "/src/runtime/") {
			places = append(places, m[1])
		}
	}
	return strings.Join(places, "\n")
}
