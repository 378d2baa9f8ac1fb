// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mistake in an argument is told in words for a model: none is taken for
// something else, or for nothing.
func TestMistakes(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	dir := initRepo(t, filepath.Join(top, "work", "repo"))
	write(t, dir, map[string]string{"a": "a\n", "d/f.go": "package f\n", ".gitignore": "*.o\n", "x.o": "o\n"})
	first := commit(t, dir, "one")
	git(t, dir, "tag", "v1")
	git(t, dir, "tag", "both")
	git(t, dir, "branch", "both")
	git(t, dir, "update-ref", "refs/remotes/origin/main", "HEAD")
	broken := initRepo(t, filepath.Join(top, "work", "broken"))
	write(t, broken, map[string]string{".git/HEAD": "junk\n"})
	tools := serveToWrite(t, false, filepath.Join(top, "work"))
	for _, tt := range []struct {
		tool string
		in   args
		want string
	}{
		{"git_add", args{"paths": []string{""}}, "path is empty"},
		{"git_add", args{"paths": []string{"a", `""`}}, "path is empty"},
		{"git_unstage", args{"paths": []string{""}}, "path is empty"},
		{"git_log", args{"paths": []string{""}}, "path is empty"},

		{"git_grep", args{"pattern": "a\nb"}, "pattern: has a line break"},
		{"git_log", args{"author": "a\nb"}, "author: has a line break"},
		{"git_log", args{"message": "a\nb"}, "message: has a line break"},
		{"git_log", args{"author": "\x00"}, "author: has a NUL"},
		{"git_log", args{"changed": "\x00"}, "changed: has a NUL"},
		{"git_grep", args{"pattern": strings.Repeat("x", 1<<18)}, "pattern: has 262144 bytes"},
		{"git_ls_files", args{"glob": strings.Repeat("x", 1<<18)}, "glob: has 262144 bytes"},
		{"git_ls_files", args{"paths": []string{strings.Repeat("x", 1<<18)}}, "paths: have more than"},
		{"git_grep", args{"pattern": "(", "perl": true}, "pattern: it is no regular expression: missing closing parenthesis; set fixed"},
		{"git_grep", args{"pattern": "[a"}, "pattern: it is no regular expression: Unmatched ["},

		{"git_switch", args{"branch": "v1"}, "v1 is no local branch, but another revision"},
		{"git_switch", args{"branch": "origin/main"}, "no local branch"},
		{"git_switch", args{"branch": "HEAD"}, "no local branch"},
		{"git_switch", args{"branch": "-x", "create": true}, "no name for a branch"},

		{"git_add", args{"paths": []string{"nope"}}, "there is no nope to stage"},
		{"git_add", args{"paths": []string{"x.o"}}, "ignored (.gitignore), and so they are not staged: x.o"},
		{"git_add", args{"paths": []string{".git/config"}}, "git's own"},
		{"git_unstage", args{"paths": []string{"nope"}}, "there is no nope"},
		{"git_status", args{"paths": []string{"nope"}}, "there is no nope"},
		{"git_log", args{"paths": []string{"nope"}}, "there is no nope"},
		{"git_diff", args{"paths": []string{"*.go"}}, "a pattern goes into glob"},
		{"git_grep", args{"pattern": "a", "paths": []string{"*.go"}}, "a pattern goes into glob"},
		{"git_ls_files", args{"paths": []string{"*.go"}}, "a pattern goes into glob"},
		{"git_ls_files", args{"paths": []string{"nope"}, "revision": "v1"}, "there is no nope"},
		{"git_ls_files", args{"glob": "[a"}, "without its ]"},
		{"git_grep", args{"pattern": "a", "glob": "[a"}, "without its ]"},

		{"git_show", args{"path": "a", "paths": []string{"a"}}, "are for the changes of a commit, and this is a blob"},
		{"git_show", args{"path": "d", "statOnly": true}, "and this is a tree"},
		{"git_show", args{"path": "d", "context": 1}, "and this is a tree"},
		{"git_show", args{"startLine": 2}, "are for a file, and this is a commit"},
		{"git_show", args{"path": "d", "endLine": 2}, "and this is a tree"},
		{"git_log", args{"paths": []string{"d"}, "follow": true}, "d is a directory"},

		{"git_show", args{"revision": "HEAD:../x"}, "without ./ or ../"},
		{"git_show", args{"revision": "HEAD..v1"}, "is a range"},
		{"git_status", args{"repo": "broken"}, "damaged"},
		{"git_status", args{"repo": "."}, "as repo: broken, repo"},
		{"git_log", args{"range": "both"}, "write refs/heads/both or refs/tags/both"},
		{"git_blame", args{"path": "nope"}, "there is no path nope in revision " + first[:12] + ";"},
	} {
		if tt.in["repo"] == nil {
			tt.in["repo"] = "repo"
		}
		text := refused(t, tools, tt.tool, tt.in)
		if !strings.Contains(text, tt.want) || len(text) > 500 {
			t.Errorf("%s %.80v: %.500s\nwant %s", tt.tool, tt.in, text, tt.want)
		}
		for _, raw := range []string{"(top", "hint:", "fatal:", "Use -f", "argument list"} {
			if strings.Contains(text, raw) {
				t.Errorf("%s %.80v: %.500s", tt.tool, tt.in, text)
			}
		}
	}
	// Nothing is no mistake where the path is there, or was staged already.
	for _, c := range []struct {
		tool string
		in   args
	}{
		{"git_diff", args{"paths": []string{"a"}}}, {"git_status", args{"paths": []string{"d"}}},
		{"git_grep", args{"pattern": "nothing", "paths": []string{"a"}}}, {"git_unstage", args{"paths": []string{"a"}}},
		{"git_log", args{"changed": "a\n"}}, {"git_show", args{"revision": "refs/tags/both"}},
	} {
		c.in["repo"] = "repo"
		did(t, tools, c.tool, c.in)
	}
}

