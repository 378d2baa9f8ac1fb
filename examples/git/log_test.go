// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// 20,000 commits page to the end, each once and in order, though commits are
// added meanwhile, and a late page costs no more than an early one.
func TestLogPagesToTheEnd(t *testing.T) {
	t.Parallel()
	const n = 20_000
	dir := initRepo(t, t.TempDir())
	history(t, dir, n)
	want := strings.Fields(git(t, dir, "rev-list", "main"))
	g, err := openRoots([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	var tools tool.Registry // with fewer pages than there are by default
	tool.AddPage(&tools, tool.Info{Name: "git_log", Description: "History.", Budget: result.Budget{Bytes: 64 << 10}}, g.gitLog)
	items, pages := all[Commit](t, &tools, "git_log", args{"range": "main"}, func(page int) {
		if page%20 == 1 {
			head := git(t, dir, "rev-parse", "main")
			tree := git(t, dir, "rev-parse", "main^{tree}")
			git(t, dir, "update-ref", "refs/heads/main", git(t, dir, "commit-tree", "-p", head, "-m", "meanwhile", tree))
		}
	})
	var got []string
	for _, c := range items {
		got = append(got, c.Commit)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%d commits on %d pages, want %d; the first difference is at %d", len(got), pages, len(want), firstDifference(got, want))
	}
	if pages < 50 {
		t.Errorf("only %d pages", pages)
	}
}

func firstDifference(a, b []string) int {
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			return i
		}
	}
	return len(a)
}

// Along a line of commits each page begins at its own first commit, so that git
// never walks what was shown: the position holds no number that grows.
func TestLogPositionMoves(t *testing.T) {
	w := newWalk(logPosition{From: rawID(strings.Repeat("00", 20))}, logInput{})
	for i := range 1000 {
		w.show(Commit{Commit: id(i), Parents: []string{id(i + 1)}})
		if w.pos.Skip != 0 || string(w.pos.From) != string(rawID(id(i+1))) || len(w.shown) != 0 {
			t.Fatalf("after %d commits: %+v", i, w.pos)
		}
	}
}

func id(i int) string { return fmt.Sprintf("%040x", i) }

// dag makes a random history with merges, several first commits and dates that
// are out of order, and returns the names of its tips.
func dag(t *testing.T, dir string, r *rand.Rand, n int) {
	var b strings.Builder
	for i := range n {
		date := 1_600_000_000 + int64(i)*60
		if r.IntN(4) == 0 {
			date += int64(r.IntN(40_000)) - 20_000 // a clock that is wrong
		}
		fmt.Fprintf(&b, "commit refs/heads/b%d\nmark :%d\nauthor A <a@b> %d +0000\ncommitter A <a@b> %d +0000\ndata <<E\nc%d\nE\n", i, i+1, date, date, i)
		parents := map[int]bool{}
		for range 1 + r.IntN(5)/3 + r.IntN(8)/7 {
			if i > 0 && r.IntN(60) > 0 {
				parents[max(0, i-1-r.IntN(1+r.IntN(8)))] = true
			}
		}
		verb := "from"
		for p := range parents {
			fmt.Fprintf(&b, "%s :%d\n", verb, p+1)
			verb = "merge"
		}
		fmt.Fprintf(&b, "M 100644 inline f%d\ndata 1\nx\n\n", r.IntN(5))
	}
	gitIn(t, dir, b.String(), "fast-import", "--quiet", "--force")
}

// Pages together are what git log prints at once, in its order, whatever the
// history looks like.
func TestLogAnyHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		r := rand.New(rand.NewPCG(seed, 1))
		dir := initRepo(t, t.TempDir())
		const n = 90
		dag(t, dir, r, n)
		tools := serve(t, dir)
		for _, c := range []struct {
			in   args
			args []string
		}{
			{args{"range": fmt.Sprintf("b%d", n-1)}, []string{fmt.Sprintf("b%d", n-1)}},
			{args{"range": fmt.Sprintf("b%d", n-1), "firstParent": true}, []string{"--first-parent", fmt.Sprintf("b%d", n-1)}},
			{args{"range": fmt.Sprintf("b%d..b%d", n/3, n-1)}, []string{fmt.Sprintf("b%d..b%d", n/3, n-1)}},
			{args{"range": fmt.Sprintf("b%d...b%d", n-4, n-1)}, []string{fmt.Sprintf("b%d...b%d", n-4, n-1)}},
			{args{"range": fmt.Sprintf("b%d", n-1), "paths": []string{"f1"}}, []string{fmt.Sprintf("b%d", n-1), "--", "f1"}},
			{args{"range": fmt.Sprintf("b%d", n-1), "merges": "exclude"}, []string{"--no-merges", fmt.Sprintf("b%d", n-1)}},
		} {
			want := strings.Fields(git(t, dir, append([]string{"rev-list"}, c.args...)...))
			c.in["limit"] = 1 + r.IntN(9) + len(want)/8
			var got []string
			items, _ := all[Commit](t, tools, "git_log", c.in, nil)
			for _, item := range items {
				got = append(got, item.Commit)
			}
			if !slices.Equal(got, want) {
				t.Errorf("seed %d, %v: %d commits, want %d; the first difference is at %d", seed, c.in, len(got), len(want), firstDifference(got, want))
			}
		}
	}
}

