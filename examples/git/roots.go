// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// A root is a directory that is served. Its name is what a model calls it when
// there are several.
type root struct {
	name string
	dir  string // absolute, without symbolic links
}

// roots are what all tools may read.
type roots struct {
	list    []root
	program string // git; a name that is looked up in PATH, or a path
	write   bool   // there are tools that change a repository
	trust   bool   // those run what the repository configures

	cursors
}

// openRoots returns the roots with these directories.
func openRoots(dirs []string) (*roots, error) {
	g := &roots{program: "git"}
	for _, d := range dirs {
		dir, err := real(d)
		if err != nil {
			return nil, fmt.Errorf("-root %s: %w", d, reason(err))
		}
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("-root %s: not a directory", d)
		}
		base := filepath.Base(dir)
		if base == string(filepath.Separator) || base == "." {
			base = "root"
		}
		name := base
		for n := 2; slices.ContainsFunc(g.list, func(r root) bool { return r.name == name }); n++ {
			name = base + "-" + strconv.Itoa(n)
		}
		g.list = append(g.list, root{name, dir})
	}
	return g, nil
}

// real is path, absolute and without symbolic links.
func real(path string) (string, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return "", err
	}
	return filepath.EvalSymlinks(abs)
}

// within tells whether path is dir or below it. Both are absolute and without
// symbolic links.
func within(path, dir string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// served tells whether path, with its symbolic links followed, is at or below a
// root. What is not there is not served.
func (g *roots) served(path string) bool {
	path, err := real(path)
	return err == nil && slices.ContainsFunc(g.list, func(r root) bool { return within(path, r.dir) })
}

// A beneath tells which files of a working tree are not in it: where a directory
// above one was replaced by a link, the name that git has leads elsewhere, out of
// the roots maybe, and git grep follows it.
type beneath struct {
	top string
	dir string // of the last path that was asked for
	is  bool   // what was found of it
}

// linked tells whether a directory above path, which is relative to the top, is
// a link or not there.
func (b *beneath) linked(name string) bool {
	dir := path.Dir(name)
	if dir == b.dir {
		return b.is
	}
	b.dir, b.is = dir, false
	for ; dir != "." && !b.is; dir = path.Dir(dir) {
		info, err := os.Lstat(filepath.Join(b.top, filepath.FromSlash(dir)))
		b.is = err != nil || !info.IsDir()
	}
	return b.is
}

// directory is where the argument repo leads.
func (g *roots) directory(repo string) (string, error) {
	repo, err := unquote(repo)
	if err != nil {
		return "", fmt.Errorf("repo: %w", err)
	}
	if strings.IndexByte(repo, 0) >= 0 {
		return "", errors.New("repo: a path has no NUL")
	}
	var dir string
	switch {
	case filepath.IsAbs(repo):
		dir = filepath.Clean(repo)
	case len(g.list) == 1:
		dir = filepath.Join(g.list[0].dir, filepath.FromSlash(repo))
	default:
		name, rest, _ := strings.Cut(filepath.ToSlash(filepath.Clean(filepath.FromSlash(repo))), "/")
		i := slices.IndexFunc(g.list, func(r root) bool { return r.name == name })
		if i < 0 {
			return "", fmt.Errorf("repo: has to begin with the name of a root: %s", g.names())
		}
		dir = filepath.Join(g.list[i].dir, filepath.FromSlash(rest))
	}
	// Whether something is there outside of the roots is not told.
	if !slices.ContainsFunc(g.list, func(r root) bool { return within(dir, r.dir) }) {
		return "", g.outside(repo)
	}
	resolved, err := filepath.EvalSymlinks(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", fmt.Errorf("repo: there is no directory %s below %s", quote(repo), g.names())
	case err != nil:
		return "", fmt.Errorf("repo: %s cannot be used: %w", quote(repo), reason(err))
	case !g.served(resolved):
		return "", g.outside(repo)
	}
	if info, err := os.Stat(resolved); err != nil || !info.IsDir() {
		return "", fmt.Errorf("repo: %s is not a directory; give the directory of the repository, and a file as a path in it", quote(repo))
	}
	return resolved, nil
}

// repositories are the names of some repositories at and below the roots, as the
// argument repo takes them. The search is for a hint: it ends at a depth and
// after a number of directories.
func (g *roots) repositories() (found []string) {
	const most, depth, looks = 20, 3, 2000
	type place struct {
		dir, name string
		depth     int
	}
	var queue []place
	for _, r := range g.list {
		name := r.name
		if len(g.list) == 1 {
			name = "."
		}
		queue = append(queue, place{r.dir, name, 0})
	}
	for n := 0; n < len(queue) && n < looks; n++ {
		p := queue[n]
		if _, err := os.Lstat(filepath.Join(p.dir, ".git")); err == nil {
			if found = append(found, quote(p.name)); len(found) == most {
				return append(found, "…")
			}
			continue
		}
		if p.depth == depth || len(queue) > looks {
			continue
		}
		entries, _ := os.ReadDir(p.dir)
		for _, e := range entries {
			if e.IsDir() && e.Name()[0] != '.' {
				queue = append(queue, place{filepath.Join(p.dir, e.Name()), path.Join(p.name, e.Name()), p.depth + 1})
			}
		}
	}
	return found
}

func (g *roots) outside(repo string) error {
	return fmt.Errorf("repo: %s is outside of what this server may read: %s", quote(repo), g.names())
}

// names lists the roots for a model.
func (g *roots) names() string {
	if len(g.list) == 1 {
		return `its root, "."`
	}
	names := make([]string, len(g.list))
	for i, r := range g.list {
		names[i] = quote(r.name)
	}
	return strings.Join(names, ", ")
}

// hide replaces the directories of this machine in a text of git's by the names
// that a model knows.
func (g *roots) hide(text string) string {
	byLength := slices.Clone(g.list)
	slices.SortFunc(byLength, func(a, b root) int { return len(b.dir) - len(a.dir) })
	for _, r := range byLength {
		name := r.name
		if len(g.list) == 1 {
			name = "."
		}
		text = strings.ReplaceAll(text, r.dir, name)
	}
	return text
}

// reason is the innermost of a file system's errors.
func reason(err error) error {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}
