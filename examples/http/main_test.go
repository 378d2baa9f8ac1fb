// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// TestMain is also the server itself, when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_HTTP") != "" {
		main()
		return
	}
	log.SetOutput(io.Discard) // net/http tells there what it finds odd
	goleak.VerifyTestMain(m)
}

type args map[string]any

// ready is a fetcher that may ask servers of tests, and quickly gives up.
func ready(t testing.TB, p *Policy, store *artifact.Store) *fetcher {
	t.Helper()
	if p.Allow == nil {
		p.Allow = []string{"127.0.0.1"}
	}
	if err := p.complete(); err != nil {
		t.Fatal(err)
	}
	f := newFetcher(p, store, nil)
	t.Cleanup(f.close)
	return f
}

func newStore(t testing.TB) *artifact.Store {
	store := &artifact.Store{Dir: t.TempDir() + "/store"}
	t.Cleanup(func() { store.Close() })
	return store
}

func tools(t testing.TB) *tool.Registry { return newTools(ready(t, new(Policy), nil)) }

// web serves for a test.
func web(t testing.TB, h http.HandlerFunc) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.CloseClientConnections()
		srv.Close()
	})
	return srv.URL
}

// page serves one body of a type.
func page(t testing.TB, contentType, body string) string {
	return web(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	})
}

// raw serves bytes that no server of net/http would send. When serve returns,
// the connection is closed.
func raw(t testing.TB, serve func(c net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var open []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open = append(open, c)
			mu.Unlock()
			wg.Go(func() {
				defer c.Close()
				if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
					serve(c)
				}
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range open {
			c.Close()
		}
		mu.Unlock()
		wg.Wait()
	})
	return "http://" + l.Addr().String()
}

// trickle writes s again and again until the other side is gone, and tells each
// time.
func trickle(c net.Conn, first, s string, every time.Duration, wrote func(n int)) {
	io.WriteString(c, first)
	gone := make(chan struct{})
	go func() {
		io.Copy(io.Discard, c)
		close(gone)
	}()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for n := 1; ; n++ {
		select {
		case <-gone:
			return
		case <-tick.C:
			if _, err := io.WriteString(c, s); err != nil {
				c.Close()
				<-gone
				return
			}
			wrote(n)
		}
	}
}

func textOf(r result.Result) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(result.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// call calls a tool that must succeed, and decodes what it answers.
func call[T any](t testing.TB, tools *tool.Registry, name string, in args) (T, string) {
	t.Helper()
	var out T
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s %v: %s", name, in, textOf(r))
	}
	if err := json.Unmarshal(r.Structured.(jsontext.Value), &out); err != nil {
		t.Fatal(err)
	}
	return out, textOf(r)
}

func fetchPage(t testing.TB, tools *tool.Registry, url string, in args) (Fetched, string) {
	t.Helper()
	with := args{"url": url}
	for k, v := range in {
		with[k] = v
	}
	return call[Fetched](t, tools, "fetch", with)
}

// refused calls a tool that must fail, and returns the text that a model reads.
func refused(t testing.TB, tools *tool.Registry, name string, in args) string {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError {
		t.Errorf("%s %v: not an error: %s", name, in, textOf(r))
	}
	return textOf(r)
}

func startHTTP(t *testing.T, conf servertest.Config, env []string, flags ...string) *servertest.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, flags...)
	cmd.Env = append(append(os.Environ(), "WEIR_TEST_HTTP=1"), env...)
	return conf.StartCmd(t, cmd)
}

// What hosts are known to reject is not in the list of tools.
func TestLint(t *testing.T) {
	for _, f := range newTools(ready(t, new(Policy), newStore(t))).Lint() {
		t.Errorf("%+v", f)
	}
}

// The whole server, as a child process, in both eras.
func TestServer(t *testing.T) {
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/list":
			w.Header().Set("Content-Type", "application/json")
			io.WriteString(w, `[{"id":1},{"id":2}]`)
		default:
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, strings.Repeat("a line of the text\n", 5000))
		}
	})
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		c := startHTTP(t, servertest.Config{Protocol: protocol}, nil, "-allow", "127.0.0.1")
		list, err := c.Tools(t.Context())
		if err != nil || len(list) != 4 {
			t.Fatalf("%s: %d tools, %v", protocol, len(list), err)
		}
		r, err := c.Call(t.Context(), "fetch", args{"url": at})
		if err != nil || r.IsError {
			t.Fatalf("%s: %v, %v", protocol, r, err)
		}
		var f Fetched
		if err := json.Unmarshal(r.Structured, &f); err != nil {
			t.Fatal(err)
		}
		r, err = c.Call(t.Context(), "read_artifact", args{"handle": f.Artifact, "tail": 1})
		if err != nil || r.IsError || !strings.Contains(r.Text(), "Returned 1 of 1 line.\na line of the text") {
			t.Errorf("%s: %v, %v", protocol, r, err)
		}
		for name, want := range map[string]string{"fetch_json": `{"id":2}`, "head": "200 OK"} {
			r, err := c.Call(t.Context(), name, args{"url": at + "/list"})
			if err != nil || r.IsError || !strings.Contains(r.Text(), want) {
				t.Errorf("%s: %s: %v, %v", protocol, name, r, err)
			}
		}
		r, err = c.Call(t.Context(), "fetch", args{"url": "http://169.254.169.254/latest/meta-data"})
		if err != nil || !r.IsError || !strings.Contains(r.Text(), "link-local") {
			t.Errorf("%s: %v, %v", protocol, r, err)
		}
	}
}
