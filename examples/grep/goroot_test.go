// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// goroot returns the source of the Go toolchain, 9,000 files and more, or one
// package of it in short mode.
func goroot(t testing.TB) string {
	t.Helper()
	out, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Skip("go is not installed")
	}
	dir := filepath.Join(strings.TrimSpace(string(out)), "src")
	if testing.Short() {
		dir = filepath.Join(dir, "net")
	}
	if _, err := os.Stat(dir); err != nil {
		t.Skip(err)
	}
	return dir
}

// reference is what grep(1) finds in the text files below dir: a find of our
// own, which knows nothing of the engine, and grep -nE over its list.
func reference(t testing.TB, dir, pattern string) []Match {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("wants GNU grep")
	}
	if _, err := exec.LookPath("grep"); err != nil {
		t.Skip("grep is not installed")
	}
	var names []string
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if err == nil && bytes.IndexByte(data[:min(len(data), 8<<10)], 0) < 0 {
			rel, _ := filepath.Rel(dir, path)
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	cmd := exec.Command("xargs", "-0", "grep", "-a", "-H", "-n", "-Z", "-E", "-e", pattern, "--")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	cmd.Stdin = strings.NewReader(strings.Join(names, "\x00"))
	out, err := cmd.Output()
	if ee, ok := err.(*exec.ExitError); err != nil && !(ok && ee.ExitCode() == 123) { // 123: a grep found nothing
		t.Fatal(err)
	}
	var want []Match
	for len(out) > 0 { // NAME NUL LINE : TEXT LF, and a text may hold NULs
		name, rest, _ := bytes.Cut(out, []byte{0})
		row, rest, _ := bytes.Cut(rest, []byte{'\n'})
		number, text, _ := bytes.Cut(row, []byte{':'})
		n, err := strconv.Atoi(string(number))
		if err != nil {
			t.Fatalf("grep printed %q", row)
		}
		want = append(want, Match{Path: string(name), Line: n, Excerpt: string(text)})
		out = rest
	}
	return want
}

var (
	cutBefore = regexp.MustCompile(`^\[(\d+) bytes cut\]`)
	cutAfter  = regexp.MustCompile(`\[(\d+) bytes cut\]$`)
	badBytes  = regexp.MustCompile("\ufffd+")
)

// whole is the line that g is an excerpt of, as far as text, the true line,
// fills what g says was cut.
func whole(g, text string) string {
	if m := cutBefore.FindStringSubmatch(g); m != nil {
		n, _ := strconv.Atoi(m[1])
		g = text[:min(n, len(text))] + g[len(m[0]):]
	}
	if m := cutAfter.FindStringSubmatch(g); m != nil {
		n, _ := strconv.Atoi(m[1])
		g = g[:len(g)-len(m[0])] + text[max(0, len(text)-n):]
	}
	return badBytes.ReplaceAllString(strings.ToValidUTF8(g, "\ufffd"), "\ufffd")
}

// same compares matches with those of grep, line for line, but for the CR of
// CRLF and bytes that are not UTF-8, which are U+FFFD in an answer.
func same(t testing.TB, got, want []Match) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%d matches, grep has %d", len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		g, w := got[i], want[i]
		if g.Path != w.Path || g.Line != w.Line || g.EndLine != w.Line {
			t.Fatalf("match %d is %s:%d, grep has %s:%d", i, g.Path, g.Line, w.Path, w.Line)
		}
		text := strings.TrimSuffix(w.Excerpt, "\r")
		if have, text := whole(g.Excerpt, text), badBytes.ReplaceAllString(strings.ToValidUTF8(text, "\ufffd"), "\ufffd"); have != text {
			t.Fatalf("%s:%d is %q, grep has %q", g.Path, g.Line, g.Excerpt, text)
		}
	}
}