// A root within another one does not hide the repository that it is a part of.
func TestNestedRoots(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, filepath.Join(t.TempDir(), "r2"))
	write(t, dir, map[string]string{"docs/a": "a\n"})
	commit(t, dir, "one")
	if p, _ := call[Commit, none](t, serve(t, dir, filepath.Join(dir, "docs")), "git_log", args{"repo": "docs"}); len(p.Items) != 1 {
		t.Errorf("%+v", p.Items)
	}
}

// Names in the text form cannot be taken for others with what stands behind
// them, and can be given back.
func TestNamesInLines(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"a": "x\n", "a (executable)": "y\n", "b -> c": "z\n", "a:1:1": "x\n"})
	if err := os.Chmod(filepath.Join(dir, "a"), 0o755); err != nil {
		t.Fatal(err)
	}
	commit(t, dir, "one")
	git(t, dir, "tag", "-a", "v1", "-m", "said")
	tools := serve(t, dir)
	_, text := call[File, none](t, tools, "git_ls_files", args{})
	for _, want := range []string{"\na (executable)\n", "\n\"a (executable)\"\n", "\n\"b -> c\""} {
		if !strings.Contains(text+"\n", want) {
			t.Errorf("%q is not in %s", want, text)
		}
	}
	for shown, want := range map[string]string{`"a (executable)"`: "y", `"b -> c"`: "z"} {
		if p, _ := call[Change, none](t, tools, "git_show", args{"path": shown}); len(p.Items) != 1 || p.Items[0].Text != want {
			t.Errorf("%s: %+v", shown, p.Items)
		}
	}
	if _, text := call[Match, none](t, tools, "git_grep", args{"pattern": "x"}); !strings.Contains(text, "\n\"a:1:1\":1:1:x") || !strings.Contains(text, "\na:1:1:x") {
		t.Error(text)
	}
	write(t, dir, map[string]string{"b -> c": "Z\n"})
	if _, text := call[StatusEntry, none](t, tools, "git_status", args{}); !strings.Contains(text, `"b -> c"`) {
		t.Error(text)
	}
	if _, text := call[Change, none](t, tools, "git_diff", args{}); !strings.Contains(text, "modified     \"b -> c\" | +1") || !strings.Contains(text, "\n\"b -> c\" @@") {
		t.Error(text)
	}
	if _, text := call[Branch, none](t, tools, "git_branches", args{"kind": "all"}); !strings.Contains(text, "v1 (tag) ") || !strings.Contains(text, "* main ") {
		t.Error(text)
	}
	if _, text := call[Change, none](t, tools, "git_show", args{"revision": "v1"}); !strings.Contains(text, "tagger 林 Ada <ada@example.com> 2024-05-01T10:00:00+02:00") {
		t.Error(text)
	}
}
