// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"path"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type filesInput struct {
	Repository
	Revision string   `json:"revision,omitempty" jsonschema:"description=List the files of this revision instead of those of the index."`
	Which    string   `json:"which,omitempty" jsonschema:"description=Which files of the working tree: tracked ones\\, untracked (not ignored) ones\\, ignored ones\\, those that were modified or deleted since they were staged\\, those in conflict.,enum=tracked,enum=untracked,enum=ignored,enum=modified,enum=deleted,enum=unmerged,default=tracked"`
	Paths    []string `json:"paths,omitempty" jsonschema:"description=Only these files or directories\\, relative to the top of the repository.,maxItems=100"`
	Glob     string   `json:"glob,omitempty" jsonschema:"description=Only files that match\\, such as *.go or src/**/*.ts; with paths: below them."`
	Limit    int      `json:"limit,omitempty" jsonschema:"description=At most so many files on a page.,minimum=1,maximum=1000"`
	tool.PageInput
}

// A File is one item of git_ls_files.
type File struct {
	Path string `json:"path" jsonschema:"description=relative to the top; in double quotes\\, as git quotes it\\, where it has unusual characters: pass it on like that"`
	Type string `json:"type,omitempty" jsonschema:"description=of a tracked file,enum=file,enum=executable,enum=symlink,enum=submodule,enum=directory"`
	Size *int64 `json:"size,omitempty" jsonschema:"description=in bytes\\, at a revision"`
}

func (f File) line() string {
	switch {
	case f.Type == "" || f.Type == "file":
		return inLine(f.Path)
	}
	return inLine(f.Path) + " (" + f.Type + ")"
}

func (f File) shrink(limit int) (File, bool) {
	f.Path = cut(f.Path, limit, max(limit-60, 0))
	return f, true
}

// A filesPosition is where a page of git_ls_files begins.
type filesPosition struct {
	Tree  []byte `json:"t,omitempty"` // id of the revision's
	Place place  `json:"p,omitzero"`
	Seen  int64  `json:"n,omitzero"` // files before
}

// An entry is a file as git lists it.
type entry struct {
	path string
	mode string // empty when git does not tell
	size int64  // -1 when git does not tell
}

func (e entry) file() File {
	f := File{Path: quote(e.path)}
	if e.mode != "" {
		f.Type = typeOf(e.mode)
	}
	if e.size >= 0 {
		f.Size = &e.size
	}
	return f
}

func (e entry) change() Change {
	f := e.file()
	return Change{Kind: "entry", Path: f.Path, Type: f.Type, Size: f.Size}
}

func (g *roots) gitLsFiles(ctx context.Context, req *tool.Request, in filesInput, page *result.Page[File]) error {
	pos, err := g.files.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	atRevision := in.Revision != ""
	if atRevision && in.Which != "tracked" {
		return errors.New("a revision has tracked files only; leave out which")
	}
	open := g.worktree
	if atRevision {
		open = g.open
	}
	r, err := open(ctx, in.Repo)
	if err != nil {
		return err
	}
	glob := in.Glob
	if atRevision {
		glob = "" // ls-tree knows no patterns: see matching
	}
	specs, err := pathspecs(in.Paths, glob)
	if err != nil {
		return err
	}
	var list iter.Seq2[entry, error]
	if atRevision {
		if pos.Tree == nil {
			id, err := r.resolve(ctx, in.Revision, "tree")
			if err != nil {
				return err
			}
			pos.Tree = rawID(id)
		}
		match, err := matcher(in.Glob)
		if err != nil {
			return err
		}
		list = matching(r.entries(ctx, hex.EncodeToString(pos.Tree), specs, true), in.Paths, match)
	} else {
		list = r.indexed(ctx, in.Which, specs)
	}
	page.Noun, page.Sorted, page.Hint = "files", "by path", "narrow the list with paths or glob"
	page.Line, page.Shrink = File.line, File.shrink
	shorten(page)
	if in.Limit > 0 {
		page.Budget.Items = min(page.Budget.Items, in.Limit)
	}
	// The list is read to its end, which git has at hand, so that the total is
	// known; only what fits the page is kept of it.
	full, total := false, pos.Seen
	next := pos
	rest := resumed[entry]{from: pos.Place, path: func(e entry) string { return e.path }, yield: func(e entry) bool {
		if !full {
			if full = !page.Add(e.file()); full {
				next.Place, next.Seen = at(e.path), total
			}
		}
		total++
		return true
	}}
	for e, err := range list {
		if err != nil {
			if page.Len() > 0 && full {
				_ = stop(req, page, g.files, next)
			}
			return err
		}
		rest.add(e)
	}
	rest.end()
	page.Total(total)
	if total == 0 {
		var trees []string
		if atRevision {
			trees = append(trees, hex.EncodeToString(pos.Tree))
		}
		return r.checkPaths(ctx, in.Paths, trees...)
	}
	if full {
		return stop(req, page, g.files, next)
	}
	return nil
}

