// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/exec"
)

// A repo is one repository, for one call: found by git itself, and seen to lie
// within the roots with all that git would read of it.
type repo struct {
	*roots
	name   string // as the model gave it
	top    string // of its working tree; empty when there is none
	gitDir string
	common string // the directory that its worktrees share; that of the configuration
	sha256 bool

	settings []string // what overrides its configuration: key, value, key, value …
}

// open finds the repository that the argument repo names.
func (g *roots) open(ctx context.Context, name string) (*repo, error) {
	dir, err := g.directory(name)
	if err != nil {
		return nil, err
	}
	r := &repo{roots: g, name: name}
	if r.name == "" {
		r.name = "."
	}
	query := []string{"rev-parse", "--is-bare-repository", "--show-object-format", "--path-format=absolute", "--git-dir", "--git-common-dir"}
	find := func(more ...string) (*exec.Output, error) {
		cmd := g.base(append(query, more...))
		cmd.Dir = dir
		return exec.Run(ctx, cmd)
	}
	out, err := find("--show-toplevel")
	if err == nil && strings.Contains(out.Stderr.Text(), "must be run in a work tree") {
		out, err = find() // bare, or within .git
	}
	if err != nil {
		return nil, err
	}
	if !out.Success() {
		if ctx.Err() == nil && strings.Contains(out.Stderr.Text(), "not a git repository") {
			return nil, r.missing(dir)
		}
		return nil, r.explain(ctx, out)
	}
	lines := strings.Split(strings.TrimSuffix(out.Stdout.Text(), "\n"), "\n")
	if len(lines) == 4 {
		lines = append(lines, "")
	}
	if len(lines) != 5 || out.Stdout.Invalid {
		return nil, fmt.Errorf("repo: the path of %s has a line break or is not UTF-8, which this server cannot serve", quote(r.name))
	}
	r.sha256 = lines[1] == "sha256"
	r.gitDir, r.common, r.top = filepath.FromSlash(lines[2]), filepath.FromSlash(lines[3]), filepath.FromSlash(lines[4])
	if err := r.check(); err != nil {
		return nil, err
	}
	return r, r.configure(ctx)
}

// missing says that git finds no repository at dir, and where there are some.
func (r *repo) missing(dir string) error {
	for d := dir; r.served(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(filepath.Join(d, ".git")); err == nil {
			return fmt.Errorf("repo: the .git of %s is there, and git does not take it for a repository: it is damaged (its HEAD, say), or leads nowhere; ask the user to look at it", quote(r.name))
		}
		if filepath.Dir(d) == d {
			break
		}
	}
	text := fmt.Sprintf("%s is not in a git repository below a root of this server; give the directory of one as repo", quote(r.name))
	if found := r.repositories(); len(found) > 0 {
		text += ": " + strings.Join(found, ", ")
	}
	return errors.New(text)
}

// worktree opens a repository that has a working tree.
func (g *roots) worktree(ctx context.Context, name string) (*repo, error) {
	r, err := g.open(ctx, name)
	if err == nil && r.top == "" {
		return nil, fmt.Errorf("repo: %s is a bare repository, or within .git: it has no working tree; git_log, git_show, git_branches, and git_diff, git_grep and git_ls_files with a revision work there", quote(r.name))
	}
	return r, err
}

// check refuses a repository of which a part lies outside of the roots. A link
// within it to some file would have git tell of that file, if only in an error.
func (r *repo) check() error {
	outside := func(what string) error {
		return fmt.Errorf("repo: the %s of %s lies outside of what this server may read (%s); it needs to be started with a -root there too", what, quote(r.name), r.names())
	}
	for _, part := range []struct{ what, path string }{{"working tree", r.top}, {"repository", r.gitDir}, {"repository", r.common}} {
		if part.path != "" && !r.served(part.path) {
			return outside(part.what)
		}
	}
	objects := filepath.Join(r.common, "objects")
	for _, dir := range []string{
		r.gitDir, filepath.Join(r.gitDir, "info"), r.common, filepath.Join(r.common, "info"),
		objects, filepath.Join(objects, "info"), filepath.Join(objects, "pack"),
	} {
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("repo: %s: %w", quote(r.name), reason(err))
		}
		for _, e := range entries {
			if e.Type()&(os.ModeSymlink|os.ModeIrregular) != 0 && !r.served(filepath.Join(dir, e.Name())) {
				return outside("file " + quote(e.Name()))
			}
		}
	}
	return r.checkAlternates(objects, 0)
}

