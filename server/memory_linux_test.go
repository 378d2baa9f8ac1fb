// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
)

// peakMiB is the most memory that a process has had resident.
func peakMiB(t *testing.T, pid int) int {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(string(status), "VmHWM:")
	var kb int
	if _, err := fmt.Sscan(line, &kb); err != nil {
		t.Fatal(err)
	}
	return kb >> 10
}

// TestOversizedFrame is case 03 (a) and (c): a line over the limit costs one
// error and memory near the limit, and its id is found wherever it stands.
func TestOversizedFrame(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	before := peakMiB(t, c.Pid())
	send := func(head string, n int, tail string) {
		t.Helper()
		for _, part := range [][]byte{[]byte(head), bytes.Repeat([]byte("x"), n), []byte(tail)} {
			if err := c.Send(part); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.Flush(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	refused := func(id string) {
		t.Helper()
		f, err := c.Find(within(t), func(f servertest.Frame) bool { return f.Err != nil && string(f.ID) == id })
		if err != nil || f.Err.Code != -32600 || !strings.Contains(f.Err.Message, "16777216") {
			t.Errorf("no refusal of id %q: %v %s", id, err, f.Raw)
		}
	}
	send("", 64<<20, "\n") // no id: left out in 2025-11-25
	refused("")
	send(`{"jsonrpc":"2.0","id":"front","method":"ping","params":{"x":"`, 20<<20, `"}}`+"\n")
	refused(`"front"`)
	send(`{"method":"ping","params":{"id":"not this","x":"`, 20<<20, `"},"jsonrpc":"2.0","id":"tail"}`+"\n")
	refused(`"tail"`)
	big := begin(t, c, `"back"`, "echo", textInput{strings.Repeat("y", 17<<20)})
	var e *servertest.Error
	if _, err := big.Wait(within(t)); !errors.As(err, &e) || e.Code != -32600 {
		t.Errorf("oversized call: %v", err)
	}
	next(t, c)
	if grown := peakMiB(t, c.Pid()) - before; grown > 64 && !raceEnabled { // the detector takes several times as much
		t.Errorf("memory grew by %d MiB", grown)
	}
}

// TestFrameLimitIn is case 03 (b) and (c) and case 05: frames of the limit
// and one more, and of the sizes at which line readers give up, whatever comes
// in one write with them.
func TestFrameLimitIn(t *testing.T) {
	const limit = 6 << 20
	s := newStage()
	c := servertest.New(t, s.server(server.Limits{MaxFrameIn: limit, MaxFrameOut: limit + 100}, new(logBuffer)))
	initialize(t, c)
	frame := func(id string, n int) []byte {
		head := `{"jsonrpc":"2.0","id":` + id + `,"method":"ping","params":{"x":"`
		return []byte(head + strings.Repeat("x", n-len(head)-3) + `"}}` + "\n")
	}
	for _, n := range []int{65535, 65536, 65537, 5 << 20, limit - 1, limit, limit + 1} {
		id := fmt.Sprintf(`"in%d"`, n)
		both := append(frame(id, n), frame(`"small"`, 100)...) // in one write
		if err := c.Send(both); err != nil {
			t.Fatal(err)
		}
		got, err := c.Find(within(t), func(f servertest.Frame) bool { return string(f.ID) == id })
		if err != nil || (got.Err != nil) != (n > limit) {
			t.Errorf("a frame of %d bytes: %s, %v", n, got.Raw, err)
		}
		ping(t, c)
	}
	if n := answersTo(c, `"small"`); n != 7 {
		t.Errorf("%d of 7 frames behind a large one were answered", n)
	}
	for _, n := range []int{65535, 65536, 65537, 5 << 20} { // and outwards
		over := 300
		p := begin(t, c, `"out"`, "big", sizeInput{n - over})
		if got := text(t, p); len(got) < n-over {
			t.Errorf("answer of %d bytes", len(got))
		}
	}
}

// TestStalledMemory holds that what waits for a host that does not read stays
// within the limits, with a fail-safe far above the figure that lab/ measures.
func TestStalledMemory(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	c.Pause()
	var all []*servertest.Pending
	calls := 200
	if raceEnabled { // several times slower
		calls = 40
	}
	for range calls {
		p, err := c.BeginCall(within(t), "huge", sizeInput{1 << 20 / 6}) // 1 MiB on the wire
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	begin(t, c, `"last"`, "produce", nil)
	c.Cancel([]byte(`"last"`), "") // it is behind the others, and still found
	// As many results wait as MaxResultMemory holds, or nearly.
	if err := c.AwaitStderr(within(t), strings.Repeat("huge returns\n", 25)); err != nil {
		t.Error("fewer than 25 results were made")
	}
	c.Resume()
	for _, p := range all {
		if _, err := p.Wait(within(t)); err != nil {
			t.Fatal(err)
		}
	}
	if peak := peakMiB(t, c.Pid()); peak > 200 && !raceEnabled {
		t.Errorf("peak of %d MiB", peak)
	}
}
