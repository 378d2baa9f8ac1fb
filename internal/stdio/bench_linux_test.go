// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"io"
	"os"
	"os/exec"
	"testing"
)

func init() {
	modes["bounce"] = func() {
		g := must()
		bounce(g.In(), g.Out())
		g.Release()
	}
	modes["bounce without a guard"] = func() { bounce(os.Stdin, os.Stdout) }
}

func bounce(r io.Reader, w io.Writer) {
	buf := make([]byte, 4096)
	for {
		n, err := r.Read(buf)
		if err != nil {
			return
		}
		if _, err := w.Write(buf[:n]); err != nil {
			return
		}
	}
}

// BenchmarkRoundTrip is one short frame to a child and back, through the poller and through blocking descriptors.
func BenchmarkRoundTrip(b *testing.B) {
	for _, mode := range []string{"bounce", "bounce without a guard"} {
		b.Run(mode, func(b *testing.B) {
			exe, err := os.Executable()
			check(err)
			cmd := exec.Command(exe)
			cmd.Env = append(os.Environ(), modeEnv+"="+mode)
			stdin, err := cmd.StdinPipe()
			check(err)
			stdout, err := cmd.StdoutPipe()
			check(err)
			check(cmd.Start())
			frame := make([]byte, 128)
			for b.Loop() {
				check2(stdin.Write(frame))
				check2(io.ReadFull(stdout, frame))
			}
			check(stdin.Close())
			check(cmd.Wait())
		})
	}
}

// BenchmarkWritePartial is one short write that does not wait.
func BenchmarkWritePartial(b *testing.B) {
	r, w, err := os.Pipe()
	check(err)
	defer r.Close()
	out, err := newOutput(w)
	check(err)
	defer out.Close()
	go func() { _, _ = io.Copy(io.Discard, r) }()
	frame := make([]byte, 128)
	b.ReportAllocs()
	for b.Loop() {
		check2(out.WritePartial(frame))
	}
}
