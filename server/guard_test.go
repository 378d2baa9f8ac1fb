// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// plug stops the host's reading and leaves a write under way, so that all that
// is sent after it waits in the server.
func plug(t *testing.T, c *servertest.Client) {
	t.Helper()
	c.Pause()
	if _, err := c.Begin(servertest.Request{Method: "ping"}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// notices counts the notifications of a method whose line contains part.
func notices(c *servertest.Client, method, part string) int {
	synctest.Wait()
	n := 0
	for _, f := range c.Frames() {
		if f.Method == method && strings.Contains(string(f.Raw), part) {
			n++
		}
	}
	return n
}

// TestNothingAfterTheCall is case 69 and case 18: a goroutine that goes on
// after its call was answered, written or cancelled reports to nobody, and
// costs no memory; what waits when the call is cancelled is not sent.
func TestNothingAfterTheCall(t *testing.T) {
	reports := map[string]func(*tool.Request){
		"notifications/progress": func(r *tool.Request) { r.Progress(1, 2, "late") },
		"notifications/message":  func(r *tool.Request) { r.Log().Error("late") },
	}
	type scene struct {
		s      *stage
		c      *servertest.Client
		p      *servertest.Pending
		report func()
	}
	cancel := func(sc scene) {
		sc.c.Cancel(sc.p.ID, "")
		<-sc.s.causes
		synctest.Wait()
	}
	moments := map[string]func(*testing.T, scene){ // each leaves stdout plugged
		"answered": func(t *testing.T, sc scene) {
			plug(t, sc.c)
			close(sc.s.release)
			synctest.Wait()
		},
		"written": func(t *testing.T, sc scene) {
			close(sc.s.release)
			text(t, sc.p)
			plug(t, sc.c)
		},
		"cancelled": func(t *testing.T, sc scene) {
			cancel(sc)
			plug(t, sc.c)
		},
		"cancelled while a report waits": func(t *testing.T, sc scene) {
			plug(t, sc.c)
			sc.report()
			cancel(sc)
		},
	}
	for method, report := range reports {
		for name, moment := range moments {
			t.Run(method+" "+name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s, srv := logging(true, server.Limits{}, new(logBuffer))
					c := servertest.NewInMemory(t, srv)
					initialize(t, c)
					if _, err := c.Request(t.Context(), "logging/setLevel", map[string]any{"level": "debug"}); err != nil {
						t.Fatal(err)
					}
					p, err := c.Begin(servertest.Request{Method: "tools/call", Params: map[string]any{"name": "hold"},
						Progress: func(servertest.Progress) {}})
					if err != nil {
						t.Fatal(err)
					}
					req := <-s.started
					moment(t, scene{s, c, p, func() { report(req) }})
					before := srv.Metrics().WaitingFrames
					report(req)
					if n := srv.Metrics().WaitingFrames; n != before {
						t.Errorf("%d frames wait after the late report, %d before it", n, before)
					}
					c.Resume()
					ping(t, c)
					if n := notices(c, method, "late"); n != 0 {
						t.Errorf("%d reports were sent", n)
					}
				})
			})
		}
	}
}

func listen(t *testing.T, c *servertest.Client, id string) *servertest.Pending {
	t.Helper()
	p, err := c.Begin(servertest.Request{ID: []byte(id), Method: "subscriptions/listen", Protocol: "2026-07-28",
		Params: map[string]any{"notifications": map[string]any{"toolsListChanged": true}}})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	return p
}

