// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// TestMain is also the server itself, when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_GREP") != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// write makes files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// serve returns the tools over dir and a list of the files that they opened.
func serve(t testing.TB, dir string) (*tool.Registry, *[]string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	var opened []string
	return newTools(&files{root: root, opened: func(path string) { opened = append(opened, path) }}), &opened
}

type args map[string]any

// A matchPage and a linePage are what the tools answer, as a host reads it.
type matchPage struct {
	Items         []Match `json:"items"`
	Truncated     bool    `json:"truncated"`
	NextCursor    string  `json:"nextCursor"`
	TotalEstimate *int64  `json:"totalEstimate"`
	Omitted       int     `json:"omitted"`
	GrepSummary
}

type linePage struct {
	Items         []Line `json:"items"`
	Truncated     bool   `json:"truncated"`
	NextCursor    string `json:"nextCursor"`
	TotalEstimate *int64 `json:"totalEstimate"`
	ReadSummary
}

func text(r result.Result) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(result.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// call calls a tool that must succeed, and decodes its page.
func call[P any](t testing.TB, tools *tool.Registry, name string, in args) (P, string) {
	t.Helper()
	var p P
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s: %s", name, text(r))
	}
	if err := json.Unmarshal(r.Structured.(jsontext.Value), &p); err != nil {
		t.Fatal(err)
	}
	return p, text(r)
}

func grepPage(t testing.TB, tools *tool.Registry, in args) matchPage {
	t.Helper()
	p, _ := call[matchPage](t, tools, "grep", in)
	return p
}

// grepAll follows the cursors to the end and calls between, if it is not nil,
// after each page but the last.
func grepAll(t testing.TB, tools *tool.Registry, in args, between func(page matchPage)) (items []Match, pages int) {
	t.Helper()
	for {
		p := grepPage(t, tools, in)
		items = append(items, p.Items...)
		pages++
		if p.NextCursor == "" {
			return items, pages
		}
		in["cursor"] = p.NextCursor
		if between != nil {
			between(p)
		}
	}
}

// refused calls a tool that must fail, and returns the text that a model reads.
func refused(t testing.TB, tools *tool.Registry, name string, in args) string {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || r.Structured != nil {
		t.Errorf("%s %v: not an error: %s", name, in, text(r))
	}
	return text(r)
}

// What hosts are known to reject is not in the list of tools.
func TestLint(t *testing.T) {
	tools, _ := serve(t, t.TempDir())
	for _, f := range tools.Lint() {
		t.Errorf("%+v", f)
	}
}
