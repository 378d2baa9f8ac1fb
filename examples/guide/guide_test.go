// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server/servertest"
)

// newLog writes a log of n lines, of which every tenth is an error.
func newLog(t *testing.T, n int) string {
	t.Helper()
	var b strings.Builder
	for i := range n {
		level := "info"
		if i%10 == 9 {
			level = "error"
		}
		fmt.Fprintf(&b, "%s: request %d took a while\n", level, i+1)
	}
	file := filepath.Join(t.TempDir(), "server.log")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestCount calls a tool without any wire.
func TestCount(t *testing.T) {
	srv := newServer(newLog(t, 100))
	res, err := srv.Tools.Call(t.Context(), "count", countInput{Text: "error"})
	if err != nil || res.IsError {
		t.Fatal(res, err)
	}
	if got := fmt.Sprint(res.Structured); got != `{"lines":10}` {
		t.Errorf("counted %s", got)
	}
}

// TestFind reads all pages, as a host would.
func TestFind(t *testing.T) {
	c := servertest.New(t, newServer(newLog(t, 20_000)))
	args := map[string]any{"text": "error"}
	found, pages := 0, 0
	for {
		res, err := c.Call(t.Context(), "find", args)
		if err != nil || res.IsError {
			t.Fatal(res, err)
		}
		if n := len(res.Structured); n > result.DefaultBytes {
			t.Errorf("a page of %d bytes", n)
		}
		page := res.Page()
		found += page.Items
		pages++
		if page.More == "" {
			break
		}
		args["cursor"] = page.More
	}
	if found != 2000 || pages < 2 {
		t.Errorf("found %d lines on %d pages, want 2000 on some", found, pages)
	}
}

// TestWait sees a line that comes while the tool waits.
func TestWait(t *testing.T) {
	file := newLog(t, 10)
	srv := newServer(file)
	c := servertest.New(t, srv)
	call, err := c.BeginCall(t.Context(), "wait", waitInput{Text: "disk full"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(srv.Calls()) == 1 && srv.Calls()[0].State == "running" })
	for done := false; !done; { // wait begins at some moment: append until it has
		add(t, file, "fatal: disk full\n")
		select {
		case <-call.Done():
			done = true
		case <-time.After(10 * time.Millisecond):
		}
	}
	raw, err := call.Wait(t.Context())
	if err != nil || !strings.Contains(string(raw), "fatal: disk full") {
		t.Error(string(raw), err)
	}
}

// TestWaitCancelled holds that a cancel ends the work, and the session goes on.
func TestWaitCancelled(t *testing.T) {
	srv := newServer(newLog(t, 10))
	c := servertest.New(t, srv)
	call, err := c.BeginCall(t.Context(), "wait", waitInput{Text: "disk full"})
	if err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(srv.Calls()) == 1 && srv.Calls()[0].State == "running" })
	if err := call.Cancel("no longer needed"); err != nil {
		t.Fatal(err)
	}
	until(t, func() bool { return len(srv.Calls()) == 0 }) // the handler is back
	res, err := c.Call(t.Context(), "count", countInput{Text: "error"})
	if err != nil || res.Text() != `{"lines":1}` {
		t.Error(res, err)
	}
}

// until waits until cond holds.
func until(t *testing.T, cond func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	for !cond() {
		select {
		case <-ctx.Done():
			t.Fatal("it does not come to that")
		case <-time.After(time.Millisecond):
		}
	}
}

func add(t *testing.T, file, text string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString(text); err != nil {
		t.Fatal(err)
	}
}
