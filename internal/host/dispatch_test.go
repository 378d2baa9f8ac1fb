// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestOverload: a consumer that stops holds up the dispatcher, never the
// reader; what does not fit is dealt with as Config says.
func TestOverload(t *testing.T) {
	flood := Request{Method: "tools/call", Params: ToolParams("flood", args{"n": 1000})}
	t.Run("refuse", func(t *testing.T) {
		held, release := make(chan struct{}, 100), make(chan struct{})
		h := inProcess(t, Config{Queue: 10, OnFrame: func(f Frame) { held <- struct{}{}; <-release }})
		if _, err := h.Begin(Request{Method: "ping"}); err != nil {
			t.Fatal(err)
		}
		<-held // the dispatcher is stuck with its answer
		p, err := h.Begin(flood)
		if err != nil {
			t.Fatal(err)
		}
		// The response to it is dropped; the reader has taken all of it.
		if _, err := p.Wait(soon(t)); !errors.Is(err, ErrOverload) {
			t.Errorf("the flood's call ended with %v", err)
		}
		if _, err := h.Begin(flood); !errors.Is(err, ErrOverload) {
			t.Errorf("a new request while the queue is full: %v", err)
		}
		m := h.Metrics()
		if m.Lines != 1+1001 || m.Queued != 10 || m.PeakQueued != 10 || m.Refused != 1001-10 {
			t.Errorf("lines %d, queued %d, peak %d, refused %d", m.Lines, m.Queued, m.PeakQueued, m.Refused)
		}
		close(release)
		if err := h.until(soon(t), func() bool { return h.Metrics().Dispatched == 11 && !h.queue.isFull() }); err != nil {
			t.Fatal(err)
		}
		if got := callText(t, h, "echo", args{"text": "again"}); got != "again" {
			t.Errorf("after the overload: %q", got)
		}
		if m := h.Metrics(); m.LongestWait <= 0 || m.QueueWait < m.LongestWait {
			t.Errorf("waits: longest %v, in sum %v", m.LongestWait, m.QueueWait)
		}
	})
	t.Run("cancel", func(t *testing.T) {
		release := make(chan struct{})
		h := inProcess(t, Config{Queue: 10, Overload: OverloadCancel, OnFrame: func(f Frame) { <-release }})
		hang, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.Begin(flood); err != nil {
			t.Fatal(err)
		}
		if _, err := hang.Wait(soon(t)); !errors.Is(err, ErrOverload) {
			t.Errorf("the other call ended with %v", err)
		}
		if err := h.until(soon(t), func() bool { return h.Metrics().Cancels > 0 }); err != nil {
			t.Error(err)
		}
		close(release)
	})
	t.Run("end", func(t *testing.T) {
		release := make(chan struct{})
		h := startChild(t, Config{Queue: 10, Overload: OverloadEnd, OnFrame: func(f Frame) { <-release }}, "serve")
		p, err := h.Begin(flood)
		if err != nil {
			t.Fatal(err)
		}
		if err := h.until(soon(t), func() bool { return h.Metrics().Exit != nil }); err != nil {
			t.Fatal(err)
		}
		close(release)
		if _, err := p.Wait(soon(t)); !errors.Is(err, ErrOverload) || !errors.Is(err, ErrEnded) {
			t.Errorf("the call ended with %v", err)
		}
		if err := h.Wait(soon(t)); !errors.Is(err, ErrOverload) {
			t.Errorf("Wait: %v", err)
		}
	})
}

// TestDiagnose plants a fault on each side and reads what the host says.
func TestDiagnose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := RunInMemory(Config{}, (&fake{}).serve)
		defer h.Close()
		says := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := h.Diagnose()
			for _, w := range want {
				if !strings.Contains(got, w) {
					t.Errorf("Diagnose() = %q, want it to say %q", got, w)
				}
			}
		}
		if _, err := h.Call(t.Context(), "echo", nil); err != nil {
			t.Fatal(err)
		}
		says("idle", "no request is open")

		p, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("half", nil)})
		synctest.Wait()
		says("idle") // a moment of silence is no fault
		time.Sleep(3 * time.Second)
		says("the server's write side is stuck", "no byte for 3s after 68 bytes of a frame", "1 request open, the oldest tools/call (id 2) for 3s")
		p.Cancel("")
		says("idle", "no request is open")

		release := make(chan struct{})
		go h.CallProgress(t.Context(), "progress", args{"n": 20}, func(Progress) { <-release })
		synctest.Wait()
		time.Sleep(2 * time.Second)
		says("the host's consumer is stuck", "one frame for 2s", "20 frames", "wait behind it")
		close(release)
		says("idle")

		h.Begin(Request{Method: "tools/call", Params: ToolParams("stopreading", nil)})
		h.Begin(Request{Method: "ping"})
		synctest.Wait()
		time.Sleep(1500 * time.Millisecond)
		says("the server's read side is stuck", "no byte of stdin for 1.5s while 41 wait", "2 requests open")

		h.Kill()
		<-h.Done()
		says("the server has ended", "no request is open")
	})
}

// TestKeep: Frames keeps what fits, the newest.
func TestKeep(t *testing.T) {
	h := inProcess(t, Config{Keep: 4 << 10})
	for range 100 {
		callText(t, h, "echo", args{"text": strings.Repeat("k", 500)})
	}
	frames, m := h.Frames(), h.Metrics()
	if len(frames)+m.FramesDropped != 100 || len(frames) < 3 || len(frames) > 8 || frames[len(frames)-1].Seq != 99 {
		t.Errorf("%d frames kept, %d dropped", len(frames), m.FramesDropped)
	}
	if f, err := h.Next(soon(t), 0); err != nil || f.Seq != frames[0].Seq {
		t.Errorf("the first one kept: %d, %v", f.Seq, err)
	}
}

func TestFindAtEnd(t *testing.T) {
	h := inProcess(t, Config{})
	callText(t, h, "echo", nil)
	h.CloseInput()
	if _, err := h.Next(soon(t), 1); !errors.Is(err, ErrEnded) {
		t.Errorf("a line that never comes: %v", err)
	}
	if f, err := h.Next(soon(t), 0); err != nil || f.Answers != "tools/call" {
		t.Errorf("a line that came: %v", err)
	}
}
