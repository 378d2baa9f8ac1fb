// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// What one call holds of names is bounded in bytes too.
func TestLongNames(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	deep := strings.Repeat(strings.Repeat("d", 199)+"/", 100)
	n := maxNames/len(deep) + 1
	var b strings.Builder
	b.WriteString("commit refs/heads/main\ncommitter A <a@b> 1 +0000\ndata 1\n1\n")
	for i := range n {
		fmt.Fprintf(&b, "M 100644 inline %s%d\ndata 1\nx\n", deep, i)
	}
	gitIn(t, dir, b.String(), "fast-import", "--quiet")
	head := git(t, dir, "rev-parse", "main")
	b.Reset()
	for i := range n {
		fmt.Fprintf(&b, "%s refs/tags/%s%d\n", head, deep, i)
	}
	write(t, filepath.Join(dir, ".git"), map[string]string{"packed-refs": b.String()})
	tools := serve(t, dir)
	if text := refused(t, tools, "git_diff", args{"from": (&repo{}).emptyTree(), "to": "main"}); !strings.Contains(text, "16 MiB") {
		t.Error(text)
	}
	if text := refused(t, tools, "git_branches", args{"kind": "tag"}); !strings.Contains(text, "16 MiB") {
		t.Error(text)
	}
}

// A big file costs one line of a comparison, and is read in pages by itself.
func TestBigFile(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"small.txt": "one\n"})
	commit(t, dir, "one")
	git(t, dir, "config", "core.compression", "0") // to be quick
	const size = 50 << 20
	line := strings.Repeat("generated ", 9) + "line\n"
	big := strings.Repeat(line, size/len(line))
	write(t, dir, map[string]string{"big.txt": big, "one-line.js": strings.Repeat("x", 1<<20), "small.txt": "two\n", "zero.bin": "\x00\x01\x02"})
	commit(t, dir, "two")
	tools := serve(t, dir)
	changes, pages := all[Change](t, tools, "git_diff", args{"from": "HEAD~1", "to": "HEAD"}, nil)
	if pages != 1 {
		t.Errorf("%d pages", pages)
	}
	var lines []string
	for _, c := range changes {
		if c.Path == "big.txt" || c.Path == "one-line.js" || c.Path == "zero.bin" {
			lines = append(lines, c.line()[:min(len(c.line()), 100)])
		}
	}
	n := size / len(line)
	want := []string{
		fmt.Sprintf("added        big.txt | +%d -0 (its hunks are left out; to see them compare this path alone)", n),
		"added        one-line.js | +1 -0",
		"added        zero.bin | binary",
	}
	if len(lines) != 4 || !slices.Equal(lines[:3], want) || !strings.HasPrefix(lines[3], "one-line.js @@ -0,0 +1 @@\n+xxx") {
		t.Errorf("%q", lines)
	}
	// By itself it is read hunk by hunk, each with its own numbers.
	next := int64(1)
	in := args{"from": "HEAD~1", "to": "HEAD", "paths": []string{"big.txt"}}
	for range 3 {
		p, _ := call[Change, none](t, tools, "git_diff", in)
		for _, c := range p.Items {
			if c.Kind != "hunk" {
				continue
			}
			count := int64(strings.Count(c.Text, "\n") + 1)
			if want := fmt.Sprintf("@@ -0,0 +%d,%d @@", next, count); c.Header != want {
				t.Fatalf("%s, want %s", c.Header, want)
			}
			next += count
		}
		in["cursor"] = p.NextCursor
	}
	if next < 500 {
		t.Errorf("%d lines on three pages", next)
	}
	p, _ := call[Change, none](t, tools, "git_show", args{"path": "big.txt", "startLine": n - 1})
	if len(p.Items) != 2 || p.Items[1].Line != int64(n) || p.Items[1].Text+"\n" != line {
		t.Errorf("%+v", p.Items)
	}
	if p, _ := call[Change, none](t, tools, "git_show", args{"path": "one-line.js"}); len(p.Items) != 1 || !strings.Contains(p.Items[0].Text, "[1046576 bytes cut]") {
		t.Errorf("%.100v", p.Items)
	}
	if p, _ := call[Change, none](t, tools, "git_show", args{"path": "zero.bin"}); len(p.Items) != 1 || p.Items[0].Text != "a binary file of 3 bytes" {
		t.Errorf("%+v", p.Items)
	}
	if p, _ := call[Match, none](t, tools, "git_grep", args{"pattern": "generated", "perFile": 2}); len(p.Items) != 2 {
		t.Errorf("%d matches", len(p.Items))
	}
	if p, _ := call[BlameLine, none](t, tools, "git_blame", args{"path": "big.txt", "startLine": n - 2, "endLine": n}); len(p.Items) != 3 {
		t.Errorf("%d lines", len(p.Items))
	}
}
