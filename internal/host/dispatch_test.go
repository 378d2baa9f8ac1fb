// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"
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
		if _, err := p.Wait(soon(t)); !errors.Is(err, ErrOverload) || !errors.Is(err, ErrEnded) {
			t.Errorf("the call ended with %v", err)
		}
		close(release)
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
		says("under way: 68 bytes of a frame received, the last byte 0s ago", "1 request open") // a moment of silence is no fault
		time.Sleep(3 * time.Second)
		says("the server's write side is stuck", "no byte for 3s after 68 bytes of a frame", "1 request open, the oldest tools/call (id 2) for 3s")
		p.Cancel("")
		says("idle: nothing is stuck, no frame half received, none waiting, last byte 0s ago; no request is open")

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
		time.Sleep(time.Minute)
		says("the server has ended", "no request is open")
	})
}

// TestDiagnoseHost: what is the host's own doing is not put on the server.
func TestDiagnoseHost(t *testing.T) {
	bubble := func(name string, cfg Config, fn func(t *testing.T, h *Host)) {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := RunInMemory(cfg, (&fake{log: io.Discard}).serve)
				defer h.Close()
				fn(t, h)
			})
		})
	}
	says := func(t *testing.T, h *Host, want string) {
		t.Helper()
		synctest.Wait()
		if got := h.Diagnose(); !strings.HasPrefix(got, want) {
			t.Errorf("Diagnose() = %q, want %q", got, want)
		}
	}
	begin := func(h *Host, tool string, args any) *Pending {
		p, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams(tool, args)})
		return p
	}
	bubble("paused", Config{}, func(t *testing.T, h *Host) {
		begin(h, "half", nil)
		synctest.Wait()
		h.Pause()
		time.Sleep(time.Minute)
		says(t, h, "the host has paused reading for 1m0s, 68 bytes of a frame received; 1 request open")
		h.Resume()
		says(t, h, "under way: 68 bytes of a frame received, the last byte 1m0s ago")
		time.Sleep(time.Second)
		says(t, h, "the server's write side is stuck: no byte for 1s after 68 bytes of a frame")
	})
	bubble("slow on purpose", Config{}, func(t *testing.T, h *Host) {
		h.SetPace(Pace{Chunk: 10, Every: 10 * time.Second})
		begin(h, "big", args{"n": 100})
		time.Sleep(15 * time.Second)
		says(t, h, "the host reads slowly on purpose: 20 bytes of a frame received; 1 request open")
		h.SetPace(Pace{})
	})
	bubble("thrown away", Config{Limit: 1000}, func(t *testing.T, h *Host) {
		h.SetPace(Pace{Every: time.Millisecond})
		begin(h, "endless", nil)
		time.Sleep(time.Second)
		synctest.Wait()
		if d := h.Diagnose(); !strings.Contains(d, " of a frame that is over the limit, and is thrown away as it comes received; 1 request open") {
			t.Error(d)
		}
	})
	block := make(chan struct{})
	bubble("Raw", Config{Raw: writerFunc(func([]byte) { time.Sleep(6 * time.Second) })}, func(t *testing.T, h *Host) {
		begin(h, "echo", nil)
		time.Sleep(5 * time.Second)
		says(t, h, "the host's reader is stuck: Config.Raw has not come back for 5s; 1 request open")
	})
	bubble("queue", Config{OnFrame: func(Frame) { time.Sleep(300 * time.Millisecond) }}, func(t *testing.T, h *Host) {
		p := begin(h, "flood", args{"n": 20})
		time.Sleep(2 * time.Second)
		says(t, h, "the host's queue is behind: 14 frames (")
		if _, err := p.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		says(t, h, "idle")
	})
	bubble("dispatching", Config{OnFrame: func(Frame) { time.Sleep(300 * time.Millisecond) }}, func(t *testing.T, h *Host) {
		begin(h, "echo", nil)
		says(t, h, "under way: 1 frame received and not yet dispatched; no request is open")
	})
	bubble("ended by the host", Config{Limit: 100, EndOnOversize: true, Grace: time.Minute}, func(t *testing.T, h *Host) {
		begin(h, "stopreading", nil)
		begin(h, "big", nil)
		h.end(&OversizeError{Size: 200, Limit: 100})
		says(t, h, "the host has ended the session (host: a frame of 200 bytes is over the limit of 100), and the server is alive; ")
	})
	t.Run("stderr", func(t *testing.T) {
		h := startChild(t, Config{Stall: 20 * time.Millisecond, Stderr: writerFunc(func([]byte) { <-block })}, "serve")
		defer close(block)
		var got string
		for ctx := soon(t); !strings.HasPrefix(got, "the host does not read the server's stderr: Config.Stderr has not come back for "); got = h.Diagnose() {
			if ctx.Err() != nil {
				t.Fatal(got)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
}

type writerFunc func([]byte)

func (f writerFunc) Write(p []byte) (int, error) { f(p); return len(p), nil }

// TestFaulty: lines that break the rules are counted and kept, a bounded
// number of them and a bounded part of each, though Frames has long lost them,
// and though the queue was full when they came.
func TestFaulty(t *testing.T) {
	h := inProcess(t, Config{Keep: 1})
	raw := func(h *Host, text string) {
		h.Begin(Request{Method: "tools/call", Params: ToolParams("raw", args{"text": text})})
	}
	raw(h, "Server ready\n\r\n"+strings.Repeat("x", 5000)+"\n"+`{"jsonrpc":"2.0","id":"who","result":{}}`+"\n"+strings.Repeat("noise\n", 500))
	if err := h.until(soon(t), func() bool { return h.Metrics().Dispatched == 504 }); err != nil {
		t.Fatal(err)
	}
	callText(t, h, "echo", nil)
	list := h.Faulty()
	if len(list) != maxFaulty || len(h.Frames()) != 1 {
		t.Fatalf("%d faulty lines kept, and %d frames", len(list), len(h.Frames()))
	}
	for i, want := range []Frame{
		{Raw: jsontext.Value("Server ready"), Faults: FaultSyntax, Size: 12},
		{Faults: FaultCRLF | FaultBlank},
		{Raw: jsontext.Value(strings.Repeat("x", faultyKeep)), Faults: FaultSyntax, Size: 5000},
		{Raw: jsontext.Value(`{"jsonrpc":"2.0","id":"who","result":{}}`), Faults: FaultUnasked, Size: 40, Kind: ResultResponse},
		{Raw: jsontext.Value("noise"), Faults: FaultSyntax, Size: 5},
	} {
		if got := list[i]; got.Seq != i || string(got.Raw) != string(want.Raw) || got.Faults != want.Faults || got.Size != want.Size || got.Kind != want.Kind {
			t.Errorf("line %d: %+v", i, got)
		}
	}
	if m := h.Metrics(); m.Stray != 503 || m.Faulty != 504 || m.Unasked != 1 {
		t.Errorf("stray %d, faulty %d, unasked %d", m.Stray, m.Faulty, m.Unasked)
	}

	release := make(chan struct{})
	h = inProcess(t, Config{Queue: 10, OnFrame: func(Frame) { <-release }})
	raw(h, strings.Repeat("noise\n", 500))
	if err := h.until(soon(t), func() bool { return h.Metrics().Lines == 500 }); err != nil {
		t.Fatal(err)
	}
	if m := h.Metrics(); m.Refused < 489 || m.Stray < m.Refused || len(h.Faulty()) != maxFaulty {
		t.Errorf("refused %d, stray %d, kept %d", m.Refused, m.Stray, len(h.Faulty()))
	}
	close(release)
}

// TestOverloadLarge: a response that found the queue full fails its request,
// wherever its id stands; where that cannot be told, every open request fails,
// and the responses of the others are late, not unasked.
func TestOverloadLarge(t *testing.T) {
	for _, tt := range []struct {
		name, response string
		all            bool // open requests fail
	}{
		{"small", `{"result":{},"id":"x","jsonrpc":"2.0"}`, false},
		{"at the start", `{"jsonrpc":"2.0","id":"x","result":{"a":"$LONG"}}`, false},
		{"at the end", `{"result":{"a":"$LONG"},"jsonrpc":"2.0","id":"x"}`, false},
		{"in between", `{"result":{"a":"$LONG"},"id":"x","_":"$LONG"}`, true},
		{"batch", `[{"jsonrpc":"2.0","id":"x","result":{}}]`, false},
		{"large batch", `[{"jsonrpc":"2.0","id":"x","result":{"a":"$LONG"}}]`, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			held, release := make(chan struct{}, 10), make(chan struct{})
			h := inProcess(t, Config{Queue: 1, OnFrame: func(f Frame) { held <- struct{}{}; <-release }})
			hang, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("late", nil)})
			h.Begin(Request{Method: "ping"})
			<-held // the dispatcher holds its answer
			p, err := h.Begin(Request{Method: "tools/call", ID: jsontext.Value(`"x"`), Params: ToolParams("raw", args{
				"text": "fill\n" + strings.ReplaceAll(tt.response, "$LONG", strings.Repeat("y", 3000)) + "\n"})})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Wait(soon(t)); !errors.Is(err, ErrOverload) {
				t.Errorf("the request ended with %v", err)
			}
			select {
			case <-hang.Done():
				if !tt.all {
					t.Error("another request ended too")
				}
			default:
				if tt.all {
					t.Error("the other request did not end")
				}
			}
			close(release)
			if err := h.until(soon(t), func() bool { return !h.queue.isFull() }); err != nil {
				t.Fatal(err)
			}
			h.Notify("notifications/cancelled", args{"requestId": 1}) // lets it answer
			if _, err := h.Find(soon(t), func(f Frame) bool { return string(f.ID) == "1" }); err != nil {
				t.Fatal(err)
			}
			if m := h.Metrics(); m.Unasked != 0 || m.Late != map[bool]int64{true: 1}[tt.all] {
				t.Errorf("unasked %d, late %d", m.Unasked, m.Late)
			}
		})
	}
}

// TestFindWaits: who looks through the frames, and takes long, holds up neither
// the dispatcher nor, when the queue is full, the reader.
func TestFindWaits(t *testing.T) {
	h := inProcess(t, Config{Queue: 10})
	callText(t, h, "echo", nil)
	looking, release := make(chan struct{}), make(chan struct{})
	found := make(chan error, 1)
	go func() {
		_, err := h.Find(soon(t), func(f Frame) bool {
			if f.Seq == 0 {
				close(looking)
				<-release
			}
			return f.Seq == 1
		})
		found <- err
	}()
	<-looking
	if got := callText(t, h, "echo", args{"text": "on"}); got != "on" {
		t.Errorf("echo returned %q", got)
	}
	close(release)
	if err := <-found; err != nil {
		t.Error(err)
	}
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
