// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestSplitter cuts one stream into chunks of every size.
func TestSplitter(t *testing.T) {
	const limit = 6
	stream := []byte("abc\n\nabcdef\nabcdefg\nabcdef\r\nabcdefg\r\nabcdefghijkl\nxy")
	want := []string{"3 abc", "0 ", "6 abcdef", "7 over", "7 abcdef\r", "8 over", "12 over"}
	for n := 1; n <= len(stream); n++ {
		s := splitter{limit: limit}
		var got []string
		emit := func(c cut) {
			line, size := c.line, c.size
			if c.over {
				if !bytes.Equal(c.tail, []byte("abcdefghijkl")[:size]) && string(c.tail) != "abcdefg\r" {
					t.Errorf("chunks of %d: the end kept is %q", n, c.tail)
				}
				if !bytes.HasPrefix([]byte("abcdefghijkl"), line[:limit]) {
					t.Errorf("chunks of %d: kept %q", n, line)
				}
				line = []byte("over")
			}
			got = append(got, fmt.Sprintf("%d %s", size, line))
		}
		for rest := stream; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			s.feed(rest[:min(n, len(rest))], emit)
		}
		if s.part.size != 2 {
			t.Errorf("chunks of %d: %d bytes of the last line, want 2", n, s.part.size)
		}
		if g, w := strings.Join(got, "|"), strings.Join(want, "|"); g != w {
			t.Errorf("chunks of %d:\n got %q\nwant %q", n, g, w)
		}
	}
}

// FuzzSplitter: however a stream is cut, the lines are those of bytes.Split.
func FuzzSplitter(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nccccccccccccccccccccc\nd"), 3)
	f.Fuzz(func(t *testing.T, stream []byte, n int) {
		n = max(1, n%100)
		s := splitter{limit: 16}
		var got [][]byte
		emit := func(c cut) {
			line, size, over := c.line, c.size, c.over
			if tooLong := len(bytes.TrimSuffix(line, []byte("\r"))) > 16; over == (size <= 16) || !over && (tooLong || size != int64(len(line))) {
				if !(size == 17 && !over && line[16] == '\r') {
					t.Errorf("line of %d bytes, size %d, over %v", len(line), size, over)
				}
			}
			got = append(got, line)
		}
		for rest := stream; len(rest) > 0; rest = rest[min(n, len(rest)):] {
			s.feed(rest[:min(n, len(rest))], emit)
		}
		s.flush(emit)
		want := bytes.Split(stream, []byte("\n"))
		if len(got) != len(want) {
			t.Fatalf("%d lines, want %d", len(got), len(want))
		}
		for i := range want {
			if !bytes.HasPrefix(want[i], got[i]) {
				t.Errorf("line %d is %q, want %q", i, got[i], want[i])
			}
		}
	})
}

