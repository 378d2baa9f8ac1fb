// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/tool"
)

// serveToWrite returns the tools that write too.
func serveToWrite(t *testing.T, trust bool, dir string) *tool.Registry {
	t.Helper()
	g, err := openRoots([]string{dir})
	if err != nil {
		t.Fatal(err)
	}
	g.write, g.trust = true, trust
	return newTools(g)
}

// did calls a tool that must succeed, and returns its text.
func did(t *testing.T, tools *tool.Registry, name string, in args) string {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s %v: %s", name, in, textOf(r))
	}
	return textOf(r)
}

func identify(t *testing.T, dir string) {
	git(t, dir, "config", "user.name", "Weir")
	git(t, dir, "config", "user.email", "weir@example.com")
}

// Without -write there is no tool that writes, and those that read leave the
// repository as it is, byte for byte.
func TestReadOnly(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"a": "a\n", "b": "b\n"})
	commit(t, dir, "one")
	// The index is out of date, which git status would like to write down.
	write(t, dir, map[string]string{"a": "a\n", "b": "B\n"})
	tools := serve(t, dir)
	for _, tl := range tools.Tools() {
		if info := tl.Info(); info.ReadOnly != tool.Yes || info.OpenWorld != tool.No {
			t.Errorf("%s: %+v", info.Name, info)
		}
	}
	before := tree(t, dir)
	for _, c := range []struct {
		tool string
		in   args
	}{{"git_status", args{}}, {"git_diff", args{}}, {"git_log", args{}}, {"git_show", args{}}, {"git_ls_files", args{"which": "modified"}}, {"git_grep", args{"pattern": "a"}}} {
		call[any, none](t, tools, c.tool, c.in)
	}
	if after := tree(t, dir); after != before {
		t.Errorf("was\n%s\nis\n%s", before, after)
	}
	for _, name := range []string{"git_add", "git_unstage", "git_commit", "git_switch"} {
		if _, ok := tools.Lookup(name); ok {
			t.Errorf("there is %s", name)
		}
	}
}

// tree is every file below dir with its size, time and content.
func tree(t *testing.T, dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		data, err := os.ReadFile(path)
		b.WriteString(path + " " + info.ModTime().String() + " " + string(data[:min(len(data), 1<<16)]) + "\n")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := initRepo(t, t.TempDir())
	tools := serveToWrite(t, false, dir)
	write(t, dir, map[string]string{"a.txt": "a\n", "目录/\"q\"": "q\n", "-n": "dash\n"})
	if text := did(t, tools, "git_add", args{"paths": []string{"a.txt", `"目录/\"q\""`, "-n"}}); !strings.HasPrefix(text, "Files staged: 3.") {
		t.Error(text)
	}
	if text := did(t, tools, "git_unstage", args{"paths": []string{"-n"}}); !strings.HasPrefix(text, "Files staged: 2.") {
		t.Error(text)
	}
	if text := refused(t, tools, "git_commit", args{"message": "first"}); !strings.Contains(text, "user.name") {
		t.Error(text)
	}
	identify(t, dir)
	if text := did(t, tools, "git_commit", args{"message": "-m is a message\n\n# not a comment\n"}); !strings.Contains(text, "-m is a message") {
		t.Error(text)
	}
	if got := git(t, dir, "log", "--format=%B"); strings.TrimSpace(got) != "-m is a message\n\n# not a comment" {
		t.Errorf("%q", got)
	}
	if text := refused(t, tools, "git_commit", args{"message": "again"}); !strings.Contains(text, "nothing is staged") {
		t.Error(text)
	}
	did(t, tools, "git_commit", args{"message": "empty", "allowEmpty": true})
	os.Remove(filepath.Join(dir, "a.txt"))
	if text := did(t, tools, "git_add", args{"paths": []string{"."}}); !strings.Contains(text, "deleted      a.txt") || !strings.Contains(text, "added        -n") {
		t.Error(text)
	}
	did(t, tools, "git_commit", args{"message": "second"})

	did(t, tools, "git_switch", args{"branch": "topic/x", "create": true, "from": "main~1"})
	if got := git(t, dir, "rev-parse", "--abbrev-ref", "HEAD"); got != "topic/x" {
		t.Error(got)
	}
	write(t, dir, map[string]string{"-n": "in the way\n"})
	for _, tt := range []struct {
		in   args
		want string
	}{
		{args{"branch": "main"}, "would be overwritten"},
		{args{"branch": "topic/x", "create": true}, "exists"},
		{args{"branch": "mian"}, "main"},
		{args{"branch": "--detach"}, "begins with a dash"},
		{args{"branch": "a..b", "create": true}, "no name for a branch"},
		{args{"branch": "y", "create": true, "from": "--orphan"}, "begins with a dash"},
	} {
		if text := refused(t, tools, "git_switch", tt.in); !strings.Contains(text, tt.want) {
			t.Errorf("%v: %s", tt.in, text)
		}
	}
	os.Remove(filepath.Join(dir, "-n"))
	did(t, tools, "git_switch", args{"branch": "main"})
	if text := refused(t, tools, "git_add", args{"paths": []string{"../x"}}); !strings.Contains(text, "outside") {
		t.Error(text)
	}
	if text := refused(t, tools, "git_add", args{"paths": []string{"nowhere"}}); !strings.Contains(text, "there is no nowhere") {
		t.Error(text)
	}
	os.WriteFile(filepath.Join(dir, ".git", "index.lock"), nil, 0o644)
	write(t, dir, map[string]string{"new": "n"})
	if text := refused(t, tools, "git_add", args{"paths": []string{"new"}}); !strings.Contains(text, "another git") {
		t.Error(text)
	}
}

