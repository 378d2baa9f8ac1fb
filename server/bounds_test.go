// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// A stuckHost sends lines and reads nothing until it is released.
type stuckHost struct {
	srv  *server.Server
	in   *io.PipeWriter
	out  stuckWriter
	done chan error
}

func (stuckWriter) Close() error { return nil }

func newStuckHost(srv *server.Server, revision string) *stuckHost {
	r, w := io.Pipe()
	h := &stuckHost{srv, w, make(stuckWriter), make(chan error, 1)}
	go func() { h.done <- srv.Serve(context.Background(), r, h.out) }()
	h.send(`{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"` + revision + `","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	return h
}

func (h *stuckHost) send(line string) { io.WriteString(h.in, line+"\n") }

// settle waits until the server has dealt with all that was sent.
func (h *stuckHost) settle(t *testing.T, done func(server.Metrics) bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !done(h.srv.Metrics()); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("metrics %+v, calls %d", h.srv.Metrics(), len(h.srv.Calls()))
		}
	}
}

func (h *stuckHost) end(t *testing.T) {
	t.Helper()
	close(h.out)
	h.in.Close()
	if err := <-h.done; err != nil {
		t.Error(err)
	}
}

func heapMiB() int {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc >> 20)
}

// TestWaitingMemory holds that what stays in memory while the host does not
// read is what is counted, and not the frames that asked for it.
func TestWaitingMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the detector's own memory would be measured")
	}
	mib := strings.Repeat("x", 1<<20)
	call := func(id int, name, args string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s","arguments":%s}}`, id, name, args)
	}
	for _, tt := range []struct {
		name, revision string
		send           func(t *testing.T, h *stuckHost, s *stage)
		done           func(server.Metrics) bool
	}{
		{"frames of answered calls", "2025-11-25", func(t *testing.T, h *stuckHost, s *stage) {
			for i := range 100 {
				h.send(call(i, "len", `{"text":"`+mib+`"}`))
			}
		}, func(m server.Metrics) bool { return m.WaitingFrames >= 101 }},
		{"batches of calls that wait", "2025-03-26", func(t *testing.T, h *stuckHost, s *stage) {
			for i := range 100 {
				h.send("[" + call(i, "hold", "{}") + `,{"jsonrpc":"2.0","method":"notifications/x","params":{"x":"` + mib + `"}}]`)
			}
		}, func(m server.Metrics) bool { return m.FramesIn >= 101 }},
		{"answered and cancelled members of batches", "2025-03-26", func(t *testing.T, h *stuckHost, s *stage) {
			for i := range 100 {
				h.send("[" + call(i, "big", `{"bytes":1048576}`) + "]")
				h.settle(t, func(m server.Metrics) bool { return m.WaitingFrames >= 2 })
				h.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, i))
				h.settle(t, func(m server.Metrics) bool { return m.CallsCancelled == int64(i+1) })
			}
		}, func(m server.Metrics) bool { return true }},
		{"small answers", "2025-11-25", func(t *testing.T, h *stuckHost, s *stage) {
			for i := range 120_000 {
				h.send(call(i, "len", `{"text":""}`))
			}
		}, func(m server.Metrics) bool { return m.FramesIn >= 120_001 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newStage()
			tool.AddFunc(&s.tools, tool.Info{Name: "len", Description: "counts", Budget: result.Budget{Bytes: 1 << 10}},
				func(_ context.Context, in textInput) (string, error) { return fmt.Sprint(len(in.Text)), nil })
			srv := s.server(server.Limits{MaxResultMemory: 16 << 20}, io.Discard)
			srv.Log = slog.New(slog.DiscardHandler)
			h := newStuckHost(srv, tt.revision)
			before := heapMiB()
			tt.send(t, h, s)
			h.settle(t, tt.done)
			if grown := heapMiB() - before; grown > 60 {
				t.Errorf("the heap grew by %d MiB", grown)
			}
			close(s.release)
			h.end(t)
		})
	}
}