// The main job: a pattern of more than 100,000 matches over the source of the
// Go toolchain, page after page to the end, is line for line what grep finds.
func TestUnionOfPagesIsGrep(t *testing.T) {
	dir := goroot(t)
	for pattern, least := range map[string]int{"func": 100_000, `^\s*[a-z]+, err :?= |return (nil|err)$`: 10_000} {
		want := reference(t, dir, pattern)
		if !testing.Short() && len(want) < least {
			t.Errorf("%q: only %d matches to try with", pattern, len(want))
		}
		tools, _ := serve(t, dir)
		var took []time.Duration
		last := time.Now()
		got, pages := grepAll(t, tools, args{"pattern": pattern, "noIgnore": true}, func(p matchPage) {
			took = append(took, time.Since(last))
			last = time.Now()
		})
		same(t, got, want)
		slices.Sort(took)
		if n := len(took); n > 0 {
			t.Logf("%q: %d matches on %d pages: p50 %v, p99 %v, max %v", pattern, len(got), pages, took[n/2], took[n*99/100], took[n-1])
		}
	}
}

// case 71: again while files come and go between the pages. Only those files
// may differ: every other match is there, once, in its place.
func TestUnionWhileFilesComeAndGo(t *testing.T) {
	source := goroot(t)
	dir := t.TempDir()
	if err := os.CopyFS(dir, goFiles{os.DirFS(source)}); err != nil {
		t.Fatal(err)
	}
	const pattern = "func"
	want := reference(t, dir, pattern)

	r := rand.New(rand.NewPCG(11, 12))
	touched := make(map[string]bool)
	change := func(page matchPage) {
		here := page.Items[len(page.Items)-1].Path
		ahead := want[r.IntN(len(want))].Path // anywhere, before and behind the cursor
		for _, path := range []string{here, ahead} {
			if r.IntN(8) == 0 && !touched[path] {
				touched[path] = true
				if err := os.Remove(filepath.Join(dir, path)); err != nil {
					t.Fatal(err)
				}
			}
		}
		for i := range 2 {
			path := filepath.ToSlash(filepath.Join(filepath.Dir([]string{here, ahead}[i]), fmt.Sprintf("new_%d.go", r.IntN(1e9))))
			touched[path] = true
			write(t, dir, map[string]string{path: "func one() {}\nfunc two() {}\n"})
		}
		touched["new/dir.go"] = true
		if r.IntN(2) == 0 {
			write(t, dir, map[string]string{"new/dir.go": "func\n"})
		} else if err := os.RemoveAll(filepath.Join(dir, "new")); err != nil {
			t.Fatal(err)
		}
	}
	tools, _ := serve(t, dir)
	got, pages := grepAll(t, tools, args{"pattern": pattern, "noIgnore": true}, change)
	leftAlone := func(ms []Match) []Match {
		return slices.DeleteFunc(slices.Clone(ms), func(m Match) bool { return touched[m.Path] })
	}
	rest := leftAlone(got)
	same(t, rest, leftAlone(want))
	if !testing.Short() && (len(rest) < 90_000 || len(touched) < 200) {
		t.Errorf("%d matches in files left alone, %d files touched: too few to tell", len(rest), len(touched))
	}
	for i := 1; i < len(got); i++ {
		if a, b := got[i-1], got[i]; a.Path > b.Path || a.Path == b.Path && a.Line >= b.Line {
			t.Fatalf("%s:%d stands before %s:%d", a.Path, a.Line, b.Path, b.Line)
		}
	}
	t.Logf("%d matches on %d pages, %d files touched, %d matches in the others", len(got), pages, len(touched), len(rest))
}

// goFiles hides what is not a Go file, to have less to copy.
type goFiles struct{ fs.FS }

func (f goFiles) ReadDir(name string) ([]fs.DirEntry, error) {
	entries, err := fs.ReadDir(f.FS, name)
	return slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.IsDir() && !strings.HasSuffix(e.Name(), ".go")
	}), err
}
