// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"os"
	osexec "os/exec"
	"testing"
)

func TestParseStat(t *testing.T) {
	const rest = " 7 42 41 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 987654 1 2 3"
	for _, tt := range []struct {
		in   string
		want procStat
		ok   bool
	}{
		{"42 (sleep) S" + rest, procStat{42, 7, 42, 41, 987654, false, "sleep"}, true},
		{"42 (a) R (b)) Z" + rest, procStat{42, 7, 42, 41, 987654, true, "a) R (b)"}, true},
		{"42 () X" + rest, procStat{42, 7, 42, 41, 987654, true, ""}, true},
		{"42 (sleep) S 7 42", procStat{}, false},
		{"(sleep) S" + rest, procStat{}, false},
		{"", procStat{}, false},
		{"42 )sleep( S" + rest, procStat{}, false},
	} {
		if got, ok := parseStat([]byte(tt.in)); ok != tt.ok || got != tt.want {
			t.Errorf("%q: %+v, %t", tt.in, got, ok)
		}
	}
}

// TestHolders holds that who has the writing end of a pipe is found, and who
// has the reading end, as a child between fork and exec may, is not.
func TestHolders(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	for _, tt := range []struct {
		end  *os.File
		want int
	}{{r, 0}, {w, 1}} {
		cmd := osexec.Command("sleep", "30")
		cmd.ExtraFiles = []*os.File{tt.end}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		got := holders([]*os.File{r})
		if len(got) != tt.want || tt.want > 0 && got[0] != (Survivor{cmd.Process.Pid, "sleep"}) {
			t.Errorf("%+v, want %d", got, tt.want)
		}
		cmd.Process.Kill()
		cmd.Wait()
	}
}

func BenchmarkProcesses(b *testing.B) {
	for b.Loop() {
		if len(processes()) == 0 {
			b.Fatal("no /proc")
		}
	}
}
