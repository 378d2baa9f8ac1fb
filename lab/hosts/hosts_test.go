// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/lab/drive"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// fake is a session with a server that has one flaw, or none.
type fake struct {
	flaw      string
	stderr    *drive.Tail
	tree      string
	matches   []string
	long      bool // lists 6,000 tools
	grep      bool // serves grep and read_file
	git       bool // serves a repository
	commits   []string
	artifacts bool // keeps what big returns
}

func (f *fake) revision() string { return "2025-11-25" }
func (f *fake) close()           {}

func (f *fake) tools(context.Context) ([]string, error) {
	names := []string{"echo", "add", "big", "slow", "stubborn", "print", "panic", "progress"}
	if f.grep {
		names = []string{"read_file", "grep"}
	}
	if f.git {
		names = slices.Clone(gitTools)
	}
	if f.long {
		for i := range 6000 {
			names = append(names, fmt.Sprintf("tool_%04d", i+1))
		}
	}
	switch f.flaw {
	case "lists too little":
		names = names[:len(names)-1]
	case "lists twice":
		names = append(names, names[0])
	}
	return names, nil
}

func (f *fake) call(ctx context.Context, tool string, args map[string]any) (reply, error) {
	flawed := func(name string) bool { return f.flaw == name }
	switch tool {
	case "echo":
		text := args["text"].(string)
		if flawed("echo cuts at a line separator") {
			text, _, _ = strings.Cut(text, "\u2028")
		}
		if flawed("answers are mixed up") && strings.HasPrefix(text, "7") {
			text = "8 号"
		}
		if flawed("gone after a print") && text == "after the print" || flawed("gone after a panic") && text == "after the panic" ||
			flawed("gone after a cancel") && text == "after the cancel" {
			return reply{}, errors.New("connection closed")
		}
		return reply{text: text}, nil
	case "add":
		a, ok := args["a"].(int64)
		if n, isInt := args["a"].(int); isInt {
			a, ok = int64(n), true
		}
		if !ok {
			return reply{isError: !flawed("wrong arguments are taken"), text: "a: found a string, wanted an integer"}, nil
		}
		sum := a + int64(args["b"].(int))
		if flawed("numbers are floats") {
			sum = int64(float64(sum))
		}
		if flawed("no structured result") {
			return reply{text: strconv.FormatInt(sum, 10)}, nil
		}
		s := fmt.Sprintf(`{"sum":%d}`, sum)
		return reply{text: s, structured: []byte(s)}, nil
	case "big":
		if f.artifacts {
			if flawed("a text that is cut without a word") {
				return reply{text: f.keptText()[:8000]}, nil
			}
			return reply{text: f.keptText()[:100] + `[… Read it with read_artifact {"handle":"` + fakeHandle + `"} …]`}, nil
		}
		text := strings.Repeat(args["fill"].(string), args["bytes"].(int)/3)
		if flawed("big is cut in a character") {
			text = text[:len(text)-1]
		}
		return reply{text: text}, nil
	case "print":
		return reply{text: "printed"}, nil
	case "panic":
		if flawed("panic shows its text") {
			return reply{isError: true, text: "nil pointer dereference"}, nil
		}
		return reply{isError: true, text: "internal error (ref X)"}, nil
	case "slow":
		fmt.Fprintln(f.stderr, "slow started")
		<-ctx.Done()
		if flawed("cancel is not passed on") {
			return reply{}, ctx.Err()
		}
		fmt.Fprintln(f.stderr, "slow cancelled")
		if flawed("a cancelled call returns") {
			return reply{text: "done"}, nil
		}
		return reply{}, ctx.Err()
	case "grep":
		return f.search(args)
	case "git_log", "git_show", "git_diff", "git_grep", "git_status":
		return f.repository(tool, args)
	case "read_file":
		path := args["path"].(string)
		if strings.HasPrefix(path, "..") {
			return reply{isError: !flawed("reads outside"), text: "outside of the root"}, nil
		}
		data, err := os.ReadFile(filepath.Join(f.tree, path))
		if err != nil {
			return reply{}, err
		}
		from := args["startLine"].(int) - 1
		if flawed("lines counted from 0") {
			from++
		}
		return reply{text: strings.Join(strings.Split(string(data), "\n")[from:args["endLine"].(int)], "\n")}, nil
	}
	if flawed("any tool is known") {
		return reply{text: "well"}, nil
	}
	return reply{}, fmt.Errorf("unknown tool %q", tool)
}

// keptText is what big leaves behind.
func (f *fake) keptText() string { return strings.Repeat(kept, 3000) }

