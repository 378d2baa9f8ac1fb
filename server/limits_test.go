// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// TestReaderNeverWaits is case 68 and I3: with every slot taken and stdout
// unread, pings, lists, cancels and unknown methods are dealt with.
func TestReaderNeverWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{MaxCalls: 4}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		for i := range 8 {
			begin(t, c, fmt.Sprint(9000+i), "hold", nil)
		}
		for range 3 { // three quarters of the slots
			<-s.started
		}
		c.Pause()
		begun := time.Now()
		list, err := c.Begin(servertest.Request{Method: "tools/list"})
		if err != nil {
			t.Fatal(err)
		}
		pinged, _ := c.Begin(servertest.Request{Method: "ping"})
		unknown, _ := c.Begin(servertest.Request{Method: "no/such"})
		c.Cancel([]byte("9000"), "")
		c.Cancel([]byte("9007"), "")
		<-s.causes // the cancel of a running call arrives while stdout is stuck
		c.Resume()
		if _, err := list.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := pinged.Wait(t.Context()); err != nil {
			t.Error(err)
		}
		var e *servertest.Error
		if _, err := unknown.Wait(t.Context()); !errors.As(err, &e) || e.Code != -32601 {
			t.Error(err)
		}
		if d := time.Since(begun); d != 0 {
			t.Errorf("took %v", d)
		}
		close(s.release)
	})
}

// TestBusy holds MaxQueue and MaxQueueBytes: the call too many is refused with
// a code and the counts, and those that wait are served.
func TestBusy(t *testing.T) {
	for name, limits := range map[string]server.Limits{
		"calls": {MaxCalls: 1, MaxQueue: 2},
		"bytes": {MaxCalls: 1, MaxQueueBytes: 6000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				srv := s.server(limits, new(logBuffer))
				c := servertest.NewInMemory(t, srv)
				initialize(t, c)
				var accepted []*servertest.Pending
				accepted = append(accepted, begin(t, c, "9000", "hold", nil))
				<-s.started
				for i := 1; i <= 2; i++ {
					accepted = append(accepted, begin(t, c, fmt.Sprint(9000+i), "echo", textInput{strings.Repeat("a", 2500)}))
				}
				_, err := begin(t, c, "9003", "echo", textInput{strings.Repeat("a", 2500)}).Wait(t.Context())
				var e *servertest.Error
				if !errors.As(err, &e) || e.Code != server.CodeBusy || string(e.Data) != `{"running":1,"queued":2}` {
					t.Errorf("error %v", err)
				}
				close(s.release)
				for _, p := range accepted {
					text(t, p)
				}
				synctest.Wait()
				if m := srv.Metrics(); m.CallsBusy != 1 || m.CallsOK != 3 {
					t.Errorf("metrics %+v", m)
				}
				if _, err := c.Call(t.Context(), "echo", textInput{"free again"}); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// TestControlMemory holds I3's last resort: past ControlMemory requests are
// discarded, counted and logged, cancels are obeyed, and answering resumes.
func TestControlMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		srv := s.server(server.Limits{ControlMemory: 64 << 10}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begin(t, c, `"held"`, "hold", nil)
		<-s.started
		c.Pause()
		line := strings.Repeat(`{"jsonrpc":"2.0","id":"p","method":"ping"}`+"\n", 10_000)
		c.Send([]byte(line))
		c.Cancel([]byte(`"held"`), "")
		<-s.causes
		c.Resume()
		synctest.Wait()
		ping(t, c)
		m := srv.Metrics()
		if m.Discarded == 0 || m.Discarded >= 10_000 || m.PeakWaitingBytes > 80<<10 {
			t.Errorf("discarded %d, peak %d bytes", m.Discarded, m.PeakWaitingBytes)
		}
		if got := answersTo(c, `"p"`); got+int(m.Discarded) != 10_000 {
			t.Errorf("%d answered and %d discarded", got, m.Discarded)
		}
		if n := strings.Count(log.String(), "are discarded"); n != 1 {
			t.Errorf("logged %d times", n)
		}
	})
}

// TestFloodOfNotifications is case 22: notifications cost nothing that stays.
func TestFloodOfNotifications(t *testing.T) {
	n := 1_000_000
	if raceEnabled || testing.Short() {
		n = 100_000
	}
	s := newStage()
	srv := s.server(server.Limits{}, new(logBuffer))
	c := servertest.New(t, srv)
	initialize(t, c)
	c.Pause()
	p, err := c.BeginCall(t.Context(), "big", sizeInput{1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	block := strings.Repeat(`{"jsonrpc":"2.0","method":"notifications/whatever","params":{"n":1}}`+"\n", 1000)
	for range n / 1000 {
		if err := c.Send([]byte(block)); err != nil {
			t.Fatal(err)
		}
		if err := c.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	c.Resume()
	if got := text(t, p); len(got) < 1<<20 {
		t.Errorf("the accepted call's answer has %d bytes", len(got))
	}
	ping(t, c)
	if m := srv.Metrics(); m.FramesIn < int64(n) || m.PeakWaitingBytes > 2<<20 {
		t.Errorf("metrics %+v", m)
	}
}

// TestResultMemory holds that a call is started only when its reservation
// fits, that what waits for stdout counts, and that one that is larger than
// the whole runs alone.
func TestResultMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{MaxResultMemory: 1 << 20}, new(logBuffer)) // big reserves 4 MiB
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begin(t, c, `"h"`, "hold", nil)
		<-s.started
		big := begin(t, c, `"b"`, "big", sizeInput{100})
		synctest.Wait()
		state := func(id string) string {
			for _, call := range srv.Calls() {
				if call.ID == id {
					return call.State
				}
			}
			return "gone"
		}
		if got := state(`"b"`); got != "queued" {
			t.Errorf("big is %s while another holds memory", got)
		}
		// At most 64 calls overtake it.
		var overtakers []*servertest.Pending
		for i := range 70 {
			overtakers = append(overtakers, begin(t, c, fmt.Sprint(9000+i), "echo", textInput{"x"}))
		}
		synctest.Wait()
		done := 0
		for _, p := range overtakers {
			select {
			case <-p.Done():
				done++
			default:
			}
		}
		if done != 64 {
			t.Errorf("%d calls overtook, want 64", done)
		}
		close(s.release)
		text(t, big)
		for _, p := range overtakers {
			text(t, p)
		}
	})
}