func TestLogFilters(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	history(t, dir, 600) // by Bob: 7, 107 … 507
	git(t, dir, "reset", "-q", "--hard")
	git(t, dir, "mv", "f3.txt", "renamed 文件.txt")
	last := commit(t, dir, "move it\n\nThe body says (why).")
	tools := serve(t, dir)
	subjects := func(in args) string {
		items, _ := all[Commit](t, tools, "git_log", in, nil)
		var s []string
		for _, c := range items {
			s = append(s, strings.TrimPrefix(c.Subject, "commit "))
		}
		return strings.Join(s, " ")
	}
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"author": "BOB"}, "507 407 307 207 107 7"},
		{args{"author": "bob@example", "limit": 2}, "507 407 307 207 107 7"},
		{args{"author": ".*"}, ""}, // text, no expression
		{args{"message": "commit 59", "range": "main~1"}, "599 598 597 596 595 594 593 592 591 590 59"},
		{args{"message": "(WHY)"}, "move it"},
		{args{"paths": []string{"f7.txt"}, "limit": 3}, "557 507 457 407 357 307 257 207 157 107 57 7"},
		{args{"paths": []string{"renamed 文件.txt"}}, "move it"},
		{args{"paths": []string{"renamed 文件.txt"}, "follow": true, "limit": 5}, "move it 553 503 453 403 353 303 253 203 153 103 53 3"},
		{args{"since": "2020-09-13T12:26:40Z", "until": "2020-09-13T12:28:40Z"}, "2 1 0"},
		{args{"until": "2020-09-13"}, strings.Join(down(599), " ")},
		{args{"range": "main~3..main"}, "move it 599 598"},
		{args{"range": "..main~590"}, ""},
		{args{"changed": "commit 550", "paths": []string{"f0.txt"}}, "550"},
		{args{"merges": "only"}, ""},
	} {
		if got := subjects(tt.in); got != tt.want {
			t.Errorf("%v:\n%.200s\nwant\n%.200s", tt.in, got, tt.want)
		}
	}
	p, text := call[Commit, none](t, tools, "git_log", args{"limit": 1, "body": true})
	if c := p.Items[0]; c.Commit != last || c.Body != "The body says (why)." || c.Date != "2024-05-01T10:00:00+02:00" || c.Author != "林 Ada" || !slices.Equal(c.Refs, []string{"HEAD -> main"}) {
		t.Errorf("%+v", c)
	}
	if !strings.Contains(text, "\n    The body says (why).") {
		t.Error(text)
	}
}

func down(from int) (all []string) {
	for i := from; i >= 0; i-- {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// Each mistake has words that help.
func TestLogRefuses(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	tools := serve(t, dir)
	if text := refused(t, tools, "git_log", args{}); !strings.Contains(text, "no commit yet") {
		t.Error(text)
	}
	write(t, dir, map[string]string{"a": "a"})
	first := commit(t, dir, "first")
	git(t, dir, "branch", "feature/login")
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"range": "mian"}, "most like it are main;"},
		{args{"range": "logn"}, "feature/login"},
		{args{"range": "main~4"}, `there is main, but not ~4 of it`},
		{args{"range": "v1..v2..v3"}, "one range"},
		{args{"range": "--all"}, "begins with a dash"},
		{args{"range": "--output=/tmp/x..main"}, "begins with a dash"},
		{args{"range": "main..-n1"}, "begins with a dash"},
		{args{"range": "^main"}, "no revision"},
		{args{"range": "main\nmain"}, "control characters"},
		{args{"range": "HEAD:a"}, "is not a commit"},
		{args{"range": first[:3] + "zz"}, "no revision"},
		{args{"paths": []string{"../x"}}, "outside"},
		{args{"paths": []string{"/etc/passwd"}}, "relative to the top"},
		{args{"paths": []string{"a", "b"}, "follow": true}, "exactly one path"},
		{args{"since": "the day before"}, "no date"},
		{args{"cursor": "nonesuch"}, "cursor"},
	} {
		if text := refused(t, tools, "git_log", tt.in); !strings.Contains(text, tt.want) {
			t.Errorf("%v: %s", tt.in, text)
		}
	}
	// What looks like an option or like magic is a path, and none is there.
	for _, p := range []string{"--all", "-n1", ":(exclude)a", ":/", ":!a", "*", "a?"} {
		if text := refused(t, tools, "git_log", args{"paths": []string{p}}); !strings.Contains(text, "there is no ") {
			t.Errorf("path %q: %s", p, text)
		}
	}
	for _, name := range []string{"author", "message", "changed"} {
		if items, _ := all[Commit](t, tools, "git_log", args{name: "--all"}, nil); len(items) != 0 {
			t.Errorf("%s: %d commits", name, len(items))
		}
	}
}

// A clock that was wrong: the merge of f and r, where r is the first commit and
// the parent of f, and yet is shown before it. The walk must not begin anew at f,
// from where r would come again.
func TestLogWrongClock(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	const form = "commit refs/heads/main\nmark :%d\ncommitter A <a@b> %d +0000\ndata 1\n%d\n%s\n"
	gitIn(t, dir, fmt.Sprintf(form, 1, 90_000, 1, "")+fmt.Sprintf(form, 2, 10_000, 2, "from :1\n")+fmt.Sprintf(form, 3, 100_000, 3, "from :1\nmerge :2\n"), "fast-import", "--quiet")
	items, _ := all[Commit](t, serve(t, dir), "git_log", args{"range": "main", "limit": 2}, nil)
	var got []string
	for _, c := range items {
		got = append(got, c.Subject)
	}
	if !slices.Equal(got, []string{"3", "1", "2"}) {
		t.Errorf("%v", got)
	}
}
