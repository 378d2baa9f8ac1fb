// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package glob

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestParseAndMatch(t *testing.T) {
	for _, tt := range []struct {
		glob, name string
		isDir      bool
		want       bool
	}{
		{"*.go", "a.go", false, true},
		{"*.go", "x/y/a.go", false, true},
		{"*.go", "a.gone", false, false},
		{"*.go", ".go", false, true},
		{"/*.go", "x/a.go", false, false},
		{"./*.go", "x/a.go", false, true},
		{"src/*.go", "src/a.go", false, true},
		{"src/*.go", "src/x/a.go", false, false},
		{"src/*.go", "x/src/a.go", false, false},
		{"src/**/*.go", "src/a.go", false, true},
		{"src/**/*.go", "src/x/y/a.go", false, true},
		{"**/testdata/**", "a/testdata/b/c", false, true},
		{"**/testdata/**", "testdata/b", false, true},
		{"**/testdata/**", "a/testdata", false, false},
		{"**", "a/b", false, true},
		{"a**b", "a/b", false, false},
		{"a**b", "axyb", false, true},
		{"x/a**b", "x/a/b", false, false},
		{"a/*/b", "a/x/b", false, true},
		{"a/*/b", "a/b", false, false},
		{"*a*b*c", "xaxbxc", false, true},
		{"*a*b*c", "xaxbx", false, false},
		{"docs/", "docs", true, true},
		{"docs/", "docs", false, false},
		{"docs/", "x/docs", true, true},
		{"*.{ts,tsx}", "a.tsx", false, true},
		{"*.{ts,tsx}", "a.js", false, false},
		{"{a,b{c,d}}.x", "bd.x", false, true},
		{"{a}.x", "{a}.x", false, true},
		{`\{a,b\}`, "{a,b}", false, true},
		{"第?章.md", "第一章.md", false, true},
		{"第[一二]章.md", "书/第二章.md", false, true},
		{"第[!一二]章.md", "第二章.md", false, false},
		{"[a-c]x", "bx", false, true},
		{"[]x]", "]", false, true},
		{"[!]x]", "y", false, true},
		{"[[:digit:]_]", "7", false, true},
		{"[a-]", "-", false, true},
		{`a\*b`, "a*b", false, true},
		{`a\*b`, "axb", false, false},
		{"?", "", false, false},
	} {
		l, err := Parse([]string{tt.glob})
		if err != nil {
			t.Errorf("Parse(%q): %v", tt.glob, err)
			continue
		}
		if got := l.Match(tt.name, tt.isDir); got != tt.want {
			t.Errorf("%q matches %q (dir %t): %t, want %t", tt.glob, tt.name, tt.isDir, got, tt.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, g := range []string{"", "/", "[a", `a\`, "[[:nope:]]", "./", strings.Repeat("{a,b}", 7)} {
		if _, err := Parse([]string{"ok", g}); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("%q", g)) {
			t.Errorf("Parse(%q): %v, want an error that names it", g, err)
		}
	}
}

func TestClean(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"", "."}, {".", "."}, {"./a//b/", "a/b"}, {"a/../b", "b"},
		{"..", ""}, {"a/../../b", ""}, {"/etc", ""},
	} {
		got, err := Clean(tt.in)
		if got != tt.want || (err != nil) != (tt.want == "") {
			t.Errorf("Clean(%q) = %q, %v, want %q", tt.in, got, err, tt.want)
		}
	}
}

// A pattern of many stars must not make matching exponential.
func TestManyStars(t *testing.T) {
	l, err := Parse([]string{strings.Repeat("a*", 40) + "b", "**/" + strings.Repeat("*a/**/", 20) + "b"})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	if l.Match(strings.Repeat("a", 2000), false) || l.Match(strings.Repeat("aa/", 700)+"c", false) {
		t.Error("matched")
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

// ignored walks names (files; their directories are asked first) as a walker
// does, and returns those that ig ignores.
func ignored(ig *Ignore, names []string) []string {
	var out []string
	for _, name := range names {
		for i := range len(name) + 1 {
			if i < len(name) && name[i] != '/' {
				continue
			}
			if yes, _ := ig.Decide(name[:i], i < len(name)); yes {
				out = append(out, name)
				break
			}
		}
	}
	return out
}

// A repo is a git repository that holds names, to ask git the same question.
type repo struct {
	dir   string
	names []string
}

func newRepo(t testing.TB, names []string) *repo {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	r := &repo{t.TempDir(), names}
	r.git(t, "init", "-q", ".")
	for _, name := range names {
		p := filepath.Join(r.dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return r
}

func (r *repo) git(t testing.TB, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", r.dir, "-c", "core.excludesFile=/dev/null", "-c", "core.ignoreCase=false"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "LC_ALL=C")
	cmd.Stdin = strings.NewReader(strings.Join(r.names, "\x00"))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) { // 1: nothing is ignored
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}

// compare checks that git ignores the same names under gitignore as we do.
func (r *repo) compare(t testing.TB, gitignore string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, ".gitignore"), []byte(gitignore), 0o600); err != nil {
		t.Fatal(err)
	}
	got := ignored(ParseIgnore([]byte(gitignore)), r.names)
	want := strings.Split(string(r.git(t, "check-ignore", "--no-index", "-z", "--stdin")), "\x00")
	for _, n := range r.names {
		if g, w := slices.Contains(got, n), slices.Contains(want, n); g != w {
			t.Errorf(".gitignore %q: %q: ignored %t, git says %t", gitignore, n, g, w)
		}
	}
}

func TestIgnoreLikeGit(t *testing.T) {
	names := []string{
		"a.o", "b.c", "build/x", "build.txt", "src/build/y", "src/a.o", "doc/frotz/z", "a/doc/frotz/w",
		"foo/a/b/bar", "foo/bar", "x/foo/bar", "#hash", "!bang", "trailing ", "trailing", "sp ace", "back\\slash",
		"é", "中文/文件.txt", "中文/其他.log", "keep/a.log", "keep/b.log", "deep/1/2/3/q.tmp", "abc", "abC", "a-c", "a]c", "[x]", "node_modules/p/i.js", "tab\t",
		"**", "star*", "dir/.hidden", ".hidden", "bin/keep/x", "bin/drop/x", "cr\r",
	}
	r := newRepo(t, names)
	for _, gitignore := range []string{
		"*.o\nbuild/\n", "/build\n", "build\n", "doc/frotz\n", "doc/frotz/\n", "/doc/frotz", "**/frotz\n", "foo/**/bar\n", "**/foo\n", "foo/**\n", "foo/*\n!foo/bar\n",
		"\\#hash\n#comment\n", "\\!bang\n", "!bang\n", "trailing \n", "trailing\\ \n", "sp ace   \n", "back\\\\slash\n", "?\n", "??\n", "中文/*.log\n", "中文/\n!中文/文件.txt\n",
		"*.log\n!keep/b.log\n", "deep/**/*.tmp\n", "deep/*/*.tmp\n", "a?c\n", "a[bB]c\n", "a[!b]c\n", "a[^b]c\n", "a[]-]c\n", "\\[x\\]\n", "[[]x]\n", "node_modules", "tab\t\n",
		"a[\n", "a\\\n", "/\n", "//\n", "!\n", " \n", "*\n!*/\n!*.c\n", "*\n!b.c\n", "/*\n!/src\n", "**\n", "/**\n", "***\n", "\\*\\*\n", "star\\*\n", "*/\n", ".*\n", "\ufeffabc\n", "abc\r\nbuild/\r\n", "cr\r\r\n",
		"bin/*\n!bin/keep/\n", "bin/**\n!bin/keep/x\n", "ab[[:lower:]]\n", "ab[[:upper:]]\n", "ab[[:nope:]]\n", "ab[[:lower]\n", "ab[a-]\n", "a[a-c-e]c\n", "a[\\]]c\n", "abc", "*c\n!a*\n", "d*r/\n", "src/*/y\n", "*/build\n", "**/build/**\n", "foo**bar\n", "foo/**\\/bar\n", "é\n", "[é]\n", "?[!a]\n",
	} {
		r.compare(t, gitignore)
	}
}

// gitignore(5) says that a ** not between slashes is a plain *. Git itself
// forgets that after a prefix without wildcards ("a**/b" matches "a/x/b" there);
// we do as the manual says.
var oddStars = regexp.MustCompile(`(?m)[^/!*\n]\*\*+|\*\*+[^/*\n]`)

func TestStarsBesideText(t *testing.T) {
	ig := ParseIgnore([]byte("foo/a**/bar\n"))
	if yes, _ := ig.Decide("foo/a/b/bar", false); yes {
		t.Error("a** spans directories")
	}
	if yes, _ := ig.Decide("foo/abc/bar", false); !yes {
		t.Error("a** does not match abc")
	}
}

// Random patterns over a small alphabet, against git.
func TestIgnoreLikeGitRandom(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 3))
	var names []string
	for _, a := range []string{"a", "b", "ab", "-", "ba"} {
		names = append(names, a+"1")
		for _, b := range []string{"a", "b", "aab", "é", "]"} {
			names = append(names, a+"/"+b+"1", a+"/"+b+"/a", a+"/"+b+"/b/ab")
		}
	}
	pieces := []string{"a", "b", "1", "*", "*", "**", "/", "/", "**/", "?", "[ab]", "[!a]", "[a-b]", "[", "]", "-", "\\", "!", "é", "[[:alpha:]]", "[^-b]"}
	repo := newRepo(t, names)
	rounds := 300
	if testing.Short() {
		rounds = 30
	}
	for range rounds {
		var b strings.Builder
		for range 1 + r.IntN(3) {
			if r.IntN(4) == 0 {
				b.WriteByte('!')
			}
			for range 1 + r.IntN(6) {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
			b.WriteByte('\n')
		}
		if oddStars.MatchString(b.String()) {
			continue
		}
		repo.compare(t, b.String())
		if t.Failed() {
			return
		}
	}
}

func FuzzParseIgnore(f *testing.F) {
	f.Add([]byte("*.o\n!a[b-\n**/x/\n"), "a/b.o")
	f.Add([]byte("[[:"), "[")
	f.Add([]byte("{a,{b,c}}\\"), "b")
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		ParseIgnore(text).Decide(name, len(name)%2 == 0)
		if l, err := Parse([]string{string(text)}); err == nil {
			l.Match(name, false)
		}
	})
}