// TestOvertakeTime holds the second bound: nothing passes after 1 s.
func TestOvertakeTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{MaxResultMemory: 1 << 20}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		begin(t, c, `"h"`, "hold", nil)
		<-s.started
		big := begin(t, c, `"b"`, "big", sizeInput{100})
		text(t, begin(t, c, "9001", "echo", textInput{"x"}))
		time.Sleep(time.Second)
		late := begin(t, c, "9002", "echo", textInput{"x"})
		synctest.Wait()
		select {
		case <-late.Done():
			t.Error("a call overtook after 1 s")
		default:
		}
		c.Cancel([]byte(`"b"`), "") // and when it gives up, the others go on
		text(t, late)
		_ = big
		close(s.release)
	})
}

// TestRoundRobin holds that a free slot goes round the tools, and that one
// tool has at most three quarters of the slots.
func TestRoundRobin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		order := make(chan string, 100)
		for _, name := range []string{"a", "b", "c"} {
			tool.AddFunc(&s.tools, tool.Info{Name: name, Description: "takes a slot for 1 ms"}, func(context.Context, none) (string, error) {
				order <- name
				time.Sleep(time.Millisecond)
				return name, nil
			})
		}
		srv := s.server(server.Limits{MaxCalls: 1}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		hold := begin(t, c, "9000", "hold", nil)
		<-s.started
		var all []*servertest.Pending
		for i, name := range []string{"a", "a", "a", "a", "b", "c", "b"} {
			all = append(all, begin(t, c, fmt.Sprint(9001+i), name, nil))
		}
		synctest.Wait()
		close(s.release)
		for _, p := range append(all, hold) {
			text(t, p)
		}
		close(order)
		var got []string
		for name := range order {
			got = append(got, name)
		}
		if want := []string{"a", "b", "c", "a", "b", "a", "a"}; !slices.Equal(got, want) {
			t.Errorf("order %q, want %q", got, want)
		}
	})
}