// TestExtremeLimits holds that limits near the largest integer mean large.
func TestExtremeLimits(t *testing.T) {
	for _, n := range []int{math.MaxInt, math.MaxInt/2 + 1, 1 << 40} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage()
			srv := s.server(server.Limits{MaxCalls: n, MaxQueue: n, MaxQueueBytes: n, MaxFrameIn: n, ControlMemory: n, Budget: result.Budget{Bytes: n, Items: n, Media: n}}, new(logBuffer))
			c := servertest.NewInMemory(t, srv)
			initialize(t, c)
			for i := range 20 {
				begin(t, c, fmt.Sprint(9000+i), "hold", nil)
			}
			synctest.Wait()
			running := 0
			for _, call := range srv.Calls() {
				if call.State == "running" {
					running++
				}
			}
			if running != 8 { // MaxResultMemory of 32 MiB, a response of 4 MiB each
				t.Errorf("limit %d: %d calls run, want 8", n, running)
			}
			close(s.release)
			synctest.Wait()
		})
	}
}

// TestBatchDeadlock holds that a batch waits for no memory that it holds
// itself: of results, and of the reader's own answers.
func TestBatchDeadlock(t *testing.T) {
	t.Run("results", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			s, c := batchClient(t, server.Limits{MaxResultMemory: 100 << 10})
			tool.AddFunc(&s.tools, tool.Info{Name: "later", Description: "a text after a while"}, func(context.Context, none) (string, error) {
				time.Sleep(50 * time.Millisecond)
				return strings.Repeat("y", 31<<10), nil
			})
			c.Send([]byte(`[{"jsonrpc":"2.0","id":9001,"method":"tools/call","params":{"name":"later"}},{"jsonrpc":"2.0","id":9002,"method":"tools/call","params":{"name":"later"}}]` + "\n"))
			time.Sleep(time.Second)
			if got := fmt.Sprint(arrays(c)); got != "[1 1]" {
				t.Errorf("arrays of %s responses", got)
			}
		})
	})
	for _, regular := range []bool{false, true} {
		t.Run(fmt.Sprintf("answers, regular file %v", regular), func(t *testing.T) {
			var tools tool.Registry
			for i := range 200 {
				addTool(&tools, fmt.Sprintf("tool_%03d", i))
			}
			srv := &server.Server{Name: "list", Version: "1", Tools: &tools, Limits: server.Limits{ControlMemory: 100 << 10}, Log: slog.New(slog.DiscardHandler)}
			members := make([]string, 50)
			for i := range members {
				members[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, i)
			}
			in := `{"jsonrpc":"2.0","id":"i","method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n[" + strings.Join(members, ",") + "]\n"
			var out strings.Builder
			if err := srv.Serve(within(t), someReader{io.NopCloser(strings.NewReader(in)), regular}, writeCloser{&out}); err != nil {
				t.Fatal(err)
			}
			answered := strings.Count(out.String(), `"tools":[`)
			if m := srv.Metrics(); answered+int(m.Discarded) != 50 || regular && answered != 50 || answered == 0 {
				t.Errorf("%d answered, %d discarded", answered, m.Discarded)
			}
		})
	}
}

// A someReader says whether it is a regular file.
type someReader struct {
	io.ReadCloser
	regular bool
}

func (r someReader) Regular() bool { return r.regular }

type writeCloser struct{ io.Writer }

func (writeCloser) Close() error { return nil }

// TestLargeAnswer holds that an answer that is larger than all of
// ControlMemory goes out when nothing else does.
func TestLargeAnswer(t *testing.T) {
	s := newStage()
	srv := s.server(server.Limits{ControlMemory: 1 << 10}, new(logBuffer))
	srv.Instructions = strings.Repeat("z", 10_000)
	c := servertest.New(t, srv)
	initialize(t, c)
	if got := names(t, c); len(got) < 5 {
		t.Errorf("tools %q", got)
	}
}

// TestEchoesAreCut holds that what a host sent stands in an error only so far.
func TestEchoesAreCut(t *testing.T) {
	s := newStage()
	c := servertest.New(t, s.server(server.Limits{}, new(logBuffer)))
	initialize(t, c)
	long := strings.Repeat("w", 1<<20)
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":"e","method":"` + long + `"}`,
		`{"jsonrpc":"2.0","id":"e","method":"tools/call","params":{"name":"` + long + `"}}`,
		`{"jsonrpc":"2.0","id":"e","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"` + long + `","io.modelcontextprotocol/clientCapabilities":{}}}}`,
		`{"jsonrpc":"2.0","id":"e","method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"` + long + `"}}}`,
		`{"jsonrpc":"2.0","id":"e","method":"tools/list","params":{"cursor":"` + long + `"}}`,
	} {
		c.Send([]byte(line + "\n"))
		ping(t, c)
		frames := c.Frames()
		if f := frames[len(frames)-2]; f.Err == nil || len(f.Raw) > 1000 {
			t.Errorf("%.80s: %d bytes: %.200s", line, len(f.Raw), f.Raw)
		}
	}
}

// TestLongHostError holds that a handler's error for the host is bounded too.
func TestLongHostError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		tool.Add(&s.tools, tool.Info{Name: "refuse", Description: "refuses at length"}, func(context.Context, *tool.Request, none) (result.Result, error) {
			return result.Result{}, &tool.Error{Code: 7, Message: strings.Repeat("m", 6<<20), Data: strings.Repeat("d", 1<<20)}
		})
		log := new(logBuffer)
		c := servertest.NewInMemory(t, s.server(server.Limits{}, log))
		initialize(t, c)
		_, err := begin(t, c, "9001", "refuse", nil).Wait(t.Context())
		var e *servertest.Error
		if !errors.As(err, &e) || e.Code != 7 || len(e.Message) > 5000 || e.Data != nil {
			t.Errorf("error of %d bytes", len(err.Error()))
		}
		synctest.Wait()
		if !strings.Contains(log.String(), "data of a tool's error is left out") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestMessagesLeaveRoom holds that log messages cannot take the room of
// answers.
func TestMessagesLeaveRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		_, srv := logging(true, server.Limits{ControlMemory: 64 << 10}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "debug"}); err != nil {
			t.Fatal(err)
		}
		c.Pause()
		begin(t, c, "9001", "chatter", nil)
		synctest.Wait()
		list, err := c.Begin(servertest.Request{Method: "tools/list"})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Resume()
		text(t, list)
	})
}

