// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"bufio"
	"context"
	"io"
	osexec "os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// Each benchmark has its counterpart with os/exec in the same run.

// BenchmarkShort is a command that does nothing.
func BenchmarkShort(b *testing.B) {
	b.Run("exec", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			shortExec(b)
		}
	})
	b.Run("os", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			shortOS(b)
		}
	})
	b.Run("ratio", func(b *testing.B) { ratio(b, shortExec, shortOS) })
}

// ratio runs both in turn, since a machine's speed changes: then their medians
// are comparable, and so are their fastest quarters, which what else runs there
// disturbs less.
func ratio(b *testing.B, ours, theirs func(*testing.B)) {
	var a, c []time.Duration
	for b.Loop() {
		began := time.Now()
		ours(b)
		middle := time.Now()
		theirs(b)
		a, c = append(a, middle.Sub(began)), append(c, time.Since(middle))
	}
	slices.Sort(a)
	slices.Sort(c)
	half := len(a) / 2
	b.ReportMetric(float64(a[half].Microseconds()), "exec-µs")
	b.ReportMetric(float64(c[half].Microseconds()), "other-µs")
	b.ReportMetric(float64(a[half])/float64(c[half]), "ratio")
	b.ReportMetric(float64(a[half/2])/float64(c[half/2]), "quarter-ratio")
}

func shortExec(b *testing.B) {
	if _, err := exec.Run(context.Background(), exec.Cmd{Path: "/bin/true"}); err != nil {
		b.Fatal(err)
	}
}

func shortOS(b *testing.B) {
	cmd := osexec.Command("/bin/true")
	cmd.Stdout, cmd.Stderr = writer{}, writer{}
	if err := cmd.Run(); err != nil {
		b.Fatal(err)
	}
}

// writer is io.Discard without its ReadFrom, as a buffer would be.
type writer struct{}

func (writer) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkDrain is a child that writes as fast as it can: 1 GiB an op.
func BenchmarkDrain(b *testing.B) {
	for _, source := range []string{"head -c 1073741824 /dev/zero", "yes | head -c 1073741824"} {
		args := []string{"-c", source}
		ours := func(b *testing.B) {
			out, err := exec.Run(context.Background(), exec.Cmd{Path: "/bin/sh", Args: args})
			if err != nil || out.Stdout.Bytes != 1<<30 {
				b.Fatal(out, err)
			}
		}
		theirs := func(b *testing.B) {
			cmd := osexec.Command("/bin/sh", args...)
			cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
			if err := cmd.Run(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(source[:4], func(b *testing.B) { ratio(b, ours, theirs) })
	}
}

// BenchmarkLines is 1 GiB of lines of that many bytes an op, beside
// bufio.Scanner on the same pipe.
func BenchmarkLines(b *testing.B) {
	for _, size := range []int{1, 10, 32, 100} {
		args := []string{"-c", "yes " + strings.Repeat("y", size) + " | head -c 1073741824"}
		ours := func(b *testing.B) {
			for _, err := range exec.Lines(context.Background(), exec.Cmd{Path: "/bin/sh", Args: args}) {
				if err != nil {
					b.Fatal(err)
				}
			}
		}
		theirs := func(b *testing.B) {
			cmd := osexec.Command("/bin/sh", args...)
			r, err := cmd.StdoutPipe()
			if err != nil {
				b.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				b.Fatal(err)
			}
			for s := bufio.NewScanner(r); s.Scan(); {
			}
			if err := cmd.Wait(); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(strconv.Itoa(size), func(b *testing.B) { ratio(b, ours, theirs) })
	}
}