// TestFrameLimitOut holds that a response over MaxFrameOut becomes a bounded
// error that names size and limit.
func TestFrameLimitOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{MaxFrameOut: 100_000}, new(logBuffer)))
		initialize(t, c)
		got := text(t, begin(t, c, "9001", "big", sizeInput{200_000}))
		if !strings.Contains(got, `"isError":true`) || !strings.Contains(got, "limit of 100000 bytes") || !strings.Contains(got, "2000") || len(got) > 1000 {
			t.Errorf("answer %.300s", got)
		}
		frame := func(n int) int {
			raw := text(t, begin(t, c, "9002", "big", sizeInput{n}))
			return len(`{"jsonrpc":"2.0","id":9002,"result":}`) + len(raw)
		}
		over := frame(10) - 10
		if n := frame(100_000 - over); n != 100_000 {
			t.Errorf("a frame of exactly the limit became one of %d bytes", n)
		}
		if n := frame(100_001 - over); n > 1000 {
			t.Errorf("a frame of the limit and one was sent: %d bytes", n)
		}
	})
}

// TestStall is I11: the log says when stdout stalls, with what waits, and
// when it moves again, with the length.
func TestStall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		srv := s.server(server.Limits{}, log)
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		c.Pause()
		p := begin(t, c, "9001", "big", sizeInput{200_000})
		begin(t, c, "9002", "hold", nil)
		time.Sleep(server.DefaultStallWarning - time.Millisecond)
		synctest.Wait()
		if strings.Contains(log.String(), "stalled") {
			t.Errorf("too early:\n%s", log)
		}
		time.Sleep(2 * time.Millisecond)
		synctest.Wait()
		got := log.String()
		for _, want := range []string{"stdout is stalled", "waiting_bytes=200", "waiting_frames=1", "calls=2", "oldest.tool=big", "oldest.id=9001"} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in the log:\n%s", want, got)
			}
		}
		time.Sleep(7 * time.Second)
		c.Resume()
		text(t, p)
		time.Sleep(server.DefaultStallWarning)
		synctest.Wait()
		if got := log.String(); strings.Count(got, "stdout is stalled") != 1 || !strings.Contains(got, "stdout moves again") || !strings.Contains(got, "stalled_for=12") {
			t.Errorf("log:\n%s", got)
		}
		if m := srv.Metrics(); m.Stalls != 1 || m.StdoutBlocked < 12*time.Second {
			t.Errorf("metrics %+v", m)
		}
		close(s.release)
	})
}

// TestSlowIsNotStalled holds that a host that takes a little now and then is
// not called stalled.
func TestSlowIsNotStalled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		log := new(logBuffer)
		c := servertest.NewInMemory(t, s.server(server.Limits{StallWarning: 500 * time.Millisecond}, log))
		initialize(t, c)
		c.SetPace(servertest.Pace{Chunk: 8 << 10, Every: 20 * time.Millisecond})
		p := begin(t, c, "9001", "big", sizeInput{1 << 20}) // 2.6 s
		text(t, p)
		synctest.Wait()
		if strings.Contains(log.String(), "stalled") {
			t.Errorf("log:\n%s", log)
		}
	})
}

// TestProgress is case 69: ten thousand reports to a host that does not read
// cost one waiting frame, the newest arrives before the response, none after.
func TestProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		tool.Add(&s.tools, tool.Info{Name: "report", Description: "reports progress"},
			func(ctx context.Context, req *tool.Request, _ none) (result.Result, error) {
				for i := range 10_000 {
					req.Progress(float64(i+1), 10_000, "working")
				}
				req.Progress(3, 10_000, "backwards: dropped")
				return result.Text("done"), nil
			})
		srv := s.server(server.Limits{}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		initialize(t, c)
		c.Pause()
		var seen []float64
		p, err := c.Begin(servertest.Request{Method: "tools/call", Params: map[string]any{"name": "report"},
			Progress: func(p servertest.Progress) { seen = append(seen, p.Progress) }})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if m := srv.Metrics(); m.PeakWaiting > 3 {
			t.Errorf("%d frames waited", m.PeakWaiting)
		}
		c.Resume()
		text(t, p)
		synctest.Wait()
		if len(seen) == 0 || len(seen) > 3 || seen[len(seen)-1] != 10_000 || !slices.IsSorted(seen) {
			t.Errorf("progress %v", seen)
		}
		frames := c.Frames()
		if last := frames[len(frames)-1]; last.Method != "" {
			t.Errorf("the last frame is %s", last.Raw)
		}
		// No token, no notice.
		before := len(frames)
		text(t, begin(t, c, "9005", "report", nil))
		if n := len(c.Frames()) - before; n != 1 {
			t.Errorf("%d frames without a token", n)
		}
	})
}