// TestStallLength holds that the end of a stall is logged when it ends, with
// its length, however slowly the host reads then.
func TestStallLength(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		c := servertest.NewInMemory(t, s.server(server.Limits{}, log))
		initialize(t, c)
		c.Pause()
		p := begin(t, c, "9001", "big", sizeInput{1 << 20})
		time.Sleep(6 * time.Second)
		c.SetPace(servertest.Pace{Chunk: 64 << 10, Every: time.Second})
		c.Resume()
		text(t, p)
		synctest.Wait()
		if got := log.String(); !strings.Contains(got, "stalled_for=6s") {
			t.Errorf("log:\n%s", got)
		}
	})
}

// TestPanicLingers holds that a call whose handler panicked, and whose
// goroutines go on, is named like any other that ignores its context.
func TestPanicLingers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		tool.Add(&s.tools, tool.Info{Name: "leave", Description: "panics and leaves a goroutine"}, func(_ context.Context, req *tool.Request, _ none) (result.Result, error) {
			req.Go(func() { <-s.release })
			panic("secret")
		})
		log := new(logBuffer)
		c := servertest.NewInMemory(t, s.server(server.Limits{}, log))
		initialize(t, c)
		text(t, begin(t, c, "9001", "leave", nil))
		time.Sleep(server.DefaultGrace + time.Millisecond)
		synctest.Wait()
		if !strings.Contains(log.String(), "goes on although") {
			t.Errorf("log:\n%s", log)
		}
		close(s.release)
	})
}
