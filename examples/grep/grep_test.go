// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/tool"
)

func TestGrep(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a.go":           "package a\n\nfunc Foo() {}\n\tfunc bar() {}\n",
		"b/c.go":         "func Foo() {}\r\nx\r\nfunc 中文() {}",
		"b/中文.txt":       "这是 func 一行\n",
		"b/bin":          "func\x00",
		"bad.txt":        "ok func \xff\xfe end\n",
		"empty":          "",
		".gitignore":     "*.log\n",
		"x.log":          "func ignored\n",
		".git/config":    "func\n",
		"vendor/v/v.log": "func\n",
	})
	tools, _ := serve(t, dir)
	m := func(path string, line, column int, excerpt string) Match {
		return Match{path, line, line, column, excerpt}
	}
	for _, tt := range []struct {
		name string
		in   args
		want []Match
	}{
		{"all", args{"pattern": "func"}, []Match{
			m("a.go", 3, 1, "func Foo() {}"), m("a.go", 4, 2, "\tfunc bar() {}"),
			m("b/c.go", 1, 1, "func Foo() {}"), m("b/c.go", 3, 1, "func 中文() {}"),
			m("b/中文.txt", 1, 8, "这是 func 一行"), m("bad.txt", 1, 4, "ok func \ufffd\ufffd end"),
		}},
		{"end of line is before CRLF", args{"pattern": `\{\}$`, "path": "b"}, []Match{m("b/c.go", 1, 12, "func Foo() {}"), m("b/c.go", 3, 15, "func 中文() {}")}},
		{"case", args{"pattern": "FOO", "ignoreCase": true}, []Match{m("a.go", 3, 6, "func Foo() {}"), m("b/c.go", 1, 6, "func Foo() {}")}},
		{"literal", args{"pattern": "Foo()", "literal": true, "path": "a.go"}, []Match{m("a.go", 3, 6, "func Foo() {}")}},
		{"include", args{"pattern": "func", "include": []string{"*.txt"}}, []Match{m("b/中文.txt", 1, 8, "这是 func 一行"), m("bad.txt", 1, 4, "ok func \ufffd\ufffd end")}},
		{"include sent as text", args{"pattern": "func", "include": `["中?.txt"]`}, []Match{m("b/中文.txt", 1, 8, "这是 func 一行")}},
		{"exclude", args{"pattern": "func", "exclude": []string{"b", "*.txt"}}, []Match{m("a.go", 3, 1, "func Foo() {}"), m("a.go", 4, 2, "\tfunc bar() {}")}},
		{"noIgnore", args{"pattern": "func", "noIgnore": true, "include": []string{"*.log"}}, []Match{m("vendor/v/v.log", 1, 1, "func"), m("x.log", 1, 1, "func ignored")}},
		{"ignored but named", args{"pattern": "func", "path": "x.log"}, []Match{m("x.log", 1, 1, "func ignored")}},
		{"context", args{"pattern": "Foo", "path": "a.go", "context": 1}, []Match{{"a.go", 3, 4, 6, "2-\n3:func Foo() {}\n4-\tfunc bar() {}"}}},
		{"context of neighbours", args{"pattern": "func", "path": "a.go", "context": 2}, []Match{
			{"a.go", 3, 3, 1, "1-package a\n2-\n3:func Foo() {}"}, {"a.go", 4, 4, 2, "4:\tfunc bar() {}"}}},
		{"nothing", args{"pattern": "no such thing"}, []Match{}},
	} {
		p := grepPage(t, tools, tt.in)
		if !slices.Equal(p.Items, tt.want) {
			t.Errorf("%s:\n got %+v\nwant %+v", tt.name, p.Items, tt.want)
		}
		if p.Truncated || p.NextCursor != "" || p.TotalEstimate == nil || *p.TotalEstimate != int64(len(tt.want)) {
			t.Errorf("%s: truncated %t, cursor %q, total %v", tt.name, p.Truncated, p.NextCursor, p.TotalEstimate)
		}
	}
}

