// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A trap is a program that leaves a mark when it is run.
type trap struct {
	t    *testing.T
	dir  string
	path string
}

func newTrap(t *testing.T) *trap {
	dir := t.TempDir()
	tr := &trap{t: t, dir: dir, path: filepath.Join(dir, "trap")}
	script := "#!/bin/sh\necho \"$0 $*\" >>'" + filepath.Join(dir, "mark") + "'\nexit 0\n"
	if err := os.WriteFile(tr.path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return tr
}

// sprung returns what was run, and forgets it.
func (tr *trap) sprung() string {
	mark := filepath.Join(tr.dir, "mark")
	data, _ := os.ReadFile(mark)
	os.Remove(mark)
	return string(data)
}

// hookNames are the hooks that git knows.
var hookNames = []string{
	"applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg", "commit-msg", "post-commit",
	"pre-rebase", "post-checkout", "post-merge", "pre-push", "post-rewrite", "pre-auto-gc", "sendemail-validate", "fsmonitor-watchman",
	"post-index-change", "reference-transaction", "push-to-checkout",
}

// planted are all settings by which a repository has git run a program. TRAP
// stands for the program.
var planted = []string{
	"core.fsmonitor=TRAP", "core.pager=TRAP", "core.editor=TRAP", "core.askPass=TRAP", "core.sshCommand=TRAP", "core.gitProxy=TRAP",
	"core.alternateRefsCommand=TRAP", "sequence.editor=TRAP", "pager.log=TRAP", "pager.diff=TRAP", "pager.show=TRAP", "pager.grep=TRAP",
	"pager.blame=TRAP", "pager.status=TRAP", "pager.branch=TRAP", "pager.for-each-ref=TRAP", "interactive.diffFilter=TRAP",
	"alias.log=!TRAP", "alias.status=!TRAP", "alias.diff=!TRAP", "alias.config=!TRAP", "alias.rev-parse=!TRAP",
	"diff.external=TRAP", "diff.trap.command=TRAP", "diff.trap.textconv=TRAP", "diff.trap.cachetextconv=true",
	"diff.a=b.command=TRAP", "diff.a=b.textconv=TRAP",
	"filter.trap.clean=TRAP", "filter.trap.smudge=TRAP", "filter.trap.required=true", "filter.trapp.process=TRAP", "filter.trapp.required=true",
	"filter.TRAP.Case.clean=TRAP", "merge.trap.driver=TRAP %A", "merge.tool=trap", "mergetool.trap.cmd=TRAP", "diff.tool=trap", "difftool.trap.cmd=TRAP",
	"gpg.program=TRAP", "gpg.openpgp.program=TRAP", "gpg.ssh.program=TRAP", "gpg.x509.program=TRAP", "gpg.ssh.defaultKeyCommand=TRAP",
	"log.showSignature=true", "commit.gpgSign=true", "tag.gpgSign=true", "user.signingKey=ABCD", "credential.helper=!TRAP", "credential.https://example.com.helper=!TRAP",
	"remote.origin.url=ext::TRAP", "remote.origin.promisor=true", "remote.origin.partialCloneFilter=blob:none", "remote.origin.uploadpack=TRAP",
	"remote.origin.vcs=trap", "remote.origin.proxy=TRAP", "url.ext::TRAP.insteadOf=https://", "protocol.allow=always", "protocol.ext.allow=always",
	"status.submoduleSummary=true", "submodule.recurse=true", "diff.submodule=log", "diff.ignoreSubmodules=none", "submodule.sub.ignore=none", "submodule.sub.update=!TRAP",
	"trailer.x.command=TRAP", "trailer.x.cmd=TRAP", "uploadpack.packObjectsHook=TRAP", "browser.x.cmd=TRAP", "man.x.cmd=TRAP", "web.browser=x",
	"core.untrackedCache=true", "core.splitIndex=true", "index.threads=1", "gc.auto=1", "maintenance.auto=true", "gc.autoDetach=false", "imap.tunnel=TRAP", "sendemail.smtpserver=TRAP",
	"grep.fallbackToNoIndex=true", "mailmap.file=/etc/passwd", "diff.orderFile=/etc/passwd", "format.pretty=%G?", "commit.template=/etc/passwd", "rerere.enabled=true",
}

// hostile makes a repository that has all of this, a modified file for each
// filter and a submodule that has them too.
func hostile(t *testing.T, tr *trap) string {
	top := t.TempDir()
	sub := initRepo(t, filepath.Join(top, "other"))
	write(t, sub, map[string]string{"s.txt": "sub\n", ".gitattributes": "*.txt filter=subonly\n"})
	commit(t, sub, "of the submodule")

	dir := initRepo(t, filepath.Join(top, "repo"))
	write(t, dir, map[string]string{
		"a.txt": "one\ntwo\n", "b.bin": "b\n", "c.odd": "c\n", "d.case": "d\n", "dir/e.txt": "e\n", "plain": "p\n",
		".gitattributes": "*.txt filter=trap diff=trap merge=trap\n*.bin filter=trapp diff=trap\n*.odd filter=a=b diff=a=b\n*.case filter=TRAP.Case\n",
	})
	git(t, dir, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", sub, "sub")
	commit(t, dir, "first")
	write(t, dir, map[string]string{"a.txt": "one\ntwo and a half\n", "dir/e.txt": "e\nmore\n"})
	second := commit(t, dir, "second")
	// A signature, so that a verifier has something to do.
	signed := strings.Replace(git(t, dir, "cat-file", "commit", second), "\n\n", "\ngpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ\n -----END PGP SIGNATURE-----\n\n", 1)
	id := gitIn(t, dir, signed+"\n", "hash-object", "-t", "commit", "-w", "--stdin")
	git(t, dir, "update-ref", "refs/heads/main", id)
	git(t, dir, "branch", "topic", "HEAD~1")
	git(t, dir, "update-ref", "refs/remotes/origin/main", second)

	for i, gitDir := range []string{filepath.Join(dir, ".git"), filepath.Join(dir, ".git", "modules", "sub")} {
		var extra strings.Builder
		for j, p := range planted {
			// Each has a name of its own, and no argument, since not all are
			// lines for a shell.
			program := fmt.Sprintf("%s-%d-%d", tr.path, i, j)
			if err := os.Symlink(tr.path, program); err != nil {
				t.Fatal(err)
			}
			key, value, _ := strings.Cut(p, "=")
			if rest, ok := strings.CutPrefix(p, "diff.a=b."); ok { // the key has one
				key, value, _ = strings.Cut(rest, "=")
				key = "diff.a=b." + key
			}
			value = strings.ReplaceAll(value, "TRAP", program)
			section, rest, _ := strings.Cut(key, ".")
			last := rest
			if k := strings.LastIndexByte(rest, '.'); k >= 0 {
				section, last = section+` "`+rest[:k]+`"`, rest[k+1:]
			}
			fmt.Fprintf(&extra, "[%s]\n\t%s = %q\n", section, last, value)
		}
		fmt.Fprintf(&extra, "[filter \"a=b\"]\n\tclean = %q\n\tsmudge = %q\n\trequired = true\n", tr.path+" ab", tr.path+" ab")
		if i == 1 { // a driver that only the submodule has
			fmt.Fprintf(&extra, "[filter \"subonly\"]\n\tclean = %q\n", tr.path+" sub")
		}
		fmt.Fprintf(&extra, "[core]\n\thooksPath = %q\n", filepath.Join(tr.dir, "hooks"))
		// Half of it is included, as a file that is not looked at by name.
		included := filepath.Join(tr.dir, fmt.Sprintf("included-%d", i))
		if err := os.WriteFile(included, []byte(extra.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(filepath.Join(gitDir, "config"), os.O_APPEND|os.O_WRONLY, 0)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(f, "[includeIf \"gitdir:%s\"]\n\tpath = %q\n", gitDir, included)
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		for _, hooks := range []string{filepath.Join(gitDir, "hooks"), filepath.Join(tr.dir, "hooks")} {
			os.MkdirAll(hooks, 0o755)
			for _, h := range hookNames {
				if err := os.WriteFile(filepath.Join(hooks, h), []byte("#!/bin/sh\nexec '"+tr.path+"' hook "+h+"\n"), 0o755); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	// Changes that a status has to look at, of the same size and not.
	write(t, dir, map[string]string{"a.txt": "one\ntwo and a HALF\n", "b.bin": "B\n", "c.odd": "C\n", "d.case": "D\n", "dir/e.txt": "changed\n", "new.txt": "n\n", "sub/s.txt": "SUB\n"})
	return dir
}

// reading are calls that reach every way of every tool that reads.
var reading = []struct {
	tool string
	in   args
}{
	{"git_status", args{}}, {"git_status", args{"untracked": "all", "ignored": true}},
	{"git_log", args{}}, {"git_log", args{"paths": []string{"a.txt"}, "follow": true}}, {"git_log", args{"changed": "half"}}, {"git_log", args{"author": "ada", "body": true}},
	{"git_diff", args{}}, {"git_diff", args{"staged": true}}, {"git_diff", args{"from": "HEAD"}}, {"git_diff", args{"from": "HEAD~1", "to": "HEAD"}},
	{"git_diff", args{"from": "topic", "to": "main", "mergeBase": true, "ignoreSpace": true}}, {"git_diff", args{"paths": []string{"a.txt"}}}, {"git_diff", args{"glob": "*.txt"}},
	{"git_show", args{}}, {"git_show", args{"path": "a.txt"}}, {"git_show", args{"revision": "HEAD:b.bin"}}, {"git_show", args{"path": "dir"}},
	{"git_blame", args{"path": "a.txt"}}, {"git_blame", args{"path": "a.txt", "moved": true, "ignoreSpace": true}},
	{"git_grep", args{"pattern": "e"}}, {"git_grep", args{"pattern": "e", "revision": "HEAD", "context": 2}}, {"git_grep", args{"pattern": "n", "untracked": true}},
	{"git_branches", args{"kind": "all"}}, {"git_branches", args{"contains": "HEAD~1", "sort": "recent"}},
	{"git_ls_files", args{}}, {"git_ls_files", args{"which": "modified"}}, {"git_ls_files", args{"which": "untracked"}}, {"git_ls_files", args{"which": "deleted"}},
	{"git_ls_files", args{"revision": "HEAD", "glob": "*.txt"}}, {"git_ls_files", args{"which": "ignored"}},
}

// Nothing that a repository configures is run by a tool that reads: no hook, no
// filter, no file system monitor, no text conversion, no external diff, no pager,
// no verifier of signatures, nothing in a submodule.
func TestNothingIsRun(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	dir := hostile(t, tr)
	tools := serve(t, filepath.Dir(dir))
	for _, c := range reading {
		in := args{"repo": "repo"}
		for k, v := range c.in {
			in[k] = v
		}
		r, err := tools.Call(t.Context(), c.tool, in)
		if err != nil {
			t.Fatal(err)
		}
		if r.IsError {
			t.Errorf("%s %v: %s", c.tool, in, textOf(r))
		}
		if ran := tr.sprung(); ran != "" {
			t.Errorf("%s %v ran %s", c.tool, in, ran)
		}
	}
}

// The traps work: plain git runs them, so that TestNothingIsRun can fail.
func TestTrapsWork(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	dir := hostile(t, tr)
	for _, c := range []struct {
		name  string
		args  []string
		marks []string
	}{
		{"status", []string{"status"}, []string{"trap-0-0 "}},
		{"hooks", []string{"-c", "core.fsmonitor=false", "update-ref", "refs/heads/x", "HEAD"}, []string{"hook reference-transaction"}},
		{"external diff", []string{"-c", "core.fsmonitor=false", "diff"}, []string{"trap-0-"}},
		{"signature", []string{"log", "-1"}, []string{"--verify"}},
		{"text conversion", []string{"-c", "core.fsmonitor=false", "diff", "--no-ext-diff"}, []string{"trap-0-"}},
	} {
		cmd := exec.Command("git", c.args...)
		cmd.Dir = dir
		_, _ = cmd.CombinedOutput() // a trap is no good filter: git may fail
		ran := tr.sprung()
		if !slices.ContainsFunc(c.marks, func(m string) bool { return strings.Contains(ran, m) }) {
			t.Errorf("%s: git %v ran %q", c.name, c.args, ran)
		}
	}
}

// A missing object is not fetched from where the repository says, and the model
// is told why it is missing.
func TestNoLazyFetch(t *testing.T) {
	t.Parallel()
	tr := newTrap(t)
	origin := initRepo(t, filepath.Join(t.TempDir(), "origin"))
	write(t, origin, map[string]string{"a.txt": "a\n"})
	commit(t, origin, "one")
	write(t, origin, map[string]string{"a.txt": "b\n"})
	commit(t, origin, "two")
	git(t, origin, "config", "uploadpack.allowFilter", "true")
	dir := filepath.Join(t.TempDir(), "clone")
	git(t, origin, "clone", "-q", "--filter=blob:none", "file://"+origin, dir)
	blob := git(t, origin, "rev-parse", "HEAD~1:a.txt")
	tools := serve(t, dir)
	for _, url := range []string{"file://" + origin, "ext::" + tr.path, "https://127.0.0.1:1/x"} {
		git(t, dir, "config", "remote.origin.url", url)
		git(t, dir, "config", "protocol.ext.allow", "always")
		text := refused(t, tools, "git_show", args{"revision": "HEAD~1", "path": "a.txt"})
		if !strings.Contains(text, "fetches nothing") {
			t.Errorf("%s: %s", url, text)
		}
		if ran := tr.sprung(); ran != "" {
			t.Errorf("%s: ran %s", url, ran)
		}
	}
	if out := git(t, dir, "cat-file", "--batch-all-objects", "--batch-check"); strings.Contains(out, blob) {
		t.Error("the object was fetched")
	}
}

// What this process has in its environment for git does not reach it.
func TestEnvironment(t *testing.T) {
	tr := newTrap(t)
	dir := initRepo(t, t.TempDir())
	write(t, dir, map[string]string{"a.txt": "a\n"})
	commit(t, dir, "one")
	write(t, dir, map[string]string{"a.txt": "b\n"})
	other := initRepo(t, t.TempDir())
	trace := filepath.Join(tr.dir, "trace")
	for _, kv := range []string{
		"GIT_DIR=" + other, "GIT_WORK_TREE=" + other, "GIT_EXTERNAL_DIFF=" + tr.path, "GIT_PAGER=" + tr.path, "PAGER=" + tr.path, "GIT_SSH=" + tr.path,
		"GIT_SSH_COMMAND=" + tr.path, "GIT_EDITOR=" + tr.path, "GIT_TRACE=" + trace, "GIT_TRACE2=" + trace, "GIT_INDEX_FILE=/nonexistent", "GIT_OBJECT_DIRECTORY=/nonexistent",
		"GIT_CONFIG_PARAMETERS='core.fsmonitor'='" + tr.path + "'", "GIT_EXEC_PATH=" + tr.dir, "GIT_TEMPLATE_DIR=" + tr.dir, "GIT_LITERAL_PATHSPECS=1", "GIT_NAMESPACE=x", "GIT_ASKPASS=" + tr.path,
	} {
		key, value, _ := strings.Cut(kv, "=")
		t.Setenv(key, value)
	}
	tools := serve(t, dir)
	for _, c := range []string{"git_status", "git_diff", "git_log", "git_show"} {
		call[any, none](t, tools, c, args{})
	}
	if ran := tr.sprung(); ran != "" {
		t.Errorf("ran %s", ran)
	}
	if _, err := os.Stat(trace); err == nil {
		t.Error("git wrote a trace")
	}
}
