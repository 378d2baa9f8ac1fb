// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// TestUsage holds that times and memory are those of the child.
func TestUsage(t *testing.T) {
	out := run(t, t.Context(), exec.Shell("i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"))
	if out.CPU < 5*time.Millisecond || out.CPU > out.Elapsed*3/2 || out.PeakMemory != 0 {
		t.Errorf("%v of %v, %d bytes", out.CPU, out.Elapsed, out.PeakMemory)
	}
	out = run(t, t.Context(), exec.Shell("head -c 300000000 /dev/zero | tail -c 250000000 | wc -c"))
	if out.PeakMemory < 250_000_000 || out.PeakMemory > 400_000_000 {
		t.Errorf("%d bytes: %s", out.PeakMemory, out)
	}
}

// TestLeaks holds that nothing is left behind by many runs, of every kind.
func TestLeaks(t *testing.T) {
	self := os.Getpid()
	count := func() (fds, kids int) {
		names, err := os.ReadDir("/proc/self/fd")
		if err != nil {
			t.Fatal(err)
		}
		stats, _ := filepath.Glob("/proc/[0-9]*/stat")
		for _, s := range stats {
			data, _ := os.ReadFile(s)
			if _, rest, _ := strings.Cut(string(data), ") "); len(strings.Fields(rest)) > 1 && strings.Fields(rest)[1] == strconv.Itoa(self) {
				kids++
			}
		}
		return len(names), kids
	}
	runs := 300
	if n, err := strconv.Atoi(os.Getenv("WEIR_TEST_RUNS")); err == nil {
		runs = n
	}
	run(t, t.Context(), exec.Cmd{Path: "true"})
	fds, kids := count()
	for i := range runs {
		cmd := exec.Cmd{Path: "true"}
		ctx, cancel := context.WithCancel(t.Context())
		switch i % 50 {
		case 1:
			cmd = exec.Cmd{Path: "/nonexistent/program"}
		case 2:
			cmd = exec.Shell("sleep 9 & echo")
		case 3:
			cmd = exec.Cmd{Path: "sleep", Args: []string{"9"}, Timeout: time.Millisecond}
		case 4:
			cmd = exec.Cmd{Path: "cat", Stdin: strings.NewReader("x")}
		case 5:
			for range exec.Lines(ctx, exec.Cmd{Path: "yes"}) {
				break
			}
		case 6:
			cancel()
		case 7:
			cmd = exec.Shell("setsid sleep 0.2 & sleep 0.05")
			cmd.Grace = time.Millisecond
		case 8:
			cmd = exec.Shell("sleep 0.2 & sleep 0.01")
			cmd.KeepSurvivors, cmd.Grace = true, time.Millisecond
		}
		exec.Run(ctx, cmd)
		cancel()
	}
	if f, k := count(); f != fds || k != kids {
		t.Errorf("after %d runs %d descriptors and %d children, before %d and %d", runs, f, k, fds, kids)
	}
}

// TestMemory: case 53. The peak of resident memory does not follow what a
// child writes.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory is counted too")
	}
	out := run(t, t.Context(), child(t, "memory"))
	var kib, size int
	if _, err := fmt.Sscan(out.Stdout.Head, &kib, &size); err != nil || kib > 2<<10 || size != 1<<30 {
		t.Errorf("%d bytes raised the peak by %d KiB: %v, %s", size, kib, err, out)
	}
	t.Logf("1 GiB raised the peak by %d KiB", kib)
}

func init() {
	// memory prints by how many KiB a GiB of output raises the peak of this
	// process's resident memory.
	children["memory"] = func([]string) int {
		peak := func() (kib int) {
			data, _ := os.ReadFile("/proc/self/status")
			_, rest, _ := strings.Cut(string(data), "VmHWM:")
			fmt.Sscan(rest, &kib)
			return kib
		}
		gib := func(n string) *exec.Output {
			out, err := exec.Run(context.Background(), exec.Shell("yes | head -c "+n))
			if err != nil {
				panic(err)
			}
			return out
		}
		gib("1")
		before := peak()
		out := gib("1073741824")
		fmt.Println(peak()-before, out.Stdout.Bytes)
		return 0
	}
}
