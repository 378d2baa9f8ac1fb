// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestQuote(t *testing.T) {
	for name, want := range map[string]string{
		"plain": "plain", "a b": "a b", "文件": "文件", "": "",
		`a"b`: `"a\"b"`, `a\b`: `"a\\b"`, "a\nb": `"a\nb"`, "\xe9": `"\351"`, "a\x01": `"a\001"`, "\u202e": `"\342\200\256"`, "\uFFFD": `"\357\277\275"`,
	} {
		if got := quote(name); got != want {
			t.Errorf("%q is shown as %s, want %s", name, got, want)
		}
	}
	for _, bad := range []string{`"a"b"`, `"a\"`, `"\q"`, `"\400"`, `"\12"`, `"\`} {
		if got, err := unquote(bad); err == nil && got != bad {
			t.Errorf("%s is read as %q", bad, got)
		}
	}
}

// What is shown can be given back, and is fit to be shown.
func FuzzQuote(f *testing.F) {
	for _, s := range []string{"a b", `"`, `\`, "\n", "\xff", "文", `"quoted"`, "\u2028", "a\x00b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		shown := quote(name)
		if back, err := unquote(shown); err != nil || back != name {
			t.Errorf("%q is shown as %s, which is read as %q, %v", name, shown, back, err)
		}
		if !utf8.ValidString(shown) || strings.ContainsAny(shown, "\n\r\x00\u2028") {
			t.Errorf("%q is shown as %q", name, shown)
		}
	})
}