// The text form says first what there is and how to go on, then the items as
// grep prints them, then what was not searched.
func TestGrepText(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a": "x1\nx2\ny\n", "b": "\x00"})
	tools, _ := serve(t, dir)
	_, got := call[matchPage](t, tools, "grep", args{"pattern": "x"})
	want := "Returned 2 of 2 matching lines. Results are sorted by path and line.\na:1:1:x1\na:2:1:x2\nNot searched: binary files: 1."
	if got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	_, got = call[matchPage](t, tools, "grep", args{"pattern": "x2", "context": 1})
	if want := "a:2:1:\n1-x1\n2:x2\n3-y"; !strings.Contains(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestGrepRefuses(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"in/a": "x\n", "secret": "x\n"})
	for name, target := range map[string]string{"in/out": "../secret", "in/up": ".."} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			t.Skip(err)
		}
	}
	tools, opened := serve(t, filepath.Join(dir, "in"))
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{}, "pattern"},
		{args{"pattern": ""}, "pattern"},
		{args{"pattern": "(?=a)"}, "RE2"},
		{args{"pattern": "a\nb"}, "line break"},
		{args{"pattern": "x", "path": "nope"}, `no "nope" below the root`},
		{args{"pattern": "x", "path": "../secret"}, "out of the root"},
		{args{"pattern": "x", "path": "/etc/passwd"}, "absolute"},
		{args{"pattern": "x", "path": "out"}, "escapes"},
		{args{"pattern": "x", "path": "up/secret"}, "escapes"},
		{args{"pattern": "x", "include": []string{"[a"}}, `glob "[a"`},
		{args{"pattern": "x", "context": 21}, "context"},
		{args{"pattern": "x", "patern": "y"}, "pattern"},
		{args{"pattern": "x", "cursor": "garbage"}, "start again without cursor"},
	} {
		if got := refused(t, tools, "grep", tt.in); !strings.Contains(got, tt.want) {
			t.Errorf("%v: %q, want %q in it", tt.in, got, tt.want)
		}
	}
	if got := grepPage(t, tools, args{"pattern": "x"}).Items; len(got) != 1 || len(*opened) != 1 {
		t.Errorf("%+v; opened %q", got, *opened)
	}
}

