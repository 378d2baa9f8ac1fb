// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/weir-mcp/weir/server/servertest"
)

// await waits until f holds.
func await(t *testing.T, what string, within time.Duration, f func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: not within %v", what, within)
		}
	}
}

// lastCalls is what the server's calls own now, as it told on stderr.
func lastCalls(c *servertest.Client) string {
	text, _ := c.Stderr()
	i := strings.LastIndex(text, "calls:")
	if i < 0 {
		return ""
	}
	line, _, ended := strings.Cut(text[i:], "\n")
	if !ended {
		return ""
	}
	return line
}

// connections is how many connections the server has made.
func connections(c *servertest.Client) int {
	text, _ := c.Stderr()
	return strings.Count(text, "ssh connection made")
}

var processGroup = regexp.MustCompile(`process group (\d+)`)

// groupOf is the process group over there of the call whose list of calls holds
// a word, or 0.
func groupOf(c *servertest.Client, word string) int {
	for call := range strings.SplitSeq(lastCalls(c), " [") {
		if m := processGroup.FindStringSubmatch(call); m != nil && strings.Contains(call, word) {
			pid, _ := strconv.Atoi(m[1])
			return pid
		}
	}
	return 0
}

// gone tells whether there is no process of that id but a zombie.
func gone(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(data), ") ")
	return strings.HasPrefix(rest, "Z")
}

// next is step 5: another call is answered at once.
func next(t *testing.T, c *servertest.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	r, err := c.Call(ctx, "run", args{"host": "box", "command": "echo", "args": []string{"here"}})
	if err != nil || r.IsError || !strings.Contains(r.Text(), "here") {
		t.Fatalf("%v, %v", r, err)
	}
}

// C2: the command runs on the other machine, printing without end or silent, and
// is cancelled. It ends there, and the connection goes on. Cases 20 and 59.
func TestCancelC2(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "", "")
	word := uniqueSeconds()
	c := startServer(t, servertest.Config{}, args{
		"hosts":    []hosted{s.entry("box")},
		"commands": []args{{"argv": []string{"echo", "..."}}, {"argv": []string{"yes", "*"}}, {"argv": []string{"sleep", "*"}}, {"argv": []string{"sh", "-c", "trap '' TERM; sleep " + word + " & sleep " + word}}},
	}, nil)
	next(t, c)
	for _, tt := range []struct {
		name    string
		command string
		args    []string
	}{
		{"printing", "yes", []string{word}},
		{"silent", "sleep", []string{word}},
		{"deaf to TERM", "sh", []string{"-c", "trap '' TERM; sleep " + word + " & sleep " + word}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// 1: start.
			long, err := c.BeginCall(t.Context(), "run", args{"host": "box", "command": tt.command, "args": tt.args})
			if err != nil {
				t.Fatal(err)
			}
			// 2: wait until it is seen: what the call owns names host, stage and
			// process group.
			await(t, "process group", 20*time.Second, func() bool { return groupOf(c, tt.command+" box output") != 0 })
			group := groupOf(c, tt.command+" box output")
			if gone(group) {
				t.Fatalf("there is no process %d", group)
			}
			if calls := lastCalls(c); strings.Contains(calls, s.KeyFile) || strings.Contains(calls, word) {
				t.Errorf("the list of calls shows too much: %s", calls)
			}
			// 3: cancel.
			if err := c.Cancel(long.ID, "enough"); err != nil {
				t.Fatal(err)
			}
			// 4: the producer is gone, with what it has started, and so is the call.
			await(t, "the end of the process", 10*time.Second, func() bool { return gone(group) })
			await(t, "the end of its children", 10*time.Second, func() bool {
				for _, line := range commandLines(t) {
					if strings.Contains(line, word) && !strings.Contains(line, "weir") {
						return false
					}
				}
				return true
			})
			await(t, "the end of the call", 10*time.Second, func() bool { return lastCalls(c) == "calls: end" })
			// 5: another call is answered, on the same connection.
			next(t, c)
			if n := connections(c); n != 1 {
				t.Errorf("%d connections, want 1", n)
			}
		})
	}
}

// deaf is an address whose connections are never made: its queue is full.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	for range 16 {
		c, err := net.DialTimeout("tcp", addr, 200*time.Millisecond)
		if err != nil {
			return addr // nobody else gets in
		}
		t.Cleanup(func() { c.Close() })
	}
	t.Skip("the queue of a listener does not become full here")
	return ""
}

// silent is an address that takes connections and says nothing, and a channel
// that tells when one has been closed by its client.
func silent(t *testing.T) (string, <-chan struct{}) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := make(chan struct{}, 8)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			buf := make([]byte, 4096)
			for err == nil {
				_, err = c.Read(buf)
			}
			c.Close()
			closed <- struct{}{}
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String(), closed
}