// checkAlternates refuses objects that are borrowed from outside of the roots.
func (r *repo) checkAlternates(objects string, depth int) error {
	file := filepath.Join(objects, "info", "alternates")
	if _, err := os.Lstat(file); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	const depths = 5 // git's own limit
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > 64<<10 || depth > depths || !r.served(file) {
		return fmt.Errorf("repo: what %s names as its borrowed objects (objects/info/alternates) cannot be checked", quote(r.name))
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("repo: objects/info/alternates: %w", reason(err))
	}
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		dir, err := unquote(line)
		if err != nil {
			return fmt.Errorf("repo: objects/info/alternates: %w", err)
		}
		if !filepath.IsAbs(dir) {
			base, err := real(objects)
			if err != nil {
				return err
			}
			dir = filepath.Join(base, dir)
		}
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			continue
		}
		if !r.served(dir) {
			return fmt.Errorf("repo: %s borrows objects from a repository outside of what this server may read (%s); it needs to be started with a -root there too", quote(r.name), r.names())
		}
		if err := r.checkAlternates(dir, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// cmd is git with these arguments in the repository.
func (r *repo) cmd(args []string) exec.Cmd {
	cmd := r.base(args)
	cmd.Dir = r.gitDir
	cmd.Env = append(cmd.Env, "GIT_DIR="+r.gitDir)
	if r.top != "" {
		cmd.Dir = r.top
		cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+r.top)
	}
	cmd.Env = append(cmd.Env, settings(r.settings)...)
	return cmd
}

// settings are the variables that set keys of the configuration over all files.
// Unlike with -c, a key may contain anything.
func settings(list []string) []string {
	env := []string{"GIT_CONFIG_COUNT=" + strconv.Itoa(len(list)/2)}
	for i := 0; i+1 < len(list); i += 2 {
		n := strconv.Itoa(i / 2)
		env = append(env, "GIT_CONFIG_KEY_"+n+"="+list[i], "GIT_CONFIG_VALUE_"+n+"="+list[i+1])
	}
	return env
}

// maxOutput bounds an answer of git's that is taken as a whole.
const maxOutput = 256 << 10

// output runs git and returns what it printed.
func (r *repo) output(ctx context.Context, args ...string) (string, error) {
	out, err := r.run(ctx, args)
	switch {
	case err != nil:
		return "", err
	case !out.Success():
		return "", r.explain(ctx, out)
	case out.Stdout.Truncated:
		return "", fmt.Errorf("git %s printed more than %d bytes", args[0], maxOutput)
	}
	return out.Stdout.Text(), nil
}

func (r *repo) run(ctx context.Context, args []string) (*exec.Output, error) {
	cmd := r.cmd(args)
	cmd.Stdout = exec.Preview{Head: maxOutput}
	return exec.Run(ctx, cmd)
}

// A record is a piece of git's output, valid until the next one is read.
type record = exec.Line

// records yields git's output in pieces that end in the byte end.
func (r *repo) records(ctx context.Context, end byte, args ...string) iter.Seq2[record, error] {
	return func(yield func(record, error) bool) {
		for rec, err := range exec.Records(ctx, r.cmd(args), end) {
			var exit *exec.ExitError
			if errors.As(err, &exit) {
				if err = r.explain(ctx, exit.Output); err == nil {
					return
				}
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// fields yields output that is made of n fields, each ended by NUL.
func (r *repo) fields(ctx context.Context, n int, args ...string) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		row := make([]string, 0, n)
		for rec, err := range r.records(ctx, 0, args...) {
			if err != nil {
				yield(nil, err)
				return
			}
			field := string(rec.Bytes)
			if rec.Dropped > 0 {
				field += fmt.Sprintf("[%d bytes cut]", rec.Dropped)
			}
			if row = append(row, field); len(row) == n {
				if !yield(row, nil) {
					return
				}
				row = row[:0]
			}
		}
	}
}

// text is what of b is shown: valid UTF-8, at most max bytes of it.
func text(b []byte, max int, dropped int64) string {
	b = bytes.TrimSuffix(b, []byte("\r"))
	if len(b) > max {
		n := max
		for n > 0 && b[n]&0xC0 == 0x80 {
			n--
		}
		dropped += int64(len(b) - n)
		b = b[:n]
	}
	s := strings.ToValidUTF8(string(b), "\uFFFD")
	if dropped > 0 {
		s += fmt.Sprintf("[%d bytes cut]", dropped)
	}
	return s
}