// case 24, case 26: a page stops the search where it is full. The files that
// were opened end with the one that the cursor names, pages are within their
// budget, and all of them together have each match once.
func TestGrepStopsWhenFull(t *testing.T) {
	dir := t.TempDir()
	files := make(map[string]string)
	for i := range 40 {
		files[fmt.Sprintf("d%d/f%02d.txt", i%3, i)] = strings.Repeat("match this line of text\nnot that one\n", 30)
	}
	write(t, dir, files)
	tools, opened := serve(t, dir)
	in := args{"pattern": "match", "maxBytes": 4096}
	var before []string
	items, pages := grepAll(t, tools, in, func(p matchPage) {
		last := p.Items[len(p.Items)-1].Path
		n := len(*opened)
		if o := (*opened)[n-1]; o != last && (n < 2 || (*opened)[n-2] != last) {
			t.Errorf("page ends in %s, opened %q", last, (*opened)[n-1])
		}
		if len(before) > 0 && (*opened)[0] < before[len(before)-1] {
			t.Errorf("opened %s again after %s", (*opened)[0], before[len(before)-1])
		}
		if p.TotalEstimate != nil {
			t.Errorf("a total of %d before the end", *p.TotalEstimate)
		}
		if !p.Truncated {
			t.Error("not truncated")
		}
		before = slices.Clone(*opened)
		*opened = nil
	})
	if len(items) != 40*30 || pages < 20 {
		t.Errorf("%d items on %d pages", len(items), pages)
	}
	if !slices.IsSortedFunc(items, func(a, b Match) int {
		if c := strings.Compare(a.Path, b.Path); c != 0 {
			return c
		}
		return a.Line - b.Line
	}) {
		t.Error("not sorted")
	}
	slices.SortFunc(items, func(a, b Match) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	if n := len(slices.Compact(items)); n != 40*30 {
		t.Errorf("%d different items", n)
	}
	last := grepPage(t, tools, in)
	if last.TotalEstimate == nil || *last.TotalEstimate != 40*30 {
		t.Errorf("total at the end: %v", last.TotalEstimate)
	}
}

// A single file is read to its end, so that even its first page knows the total.
func TestGrepTotalOfOneFile(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": strings.Repeat("a match\n", 1234)})
	tools, _ := serve(t, dir)
	in := args{"pattern": "match", "path": "f", "maxBytes": 8192}
	n, pages := 0, 0
	for {
		p := grepPage(t, tools, in)
		n += len(p.Items)
		pages++
		if p.TotalEstimate == nil || *p.TotalEstimate != 1234 {
			t.Fatalf("page %d: total %v", pages, p.TotalEstimate)
		}
		if p.NextCursor == "" {
			break
		}
		in["cursor"] = p.NextCursor
	}
	if n != 1234 || pages < 3 {
		t.Errorf("%d matches on %d pages", n, pages)
	}
}

// A cursor has 512 bytes, a path may have more: it is found again by its hash.
func TestGrepLongPaths(t *testing.T) {
	dir := t.TempDir()
	deep := strings.Repeat("一个很长的目录名字/", 9)
	files := make(map[string]string)
	for i := range 30 {
		files[fmt.Sprintf("%sf%02d", deep, i)] = "match\nmatch\nmatch\n"
	}
	write(t, dir, files)
	tools, _ := serve(t, dir)
	in := args{"pattern": "match", "maxBytes": 4096}
	items, pages := grepAll(t, tools, in, nil)
	if len(items) != 90 || pages < 10 {
		t.Errorf("%d items on %d pages", len(items), pages)
	}
	// The file that the cursor names goes away: nothing is lost.
	delete(in, "cursor")
	seen := make(map[string]int)
	var gone string
	items, _ = grepAll(t, tools, in, func(p matchPage) {
		if gone == "" {
			gone = p.Items[len(p.Items)-1].Path
			if err := os.Remove(filepath.Join(dir, gone)); err != nil {
				t.Fatal(err)
			}
		}
	})
	for _, m := range items {
		seen[m.Path]++
	}
	for name := range files {
		if name != gone && seen[name] < 3 {
			t.Errorf("%d matches of %s", seen[name], name)
		}
	}
}

// A match with a long context is cut to fit a small page, with a mark.
func TestGrepShrinks(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": strings.Repeat("汉字 \"quoted\" text in a line\n", 20) + "match\n" + strings.Repeat("after\n", 20)})
	tools, _ := serve(t, dir)
	for size := 1500; size < 1520; size++ {
		p := grepPage(t, tools, args{"pattern": "match", "context": 20, "maxBytes": size})
		if len(p.Items) != 1 || !strings.Contains(p.Items[0].Excerpt, "bytes cut]") || strings.Contains(p.Items[0].Excerpt, "\ufffd") || p.NextCursor != "" {
			t.Errorf("%d bytes: %+v", size, p)
		}
	}
}

// A tripping context ends at the n-th question about it.
type tripping struct {
	context.Context
	n    *int
	trip func()
}

func (c tripping) Err() error {
	if *c.n--; *c.n == 0 {
		c.trip()
	}
	return c.Context.Err()
}

func newTripping(t *testing.T, n int, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	t.Cleanup(func() { cancel(nil) })
	return tripping{ctx, &n, func() { cancel(cause) }}
}

// A cancelled search ends with its cause and opens no further file.
func TestGrepCancelled(t *testing.T) {
	dir := t.TempDir()
	for i := range 50 {
		write(t, dir, map[string]string{fmt.Sprintf("f%02d", i): "match\n"})
	}
	tools, opened := serve(t, dir)
	_, err := tools.Call(newTripping(t, 20, &tool.Cancelled{Reason: "user left"}), "grep", args{"pattern": "match"})
	var cancelled *tool.Cancelled
	if !errors.As(err, &cancelled) || cancelled.Reason != "user left" || len(*opened) > 20 {
		t.Errorf("%v, opened %d", err, len(*opened))
	}
}