// TestCancelledSubscription holds that what waits for a subscription when it
// is cancelled, its acknowledgement or a notice, is not sent.
func TestCancelledSubscription(t *testing.T) {
	const acknowledged, changed = "notifications/subscriptions/acknowledged", "notifications/tools/list_changed"
	for method, prepare := range map[string]func(*testing.T, *servertest.Client, *stage){
		acknowledged: func(t *testing.T, c *servertest.Client, _ *stage) {
			plug(t, c)
			listen(t, c, `"s"`)
		},
		changed: func(t *testing.T, c *servertest.Client, s *stage) {
			listen(t, c, `"s"`)
			plug(t, c)
			addTool(&s.tools, "new")
		},
	} {
		t.Run(method, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage()
				c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
				initialize(t, c)
				prepare(t, c, s)
				c.Cancel([]byte(`"s"`), "")
				synctest.Wait()
				c.Resume()
				ping(t, c)
				if n := notices(c, method, `subscriptionId":"s"`); n != 0 {
					t.Errorf("%d were sent to a cancelled subscription", n)
				}
				listen(t, c, `"s"`) // the id is free
				if n := notices(c, acknowledged, `subscriptionId":"s"`); n == 0 {
					t.Error("the id cannot be used again")
				}
			})
		})
	}
}

// TestMostSubscriptions holds that the 65th subscription is refused until one
// of the 64 is cancelled.
func TestMostSubscriptions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.NewInMemory(t, newStage().server(server.Limits{}, new(logBuffer)))
		for i := range 64 {
			listen(t, c, fmt.Sprint(9000+i))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := listen(t, c, "9064").Wait(ctx)
		var e *servertest.Error
		if !errors.As(err, &e) || e.Code != -32602 || !strings.Contains(e.Message, "too many subscriptions") {
			t.Errorf("the 65th: %v", err)
		}
		c.Cancel([]byte("9010"), "")
		listen(t, c, "9065")
		if n := notices(c, "notifications/subscriptions/acknowledged", ""); n != 65 {
			t.Errorf("%d acknowledged, want 64 and the one after a cancel", n)
		}
	})
}

// TestInitializeAgain holds that between a second initialize and its
// notifications/initialized no list_changed is sent, not even one that was
// due already.
func TestInitializeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		c := servertest.NewInMemory(t, s.server(server.Limits{}, new(logBuffer)))
		initialize(t, c)
		ping(t, c) // the server has seen notifications/initialized
		check := func(what string, want int) {
			t.Helper()
			if n := notices(c, "notifications/tools/list_changed", ""); n != want {
				t.Errorf("%s: %d notices, want %d", what, n, want)
			}
		}
		addTool(&s.tools, "a")
		check("a change", 1)
		addTool(&s.tools, "b") // its notice is due in 100 ms
		if _, err := c.Request(t.Context(), "initialize", map[string]any{"protocolVersion": "2025-11-25",
			"capabilities": map[string]any{}, "clientInfo": map[string]any{"name": "t", "version": "1"}}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		check("a notice that was due", 1)
		addTool(&s.tools, "c")
		time.Sleep(time.Second)
		check("a change after the second initialize", 1)
		c.Notify("notifications/initialized", nil)
		ping(t, c)
		addTool(&s.tools, "d")
		check("a change after notifications/initialized", 2)
	})
}

// TestModernCounts holds that an id that could not be read is null until the
// first valid request of 2026-07-28, and that an invalid one changes nothing.
func TestModernCounts(t *testing.T) {
	c := servertest.New(t, newStage().server(server.Limits{}, new(logBuffer)))
	c.Play(`
> {bad
< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}
> {"jsonrpc":"2.0","id":1,"method":"server/discover"}
< {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"*"}}
> {bad
< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}
> {"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"1900-01-01","io.modelcontextprotocol/clientCapabilities":{}}}}
< {"jsonrpc":"2.0","id":2,"error":{"code":-32022,"*":"*"}}
> {bad
< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}
> {"jsonrpc":"2.0","id":3,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/logLevel":"loud"}}}
< {"jsonrpc":"2.0","id":3,"error":{"code":-32602,"message":"*"}}
> {bad
< {"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"*"}}
> {"jsonrpc":"2.0","id":4,"method":"server/discover","params":{"_meta":$META}}
< {"jsonrpc":"2.0","id":4,"result":{"*":"*"}}
> {bad
< {"jsonrpc":"2.0","error":{"code":-32700,"message":"*"}}
`)
}