const fakeHandle = "abcdefghijklmnopqrstuvwxyz234567"

func (f *fake) resources(context.Context) ([]string, error) {
	if f.flaw == "what is kept is not listed" {
		return nil, nil
	}
	return []string{"artifact:" + fakeHandle}, nil
}

// read answers with parts of 32 KiB.
func (f *fake) read(_ context.Context, uri string) (string, error) {
	rest, ok := strings.CutPrefix(uri, "artifact:"+fakeHandle)
	switch {
	case f.flaw == "anything is a resource" && !ok:
		return "root", nil
	case f.flaw == "an error that says nothing" && !ok:
		return "", errors.New("resource not found")
	case !ok && strings.HasPrefix(uri, "artifact:"):
		return "", errors.New("from another process")
	case !ok:
		return "", errors.New("not a handle")
	}
	from, _ := strconv.Atoi(strings.TrimPrefix(rest, "?offset="))
	text := f.keptText()[from:]
	if f.flaw == "the last part is missing" {
		text = text[:min(len(text), 32<<10)]
	}
	if f.flaw == "parts lead nowhere" {
		from, text = 0, f.keptText()
	}
	if len(text) <= 32<<10 {
		return text, nil
	}
	return fmt.Sprintf("%s\n[… left out; they begin at artifact:%s?offset=%d, or read it …]", text[:32<<10], fakeHandle, from+32<<10), nil
}

// repository answers for the git server; pages have 40 commits.
func (f *fake) repository(tool string, args map[string]any) (reply, error) {
	if span, ok := args["range"].(string); ok {
		text := map[bool]string{true: "revision --output=x: no revision begins with a dash", false: "no revision mian; most like it is main"}[span[0] == '-']
		if f.flaw == "errors say nothing" {
			text = "exit status 128"
		}
		return reply{isError: true, text: text}, nil
	}
	text := map[string]string{
		"git_show": "1\t水位 283", "git_diff": "modified     目录/文件8.txt | +1 -1\n-水位 288\n+水位 298",
		"git_grep": "Returned 10 of 10 matching lines.\n目录/文件0.txt:1:1:水位 290",
	}[tool]
	if tool == "git_status" {
		return reply{isError: f.flaw != "reads outside", text: "repo: outside of the root"}, nil
	}
	if f.flaw == "wrong charset" {
		text = strings.ReplaceAll(text, "水位", "Ë®Î»")
	}
	if tool != "git_log" {
		return reply{text: text}, nil
	}
	from := 0
	if c, ok := args["cursor"].(string); ok {
		from, _ = strconv.Atoi(c)
	}
	to := min(from+40, len(f.commits))
	if f.flaw == "maxBytes is not minded" {
		to = len(f.commits)
	}
	var items []map[string]any
	for i, id := range f.commits[from:to] {
		if f.flaw == "loses a commit" && from+i == 81 {
			continue
		}
		if f.flaw == "wrong commits" && from+i == 81 {
			id = "0"
		}
		items = append(items, map[string]any{"commit": id, "subject": fmt.Sprintf("第 %d 次 \"commit\"", len(f.commits)-1-from-i)})
	}
	page := map[string]any{"items": items, "truncated": to < len(f.commits)}
	if to < len(f.commits) && f.flaw != "truncated without a cursor" {
		page["nextCursor"] = strconv.Itoa(to)
	}
	data, err := json.Marshal(page)
	return reply{structured: data, isError: f.flaw == "search fails"}, err
}

// search answers with pages of 40 items; its cursors are positions.
func (f *fake) search(args map[string]any) (reply, error) {
	from := 0
	if c, ok := args["cursor"].(string); ok {
		n, err := strconv.Atoi(c)
		if err != nil {
			return reply{isError: f.flaw != "any cursor is taken", text: "cursor: malformed; start again without it"}, nil
		}
		from = n
	}
	var items []map[string]any
	to := min(from+40, len(f.matches))
	if f.flaw == "maxBytes is not minded" {
		to = len(f.matches)
	}
	for _, m := range f.matches[from:to] {
		path, line, _ := strings.Cut(m, ":")
		n, _ := strconv.Atoi(line)
		if f.flaw == "loses a match" && from == 80 && len(items) == 3 {
			f.flaw = "lost"
			continue
		}
		excerpt := `第 1 行: a match in 水 "引号"`
		if f.flaw == "wrong charset" {
			excerpt = "µÚ 1 ÐÐ"
		}
		items = append(items, map[string]any{"path": path, "line": n, "excerpt": excerpt})
	}
	page := map[string]any{"items": items, "truncated": to < len(f.matches)}
	text := "Returned some."
	if to < len(f.matches) {
		page["nextCursor"] = strconv.Itoa(to)
		text += " Use cursor " + strconv.Itoa(to)
	}
	switch f.flaw {
	case "truncated is left out":
		delete(page, "truncated")
	case "truncated without a cursor":
		delete(page, "nextCursor")
	case "an empty cursor at the end":
		if to == len(f.matches) {
			page["nextCursor"] = ""
		}
	case "the text hides the cursor":
		text = "Returned some."
	case "search fails":
		return reply{isError: true, text: "no"}, nil
	}
	data, err := json.Marshal(page)
	return reply{text: text, structured: data}, err
}

