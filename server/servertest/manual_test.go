// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// These are the tests that docs/testing.md shows.

// TestHello calls a tool as a host does: through pipes, by the protocol.
func TestHello(t *testing.T) {
	c := servertest.New(t, newServer())
	res, err := c.Call(t.Context(), "hello", greeting{Name: "weir"})
	if err != nil || res.IsError || res.Text() != "Hello, weir!" {
		t.Error(res, err)
	}
}

// TestCancel holds that a cancel reaches the work. The last step is the one
// that matters: the session still answers.
func TestCancel(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	srv := newServer()
	tool.AddFunc(srv.Tools, tool.Info{Name: "wait", Description: "Waits."}, func(ctx context.Context, _ struct{}) (string, error) {
		close(started)
		<-ctx.Done()
		ended <- ctx.Err()
		return "", ctx.Err()
	})
	c := servertest.New(t, srv)

	call, err := c.BeginCall(t.Context(), "wait", nil) // 1. start
	if err != nil {
		t.Fatal(err)
	}
	<-started                                               // 2. wait until the state is seen
	if err := call.Cancel("no longer needed"); err != nil { // 3. cancel
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, context.Canceled) { // 4. the producer ends
		t.Errorf("the handler's context ended with %v", err)
	}
	res, err := c.Call(t.Context(), "hello", greeting{Name: "weir"}) // 5. a second, unrelated call
	if err != nil || res.Text() != "Hello, weir!" {
		t.Error(res, err)
	}
	if m := c.Metrics(); m.Late != 0 {
		t.Error("a call that was cancelled before its response began was answered")
	}
}

// TestCancelDuringOutput cancels when part of the response has been read: what
// is in the pipe cannot be called back. The host reads it, drops it, and goes on.
func TestCancelDuringOutput(t *testing.T) {
	c := servertest.New(t, newServer())
	c.SetPace(servertest.Pace{Chunk: 16 << 10, Every: time.Millisecond}) // slow enough to be in time
	call, err := c.BeginCall(t.Context(), "big", size{Bytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.AwaitReceived(t.Context(), 64<<10); err != nil {
		t.Fatal(err)
	}
	if err := call.Cancel("the result is too long"); err != nil {
		t.Fatal(err)
	}
	c.SetPace(servertest.Pace{})
	if _, err := c.Call(t.Context(), "hello", greeting{Name: "weir"}); err != nil {
		t.Error(err)
	}
	if m := c.Metrics(); m.Late != 1 || m.Unasked != 0 {
		t.Errorf("%d late responses, %d that nobody asked for", m.Late, m.Unasked)
	}
}

// TestHostThatDoesNotRead holds that a host which has stopped reading, such as
// one that waits for an approval, loses nothing.
func TestHostThatDoesNotRead(t *testing.T) {
	c := servertest.New(t, newServer())
	if _, err := c.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	c.Pause()
	var calls []*servertest.Pending
	for range 20 {
		call, err := c.BeginCall(t.Context(), "big", size{Bytes: 100 << 10})
		if err != nil {
			t.Fatal(err)
		}
		calls = append(calls, call)
	}
	if err := c.Flush(t.Context()); err != nil { // the pipe has taken them all
		t.Fatal(err)
	}
	if d := c.Diagnose(); !strings.HasPrefix(d, "the host has paused reading") {
		t.Error(d)
	}
	c.Resume()
	for _, call := range calls {
		if _, err := call.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// TestTimeOut takes no time: in a bubble of testing/synctest a minute passes
// when everybody waits.
func TestTimeOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newServer()
		srv.Limits = server.Limits{CallTimeout: time.Minute}
		tool.AddFunc(srv.Tools, tool.Info{Name: "wait", Description: "Waits."}, func(ctx context.Context, _ struct{}) (string, error) {
			<-ctx.Done()
			return "as far as it came", nil
		})
		c := servertest.NewInMemory(t, srv)
		start := time.Now()
		res, err := c.Call(t.Context(), "wait", nil)
		if err != nil || !res.IsError || !strings.Contains(res.Text(), "as far as it came") {
			t.Error(res, err)
		}
		if took := time.Since(start); took != time.Minute {
			t.Errorf("it took %v", took)
		}
	})
}
