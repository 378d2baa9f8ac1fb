// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
)

// within is how long an event of these tests may take before it is called
// lost; none is measured.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// soon is how long the end of a producer, and the answer to the next call,
// may take after a cancel: a fail-safe too, since a millisecond is usual.
func soon(t *testing.T) context.Context {
	limit := time.Second
	if raceEnabled {
		limit = 10 * time.Second
	}
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	t.Cleanup(cancel)
	return ctx
}

// start starts this test binary as a server over stdio.
func start(t *testing.T, mode string) *servertest.Client {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"="+mode)
	return servertest.Config{}.StartCmd(t, cmd)
}

// TestPrints is case 15, and the part of case 54 without exec: whatever
// prints, the stream stays clean and the text arrives on stderr. A child with
// inherited stdio reads the end of its input, not our requests.
func TestPrints(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	hows := []string{"fmt", "stdout", "captured", "raw", "builtin", "child"}
	for _, how := range hows {
		if _, err := c.Call(within(t), "print", printInput{how}); err != nil {
			t.Fatalf("%s: %v", how, err)
		}
	}
	for _, want := range []string{"stray: fmt", "stray: os.Stdout", "stray: captured", "stray: raw", "stray: builtin", "stray: child"} {
		if err := c.AwaitStderr(within(t), want); err != nil {
			t.Errorf("%q did not arrive on stderr", want)
		}
	}
}

// TestEmptyInput is case 64: a server without a host ends at once, and stdout
// is given back.
func TestEmptyInput(t *testing.T) {
	cmd := exec.CommandContext(within(t), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=then print")
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &errs)
	}
	if out.String() != "stdout is mine again\n" {
		t.Errorf("stdout %q", &out)
	}
}

// TestShortKey holds that a key that is too short for cursors is said at the
// start, and not only when somebody turns a page; the key is not.
func TestShortKey(t *testing.T) {
	for key, short := range map[string]bool{"s3cret": true, "fifteen bytes..": true, "sixteen bytes...": false, "": false} {
		cmd := exec.CommandContext(within(t), os.Args[0])
		cmd.Env = append(os.Environ(), childVariable+"=on", "WEIR_CURSOR_KEY="+key)
		var errs bytes.Buffer
		cmd.Stderr = &errs
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v\n%s", err, &errs)
		}
		if strings.Contains(errs.String(), "WEIR_CURSOR_KEY is shorter than 16 bytes") != short || key != "" && strings.Contains(errs.String(), key) {
			t.Errorf("key %q: %s", key, &errs)
		}
	}
}

