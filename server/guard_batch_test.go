// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"io"
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

// sendBatch sends calls as one batch; ids count up from 9001.
func sendBatch(t *testing.T, c *servertest.Client, calls ...string) {
	t.Helper()
	for i, call := range calls {
		name, args, _ := strings.Cut(call, " ")
		if args == "" {
			args = "{}"
		}
		calls[i] = fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, 9001+i, name, args)
	}
	if err := c.Send([]byte("[" + strings.Join(calls, ",") + "]\n")); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// TestBatchCancelAnswered holds that a member that is cancelled after it was
// answered is left out of the array that waits for stdout, and that an array
// of cancelled members is not sent at all.
func TestBatchCancelAnswered(t *testing.T) {
	for name, tt := range map[string]struct {
		cancel []int
		want   string // ids, in order
	}{
		"none":  {nil, "[9001 9002 9003]"},
		"first": {[]int{9001}, "[9002 9003]"},
		"two":   {[]int{9001, 9003}, "[9002]"},
		"all":   {[]int{9001, 9002, 9003}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// One call at a time, so that the order is that of the members.
				_, c := batchClient(t, server.Limits{MaxCalls: 1})
				plug(t, c)
				sendBatch(t, c, `echo {"text":"x"}`, `echo {"text":"y"}`, `echo {"text":"z"}`)
				for _, id := range tt.cancel {
					c.Cancel(fmt.Append(nil, id), "")
				}
				synctest.Wait()
				c.Resume()
				ping(t, c)
				got := []string{}
				for _, f := range c.Frames() {
					if raw := string(f.Raw); strings.HasPrefix(raw, "[") {
						for _, m := range strings.Split(raw, `"id":`)[1:] {
							got = append(got, m[:4])
						}
					}
				}
				if fmt.Sprint(got) != tt.want {
					t.Errorf("answers %v, want %s", got, tt.want)
				}
			})
		})
	}
}

// TestBatchCancelFrees holds that a member that is cancelled after it was
// answered holds no memory, in an array that waits for stdout or for another
// member, and that a call that waits for its share of MaxResultMemory starts.
func TestBatchCancelFrees(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const members, size = 32, 1 << 20
		s := newStage()
		srv := s.server(server.Limits{MaxResultMemory: 4<<20 + (members-1)*size + 512<<10}, new(logBuffer)) // big reserves 4 MiB
		c := servertest.Config{Protocol: "2025-03-26"}.NewInMemory(t, srv)
		initialize(t, c)
		plug(t, c)
		calls := []string{"hold"}
		for range members {
			calls = append(calls, fmt.Sprintf(`big {"bytes":%d}`, size))
		}
		empty := heap()
		sendBatch(t, c, calls...)
		full := heap()
		if full-empty < members*size {
			t.Fatalf("%d bytes of answers on the heap", full-empty)
		}
		begin(t, c, `"b"`, "big", sizeInput{10})
		state := func() string {
			synctest.Wait()
			for _, call := range srv.Calls() {
				if call.ID == `"b"` {
					return call.State
				}
			}
			return "gone"
		}
		if got := state(); got != "queued" {
			t.Errorf("a call is %s while others hold the memory", got)
		}
		for i := range members {
			c.Cancel(fmt.Append(nil, 9002+i), "")
		}
		if got := state(); got != "running" {
			t.Errorf("the call is %s although the memory is free", got)
		}
		if left := heap() - empty; left > 2*size {
			t.Errorf("%d bytes are still held, of %d", left, full-empty)
		}
		c.Resume()
		close(s.release)
		ping(t, c)
	})
}

// heap is how many bytes are reachable.
func heap() int64 {
	runtime.GC()
	runtime.GC() // what pools kept through the first
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestBatchModern holds that a request of 2026-07-28 in a batch is refused.
func TestBatchModern(t *testing.T) {
	c := servertest.New(t, newStage().server(server.Limits{}, new(logBuffer)))
	c.Play(`
> (initialize 2025-03-26)
> [{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":$META}}]
< [{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"*no batches*"}}]
`)
}

// TestMediaMemory holds that media count in MaxResultMemory: while an image
// waits for stdout, calls that do not fit beside it wait too.
func TestMediaMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		tool.Add(&s.tools, tool.Info{Name: "image", Description: "returns an image of 1 MiB as it is sent"},
			func(context.Context, *tool.Request, none) (result.Result, error) {
				return result.Image("image/png", make([]byte, 768<<10)), nil
			})
		c := servertest.NewInMemory(t, s.server(server.Limits{MaxResultMemory: 1 << 20}, new(logBuffer)))
		initialize(t, c)
		plug(t, c)
		image := begin(t, c, "9001", "image", nil)
		synctest.Wait()
		note := begin(t, c, "9002", "note", textInput{"x"})
		synctest.Wait()
		if len(s.ran) != 0 {
			t.Error("a call started while an image over the limit waited for stdout")
		}
		c.Resume()
		if got := text(t, image); len(got) < 1<<20 {
			t.Errorf("image %.200s", got)
		}
		text(t, note)
	})
}