// The tools that write run no hook, no filter and no signing program either,
// unless they are trusted to; and they write no file without its filter.
func TestWriteRunsNothing(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	dir := hostile(t, tr)
	identify(t, dir)
	root := serveToWrite(t, false, filepath.Dir(dir))
	in := func(a args) args { a["repo"] = "repo"; return a }
	write(t, dir, map[string]string{"unfiltered": "u\n", "x.odd": "x\n"})
	did(t, root, "git_add", in(args{"paths": []string{"unfiltered"}}))
	for _, p := range []string{"a.txt", "b.bin", "x.odd", "d.case", "."} {
		if text := refused(t, root, "git_add", in(args{"paths": []string{p}})); !strings.Contains(text, "-trust") {
			t.Errorf("%s: %s", p, text)
		}
	}
	did(t, root, "git_commit", in(args{"message": "without hooks"}))
	did(t, root, "git_switch", in(args{"branch": "new", "create": true}))
	if text := refused(t, root, "git_switch", in(args{"branch": "topic"})); !strings.Contains(text, "-trust") {
		t.Error(text)
	}
	did(t, root, "git_unstage", in(args{"paths": []string{"."}}))
	if ran := tr.sprung(); ran != "" {
		t.Errorf("ran %s", ran)
	}
}

func TestTrustRunsHooks(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	dir := initRepo(t, t.TempDir())
	identify(t, dir)
	if err := os.MkdirAll(filepath.Join(dir, ".git", "hooks"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(tr.path, filepath.Join(dir, ".git", "hooks", "pre-commit")); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "config", "filter.up.clean", tr.path+" filter")
	write(t, dir, map[string]string{"a.up": "a\n", ".gitattributes": "*.up filter=up\n"})
	// The roots have to hold what a link of the repository leads to.
	g, err := openRoots([]string{dir, tr.dir})
	if err != nil {
		t.Fatal(err)
	}
	g.write, g.trust = true, true
	tools := newTools(g)
	repo := filepath.Base(dir)
	did(t, tools, "git_add", args{"repo": repo, "paths": []string{"."}})
	if ran := tr.sprung(); !strings.Contains(ran, "filter") {
		t.Errorf("ran %q", ran)
	}
	did(t, tools, "git_commit", args{"repo": repo, "message": "with a hook"})
	if ran := tr.sprung(); !strings.Contains(ran, "pre-commit") {
		t.Errorf("ran %q", ran)
	}
	call[any, none](t, tools, "git_status", args{"repo": repo})
	if ran := tr.sprung(); ran != "" {
		t.Errorf("git_status ran %s", ran)
	}
}

// -trust without -write is a mistake that is told.
func TestFlags(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"-trust"}, "needs -write"},
		{[]string{"-root", "/nonexistent"}, "-root /nonexistent"},
		{[]string{"dir"}, "given with -root"},
		{[]string{"-h"}, "-root DIR"},
	} {
		cmd := exec.Command(self, tt.args...)
		cmd.Env = append(os.Environ(), "WEIR_TEST_GIT=1")
		out, err := cmd.CombinedOutput()
		if (err == nil) != (tt.args[0] == "-h") || !strings.Contains(string(out), tt.want) {
			t.Errorf("%v: %v, %s", tt.args, err, out)
		}
	}
}
