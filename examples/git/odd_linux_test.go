// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build linux

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// oddNames are names that a tool has to show, and take back, without a loss.
var oddNames = []string{
	"plain.txt", "with space.txt", " leading", "trailing ", "quote\".txt", "single'.txt", "back\\slash", "new\nline", "cr\r\nlf", "tab\tname", "文件.txt",
	"\xff\xfe.bin", "latin\xe9.txt", "emoji😀", "u\u2028sep", "bidi\u202Ename", "-dash", "--output=x", ":(exclude)magic", ":!x", "*star*", "q?", "[set]", "a/-n", "目录/深 层/\"x\".txt", "#hash", "~tilde", "$(touch x)", "`x`", ";x", "\x01ctl", "\uFFFD",
	strings.Repeat("长", 80), strings.Repeat("d/", 90) + "deep",
}

// Names of every kind are shown so that they can be given back, and lead to the
// same file again, by every tool.
func TestOddNames(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	files := make(map[string]string)
	for i, name := range oddNames {
		files[name] = fmt.Sprintf("needle %d\n", i)
	}
	write(t, dir, files)
	commit(t, dir, "all")
	for name := range files {
		files[name] += "changed\n"
	}
	write(t, dir, files)
	want := slices.Clone(oddNames)
	slices.Sort(want)
	tools := serve(t, dir)
	same := func(what string, shown []string) {
		t.Helper()
		var names []string
		for _, s := range shown {
			name, err := unquote(s)
			if err != nil {
				t.Errorf("%s: %v", what, err)
			}
			names = append(names, name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("%s: %d names, want %d; the first difference is %q", what, len(names), len(want), names[min(firstDifference(names, want), len(names)-1)])
		}
	}
	small := args{"maxBytes": 1500}
	with := func(a args) args { a["maxBytes"] = small["maxBytes"]; return a }
	files1, _ := all[File](t, tools, "git_ls_files", with(args{}), nil)
	same("ls_files", project(files1, func(f File) string { return f.Path }))
	files2, _ := all[File](t, tools, "git_ls_files", with(args{"revision": "main"}), nil)
	same("ls_files at a revision", project(files2, func(f File) string { return f.Path }))
	files3, _ := all[File](t, tools, "git_ls_files", with(args{"which": "modified"}), nil)
	same("ls_files modified", project(files3, func(f File) string { return f.Path }))
	status, _ := all[StatusEntry](t, tools, "git_status", with(args{}), nil)
	same("status", project(status, func(e StatusEntry) string { return e.Path }))
	for _, in := range []args{{"pattern": "needle"}, {"pattern": "needle", "revision": "main"}} {
		matches, pages := all[Match](t, tools, "git_grep", with(in), nil)
		same("grep", project(matches, func(m Match) string { return m.Path }))
		if pages < 3 {
			t.Errorf("grep: %d pages", pages)
		}
	}
	changes, pages := all[Change](t, tools, "git_diff", with(args{}), nil)
	same("diff", project(slices.DeleteFunc(slices.Clone(changes), func(c Change) bool { return c.Kind != "file" }), func(c Change) string { return c.Path }))
	same("hunks", project(slices.DeleteFunc(changes, func(c Change) bool { return c.Kind != "hunk" }), func(c Change) string { return c.Path }))
	if pages < 3 {
		t.Errorf("diff: %d pages", pages)
	}

	var shown []string
	for i, name := range oddNames {
		shown = append(shown, quote(name))
		if p, _ := call[Change, none](t, tools, "git_show", args{"path": quote(name)}); len(p.Items) != 1 || p.Items[0].Text != fmt.Sprintf("needle %d", i) {
			t.Errorf("show %q: %+v", name, p.Items)
		}
		if i%3 > 0 {
			continue // the next is as good
		}
		if p, _ := call[BlameLine, none](t, tools, "git_blame", args{"path": quote(name)}); len(p.Items) != 1 || p.Items[0].Text != fmt.Sprintf("needle %d", i) || p.Items[0].Path != "" {
			t.Errorf("blame %q: %+v", name, p.Items)
		}
		if p, _ := call[Change, none](t, tools, "git_diff", args{"paths": []string{quote(name)}}); len(p.Items) != 2 || p.Items[0].Path != quote(name) {
			t.Errorf("diff %q: %+v", name, p.Items)
		}
	}
	// Each alone is found among all of them.
	matches, _ := all[Match](t, tools, "git_grep", args{"pattern": "needle", "paths": shown}, nil)
	same("grep of paths", project(matches, func(m Match) string { return m.Path }))
	files4, _ := all[File](t, tools, "git_ls_files", args{"paths": shown}, nil)
	same("ls_files of paths", project(files4, func(f File) string { return f.Path }))
	files5, _ := all[File](t, tools, "git_ls_files", args{"paths": shown, "revision": "main"}, nil)
	same("ls_files of paths at a revision", project(files5, func(f File) string { return f.Path }))
	if entries, err := filepath.Glob(filepath.Join(dir, "x")); err != nil || len(entries) > 0 {
		t.Errorf("%v, %v", entries, err)
	}
}

func project[T, R any](list []T, f func(T) R) (out []R) {
	for _, x := range list {
		out = append(out, f(x))
	}
	return out
}

// The pages of a directory have each entry once, in git's order, where a
// directory stands behind files whose names begin like it.
func TestShowDirectoryPages(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	files := map[string]string{"a/in": "", "z": ""}
	for i := range 40 {
		files[fmt.Sprintf("a-%02d", i)] = ""
	}
	write(t, dir, files)
	commit(t, dir, "all")
	want := strings.Split(git(t, dir, "ls-tree", "--name-only", "HEAD"), "\n")
	tools := serve(t, dir)
	for size := 1024; size < 1280; size += 48 { // from 8 entries a page on
		var names []string
		in := args{"revision": "HEAD:", "maxBytes": size}
		for range len(want) {
			p, _ := call[Change, none](t, tools, "git_show", in)
			names = append(names, project(p.Items, func(c Change) string { return c.Path })...)
			if p.NextCursor == "" {
				break
			}
			in["cursor"] = p.NextCursor
		}
		if !slices.Equal(names, want) {
			t.Errorf("%d bytes: %d entries, want %d; the first difference is at %d", size, len(names), len(want), firstDifference(names, want))
		}
	}
}

// A merge in conflict, a merge done, and a submodule whose commit changed.
func TestMergesAndSubmodules(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	sub := initRepo(t, filepath.Join(top, "sub"))
	write(t, sub, map[string]string{"s": "1\n"})
	commit(t, sub, "sub 1")
	dir := initRepo(t, filepath.Join(top, "repo"))
	write(t, dir, map[string]string{"a": "1\n2\n3\n", "b": "b\n"})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "mod")
	commit(t, dir, "base")
	git(t, dir, "switch", "-q", "-c", "topic")
	write(t, dir, map[string]string{"a": "1\ntopic\n3\n"})
	commit(t, dir, "on topic")
	git(t, dir, "switch", "-q", "main")
	write(t, dir, map[string]string{"b": "B\n"})
	commit(t, dir, "on main")
	git(t, dir, "merge", "-q", "--no-edit", "topic")
	write(t, filepath.Join(dir, "mod"), map[string]string{"s": "2\n"})
	moved := commit(t, filepath.Join(dir, "mod"), "sub 2")

	tools := serve(t, top)
	show, _ := call[Change, none](t, tools, "git_show", args{"repo": "repo"})
	if len(show.Items) != 3 || !strings.Contains(show.Items[0].Text, "Merge: ") || show.Items[1].Path != "a" || !strings.Contains(show.Items[2].Text, "+topic") {
		t.Errorf("%+v", show.Items)
	}
	status, _ := call[StatusEntry, none](t, tools, "git_status", args{"repo": "repo"})
	if len(status.Items) != 1 || status.Items[0].Path != "mod" || !status.Items[0].Submodule || status.Items[0].Worktree != "modified" {
		t.Errorf("%+v", status.Items)
	}
	diff, _ := call[Change, none](t, tools, "git_diff", args{"repo": "repo"})
	if len(diff.Items) != 2 || !strings.Contains(diff.Items[1].Text, "+Subproject commit "+moved) {
		t.Errorf("%+v", diff.Items)
	}
	files, _ := call[File, none](t, tools, "git_ls_files", args{"repo": "repo", "paths": []string{"mod"}})
	if len(files.Items) != 1 || files.Items[0].Type != "submodule" {
		t.Errorf("%+v", files.Items)
	}
	// The submodule is a repository of its own, whose parts are in the root.
	log, _ := call[Commit, none](t, tools, "git_log", args{"repo": "repo/mod"})
	if len(log.Items) != 2 || log.Items[0].Commit != moved {
		t.Errorf("%+v", log.Items)
	}
	// A root that holds the files of a submodule and not its history.
	if text := refused(t, serve(t, filepath.Join(dir, "mod")), "git_log", args{}); !strings.Contains(text, "-root there too") {
		t.Error(text)
	}

	git(t, dir, "switch", "-q", "topic")
	write(t, dir, map[string]string{"a": "1\nother\n3\n"})
	git(t, dir, "commit", "-q", "-m", "more", "--", "a")
	git(t, dir, "switch", "-q", "main")
	write(t, dir, map[string]string{"a": "1\nours\n3\n"})
	git(t, dir, "commit", "-q", "-m", "ours", "--", "a")
	_ = gitCmd(dir, "merge", "topic").Run() // it is in conflict
	p, text := call[StatusEntry, StatusSummary](t, tools, "git_status", args{"repo": "repo"})
	if len(p.Items) != 2 || p.Items[1].Code != "UU" || p.Items[1].Conflict != "both modified" || !strings.Contains(text, "A merge is under way.") {
		t.Errorf("%+v\n%s", p.Items, text)
	}
	diff, _ = call[Change, none](t, tools, "git_diff", args{"repo": "repo", "paths": []string{"a"}})
	if len(diff.Items) != 2 || diff.Items[0].Status != "unmerged" || !strings.Contains(diff.Items[1].Text, "+<<<<<<< ") {
		t.Errorf("%+v", diff.Items)
	}
	if p, _ := call[File, none](t, tools, "git_ls_files", args{"repo": "repo", "which": "unmerged"}); len(p.Items) != 1 {
		t.Errorf("%+v", p.Items)
	}
}