// TestShareOfSlots holds that one tool has at most three quarters of the
// slots, that its own MaxCalls can only lower that, and that the other slots
// are there for other tools.
func TestShareOfSlots(t *testing.T) {
	for name, tt := range map[string]struct{ own, want int }{
		"unset":  {0, 6},
		"lower":  {2, 2},
		"higher": {100, 6},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				tool.Add(&s.tools, tool.Info{Name: "limited", Description: "waits for its release", MaxCalls: tt.own},
					func(_ context.Context, req *tool.Request, _ none) (result.Result, error) {
						s.started <- req
						<-s.release
						return result.Text("released"), nil
					})
				c := servertest.NewInMemory(t, s.server(server.Limits{MaxCalls: 8}, new(logBuffer)))
				initialize(t, c)
				var all []*servertest.Pending
				for i := range 10 {
					all = append(all, begin(t, c, fmt.Sprint(9000+i), "limited", nil))
				}
				synctest.Wait()
				if n := len(s.started); n != tt.want {
					t.Errorf("%d run at once, want %d", n, tt.want)
				}
				text(t, begin(t, c, "9010", "echo", textInput{"x"}))
				text(t, begin(t, c, "9011", "note", textInput{"y"}))
				close(s.release)
				for _, p := range all {
					text(t, p)
				}
			})
		})
	}
}

// A regularServer serves as if its stdin were a regular file.
type regularServer struct{ *server.Server }

type regularReader struct{ io.ReadCloser }

func (regularReader) Regular() bool { return true }

func (s regularServer) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	return s.Server.Serve(ctx, regularReader{r}, w)
}

// TestRegularInput is case 68's exception: with a regular file as stdin the
// reader waits for room, so that nothing is lost however small the limits are.
func TestRegularInput(t *testing.T) {
	for name, limits := range map[string]server.Limits{
		"control": {ControlMemory: 100},
		"queue":   {MaxCalls: 1, MaxQueue: 1},
		"bytes":   {MaxCalls: 1, MaxQueueBytes: 100},
		"results": {MaxResultMemory: 1},
		"all":     {ControlMemory: 1, MaxCalls: 1, MaxQueue: 1, MaxQueueBytes: 1, MaxResultMemory: 1},
	} {
		for _, batches := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s batches %v", name, batches), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := newStage()
					srv := s.server(limits, new(logBuffer))
					c := servertest.Config{Protocol: "2025-03-26", AllowFaults: true}.NewInMemory(t, regularServer{srv}) // it does not know the ids
					ctx, cancel := context.WithTimeout(t.Context(), time.Minute)                                         // no answer is one that was lost
					defer cancel()
					if _, err := c.Initialize(ctx, ""); err != nil {
						t.Fatal(err)
					}
					c.Pause()
					var input strings.Builder
					const lines = 60
					for i := range lines {
						members := []string{
							fmt.Sprintf(`{"jsonrpc":"2.0","id":"c%d","method":"tools/call","params":{"name":"note","arguments":{"text":"x"}}}`, i),
							fmt.Sprintf(`{"jsonrpc":"2.0","id":"p%d","method":"ping"}`, i),
							fmt.Sprintf(`{"jsonrpc":"2.0","id":"u%d","method":"no/such"}`, i),
							fmt.Sprintf(`{"jsonrpc":"2.0","id":"d%d","method":"tools/call","params":{"name":"note","arguments":{"text":"y"}}}`, i),
						}
						if batches {
							input.WriteString("[" + strings.Join(members, ",") + "]\n")
						} else {
							input.WriteString(strings.Join(members, "\n") + "\n")
						}
					}
					c.Send([]byte(input.String()))
					c.CloseInput()
					synctest.Wait()
					c.Resume()
					if err := c.Wait(ctx); err != nil {
						t.Fatalf("Serve: %v", err)
					}
					var output strings.Builder
					for _, f := range c.Frames() {
						output.Write(f.Raw)
					}
					for i := range lines {
						for _, kind := range "cpud" {
							if n := strings.Count(output.String(), fmt.Sprintf(`"id":"%c%d"`, kind, i)); n != 1 {
								t.Fatalf("%d answers to %c%d", n, kind, i)
							}
						}
					}
					if m := srv.Metrics(); m.CallsOK != 2*lines || m.CallsBusy != 0 || m.Discarded != 0 || len(s.ran) != 2*lines {
						t.Errorf("%d ran, metrics %+v", len(s.ran), m)
					}
				})
			})
		}
	}
}

// TestRegularSubscriptions holds the same for subscriptions.
func TestRegularSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		srv := newStage().server(server.Limits{ControlMemory: 100}, new(logBuffer))
		c := servertest.NewInMemory(t, regularServer{srv})
		plug(t, c)
		for i := range 20 {
			listen(t, c, fmt.Sprint(9000+i))
		}
		c.Resume()
		if n := notices(c, "notifications/subscriptions/acknowledged", ""); n != 20 {
			t.Errorf("%d of 20 acknowledged, %d discarded", n, srv.Metrics().Discarded)
		}
	})
}