// No path leads a pathspec out of the repository, or changes its meaning.
func FuzzPathspecs(f *testing.F) {
	for _, s := range []string{"a", "../a", "/a", ".", "a/../..", ":(exclude)a", "--x", `"\056\056/a"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		specs, err := pathspecs([]string{path}, "")
		if err != nil {
			return
		}
		rest, ok := strings.CutPrefix(specs[0], ":(top,literal)")
		if !ok || len(specs) != 1 || rest == ".." || strings.HasPrefix(rest, "../") || strings.HasPrefix(rest, "/") || strings.Contains(rest, "\x00") || slices.Contains(strings.Split(rest, "/"), "..") {
			t.Errorf("%q becomes %q", path, specs)
		}
	})
}

func TestParseDate(t *testing.T) {
	zone := time.FixedZone("", 2*3600)
	now := time.Date(2024, 5, 31, 15, 4, 5, 0, zone)
	for _, tt := range []struct {
		in   string
		end  bool
		want string
	}{
		{"2024-05-01", false, "2024-05-01T00:00:00+02:00"},
		{"2024-05-01", true, "2024-05-01T23:59:59+02:00"},
		{"2024-05-01T10:00:00Z", false, "2024-05-01T10:00:00Z"},
		{"2024-05-01T10:00:00+02:00", true, "2024-05-01T10:00:00+02:00"},
		{"2024-05-01 10:00", false, "2024-05-01T10:00:00+02:00"},
		{"Yesterday", false, "2024-05-30T00:00:00+02:00"},
		{"today", true, "2024-05-31T23:59:59+02:00"},
		{"3 weeks ago", false, "2024-05-10T15:04:05+02:00"},
		{"1 hour ago", false, "2024-05-31T14:04:05+02:00"},
		{"now", false, "2024-05-31T15:04:05+02:00"},
	} {
		got, err := parseDate(tt.in, now, tt.end)
		if err != nil || got.Format(time.RFC3339) != tt.want {
			t.Errorf("%q: %v, %v, want %s", tt.in, got, err, tt.want)
		}
	}
	for _, bad := range []string{"", "yesterdy", "2024-13-01", "2024-02-30", "May 1", "-1 days ago", "99999 days ago", "--since=x"} {
		if got, err := parseDate(bad, now, false); err == nil {
			t.Errorf("%q is taken for %v", bad, got)
		}
	}
}

// The pattern matcher for trees agrees with git's own for the index.
func TestMatcherIsGits(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	var names []string
	for _, d := range []string{"", "a/", "a/b/", "src/", "src/deep/er/", "x.go/", ".hid/"} {
		for _, f := range []string{"main.go", "b.txt", "a-1", "[x]", "q?", ".dot"} {
			names = append(names, d+f)
		}
	}
	for _, n := range names {
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(n)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, n), []byte("x"), 0o644); err != nil {
			t.Skip(err) // a system that does not have such names
		}
	}
	commit(t, dir, "all")
	tools := serve(t, dir)
	for _, paths := range [][]string{nil, {"src"}, {"a/b", "x.go"}} {
		globs := []string{"*.go", "src/*.go", "src/**/*.go", "**/er/*", "a/**", "*", "a-[0-9]", "[!a-z]*", "?.txt", `\[x\]`, "*.g?", "a", "**/b", ".*"}
		if paths != nil {
			globs = []string{"*.go", "**/er/*", "b/*"}
		}
		for _, glob := range globs {
			list := func(in args) []string {
				in["glob"] = glob
				if paths != nil {
					in["paths"] = paths
				}
				items, _ := all[File](t, tools, "git_ls_files", in, nil)
				var names []string
				for _, f := range items {
					names = append(names, f.Path)
				}
				return names
			}
			if ours, gits := list(args{"revision": "HEAD"}), list(args{}); !slices.Equal(ours, gits) {
				t.Errorf("%s in %v: %v, git says %v", glob, paths, ours, gits)
			}
		}
	}
}

// A list goes on with the entry that was refused, whatever was added and removed
// meanwhile, also where paths are too long for a cursor.
func TestResumed(t *testing.T) {
	long := strings.Repeat("x", maxPath)
	entries := []string{"a", "b", long, long + "a", long + "b", long + "c", "z"}
	for i, refused := range entries {
		for _, gone := range []bool{false, true} {
			list := slices.Clone(entries)
			if gone {
				list = slices.Delete(list, i, i+1)
			}
			var got []string
			r := resumed[string]{from: at(refused), path: func(s string) string { return s }, yield: func(s string) bool { got = append(got, s); return true }}
			for _, e := range list {
				r.add(e)
			}
			r.end()
			for _, e := range entries[i:] { // none of these may be lost
				if !slices.Contains(got, e) && !(gone && e == refused) {
					t.Errorf("from %.5s (gone: %v): %.5s is lost", refused, gone, e)
				}
			}
			if !gone && len(got) != len(entries)-i {
				t.Errorf("from %.5s: %d entries, want %d", refused, len(got), len(entries)-i)
			}
		}
	}
}

// A patch that is cut into pieces has all its lines, once, and each piece the
// numbers of its own.
func FuzzHunks(f *testing.F) {
	f.Add("diff --git a/x b/x\n@@ -1,3 +1,4 @@ func\n one\n-two\n+TWO\n+more\n three\n\\ No newline at end of file\n@@ -9 +10,0 @@\n-gone\n", uint8(0), 10)
	f.Add("@@ -0,0 +1,2 @@\n+a\n+b\n", uint8(1), 1)
	f.Add("Binary files a/x and b/x differ\n", uint8(0), 0)
	f.Add("@@ -1,9999999999 +1 @@\n-a", uint8(0), 0)
	f.Fuzz(func(t *testing.T, patch string, skip uint8, maxBytes int) {
		var last int64
		h := hunks{maxBytes: maxBytes, skip: int64(skip)}
		h.emit = func(c Change, end int64) error {
			if end <= last || c.Text == "" && end-last != 1 || hunkHeader.FindString(c.Header) == "" {
				t.Errorf("%+v ends at %d after %d", c, end, last)
			}
			if !utf8.ValidString(c.Text) {
				t.Errorf("%q", c.Text)
			}
			last = end
			return nil
		}
		for line := range strings.SplitSeq(patch, "\n") {
			if err := h.line(record{Bytes: []byte(line)}); err != nil {
				t.Fatal(err)
			}
		}
		if err := h.flush(); err != nil {
			t.Fatal(err)
		}
	})
}

func FuzzParseStatus(f *testing.F) {
	f.Add("1 .M N... 100644 100644 100644 a b path with space")
	f.Add("2 R. N... 100644 100644 100644 a b R100 new")
	f.Add("u UU N... 1 2 3 4 a b c path")
	f.Add("? untracked")
	f.Fuzz(func(t *testing.T, field string) {
		e, section, ok := parseStatus(field, func() string { return "old" })
		if ok && (section < 1 || section > 4 || e.Code == "" && field[2] != ' ') {
			t.Errorf("%q: %+v in section %d", field, e, section)
		}
	})
}

// In a comparison that is read in small pages every line is there once.
func TestDiffPages(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	var was, is strings.Builder
	for i := range 500 {
		fmt.Fprintf(&was, "line %d\n", i)
		if i%7 != 0 {
			fmt.Fprintf(&is, "line %d\n", i)
		}
		if i%11 == 0 {
			fmt.Fprintf(&is, "新 %d\n", i)
		}
	}
	write(t, dir, map[string]string{"a.txt": was.String(), "b.txt": "b\n", "c.txt": "c\r\n", "moved.txt": strings.Repeat("same\n", 50)})
	commit(t, dir, "was")
	write(t, dir, map[string]string{"a.txt": is.String(), "b.txt": "b", "c.txt": "c\n"})
	git(t, dir, "mv", "moved.txt", "new name.txt")
	commit(t, dir, "is")
	tools := serve(t, dir)
	for _, in := range []args{{"from": "HEAD~1", "to": "HEAD", "maxBytes": 1400}, {"from": "HEAD~1", "to": "HEAD", "maxBytes": 5000, "context": 0}} {
		items, pages := all[Change](t, tools, "git_diff", in, nil)
		if pages < 3 {
			t.Errorf("%d pages", pages)
		}
		var got strings.Builder
		renamed := false
		for _, c := range items {
			renamed = renamed || c.Kind == "file" && c.Status == "renamed" && c.OldPath == "moved.txt" && c.Path == "new name.txt"
			if c.Kind == "hunk" {
				got.WriteString(c.Text + "\n")
			}
		}
		if !renamed {
			t.Error("no rename")
		}
		unified := "-U3"
		if _, ok := in["context"]; ok {
			unified = "-U0"
		}
		var want strings.Builder
		begun := false
		for line := range strings.Lines(git(t, dir, "diff", unified, "-M", "HEAD~1", "HEAD") + "\n") {
			switch {
			case strings.HasPrefix(line, "diff --git"):
				begun = false
			case strings.HasPrefix(line, "@@ "):
				begun = true
			case begun:
				want.WriteString(line)
			}
		}
		if got.String() != want.String() {
			a, b := strings.Split(got.String(), "\n"), strings.Split(want.String(), "\n")
			i := firstDifference(a, b)
			t.Errorf("%v: %d lines, want %d; line %d is %q, want %q", in, len(a), len(b), i, a[min(i, len(a)-1)], b[min(i, len(b)-1)])
		}
	}
}