// TestFileInput is case 63: server < requests.jsonl answers everything,
// however much that is and however little room there is.
func TestFileInput(t *testing.T) {
	const calls = 20_000 // far more than MaxQueue and ControlMemory hold
	var in bytes.Buffer
	in.WriteString(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n")
	for i := range calls {
		fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"echo","arguments":{"text":"%0512d"}}}`+"\n", i, i)
		if i%10 == 0 {
			fmt.Fprintf(&in, `{"jsonrpc":"2.0","id":"p%d","method":"ping"}`+"\n", i)
		}
	}
	path := t.TempDir() + "/requests.jsonl"
	if err := os.WriteFile(path, in.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	cmd := exec.CommandContext(within(t), os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=on")
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout = f, &out
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	if want := 1 + calls + calls/10; len(lines) != want {
		t.Errorf("%d lines, want %d", len(lines), want)
	}
	if n := strings.Count(out.String(), `"error"`); n != 0 {
		t.Errorf("%d errors", n)
	}
}

// TestSignal is I12: a running call is answered and the server ends well.
func TestSignal(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	p := begin(t, c, "9001", "hold", nil)
	ping(t, c)
	proc, err := os.FindProcess(c.Pid())
	if err != nil {
		t.Fatal(err)
	}
	if err := proc.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	raw, err := p.Wait(within(t))
	if err != nil || !strings.Contains(string(raw), `"isError":true`) || !strings.Contains(string(raw), "signal: terminated") {
		t.Errorf("answer %s, %v", raw, err)
	}
	if err := c.Wait(within(t)); err != nil {
		t.Errorf("end: %v", err)
	}
}

// TestHostDies is case 66 and case 64 in a process: a dead stdout is a write
// error and not SIGPIPE, and a host that is gone altogether an ordinary end.
func TestHostDies(t *testing.T) {
	t.Run("stdout", func(t *testing.T) {
		c := start(t, "on")
		initialize(t, c)
		begin(t, c, "9001", "produce", nil)
		if err := c.AwaitStderr(within(t), "produce started"); err != nil {
			t.Fatal(err)
		}
		c.CloseOutput()
		c.Send([]byte(`{"jsonrpc":"2.0","id":2,"method":"ping"}` + "\n"))
		var exit *exec.ExitError
		if err := c.Wait(within(t)); !errors.As(err, &exit) || exit.ExitCode() != 3 {
			t.Errorf("end: %v, want exit status 3", err)
		}
		if text, _ := c.Stderr(); !strings.Contains(text, "produce ended: host gone") || !strings.Contains(text, "broken pipe") {
			t.Errorf("stderr:\n%s", text)
		}
	})
	t.Run("all", func(t *testing.T) {
		c := start(t, "on")
		initialize(t, c)
		begin(t, c, "9001", "produce", nil)
		if err := c.AwaitStderr(within(t), "produce started"); err != nil {
			t.Fatal(err)
		}
		c.CloseOutput()
		c.CloseInput()
		if err := c.Wait(within(t)); err != nil {
			t.Errorf("end: %v", err)
		}
		if text, _ := c.Stderr(); !strings.Contains(text, "produce ended") {
			t.Errorf("stderr:\n%s", text)
		}
	})
}

// next shows the fifth step: a second, unrelated call on the same session is
// answered.
func next(t *testing.T, c *servertest.Client) {
	t.Helper()
	r, err := c.Call(soon(t), "echo", textInput{"second"})
	if err != nil || r.Text() != "second" {
		t.Errorf("second call: %v, %v", r, err)
	}
}

// TestCancelC0 cancels a call that waits for its slot, in five steps.
func TestCancelC0(t *testing.T) {
	c := start(t, "one")
	initialize(t, c)
	first := begin(t, c, "9001", "wait", waitInput{2000})
	begin(t, c, "9002", "produce", nil)
	ping(t, c) // it is queued: the reader has dealt with it
	c.Cancel([]byte("9002"), "")
	if _, err := first.Wait(within(t)); err != nil {
		t.Error(err)
	}
	next(t, c)
	if text, _ := c.Stderr(); strings.Contains(text, "produce started") {
		t.Error("the cancelled call started")
	}
	if n := answersTo(c, "9002"); n != 0 {
		t.Error("the cancelled call was answered")
	}
}

// TestCancelC1 cancels a call in remote I/O: the HTTP server sees its
// connection closed.
func TestCancelC1(t *testing.T) {
	closed := make(chan struct{})
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("beginning"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
		close(closed)
	}))
	defer web.Close()
	c := start(t, "on")
	initialize(t, c)
	begin(t, c, "9001", "fetch", urlInput{web.URL})
	if err := c.AwaitStderr(within(t), "fetch started"); err != nil {
		t.Fatal(err)
	}
	c.Cancel([]byte("9001"), "enough")
	select {
	case <-closed:
	case <-soon(t).Done():
		t.Error("the connection was not closed")
	}
	if err := c.AwaitStderr(soon(t), "fetch ended: cancelled by the peer: enough"); err != nil {
		t.Error("the producer did not report its end")
	}
	next(t, c)
	if n := answersTo(c, "9001"); n != 0 {
		t.Error("the cancelled call was answered")
	}
}

// TestCancelC3 cancels a call whose handler is producing.
func TestCancelC3(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	begin(t, c, "9001", "produce", nil)
	if err := c.AwaitStderr(within(t), "produce started"); err != nil {
		t.Fatal(err)
	}
	c.Cancel([]byte("9001"), "enough")
	if err := c.AwaitStderr(soon(t), "produce ended: cancelled by the peer: enough"); err != nil {
		text, _ := c.Stderr()
		t.Errorf("the producer did not report its end:\n%s", text)
	}
	next(t, c)
	if n := answersTo(c, "9001"); n != 0 {
		t.Error("the cancelled call was answered")
	}
}

// TestCancelC4 cancels a call whose response is being written: it goes out
// whole, and once.
func TestCancelC4(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	before := c.Metrics().Received
	c.Pause()
	begin(t, c, "9001", "big", sizeInput{2 << 20})
	if err := c.Take(within(t), 64<<10); err != nil {
		t.Fatal(err)
	}
	if got := c.Metrics().Received - before; got < 64<<10 {
		t.Fatalf("%d bytes read", got)
	}
	c.Cancel([]byte("9001"), "enough")
	p, err := c.BeginCall(within(t), "echo", textInput{"second"})
	if err != nil {
		t.Fatal(err)
	}
	c.Resume()
	if _, err := p.Wait(soon(t)); err != nil {
		t.Error(err)
	}
	if n := answersTo(c, "9001"); n != 1 {
		t.Errorf("%d answers, want the one that was being written", n)
	}
}

// TestCancelWhileEncoding cancels a call while a result of 64 MiB is encoded:
// that ends, its memory is free, and nothing is sent.
func TestCancelWhileEncoding(t *testing.T) {
	c := start(t, "raised")
	initialize(t, c)
	for i := range 5 {
		id := fmt.Sprint(9010 + i)
		begin(t, c, id, "huge", sizeInput{13 << 20}) // 78 MiB on the wire
		if err := c.AwaitStderr(within(t), strings.Repeat("huge returns\n", i+1)); err != nil {
			t.Fatal(err)
		}
		c.Cancel([]byte(id), "")
		next(t, c)
		if n := answersTo(c, id); n != 0 {
			t.Errorf("call %s was answered: the cancel came too late to try this", id)
		}
	}
}

// TestStalledHost is case 02: the host reads nothing while megabytes wait; a
// cancel still arrives, and on reading again all frames are whole and in order.
func TestStalledHost(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	begin(t, c, `"slow"`, "produce", nil)
	if err := c.AwaitStderr(within(t), "produce started"); err != nil {
		t.Fatal(err)
	}
	c.Pause()
	var all []*servertest.Pending
	for range 8 {
		p, err := c.BeginCall(within(t), "big", sizeInput{1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	c.Cancel([]byte(`"slow"`), "enough")
	pinged, err := c.Begin(servertest.Request{Method: "ping"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitStderr(soon(t), "produce ended"); err != nil {
		t.Error("the cancel did not arrive while stdout was stuck")
	}
	c.Resume()
	for _, p := range append(all, pinged) {
		if _, err := p.Wait(within(t)); err != nil {
			t.Error(err)
		}
	}
	next(t, c)
}

// TestIntermittentHost holds that a host that reads 1 KiB every 50 ms loses
// nothing.
func TestIntermittentHost(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	c.SetPace(servertest.Pace{Chunk: 1 << 10, Every: 50 * time.Millisecond})
	var all []*servertest.Pending
	for range 8 {
		p, err := c.BeginCall(within(t), "big", sizeInput{8 << 10})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
	for _, p := range all {
		if raw, err := p.Wait(within(t)); err != nil || len(raw) < 8<<10 {
			t.Errorf("%d bytes, %v", len(raw), err)
		}
	}
}

// TestManyAtOnce is case 07 and case 08: 200 calls at once, each of 5 to 200 KiB,
// with progress and list changes between, over one pipe.
func TestManyAtOnce(t *testing.T) {
	s := newStage()
	srv := s.server(server.Limits{}, new(logBuffer))
	c := servertest.New(t, srv)
	initialize(t, c)
	for round := range 2 {
		var all []*servertest.Pending
		for i := range 200 {
			p, err := c.Begin(servertest.Request{Method: "tools/call", Progress: func(servertest.Progress) {},
				Params: map[string]any{"name": "big", "arguments": sizeInput{5<<10 + i<<10}}})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, p)
			if i%20 == 0 {
				addTool(&s.tools, fmt.Sprintf("extra_%d_%d", round, i))
			}
		}
		for _, p := range all {
			if _, err := p.Wait(within(t)); err != nil {
				t.Error(err)
			}
		}
		ping(t, c)
	}
}

// TestSecondSignal is I12's escape: when a handler holds up the end, a second
// signal ends the process.
func TestSecondSignal(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	begin(t, c, "9001", "stubborn", nil)
	ping(t, c)
	proc, err := os.FindProcess(c.Pid())
	if err != nil {
		t.Fatal(err)
	}
	proc.Signal(syscall.SIGTERM)
	// The first was taken when no new call is.
	for {
		p := begin(t, c, `"probe"`, "echo", textInput{"x"})
		if _, err := p.Wait(within(t)); err != nil {
			break
		}
	}
	proc.Signal(syscall.SIGTERM)
	var exit *exec.ExitError
	if err := c.Wait(within(t)); !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Errorf("end: %v, want death by the signal", err)
	}
}

// TestOneClaim holds that a second ServeStdio meanwhile is an error.
func TestOneClaim(t *testing.T) {
	c := start(t, "on")
	initialize(t, c)
	r, err := c.Call(within(t), "serve_again", nil)
	if err != nil || !r.IsError || !strings.Contains(r.Text(), "claimed already") {
		t.Errorf("%v, %v", r, err)
	}
	next(t, c)
}
