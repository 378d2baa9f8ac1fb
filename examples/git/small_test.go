// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/tool"
)

// crowded makes a repository with ordinary items of all kinds and, if large is
// set, with some that are larger than a small page.
func crowded(t *testing.T, large bool) string {
	dir := initRepo(t, t.TempDir())
	var lines strings.Builder
	for i := range 12 {
		if i%10 == 0 {
			fmt.Fprintf(&lines, "func handle%d(w http.ResponseWriter, r *http.Request) {\n", i)
		}
		fmt.Fprintf(&lines, "\tif err := parse(line%d); err != nil { return \"\", err }\n", i)
	}
	write(t, dir, map[string]string{"internal/server/handler_of_requests.go": lines.String(), "internal/server/handler_test.go": "package server\n", "README.md": "# Title\n"})
	commit(t, dir, "Add the handler of requests and its test, as was agreed upon by all\n\nThe body explains\nin two lines.")
	git(t, dir, "tag", "-a", "v1.0.0", "-m", "The first release that others may use, with all that was promised")
	git(t, dir, "switch", "-q", "-c", "feature/handler-of-requests-and-responses", "--track", "main")
	write(t, dir, map[string]string{"internal/server/handler_of_requests.go": strings.ReplaceAll(lines.String(), "1", "one"), "README.md": "# Title\n\nWords.\n"})
	commit(t, dir, "Change the handler of requests where it has to do with sevens in words")
	git(t, dir, "switch", "-q", "main")
	commit(t, dir, "Go on")
	git(t, dir, "merge", "-q", "--no-ff", "-m", "Merge branch 'feature/handler-of-requests-and-responses' into main", "feature/handler-of-requests-and-responses")
	if large {
		long := strings.Repeat("directory of a long name/", 30)
		write(t, dir, map[string]string{"long line": strings.Repeat("\"<x\\\t", 400) + "\n", long + "f": "x" + strings.Repeat("y", 5000) + "\n"})
		commit(t, dir, strings.Repeat("subject ", 60)+"\n\n"+strings.Repeat("body\n", 2000))
		git(t, dir, "tag", strings.Repeat("tag/", 55)+"x")
		git(t, dir, "mv", long+"f", long+"g")
	}
	write(t, dir, map[string]string{"internal/server/handler_test.go": "package server // changed\n", "internal/server/new_and_untracked.go": "x\n"})
	return dir
}

var smallCalls = []struct {
	tool string
	in   args
}{
	{"git_status", args{"untracked": "all"}},
	{"git_log", args{}}, {"git_log", args{"body": true}},
	{"git_diff", args{}}, {"git_diff", args{"from": "v1.0.0", "to": "main"}}, {"git_diff", args{"from": "v1.0.0", "staged": true}},
	{"git_show", args{}}, {"git_show", args{"revision": "v1.0.0"}}, {"git_show", args{"revision": "main~1"}},
	{"git_show", args{"path": "internal/server"}}, {"git_show", args{"path": "internal/server/handler_of_requests.go"}},
	{"git_blame", args{"path": "internal/server/handler_of_requests.go"}},
	{"git_grep", args{"pattern": "err|package"}},
	{"git_branches", args{"kind": "all"}},
	{"git_ls_files", args{}}, {"git_ls_files", args{"revision": "main"}},
}

// whole reads all pages of size bytes, and joins the hunks of each file.
func whole(t *testing.T, tools *tool.Registry, name string, in args, size int) (items []any, omitted int, texts string) {
	t.Helper()
	with := args{}
	if size > 0 {
		with["maxBytes"] = size
	}
	for k, v := range in {
		with[k] = v
	}
	for range 300 {
		p, text := call[map[string]any, map[string]any](t, tools, name, with)
		omitted, texts = omitted+p.Omitted, texts+text+"\n"
		for _, item := range p.Items {
			if item["kind"] == "hunk" {
				delete(item, "header")
				if n := len(items); n > 0 {
					if last := items[n-1].(map[string]any); last["kind"] == "hunk" && last["path"] == item["path"] {
						last["text"] = last["text"].(string) + "\n" + item["text"].(string)
						continue
					}
				}
			}
			if item["kind"] == "message" {
				delete(item, "text") // of any length: it may be shortened
			}
			items = append(items, item)
		}
		if p.NextCursor == "" {
			return items, omitted, texts
		}
		with["cursor"] = p.NextCursor
	}
	t.Fatalf("%s %v: 300 pages, and no end", name, in)
	return nil, 0, ""
}

// The smallest page holds an ordinary item of every tool as it is: nothing is
// left out, or shortened but for the message of a commit, on the way to the end.
func TestSmallPages(t *testing.T) {
	t.Parallel()
	tools := serve(t, crowded(t, false))
	for _, c := range smallCalls {
		want, _, _ := whole(t, tools, c.tool, c.in, 0)
		got, omitted, texts := whole(t, tools, c.tool, c.in, 1024)
		if omitted > 0 || strings.Count(texts, "Shortened") > strings.Count(texts, larger+"]") || strings.Contains(texts, "Shortened") && c.tool != "git_show" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %v: %d items (%d left out), want %d\n%.3000s", c.tool, c.in, len(got), omitted, len(want), texts)
		}
	}
}

// What is too large for a small page is shortened, and says how to see it whole.
func TestSmallPagesShorten(t *testing.T) {
	t.Parallel()
	tools := serve(t, crowded(t, true))
	for _, c := range append(smallCalls, struct {
		tool string
		in   args
	}{"git_blame", args{"path": "long line"}}) {
		want, _, _ := whole(t, tools, c.tool, c.in, 0)
		got, omitted, texts := whole(t, tools, c.tool, c.in, 1024)
		if omitted > 0 || len(got) != len(want) || strings.Contains(texts, "Shortened") != strings.Contains(texts, "larger maxBytes]") {
			t.Errorf("%s %v: %d items (%d left out), want %d\n%.3000s", c.tool, c.in, len(got), omitted, len(want), texts)
		}
	}
}
