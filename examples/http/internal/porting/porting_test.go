// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func serve(t *testing.T, h http.HandlerFunc) (*http.Client, string) {
	t.Helper()
	srv := httptest.NewServer(h)
	client := newClient(nil) // the test's server is at a loopback address
	t.Cleanup(func() {
		client.CloseIdleConnections()
		srv.Close()
	})
	return client, srv.URL
}

func textOf(r result.Result) string { return r.Content[0].(result.TextContent).Text }

func TestNaive(t *testing.T) {
	_, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		io.WriteString(w, "anything")
	})
	var tools tool.Registry
	addNaive(&tools)
	if r, err := tools.Call(t.Context(), "fetch", naiveInput{at}); err != nil || textOf(r) != "anything" {
		t.Errorf("%v, %v", r, err)
	}
}

func TestBounded(t *testing.T) {
	client, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=iso-8859-1")
		io.WriteString(w, "caf\xe9\n"+strings.Repeat("line\n", 100_000)+"the end")
	})
	var tools tool.Registry
	addBounded(&tools, client)
	r, err := tools.Call(t.Context(), "fetch", naiveInput{at})
	if err != nil || r.IsError || !strings.HasPrefix(textOf(r), "200 OK\ncafé\n") || !strings.HasSuffix(textOf(r), "the end") || len(textOf(r)) > 40_000 {
		t.Errorf("%v, %.200v", err, r)
	}
	var guarded tool.Registry
	addBounded(&guarded, newClient(public))
	r, err = guarded.Call(t.Context(), "fetch", naiveInput{at})
	if err != nil || !r.IsError || !strings.Contains(textOf(r), "no public address") {
		t.Errorf("%v, %v", err, r)
	}
}

// The union of the pages is the list, and the API is asked for no more than a
// page takes.
func TestPaged(t *testing.T) {
	var asked []string
	client, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("per_page")+" after "+r.URL.Query().Get("after"))
		after, _ := strconv.Atoi(r.URL.Query().Get("after"))
		size, _ := strconv.Atoi(r.URL.Query().Get("per_page"))
		var items []string
		for id := after + 1; id <= min(after+size, 90); id++ {
			items = append(items, fmt.Sprintf(`{"id":%d,"title":"ticket %d"}`, id, id))
		}
		io.WriteString(w, "["+strings.Join(items, ",")+"]")
	})
	var tools tool.Registry
	addPaged(&tools, client, at)
	in := map[string]any{"limit": 40}
	next := 1
	for {
		r, err := tools.Call(t.Context(), "tickets", in)
		if err != nil || r.IsError {
			t.Fatalf("%v, %v", err, r)
		}
		var page struct {
			Items      []Ticket `json:"items"`
			NextCursor string   `json:"nextCursor"`
		}
		if err := json.Unmarshal(r.Structured.(jsontext.Value), &page); err != nil {
			t.Fatal(err)
		}
		for _, ticket := range page.Items {
			if ticket.ID != next {
				t.Errorf("ticket %d, want %d", ticket.ID, next)
			}
			next++
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
	}
	if got := strings.Join(asked, ", "); next != 91 || got != "40 after 0, 40 after 40, 40 after 80, 40 after 90" {
		t.Errorf("%d tickets by %s", next-1, got)
	}
}

// A cancel reaches the server: it sees the request end.
func TestCancelled(t *testing.T) {
	begun, ended := make(chan struct{}), make(chan struct{})
	client, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("q") != "slow" {
			io.WriteString(w, "[]")
			return
		}
		io.WriteString(w, "[")
		http.NewResponseController(w).Flush()
		close(begun)
		<-r.Context().Done()
		close(ended)
	})
	var tools tool.Registry
	addPaged(&tools, client, at)
	c := servertest.New(t, &server.Server{Tools: &tools})
	t.Cleanup(client.CloseIdleConnections) // before c looks at what is left behind
	long, err := c.BeginCall(t.Context(), "tickets", map[string]any{"query": "slow"})
	if err != nil {
		t.Fatal(err)
	}
	<-begun
	if err := c.Cancel(long.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the request goes on")
	}
	if r, err := c.Call(t.Context(), "tickets", nil); err != nil || r.IsError {
		t.Errorf("%v, %v", err, r)
	}
}