// TestOversize: a frame over the limit is discarded to its LF, reported, and
// the next one is served; memory does not follow it (case 03, from the host's
// side).
func TestOversize(t *testing.T) {
	h := startChild(t, Config{Limit: 1 << 20}, "serve")
	envelope := len(`{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":""}]}}`)
	if got := callText(t, h, "big", args{"n": 1<<20 - envelope}); len(got) != 1<<20-envelope {
		t.Errorf("a frame of exactly the limit came as %d bytes", len(got))
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("big", args{"n": 16 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	var over *OversizeError
	if _, err := p.Wait(soon(t)); !errors.As(err, &over) || over.Limit != 1<<20 || over.Size != int64(16<<20+envelope) {
		t.Errorf("the call ended with %v", err)
	}
	f, err := h.Find(soon(t), func(f Frame) bool { return f.Kind == Oversize })
	if err != nil {
		t.Fatal(err)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("%d bytes were allocated for a frame that was discarded", grown)
	}
	if f.Faults != FaultOversize || f.Size != int64(16<<20+envelope) || len(f.Raw) > oversizeKeep {
		t.Errorf("faults %v, size %d, %d bytes kept", f.Faults, f.Size, len(f.Raw))
	}
	if got := callText(t, h, "echo", args{"text": "next"}); got != "next" {
		t.Errorf("the next call returned %q", got)
	}
	m := h.Metrics()
	if m.Oversize != 1 || m.Open != 0 || m.Largest != 1<<20 {
		t.Errorf("oversize %d, open %d, largest %d; want 1, 0, %d", m.Oversize, m.Open, m.Largest, 1<<20)
	}
}

// TestAnswered: the id that a response answers is found at its start or at
// its end, where other SDKs put it, and nowhere else.
func TestAnswered(t *testing.T) {
	const unknown = "unknown"
	for _, tt := range []struct{ head, tail, want string }{
		{`{"jsonrpc":"2.0","id":5,"result":{"con`, ``, "5"},
		{`{"id":"a b","res`, ``, `"a b"`},
		{`{"result":{"id":3},"id":4,"x":"`, ``, "4"},
		{`{"result":{"id":3,"x":"`, `"}}`, unknown},
		{`{"id":12`, ``, unknown},
		{`["id",5,`, `]`, unknown},
		{`{`, ``, unknown},
		{``, ``, unknown},
		{`Server ready`, ``, ""},
		{`{"jsonrpc":"2.0","method":"notifications/message","params":{"id":5,"da`, `"id":5}}`, ""},
		{`{"method":"sampling/createMessage","params":{"x":"`, `"},"jsonrpc":"2.0","id":0}`, ""},
		{`{"jsonrpc":"2.0","id":3,"method":"sampling/createMessage","params":{"x":"`, `"}}`, ""},
		{`{"result":{"content":[{"type":"text","text":"xx`, `xx"}]},"jsonrpc":"2.0","id":7}`, "7"},
		{`{"result":{"content":[{"type":"text","text":"xx`, `xx"}]}, "id" : "a\"}" , "jsonrpc":"2.0" } `, `"a\"}"`},
		{`{"result":{"content":[{"type":"text","text":"xx`, `{"id":7}}}`, unknown},
		{`{"result":{"content":[{"type":"text","text":"xx`, `\"id\":7}"}`, unknown},
		{`{"result":{"content":[{"type":"text","text":"xx`, `,"a\"id":7}`, unknown},
		{`{"result":{"content":[{"type":"text","text":"xx`, `,"gid":7}`, unknown},
	} {
		id, known := answered([]byte(tt.head), []byte(tt.tail))
		got := string(id)
		if !known {
			got = unknown
		}
		if got != tt.want {
			t.Errorf("answered(%q, %q) = %s, want %s", tt.head, tt.tail, got, tt.want)
		}
	}
}

// TestEndOnOversize: by choice, the session ends, and says why.
func TestEndOnOversize(t *testing.T) {
	h := startChild(t, Config{Limit: 1000, EndOnOversize: true}, "serve")
	_, err := h.Call(soon(t), "big", args{"n": 2000})
	var over *OversizeError
	if !errors.As(err, &over) || over.Limit != 1000 || over.Size < 2000 {
		t.Errorf("the call ended with %v", err)
	}
	if err := h.Wait(soon(t)); !errors.As(err, &over) {
		t.Errorf("Wait: %v", err)
	}
}

// TestFaults: each fault of a line is found by itself.
func TestFaults(t *testing.T) {
	tests := []struct {
		line string
		want Fault
	}{
		{`{"jsonrpc":"2.0","method":"notifications/x"}` + "\n", 0},
		{"Server ready\n", FaultSyntax},
		{"\n", FaultBlank},
		{"\xef\xbb\xbf\n", FaultBOM | FaultBlank},
		{"\xef\xbb\xbf \n", FaultBOM | FaultBlank},
		{"[1,2", FaultSyntax | FaultUnended},
		{"{}\n", FaultMessage},
		{`{"jsonrpc":"2.0"}` + "\n", FaultMessage},
		{`{"jsonrpc":"1.0","method":"x"}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","method":5}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","id":1,"method":"x","result":{}}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","id":{},"error":{"code":1,"message":""}}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","id":null,"result":{}}` + "\n", FaultMessage},
		{`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":""}}` + "\n", 0},
		{`{"jsonrpc":"2.0","error":{"code":-32700,"message":""}}` + "\n", 0},
		{`{"jsonrpc":"2.0","id":99,"result":{}}` + "\n", FaultUnasked},
		{`{"jsonrpc":"2.0","method":"a"}` + "\r\n", FaultCRLF},
		{"\xef\xbb\xbf" + `{"jsonrpc":"2.0","method":"a"}` + "\r\n", FaultCRLF | FaultBOM},
		{`{"jsonrpc":"2.0","method":"a","params":{"x":"` + "\xb0\xa1" + `"}}` + "\r\n", FaultCRLF | FaultUTF8},
		{`{"jsonrpc":"2.0","method":"a","params":{"x":1,"x":2}}` + "\n", FaultNames},
		{`{"jsonrpc":"2.0","method":"a","params":{"x":"\ud800"}}` + "\n", FaultNames},
		{`{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}` + "\n", FaultSeveral},
		{`{"jsonrpc":"2.0","method":"a"} x` + "\n", FaultSyntax},
		{"7\n", FaultMessage},
	}
	for _, tt := range tests {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		w.WriteString(tt.line)
		w.Close()
		var f Frame
		g := &goroutine{cancel: func() {}, done: make(chan struct{})}
		close(g.done)
		_, in, _ := os.Pipe()
		h := start(Config{OnFrame: func(got Frame) { f = got }}, g, r, in, nil, nil)
		h.Wait(soon(t))
		if f.Faults != tt.want {
			t.Errorf("%q: %q, want %q", tt.line, f.Faults, tt.want)
		}
	}
}

func TestBatch(t *testing.T) {
	h := inProcess(t, Config{})
	one, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("hang", nil)})
	two, _ := h.Begin(Request{Method: "tools/call", Params: ToolParams("raw",
		args{"text": `[{"jsonrpc":"2.0","id":2,"result":{"b":1}},{"jsonrpc":"2.0","id":1,"error":{"code":5,"message":"m"}}]` + "\n"})})
	if v, err := two.Wait(soon(t)); err != nil || string(v) != `{"b":1}` {
		t.Errorf("the second: %s, %v", v, err)
	}
	var rpc *Error
	if _, err := one.Wait(soon(t)); !errors.As(err, &rpc) || rpc.Code != 5 {
		t.Errorf("the first: %v", err)
	}
	if frames := h.Frames(); len(frames) != 1 || frames[0].Kind != BatchResponse || h.Metrics().Faulty != 0 {
		t.Errorf("frames: %v", frames)
	}
}

// TestPause: a paused host takes no byte, a stepping one exactly as many as
// it was told.
func TestPause(t *testing.T) {
	for _, mode := range []string{"pipes", "memory", "child"} {
		t.Run(mode, func(t *testing.T) {
			if mode != "memory" && runtime.GOOS == "windows" {
				t.Skip("a pending read of a pipe cannot be interrupted here")
			}
			var h *Host
			switch mode {
			case "pipes":
				h = inProcess(t, Config{})
			case "child":
				h = startChild(t, Config{}, "serve")
			default:
				h = RunInMemory(Config{}, (&fake{}).serve)
				t.Cleanup(func() { h.Close() })
			}
			callText(t, h, "echo", args{"text": "a"})
			had := h.Metrics().Received
			h.Pause()
			p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("big", args{"n": 1 << 20})})
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range []int64{1, 1000, 100_000} {
				if err := h.Take(soon(t), n); err != nil {
					t.Fatal(err)
				}
				had += n
				if got := h.Metrics().Received; got != had {
					t.Errorf("%d bytes received after Take(%d), want %d", got, n, had)
				}
			}
			if d := h.Diagnose(); !strings.Contains(d, "the host has paused reading") {
				t.Error(d)
			}
			h.Resume()
			if _, err := p.Wait(soon(t)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPace: in a bubble, an intermittent host takes exactly the time that its
// pace says.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := RunInMemory(Config{}, (&fake{}).serve)
		defer h.Close()
		h.SetPace(Pace{Chunk: 1 << 10, Every: 50 * time.Millisecond})
		start := time.Now()
		r, err := h.Call(t.Context(), "big", args{"n": 100 << 10})
		if err != nil || len(r.Text()) != 100<<10 {
			t.Fatal(err)
		}
		if got, want := time.Since(start), 100*50*time.Millisecond; got < want || got > want+2*50*time.Millisecond {
			t.Errorf("100 KiB took %v, want %v", got, want)
		}
		h.SetPace(Pace{})
		start = time.Now()
		if r, err := h.Call(t.Context(), "big", args{"n": 100 << 10}); err != nil || len(r.Text()) != 100<<10 || time.Since(start) > 100*time.Millisecond {
			t.Errorf("at full speed: %v in %v", err, time.Since(start))
		}
	})
}

func TestRaw(t *testing.T) {
	var raw bytes.Buffer
	h := inProcess(t, Config{Raw: &raw})
	const odd = "not protocol\r\n\xff\n"
	h.Begin(Request{Method: "tools/call", Params: ToolParams("raw", args{"text": "not protocol\r\n"})})
	h.Close()
	if got := raw.String(); got != odd[:len("not protocol\r\n")] {
		t.Errorf("raw is %q", got)
	}
}
