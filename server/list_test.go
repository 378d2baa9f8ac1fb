// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

func addTool(tools *tool.Registry, name string) {
	tool.AddFunc(tools, tool.Info{Name: name, Description: "does nothing"}, func(context.Context, none) (string, error) { return "", nil })
}

func names(t *testing.T, c *servertest.Client) []string {
	t.Helper()
	list, err := c.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, raw := range list {
		var d struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &d); err != nil {
			t.Fatal(err)
		}
		out = append(out, d.Name)
	}
	return out
}

// TestListPages holds that every tool is listed once, in order, whatever the
// size of a page, in every revision.
func TestListPages(t *testing.T) {
	var tools tool.Registry
	var want []string
	for i := range 50 {
		name := fmt.Sprintf("tool_%02d", i)
		addTool(&tools, name)
		want = append(want, name)
	}
	for _, protocol := range []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"} {
		for _, page := range []int{1, 500, 1 << 20} {
			srv := &server.Server{Name: "list", Version: "1", Tools: &tools, Limits: server.Limits{MaxListPage: page}, Log: newStage().server(server.Limits{}, new(logBuffer)).Log}
			c := servertest.Config{Protocol: protocol}.New(t, srv)
			if got := names(t, c); !slices.Equal(got, want) {
				t.Errorf("%s, page of %d bytes: %q", protocol, page, got)
			}
		}
	}
}

// TestNoTools is case 30 for the list: a server without tools sends [].
func TestNoTools(t *testing.T) {
	c := servertest.New(t, &server.Server{Name: "none", Version: "1", Log: newStage().server(server.Limits{}, new(logBuffer)).Log})
	initialize(t, c)
	raw, err := c.Request(t.Context(), "tools/list", nil)
	if err != nil || string(raw) != `{"tools":[]}` {
		t.Errorf("%s, %v", raw, err)
	}
}

// TestListChanged holds when hosts of both eras are told: after the list shows
// the change, at once the first time, then every 100 ms, and one at a time
// while they do not read.
func TestListChanged(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage()
		srv := s.server(server.Limits{}, new(logBuffer))
		c := servertest.NewInMemory(t, srv)
		changed := func() (legacy, modern int) {
			synctest.Wait()
			for _, f := range c.Frames() {
				if f.Method == "notifications/tools/list_changed" {
					if strings.Contains(string(f.Raw), `subscriptionId":"s"`) {
						modern++
					} else {
						legacy++
					}
				}
			}
			return legacy, modern
		}
		c.Send([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}` + "\n"))
		synctest.Wait()
		addTool(&s.tools, "before_initialized")
		if l, _ := changed(); l != 0 {
			t.Error("told before notifications/initialized")
		}
		initialize(t, c)
		if _, err := c.Begin(servertest.Request{ID: []byte(`"s"`), Method: "subscriptions/listen", Protocol: "2026-07-28",
			Params: map[string]any{"notifications": map[string]any{"toolsListChanged": true}}}); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		time.Sleep(time.Second)
		for i := range 10 {
			addTool(&s.tools, fmt.Sprint("a", i))
			synctest.Wait()
		}
		if l, m := changed(); l != 1 || m != 1 {
			t.Errorf("at once: %d and %d notices, want 1 and 1", l, m)
		}
		time.Sleep(99 * time.Millisecond)
		if l, m := changed(); l != 1 || m != 1 {
			t.Errorf("after 99 ms: %d and %d", l, m)
		}
		time.Sleep(time.Millisecond)
		if l, m := changed(); l != 2 || m != 2 {
			t.Errorf("after 100 ms: %d and %d", l, m)
		}
		time.Sleep(time.Second)
		c.Pause()
		for i := range 10 {
			s.tools.Remove(fmt.Sprint("a", i))
			time.Sleep(200 * time.Millisecond)
		}
		c.Resume()
		// One was being written, one waited, for each subscriber.
		if l, m := changed(); l > 4 || m > 4 || l < 3 || m < 3 {
			t.Errorf("while not reading: %d and %d", l-2, m-2)
		}
		if got := names(t, c); slices.Contains(got, "a0") || !slices.Contains(got, "before_initialized") {
			t.Errorf("list %q", got)
		}
		c.Cancel([]byte(`"s"`), "")
		ping(t, c)
		_, before := changed()
		time.Sleep(time.Second)
		addTool(&s.tools, "last")
		if _, m := changed(); m != before {
			t.Error("told after the subscription was cancelled")
		}
	})
}