// Roots: what is outside is refused, whatever leads there.
func TestRoots(t *testing.T) {
	t.Parallel()
	top := t.TempDir()
	secret := initRepo(t, filepath.Join(top, "secret"))
	write(t, secret, map[string]string{"password": "hunter2\n"})
	commit(t, secret, "secret")
	one, two := filepath.Join(top, "one"), filepath.Join(top, "two", "one")
	for _, dir := range []string{filepath.Join(one, "repo"), filepath.Join(two, "repo")} {
		initRepo(t, dir)
		write(t, dir, map[string]string{"a": "a\n"})
		commit(t, dir, "in "+filepath.Base(filepath.Dir(filepath.Dir(dir))))
	}
	at := func(parts ...string) string { return filepath.Join(append([]string{one}, parts...)...) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(os.Symlink(secret, at("link")))
	must(os.MkdirAll(at("pointer"), 0o755))
	must(os.WriteFile(at("pointer", ".git"), []byte("gitdir: "+filepath.Join(secret, ".git")+"\n"), 0o644))
	initRepo(t, at("borrows"))
	must(os.WriteFile(at("borrows", ".git", "objects", "info", "alternates"), []byte(filepath.Join(secret, ".git", "objects")+"\n"), 0o644))
	initRepo(t, at("elsewhere"))
	git(t, at("elsewhere"), "config", "core.worktree", secret)
	initRepo(t, at("shallow"))
	must(os.WriteFile(filepath.Join(top, "file"), []byte("hunter2\n"), 0o644))
	must(os.Symlink(filepath.Join(top, "file"), at("shallow", ".git", "shallow")))
	initRepo(t, at("blames"))
	write(t, at("blames"), map[string]string{"a": "a\n"})
	commit(t, at("blames"), "x")
	git(t, at("blames"), "config", "blame.ignoreRevsFile", filepath.Join(top, "file"))
	// A directory with tracked files that was replaced by a link.
	write(t, initRepo(t, at("follows")), map[string]string{"dir/sub/password": "x\n", "dirt": "an x\n"})
	commit(t, at("follows"), "x")
	must(os.RemoveAll(at("follows", "dir")))
	must(os.Symlink(top, at("follows", "dir")))
	must(os.MkdirAll(filepath.Join(top, "sub"), 0o755))
	must(os.WriteFile(filepath.Join(top, "sub", "password"), []byte("hunter2 x\n"), 0o644))
	must(os.MkdirAll(at("plain", "dir"), 0o755))
	must(os.WriteFile(at("file"), nil, 0o644))

	tools := serve(t, one)
	for _, tt := range []struct{ tool, repo, want string }{
		{"git_log", "../secret", "outside"},
		{"git_log", secret, "outside"},
		{"git_log", "/nonexistent", "outside"},
		{"git_log", "link", "outside"},
		{"git_log", "pointer", "-root there too"},
		{"git_log", "borrows", "-root there too"},
		{"git_status", "elsewhere", "-root there too"},
		{"git_log", "shallow", "-root there too"},
		{"git_log", "plain/dir", "not in a git repository"},
		{"git_log", "nowhere", "no directory"},
		{"git_log", "file", "not a directory"},
		{"git_log", "a\x00b", "NUL"},
	} {
		text := refused(t, tools, tt.tool, args{"repo": tt.repo})
		if !strings.Contains(text, tt.want) || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s", tt.repo, text)
		}
	}
	if text := refused(t, tools, "git_blame", args{"repo": "blames", "path": "a"}); strings.Contains(text, "hunter2") || !strings.Contains(text, "ignoreRevsFile") {
		t.Error(text)
	}
	for _, untracked := range []bool{false, true} {
		if p, text := call[Match, none](t, tools, "git_grep", args{"repo": "follows", "pattern": "x", "untracked": untracked}); len(p.Items) != 1 || p.Items[0].Path != "dirt" {
			t.Errorf("through a link: %s", text)
		}
	}
	// A root within a repository does not serve what is above it.
	must(os.MkdirAll(filepath.Join(secret, "sub"), 0o755))
	if text := refused(t, serve(t, filepath.Join(secret, "sub")), "git_log", args{}); !strings.Contains(text, "not in a git repository") {
		t.Error(text)
	}
	// Several roots have names.
	both := serve(t, one, two)
	for repo, want := range map[string]string{"one/repo": "in " + filepath.Base(top), "one-2/repo": "in two", filepath.Join(two, "repo"): "in two"} {
		if p, _ := call[Commit, none](t, both, "git_log", args{"repo": repo}); len(p.Items) != 1 || p.Items[0].Subject != want {
			t.Errorf("%s: %+v", repo, p.Items)
		}
	}
	if text := refused(t, both, "git_log", args{"repo": "repo"}); !strings.Contains(text, "one, one-2") {
		t.Error(text)
	}
	// A bare repository has a history and no working tree.
	git(t, top, "clone", "-q", "--bare", "--no-hardlinks", at("repo"), at("bare.git"))
	if p, _ := call[Commit, none](t, tools, "git_log", args{"repo": "bare.git"}); len(p.Items) != 1 {
		t.Errorf("%+v", p.Items)
	}
	if text := refused(t, tools, "git_status", args{"repo": "bare.git"}); !strings.Contains(text, "no working tree") {
		t.Error(text)
	}
	// A linked worktree whose repository is in the root.
	git(t, at("repo"), "worktree", "add", "-q", at("linked"), "-b", "linked")
	if p, text := call[StatusEntry, none](t, tools, "git_status", args{"repo": "linked"}); len(p.Items) != 0 || !strings.Contains(text, "On branch linked") {
		t.Error(text)
	}
	os.RemoveAll(at("linked"))
}
