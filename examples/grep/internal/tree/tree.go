// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tree walks the files below an os.Root in one order that never
// depends on the file system, so that a walk can be resumed from any path.
//
// The order is byte-wise by whole path ("a.go" before "a/b.go", since a dot
// sorts before a slash). It is kept depth first without looking ahead: nothing
// past the file that was yielded last has been opened.
//
// Symbolic links, FIFOs, sockets and devices are never opened, and .git is never
// entered.
package tree

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/examples/grep/internal/glob"
)

// maxDepth bounds how deep a walk goes, and with it the open directories.
const maxDepth = 512

// maxIgnoreFile bounds the bytes read of one .gitignore; what follows is not used.
const maxIgnoreFile = 1 << 20

// ErrNotRegular is the error for a path that is not a regular file, or where a
// directory will do not that either. Such a path (a FIFO, a socket, a device)
// has not been read, and unless it has just been put there, not opened.
var ErrNotRegular = errors.New("not a regular file")

// A Tree says which files below Root a walk yields. Only Root must be set.
// A Tree may be walked by several goroutines at once.
type Tree struct {
	// Root confines the walk: no path and no symbolic link leads out of it.
	Root *os.Root

	// Include, when not empty, names the files to yield; the others are not.
	// A pattern with a trailing slash names a directory with all below it.
	Include glob.List

	// Exclude names files and directories to leave out.
	Exclude glob.List

	// NoIgnore makes the walk yield what .gitignore files leave out.
	NoIgnore bool
}

// A File is a regular file met by a walk.
type File struct {
	// Path is relative to the root, slash-separated. It may be invalid UTF-8.
	Path string

	dir  *os.Root
	name string
}

// Open opens the file for reading. It works only until the walk goes on.
// It never waits: what was replaced by a FIFO meanwhile is ErrNotRegular.
func (f File) Open() (*os.File, error) {
	return open(f.dir, f.name)
}

// Open opens the file at name, a clean path relative to root. Links are followed
// as long as they stay inside. Only regular files are opened; others are
// ErrNotRegular.
func Open(root *os.Root, name string) (*os.File, error) {
	info, err := root.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, ErrNotRegular
	}
	return open(root, name)
}

func open(dir *os.Root, name string) (*os.File, error) {
	f, err := dir.OpenFile(name, os.O_RDONLY|nonBlock, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = ErrNotRegular
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// Files yields the files at or below start whose paths are not less than from.
// When start is a file, that file is yielded, whatever globs and ignore rules say;
// when it is a directory, they apply to what is below it, with the .gitignore
// files of the directories above start.
//
// An error with a path concerns that path alone, and the walk goes on. An error
// with an empty path ends it: start does not exist, or ctx is done.
func (t *Tree) Files(ctx context.Context, start, from string) iter.Seq2[File, error] {
	return func(yield func(File, error) bool) {
		info, err := t.Root.Stat(start)
		switch {
		case err != nil:
			yield(File{}, err)
		case info.Mode().IsRegular():
			if start >= from {
				yield(File{Path: start, dir: t.Root, name: start}, nil)
			}
		case !info.IsDir():
			yield(File{}, fmt.Errorf("%s: %w", start, ErrNotRegular))
		default:
			w := walk{Tree: t, ctx: ctx, from: from, yield: yield}
			w.start(start)
		}
	}
}

type walk struct {
	*Tree
	ctx   context.Context
	from  string
	yield func(File, error) bool
}

// A level is the .gitignore of one directory and, through up, of those above.
type level struct {
	base  int // length of the directory's path with its slash
	rules *glob.Ignore
	up    *level
}

func (w *walk) start(start string) {
	root, err := w.Root.OpenRoot(start)
	if err != nil {
		w.yield(File{}, err)
		return
	}
	defer root.Close()
	if start == "." {
		w.dir(root, "", nil, false, 0)
		return
	}
	var above *level
	if !w.NoIgnore {
		for i := 0; i >= 0; {
			above = w.ignore(w.Root, start[:i], start[:i]+".gitignore", above)
			n := strings.IndexByte(start[i:], '/')
			if n < 0 {
				break
			}
			i += n + 1
		}
	}
	included := false
	for i := range len(start) + 1 {
		if i == len(start) || start[i] == '/' {
			included = included || w.Include.MatchDir(start[:i])
		}
	}
	w.dir(root, start+"/", above, included, 0)
}

// ignore adds the .gitignore called name in root, of the directory at prefix, to up.
func (w *walk) ignore(root *os.Root, prefix, name string, up *level) *level {
	info, err := root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() {
		return up
	}
	f, err := open(root, name)
	if err != nil {
		return up
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxIgnoreFile))
	if err != nil {
		return up
	}
	return &level{base: len(prefix), rules: glob.ParseIgnore(text), up: up}
}

func (l *level) ignores(path string, isDir bool) bool {
	for ; l != nil; l = l.up {
		if ignored, known := l.rules.Decide(path[l.base:], isDir); known {
			return ignored
		}
	}
	return false
}

// dir walks the directory root at prefix, which is "" or ends in a slash.
// It returns false when the walk is over.
func (w *walk) dir(root *os.Root, prefix string, ign *level, included bool, depth int) bool {
	if depth == maxDepth {
		return w.yield(File{Path: prefix}, fmt.Errorf("deeper than %d directories", maxDepth))
	}
	entries, err := list(root)
	if err != nil && !w.yield(File{Path: prefix}, err) {
		return false
	}
	if !w.NoIgnore && slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		ign = w.ignore(root, prefix, ".gitignore", ign)
	}
	for _, e := range entries {
		if w.ctx.Err() != nil {
			w.yield(File{}, context.Cause(w.ctx))
			return false
		}
		if !w.entry(root, prefix, e, ign, included, depth) {
			return false
		}
	}
	return true
}

func (w *walk) entry(root *os.Root, prefix string, e fs.DirEntry, ign *level, included bool, depth int) bool {
	name := e.Name()
	if name == ".git" {
		return true
	}
	path := prefix + name
	switch {
	case e.IsDir():
		if below := path + "/"; below < w.from && !strings.HasPrefix(w.from, below) {
			return true
		}
		if w.Exclude.Match(path, true) || ign.ignores(path, true) {
			return true
		}
		sub, err := root.OpenRoot(name)
		if err != nil {
			return w.yield(File{Path: path + "/"}, err)
		}
		defer sub.Close()
		return w.dir(sub, path+"/", ign, included || w.Include.MatchDir(path), depth+1)
	case e.Type().IsRegular():
		if path < w.from || w.Exclude.Match(path, false) || ign.ignores(path, false) {
			return true
		}
		if len(w.Include) > 0 && !included && !w.Include.Match(path, false) {
			return true
		}
		return w.yield(File{Path: path, dir: root, name: name}, nil)
	}
	return true
}

// list returns the entries of dir in walking order.
func list(dir *os.Root) ([]fs.DirEntry, error) {
	f, err := dir.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(-1)
	slices.SortFunc(entries, compare)
	return entries, err
}

// compare orders entries as the paths of the files behind them: the name of a
// directory counts as if it ended in a slash.
func compare(a, b fs.DirEntry) int {
	x, y := a.Name(), b.Name()
	n := min(len(x), len(y))
	if c := strings.Compare(x[:n], y[:n]); c != 0 {
		return c
	}
	return cmp.Compare(after(x, n, a.IsDir()), after(y, n, b.IsDir()))
}

func after(s string, n int, isDir bool) int {
	switch {
	case n < len(s):
		return int(s[n])
	case isDir:
		return '/'
	}
	return -1
}
