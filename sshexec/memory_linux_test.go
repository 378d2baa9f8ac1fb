// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"fmt"
	"os"
	osexec "os/exec"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

func init() {
	// memory prints by how many KiB so much output raises the peak of this
	// process's resident memory, and how many bytes came.
	children["memory"] = func(args []string) int {
		s := &sshdtest.Server{KeyFile: args[2]}
		h := &Host{Address: args[0], User: args[1], Auth: testAuth(s), HostKeys: HostKeys{Files: []string{args[2] + ".host"}}}
		defer h.Close()
		peak := func() (kib int) {
			data, _ := os.ReadFile("/proc/self/status")
			_, rest, _ := strings.Cut(string(data), "VmHWM:")
			fmt.Sscan(rest, &kib)
			return kib
		}
		run := func(n string) int64 {
			o, err := h.Run(context.Background(), sh("yes | head -c "+n))
			if err != nil {
				panic(err)
			}
			return o.Stdout.Bytes
		}
		run("1000000")
		before := peak()
		n := run(args[3])
		fmt.Println(peak()-before, n)
		return 0
	}
}

// raised is by how many KiB so many bytes of output raise the peak of resident
// memory.
func raised(t testing.TB, bytes int) (kib int) {
	s := sharedSSHD(t)
	writeFile(t, s.KeyFile+".host", []byte(knownhosts.Line([]string{knownhosts.Normalize(s.Addr)}, s.HostKey)+"\n"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(self, s.Addr, s.User, s.KeyFile, strconv.Itoa(bytes))
	cmd.Env = append(os.Environ(), childVariable+"=memory")
	out, err := cmd.Output()
	got := 0
	if _, scanErr := fmt.Sscan(string(out), &kib, &got); err != nil || scanErr != nil || got != bytes {
		t.Fatalf("%s: %v, %v", out, err, scanErr)
	}
	return kib
}

// TestMemory: case 53. The peak of resident memory does not follow the output:
// it is what golang.org/x/crypto/ssh holds for a window of 2 MiB, and garbage.
func TestMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector's own memory is counted too")
	}
	if kib := raised(t, 128<<20); kib > 32<<10 {
		t.Errorf("128 MiB raised the peak by %d KiB", kib)
	}
}

// BenchmarkMemory is the same with 1 GiB.
func BenchmarkMemory(b *testing.B) {
	kib := 0
	for b.Loop() {
		kib = max(kib, raised(b, 1<<30))
	}
	b.ReportMetric(float64(kib), "KiB-peak")
}