// A search that times out returns the matches so far, with a cursor behind them.
// Wherever that happens, the two answers together have each match once.
func TestGrepTimedOut(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"a": "match\nmatch\n", "b": "match\n", "d/c": "x\nmatch\n",
		"big": strings.Repeat("match\n"+strings.Repeat("x", 99_999)+"\n", 10), // several buffers
		"z":   "match\n",
	})
	tools, _ := serve(t, dir)
	want := grepPage(t, tools, args{"pattern": "match"}).Items
	partial := 0
	for n := 1; ; n++ {
		ctx := newTripping(t, n, &tool.TimedOut{After: time.Second})
		r, err := tools.Call(ctx, "grep", args{"pattern": "match"})
		if err != nil {
			t.Fatal(err)
		}
		if !r.IsError {
			break // it was over before
		}
		if !strings.Contains(text(r), "timed out") {
			t.Fatalf("%s", text(r))
		}
		_, rest, ok := strings.Cut(text(r), `Use cursor "`)
		if !ok {
			continue // before the search began
		}
		cursor, _, _ := strings.Cut(rest, `"`)
		p := grepPage(t, tools, args{"pattern": "match", "cursor": cursor})
		if got := strings.Count(text(r), ":match") + len(p.Items); got != len(want) || p.TotalEstimate == nil || int(*p.TotalEstimate) != got {
			t.Errorf("ended at %d: %d matches, total %v, want %d\n%s", n, got, p.TotalEstimate, len(want), text(r))
		}
		if len(p.Items) < len(want) {
			partial++
		}
	}
	if partial < 5 {
		t.Errorf("only %d partial answers", partial)
	}
}

// case 71: a cursor belongs to its query; only maxBytes may change.
func TestGrepCursorOfAnotherQuery(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"f": strings.Repeat("match me\n", 500)})
	tools, _ := serve(t, dir)
	p := grepPage(t, tools, args{"pattern": "match", "maxBytes": 2048})
	for _, in := range []args{
		{"pattern": "match me", "cursor": p.NextCursor},
		{"pattern": "match", "path": "f", "cursor": p.NextCursor},
		{"pattern": "match", "ignoreCase": true, "cursor": p.NextCursor},
	} {
		if got := refused(t, tools, "grep", in); !strings.Contains(got, "start again without cursor") {
			t.Errorf("%v: %s", in, got)
		}
	}
	next := grepPage(t, tools, args{"pattern": "match", "path": ".", "cursor": p.NextCursor})
	if got := len(p.Items) + len(next.Items); next.Items[0].Line != len(p.Items)+1 || got < 100 {
		t.Errorf("goes on at line %d after %d items", next.Items[0].Line, len(p.Items))
	}
}

func TestPrintable(t *testing.T) {
	for _, tt := range []struct {
		in   string
		max  int
		want string
	}{
		{"a\"b\\c\n\xff\u2028", 20, "a?b?c???"},
		{"短路径", 9, "短路径"},
		{"短的路径", 9, "短的…"},
		{"abcdef", 5, "ab…"},
	} {
		if got := printable(tt.in, tt.max); got != tt.want {
			t.Errorf("printable(%q, %d) = %q, want %q", tt.in, tt.max, got, tt.want)
		}
	}
}

// reports is a server that keeps what a tool reports.
type reports []string

func (r *reports) Progress(done, total float64, message string) {
	*r = append(*r, fmt.Sprintf("%v of %v: %s", done, total, message))
}

func (r *reports) Go(fn func())      { fn() }
func (r *reports) Log() *slog.Logger { return slog.Default() }

// A long search tells how many files it has searched, and which was the last.
func TestGrepProgress(t *testing.T) {
	dir := t.TempDir()
	names := make(map[string]string)
	for i := range 600 {
		names[fmt.Sprintf("f%03d", i+1)] = "x\n"
	}
	write(t, dir, names)
	tools, _ := serve(t, dir)
	grep, _ := tools.Lookup("grep")
	var got reports
	r, err := grep.Serve(t.Context(), &tool.Request{Arguments: []byte(`{"pattern":"no match"}`), Peer: &got})
	if err != nil || r.IsError {
		t.Fatal(r, err)
	}
	if want := []string{"256 of 0: f256", "512 of 0: f512"}; !slices.Equal(got, want) {
		t.Errorf("reported %q, want %q", got, want)
	}
}