// Every check passes on a good server, and each is seen to fail on some flaw.
func TestChecksFindFlaws(t *testing.T) {
	tree := t.TempDir()
	matches, err := plant(tree)
	if err != nil {
		t.Fatal(err)
	}
	repo := t.TempDir()
	commits, err := plantGit(t.Context(), repo)
	if err != nil {
		t.Fatal(err)
	}
	groups := []struct {
		name   string
		checks []namedCheck
		fake   fake
		flaws  []string
	}{
		{"fixture", fixtureChecks, fake{}, []string{
			"lists too little", "no structured result", "numbers are floats", "echo cuts at a line separator", "big is cut in a character",
			"wrong arguments are taken", "any tool is known", "gone after a print", "panic shows its text", "gone after a panic",
			"answers are mixed up", "cancel is not passed on", "a cancelled call returns", "gone after a cancel",
		}},
		{"long list", longListChecks, fake{long: true}, []string{"lists too little", "lists twice"}},
		{"artifacts", artifactChecks, fake{artifacts: true}, []string{
			"a text that is cut without a word", "what is kept is not listed", "anything is a resource", "an error that says nothing",
			"the last part is missing", "parts lead nowhere",
		}},
		{"grep", grepChecks(servers{matches: matches}), fake{grep: true, tree: tree, matches: matches},
			[]string{
				"lists too little", "wrong charset", "search fails", "loses a match", "maxBytes is not minded", "truncated is left out",
				"truncated without a cursor", "an empty cursor at the end", "the text hides the cursor", "any cursor is taken", "reads outside", "lines counted from 0",
			}},
		{"git", gitChecks(servers{commits: commits}), fake{git: true, commits: commits},
			[]string{
				"lists too little", "wrong charset", "search fails", "loses a commit", "wrong commits", "maxBytes is not minded", "truncated without a cursor",
				"errors say nothing", "reads outside",
			}},
	}
	for _, g := range groups {
		failed := map[string]bool{}
		for _, flaw := range append([]string{""}, g.flaws...) {
			n := 0
			for _, k := range g.checks {
				f := g.fake
				f.flaw, f.stderr = flaw, drive.NewTail()
				if k.name == "finds Chinese text" {
					f.matches = slices.DeleteFunc(slices.Clone(f.matches), func(m string) bool { return !strings.HasPrefix(m, "目录0/") })
				}
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				if err := k.f(ctx, &f, f.stderr); err != nil {
					n++
					failed[k.name] = true
					if flaw == "" {
						t.Errorf("%s: %q fails on a good server: %v", g.name, k.name, err)
					}
				}
				cancel()
			}
			if flaw != "" && n == 0 {
				t.Errorf("%s: no check finds %q", g.name, flaw)
			}
		}
		for _, k := range g.checks {
			if !failed[k.name] {
				t.Errorf("%s: %q was never seen to fail", g.name, k.name)
			}
		}
	}
}

func TestChecksCount(t *testing.T) {
	var out bytes.Buffer
	c := &checks{out: &out}
	c.check(t.Context(), "one", func(context.Context) error { return nil })
	c.check(t.Context(), "two", func(context.Context) error { return errors.New("found nothing") })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	c.check(ctx, "three", func(context.Context) error { return nil }) // interrupted: neither
	if c.passed != 1 || c.failed != 1 {
		t.Errorf("%d passed, %d failed", c.passed, c.failed)
	}
	if got, want := out.String(), "ok    one\nFAIL  two: found nothing\n"; got != want {
		t.Errorf("printed %q", got)
	}
}

func TestRunRefusesUnknownHosts(t *testing.T) {
	if err := Run(t.Context(), Options{Only: []string{"nonesuch"}}); err == nil || !strings.Contains(err.Error(), "there are go-sdk") {
		t.Errorf("Run = %v", err)
	}
}
