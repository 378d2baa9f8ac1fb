// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"bytes"
	"context"
	"io"
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

func (l *leaks) stacks() string {
	var b bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&b, 1); err != nil {
		return err.Error()
	}
	var left []string
	for stack := range strings.SplitSeq(b.String(), "\n\n") {
		if strings.Contains(stack, strconv.Quote(leakLabel)+":"+strconv.Quote(l.id)) {
			left = append(left, stack)
		}
	}
	return strings.Join(left, "\n\n")
}
