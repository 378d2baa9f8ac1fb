// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package sshexec

import (
	"context"
	"io"
	osexec "os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/exec"
)

// Each benchmark has its counterparts in the same run: golang.org/x/crypto/ssh
// as its own examples use it, and the ssh program with a master connection that
// is warm. The server is the same.

// A rival is one way to run a command over a warm connection.
type rival struct {
	name string
	run  func(line string) error
}

// rivals are the ways, ours first. Every one has its own connection.
func rivals(b *testing.B) []rival {
	b.Helper()
	s := sharedSSHD(b)
	h := testHost(b, s)
	client, err := ssh.Dial("tcp", s.Addr, &ssh.ClientConfig{
		User: s.User, Auth: []ssh.AuthMethod{ssh.PublicKeys(s.Signer)}, HostKeyCallback: ssh.FixedHostKey(s.HostKey),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { client.Close() })
	list := []rival{
		{"sshexec", func(line string) error {
			cmd := sh(line)
			switch line {
			case "true", "/bin/true":
				cmd = exec.Cmd{Path: line}
			}
			o, err := h.Run(context.Background(), cmd)
			if err == nil && !o.Success() {
				b.Error(o)
			}
			return err
		}},
		{"crypto", func(line string) error {
			sess, err := client.NewSession()
			for noRoom(err) { // the server has not counted those out that are over
				time.Sleep(time.Millisecond)
				sess, err = client.NewSession()
			}
			if err != nil {
				return err
			}
			defer sess.Close()
			sess.Stdout, sess.Stderr = io.Discard, io.Discard
			return sess.Run(line)
		}},
	}
	path, err := osexec.LookPath("ssh")
	if err != nil {
		return list
	}
	dir := b.TempDir()
	known := filepath.Join(dir, "known")
	writeFile(b, known, []byte(knownhosts.Line([]string{knownhosts.Normalize(s.Addr)}, s.HostKey)+"\n"))
	args := []string{"-F", "none", "-i", s.KeyFile, "-p", strconv.Itoa(s.Port), "-o", "UserKnownHostsFile=" + known, "-o", "IdentitiesOnly=yes", "-o", "BatchMode=yes", "-o", "ControlPath=" + filepath.Join(dir, "c"), "-l", s.User}
	master := osexec.Command(path, append(args, "-MNn", s.Host)...)
	if err := master.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { master.Process.Kill(); master.Wait() })
	program := rival{"ssh", func(line string) error {
		cmd := osexec.Command(path, append(args, "-n", s.Host, line)...)
		cmd.Stdout, cmd.Stderr = io.Discard, io.Discard
		return cmd.Run()
	}}
	for range 200 {
		if program.run("true") == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	return append(list, program)
}

// compare runs the rivals in turn, each so many times in a row, since a machine's
// speed changes: then their medians are comparable.
func compare(b *testing.B, list []rival, row int, line string) {
	times := make([][]time.Duration, len(list))
	for _, r := range list { // warm
		if err := r.run(line); err != nil {
			b.Fatal(r.name, err)
		}
	}
	for b.Loop() {
		for i, r := range list {
			for range row {
				began := time.Now()
				if err := r.run(line); err != nil {
					b.Fatal(r.name, err)
				}
				times[i] = append(times[i], time.Since(began))
			}
		}
	}
	var medians []float64
	for i, t := range times {
		slices.Sort(t)
		m := float64(t[len(t)/2].Microseconds())
		medians = append(medians, m)
		b.ReportMetric(m, list[i].name+"-µs")
	}
	b.ReportMetric(0, "ns/op")
	for i := 1; i < len(medians); i++ {
		b.ReportMetric(medians[0]/medians[i], "ratio-"+list[i].name)
	}
}

// BenchmarkTrue is the latency of a command that does nothing: one that every
// shell has built in, and a program.
func BenchmarkTrue(b *testing.B) {
	list := rivals(b)
	b.Run("builtin", func(b *testing.B) { compare(b, list, 10, "true") })
	b.Run("program", func(b *testing.B) { compare(b, list, 10, "/bin/true") })
}

// BenchmarkDrain is 256 MiB of output an op.
func BenchmarkDrain(b *testing.B) {
	list := rivals(b)
	const size = 256 << 20
	for _, line := range []string{"yes | head -c 268435456", "head -c 268435456 /dev/zero"} {
		b.Run(line[:4], func(b *testing.B) {
			b.SetBytes(size)
			compare(b, list, 1, line)
		})
	}
}

// BenchmarkParallel is 100 commands at once. A bare client has to limit itself
// to the sessions that a server takes, as Host does.
func BenchmarkParallel(b *testing.B) {
	list := rivals(b)
	for i, r := range list {
		list[i].run = func(line string) error {
			var wait sync.WaitGroup
			var failed error
			var mu sync.Mutex
			slots := make(chan struct{}, DefaultMaxSessions)
			if i == 0 {
				slots = make(chan struct{}, 100)
			}
			for range 100 {
				wait.Go(func() {
					slots <- struct{}{}
					defer func() { <-slots }()
					if err := r.run(line); err != nil {
						mu.Lock()
						failed = err
						mu.Unlock()
					}
				})
			}
			wait.Wait()
			return failed
		}
	}
	b.Run("true", func(b *testing.B) { compare(b, list, 1, "true") })
}