// C1: the call is on its way to the other machine, in TCP or in the handshake,
// and is cancelled. Nothing of the connection is left, and another call makes
// one of its own. Cases 20 and 59.
func TestCancelC1(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "", "")
	quiet, closed := silent(t)
	c := startServer(t, servertest.Config{}, args{
		"hosts":    []hosted{s.entry("box"), s.entry("deaf").with("address", deaf(t)), s.entry("quiet").with("address", quiet)},
		"commands": []args{{"argv": []string{"echo", "..."}}},
	}, nil)
	for i, tt := range []struct{ host, stage string }{{"deaf", "connect"}, {"quiet", "handshake"}} {
		t.Run(tt.stage, func(t *testing.T) {
			long, err := c.BeginCall(t.Context(), "run", args{"host": tt.host, "command": "echo"}) // 1
			if err != nil {
				t.Fatal(err)
			}
			await(t, "the stage", 20*time.Second, func() bool { return strings.Contains(lastCalls(c), tt.host+" "+tt.stage) }) // 2
			began := time.Now()
			if err := c.Cancel(long.ID, "enough"); err != nil { // 3
				t.Fatal(err)
			}
			if tt.host == "quiet" { // 4
				select {
				case <-closed:
				case <-time.After(10 * time.Second):
					t.Fatal("the connection is not closed")
				}
			}
			await(t, "the end of the call", 10*time.Second, func() bool { return lastCalls(c) == "calls: end" })
			if d := time.Since(began); d > 5*time.Second { // of 15 s for a connection
				t.Errorf("the end took %v", d)
			}
			next(t, c) // 5
			if n := connections(c); n != 1 {
				t.Errorf("case %d: %d connections, want 1", i, n)
			}
		})
	}
}

// C1: the call waits for a session, because the server gives no more, and is
// cancelled. It never reaches the server. Case 59.
func TestCancelC1Session(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "MaxSessions 2", "")
	word := uniqueSeconds()
	marker := s.Dir + "/was-run"
	c := startServer(t, servertest.Config{}, args{
		"hosts":    []hosted{s.entry("box")},
		"commands": []args{{"argv": []string{"echo", "..."}}, {"argv": []string{"sleep", "*"}}, {"argv": []string{"touch", "*"}}},
	}, nil)
	next(t, c)
	// All sessions are taken, by as many commands as get one.
	begin := func() *servertest.Pending {
		p, err := c.BeginCall(t.Context(), "run", args{"host": "box", "command": "sleep", "args": []string{word}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	taken := []*servertest.Pending{begin()}
	await(t, "the first command", 20*time.Second, func() bool { return groupOf(c, "sleep box output") != 0 })
	for range 2 {
		taken = append(taken, begin())
	}
	await(t, "a call that waits", 20*time.Second, func() bool {
		return strings.Contains(lastCalls(c), "box queue") && !strings.Contains(lastCalls(c), "box session")
	})
	before := lastCalls(c)
	late, err := c.BeginCall(t.Context(), "run", args{"host": "box", "command": "touch", "args": []string{marker}}) // 1
	if err != nil {
		t.Fatal(err)
	}
	await(t, "the stage", 20*time.Second, func() bool { // 2
		return strings.Count(lastCalls(c), "box queue") == strings.Count(before, "box queue")+1
	})
	if err := c.Cancel(late.ID, "enough"); err != nil { // 3
		t.Fatal(err)
	}
	await(t, "the end of the call", 10*time.Second, func() bool { // 4
		return strings.Count(lastCalls(c), "box queue") == strings.Count(before, "box queue")
	})
	// 5: there is no room for another call before one of them has ended.
	for _, p := range taken {
		if err := c.Cancel(p.ID, "enough"); err != nil {
			t.Fatal(err)
		}
	}
	await(t, "the end of the others", 20*time.Second, func() bool { return lastCalls(c) == "calls: end" })
	next(t, c)
	if n := connections(c); n != 1 {
		t.Errorf("%d connections, want 1", n)
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("the cancelled call was run")
	}
	await(t, "the end of the processes", 10*time.Second, func() bool {
		for _, line := range commandLines(t) {
			if strings.Contains(line, "sleep "+word) {
				return false
			}
		}
		return true
	})
}

// TestServer drives the whole server in both eras.
func TestServer(t *testing.T) {
	t.Parallel()
	s := startSSHD(t, "", "")
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		c := startServer(t, servertest.Config{Protocol: protocol}, args{
			"hosts":    []hosted{s.entry("box")},
			"commands": []args{{"argv": []string{"echo", "..."}}},
			"paths":    []args{{"path": "/etc/passwd"}},
		}, nil)
		next(t, c)
		for name, in := range map[string]args{"hosts": {}, "read_file": {"host": "box", "path": "/etc/passwd"}, "tail_log": {"host": "box", "path": "/etc/passwd", "pattern": "^root:"}} {
			if r, err := c.Call(t.Context(), name, in); err != nil || r.IsError || r.Page().Items == 0 {
				t.Errorf("%s: %v, %v", name, r, err)
			}
		}
	}
}
