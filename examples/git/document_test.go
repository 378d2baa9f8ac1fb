// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

var update = flag.Bool("update", false, "rewrite the part of docs/git.md that is made from a run")

const (
	documentFile = "../../docs/git.md"
	beginTools   = "<!-- from here on made by: go generate ./examples/git -->\n"
	endTools     = "<!-- to here -->\n"
)

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
var samples = []struct {
	tool       string
	in         args
	structured bool
}{
	{"git_status", args{}, false},
	{"git_log", args{"limit": 3}, true},
	{"git_diff", args{"from": "v1.0", "to": "main"}, false},
	{"git_show", args{"revision": "main~1^2"}, false},
	{"git_blame", args{"path": "gate.go", "startLine": 3, "endLine": 6}, false},
	{"git_grep", args{"pattern": "level|水", "ignoreCase": true}, false},
	{"git_branches", args{"kind": "all"}, false},
	{"git_ls_files", args{}, false},
	{"git_add", args{"paths": []string{"level.go", `"new \"file\".txt"`}}, false},
	{"git_unstage", args{"paths": []string{"README.md"}}, false},
	{"git_commit", args{"message": "Measure in millimetres"}, false},
	{"git_switch", args{"branch": "topic/spillway"}, false},
}

// TestDocument holds that docs/git.md shows each tool as it is: its description,
// its arguments, and what a call of it answers. With -update it is rewritten.
func TestDocument(t *testing.T) {
	dir := sample(t)
	identify(t, dir)
	tools := serveToWrite(t, false, dir)
	var b strings.Builder
	for _, s := range samples {
		describe(t, &b, tools, s.tool)
		r, err := tools.Call(t.Context(), s.tool, s.in)
		if err != nil || r.IsError {
			t.Fatalf("%s: %v, %s", s.tool, err, textOf(r))
		}
		b.WriteString("Asked with `" + compact(t, s.in) + "` it answers:\n\n```text\n" + steady(textOf(r)) + "\n```\n\n")
		if s.structured {
			v := jsontext.Value(bytes.Clone(r.Structured.(jsontext.Value)))
			if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
				t.Fatal(err)
			}
			b.WriteString("and for programs, as structured content:\n\n```json\n" + steady(string(v)) + "\n```\n\n")
		}
	}
	data, err := os.ReadFile(documentFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(data), beginTools)
	have, after, ok2 := strings.Cut(rest, endTools)
	if !ok || !ok2 {
		t.Fatalf("%s has not both marks", documentFile)
	}
	made := "\n" + b.String()
	if have == made {
		return
	}
	if *update {
		if err := os.WriteFile(documentFile, []byte(before+beginTools+made+endTools+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	was, is := strings.Split(have, "\n"), strings.Split(made, "\n")
	i := firstDifference(is, was)
	t.Errorf("%s is not what a run gives (go generate ./examples/git makes it anew); line %d of that part:\n%q\nis now\n%q", documentFile, i+1, was[min(i, len(was)-1)], is[min(i, len(is)-1)])
}

// describe writes what a host shows of a tool.
func describe(t *testing.T, b *strings.Builder, tools *tool.Registry, name string) {
	tl, ok := tools.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	var def struct {
		Description string
		InputSchema struct {
			Properties jsontext.Value
			Required   []string
		} `json:"inputSchema"`
	}
	if err := json.Unmarshal(tl.Definition("2025-11-25"), &def, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(b, "### %s\n\n%s\n\n| argument | type | meaning |\n| --- | --- | --- |\n", name, def.Description)
	dec := jsontext.NewDecoder(bytes.NewReader(def.InputSchema.Properties))
	if _, err := dec.ReadToken(); err != nil {
		t.Fatal(err)
	}
	for dec.PeekKind() == '"' {
		key, err := dec.ReadToken()
		if err != nil {
			t.Fatal(err)
		}
		argument := key.String()
		var p struct {
			Type        string
			Description string
			Default     jsontext.Value
			Enum        []string
		}
		if err := json.UnmarshalDecode(dec, &p, json.MatchCaseInsensitiveNames(true)); err != nil {
			t.Fatal(err)
		}
		about := p.Description
		if len(p.Enum) > 0 {
			about += " One of `" + strings.Join(p.Enum, "`, `") + "`."
		}
		if p.Default != nil {
			about += " Default: `" + string(p.Default) + "`."
		}
		if slices.Contains(def.InputSchema.Required, argument) {
			about += " Required."
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", argument, p.Type, strings.ReplaceAll(about, "|", `\|`))
	}
	b.WriteString("\n")
}

func compact(t *testing.T, v any) string {
	data, err := result.Marshal(t.Context(), v, 0)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
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