// indexed lists files of the index and the working tree, each once.
func (r *repo) indexed(ctx context.Context, which string, specs []string) iter.Seq2[entry, error] {
	args := []string{"ls-files", "-z", "--full-name"}
	staged := false
	switch which {
	case "untracked":
		args = append(args, "--others", "--exclude-standard")
	case "ignored":
		args = append(args, "--others", "--ignored", "--exclude-standard")
	case "modified":
		args = append(args, "--modified")
	case "deleted":
		args = append(args, "--deleted")
	case "unmerged":
		args, staged = append(args, "--unmerged"), true
	default:
		args, staged = append(args, "--cached", "--stage"), true
	}
	return func(yield func(entry, error) bool) {
		last, begun := "", false
		for rec, err := range r.records(ctx, 0, append(append(args, "--"), specs...)...) {
			if err != nil {
				yield(entry{}, err)
				return
			}
			e := entry{path: string(rec.Bytes), size: -1}
			if staged { // "100644 id stage\tpath"
				head, path, _ := strings.Cut(e.path, "\t")
				e.mode, _, _ = strings.Cut(head, " ")
				e.path = path
			}
			if begun && e.path == last {
				continue // another stage of a file in conflict
			}
			last, begun = e.path, true
			if !yield(e, nil) {
				return
			}
		}
	}
}

// entries lists a tree, or all files below it.
func (r *repo) entries(ctx context.Context, tree string, specs []string, recursive bool) iter.Seq2[entry, error] {
	args := []string{"ls-tree", "-z", "--long", "--full-tree"}
	if recursive {
		args = append(args, "-r")
	}
	args = append(append(args, tree, "--"), specs...)
	return func(yield func(entry, error) bool) {
		for rec, err := range r.records(ctx, 0, args...) {
			if err != nil {
				yield(entry{}, err)
				return
			}
			// "100644 blob id   size\tpath"
			head, path, _ := strings.Cut(string(rec.Bytes), "\t")
			fields := strings.Fields(head)
			if len(fields) != 4 {
				yield(entry{}, fmt.Errorf("git ls-tree printed %q", head))
				return
			}
			if !yield(entry{path, fields[0], number(fields[3])}, nil) {
				return
			}
		}
	}
}

// matching leaves out what a pattern does not match, below one of the paths.
func matching(list iter.Seq2[entry, error], paths []string, match func(string) bool) iter.Seq2[entry, error] {
	if match == nil {
		return list
	}
	var below []string
	for _, p := range paths {
		clean, _ := cleanPath(p)
		below = append(below, clean)
	}
	if len(below) == 0 {
		below = []string{""}
	}
	return func(yield func(entry, error) bool) {
		for e, err := range list {
			keep := err != nil
			for _, dir := range below {
				rest := e.path
				if dir != "" {
					var inside bool
					if rest, inside = strings.CutPrefix(e.path, path.Clean(dir)+"/"); !inside {
						continue
					}
				}
				keep = keep || match(rest)
			}
			if keep && !yield(e, err) {
				return
			}
		}
	}
}
