// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// many makes a tree of n files with 100 matches each.
func many(t *testing.T, n int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range n {
		name := filepath.Join(dir, fmt.Sprintf("d%d", i%3), fmt.Sprintf("f%03d", i))
		if i%5 == 0 {
			name = filepath.Join(dir, fmt.Sprintf("d%d.x", i%3))
		}
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat("a line that matches\nanother\n", 100)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// What the page says of the naive tool.
func TestNaive(t *testing.T) {
	if _, err := exec.LookPath("grep"); err != nil {
		t.Skip("grep is not installed")
	}
	var tools tool.Registry
	addNaive(&tools)
	dir := many(t, 50)
	r, err := tools.Call(t.Context(), "grep", map[string]any{"pattern": "matches", "path": dir})
	if err != nil || r.IsError {
		t.Fatalf("%v, %v", err, r)
	}
	text := r.Content[0].(result.TextContent).Text
	if len(text) > result.DefaultBytes || !strings.Contains(text, "left out here") {
		t.Errorf("%d bytes", len(text))
	}
	// No match is no failure, but grep's exit status 1 looks like one.
	if r, err := tools.Call(t.Context(), "grep", map[string]any{"pattern": "nothing like it", "path": dir}); err != nil || !r.IsError {
		t.Errorf("%v, %v", err, r)
	}
	// A pattern may be read as an option.
	if r, err := tools.Call(t.Context(), "grep", map[string]any{"pattern": "--version", "path": dir}); err != nil || r.IsError {
		t.Errorf("%v, %v", err, r)
	}
}

func TestPaged(t *testing.T) {
	root, err := os.OpenRoot(many(t, 50))
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var tools tool.Registry
	addPaged(&tools, root)

	in := map[string]any{"pattern": "matches"}
	found := make(map[string]int)
	for {
		r, err := tools.Call(t.Context(), "grep", in)
		if err != nil || r.IsError {
			t.Fatalf("%v, %v", err, r)
		}
		var page struct {
			Items      []Match `json:"items"`
			NextCursor string  `json:"nextCursor"`
		}
		if err := json.Unmarshal(r.Structured.(jsontext.Value), &page); err != nil {
			t.Fatal(err)
		}
		for _, m := range page.Items {
			found[fmt.Sprint(m.Path, m.Line)]++
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
	}
	for where, n := range found {
		if n != 1 {
			t.Errorf("%s found %d times", where, n)
		}
	}
	if want := (40 + 3) * 100; len(found) != want {
		t.Errorf("found %d matches, want %d", len(found), want)
	}
}

func TestPagedRefuses(t *testing.T) {
	dir := many(t, 1)
	if err := os.Symlink("/etc", filepath.Join(dir, "out")); err != nil {
		t.Skip(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	var tools tool.Registry
	addPaged(&tools, root)
	for _, in := range []map[string]any{
		{"pattern": "("}, {"pattern": "x", "path": "../x"}, {"pattern": "x", "path": "/etc"}, {"pattern": "x", "path": "out/passwd"}, {"pattern": "x", "cursor": "x"},
	} {
		if r, err := tools.Call(t.Context(), "grep", in); err != nil || !r.IsError {
			t.Errorf("%v: %v, %v", in, err, r)
		}
	}
}
