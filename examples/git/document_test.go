// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"flag"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/internal/tooldoc"
)

var update = flag.Bool("update", false, "rewrite the part of docs/git.md that is made from a run")

// sample is the repository of the document: everything in it has a fixed date.
func sample(t *testing.T) string {
	dir := initRepo(t, filepath.Join(t.TempDir(), "dam"))
	step := 0
	at := func(args ...string) {
		cmd := gitCmd(dir, args...)
		when := fmt.Sprintf("2024-05-%02dT09:30:00+0200", step)
		who := [][2]string{{"Ada", "ada@example.com"}, {"林", "lin@example.com"}}[step%2]
		cmd.Env = append(cmd.Env, "GIT_AUTHOR_DATE="+when, "GIT_COMMITTER_DATE="+when, "GIT_AUTHOR_NAME="+who[0], "GIT_AUTHOR_EMAIL="+who[1])
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	save := func(message string, files map[string]string) {
		step++
		write(t, dir, files)
		at("add", "-A")
		at("commit", "-q", "-m", message)
	}
	gate := "package dam\n\n// Gate is a gate of the dam.\ntype Gate struct {\n\tOpen bool\n}\n"
	save("The gate", map[string]string{"gate.go": gate, "README.md": "# Dam\n\nA dam with one gate.\n", ".gitignore": "*.log\n"})
	save("Measure the level\n\nThe stream never stops, and its level is known.", map[string]string{"level.go": "package dam\n\n// Level returns the level in centimetres.\nfunc Level() int {\n\treturn 42\n}\n"})
	at("tag", "-a", "v1.0", "-m", "The first release")
	save("说明", map[string]string{"文档/说明.md": "水位不过坝顶。\n"})
	at("switch", "-q", "-c", "topic/spillway", "HEAD~1")
	save("A spillway", map[string]string{"spillway.go": "package dam\n\n// Spill lets out what is above the crest.\nfunc Spill() {}\n"})
	at("switch", "-q", "main")
	step++
	at("merge", "-q", "--no-ff", "-m", "Merge the spillway", "topic/spillway")
	save("A second gate, and a table made by a program", map[string]string{
		"gate.go":  strings.Replace(gate, "\tOpen bool\n", "\tOpen   bool\n\tNumber int // from 1\n", 1),
		"table.go": "package dam\n\n" + strings.Repeat("// 1 2 3\n", 3000),
	})
	write(t, dir, map[string]string{"level.go": "package dam\n\n// Level returns the level in millimetres.\nfunc Level() int {\n\treturn 420\n}\n", "new \"file\".txt": "new\n"})
	write(t, dir, map[string]string{"README.md": "# Dam\n\nA dam with two gates.\n"})
	at("add", "README.md")
	return dir
}

// samples are the calls that the document shows.
var samples = []tooldoc.Sample{
	{Tool: "git_status", In: args{}},
	{Tool: "git_log", In: args{"limit": 3}, Structured: true},
	{Tool: "git_diff", In: args{"from": "v1.0", "to": "main"}},
	{Tool: "git_show", In: args{"revision": "main~1^2"}},
	{Tool: "git_blame", In: args{"path": "gate.go", "startLine": 3, "endLine": 6}},
	{Tool: "git_grep", In: args{"pattern": "level|水", "ignoreCase": true}},
	{Tool: "git_branches", In: args{"kind": "all"}},
	{Tool: "git_ls_files", In: args{}},
	{Tool: "git_add", In: args{"paths": []string{"level.go", `"new \"file\".txt"`}}},
	{Tool: "git_unstage", In: args{"paths": []string{"README.md"}}},
	{Tool: "git_commit", In: args{"message": "Measure in millimetres"}},
	{Tool: "git_switch", In: args{"branch": "topic/spillway"}},
}

// TestDocument holds that docs/git.md shows each tool as it is: its description,
// its arguments, and what a call of it answers. With -update it is rewritten.
func TestDocument(t *testing.T) {
	dir := sample(t)
	identify(t, dir)
	tools := serveToWrite(t, false, dir)
	var b strings.Builder
	for _, s := range samples {
		tooldoc.Describe(t, &b, tools, s.Tool)
		tooldoc.Answer(t, &b, tools, s, steady)
	}
	tooldoc.Hold(t, "../../docs/git.md", "examples/git", b.String(), *update)
}

var (
	cursorText = regexp.MustCompile(`(cursor "|"nextCursor": ")[A-Za-z0-9_-]{20,}"`)
	// What git_commit makes has the time of the run.
	committed = regexp.MustCompile(`(?s)Committed [0-9a-f]{40}\n[0-9a-f]{12} \d{4}-\d\d-\d\d`)
)

// steady replaces what is another thing in each run.
func steady(s string) string {
	s = cursorText.ReplaceAllString(s, `${1}AZTl…mck"`)
	return committed.ReplaceAllString(s, "Committed 2f6c…\n2f6c… 2024-05-08")
}
