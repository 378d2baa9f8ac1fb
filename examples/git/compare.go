// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
)

// A comparison is two sides, and how they are compared.
type comparison struct {
	*repo
	sides       []string // for git diff: none, --cached and an id, an id, or two
	specs       []string // pathspecs
	only        string   // the one path that was named, if there is one
	context     int
	ignoreSpace bool
	statOnly    bool
}

// args are those of git diff for this comparison, with some more before the
// sides and these pathspecs. They take away whatever the configuration says.
func (c *comparison) args(more []string, specs []string) []string {
	args := []string{"diff", "--no-color", "--no-ext-diff", "--no-textconv", "--no-relative", "--no-color-moved",
		"--submodule=short", "--ignore-submodules=dirty", "-O/dev/null", "--src-prefix=a/", "--dst-prefix=b/",
		"--diff-algorithm=myers", "-M"}
	if c.ignoreSpace {
		args = append(args, "--ignore-all-space")
	}
	args = append(args, more...)
	args = append(args, c.sides...)
	return append(append(args, "--"), specs...)
}

// A changedFile is one file of a comparison.
type changedFile struct {
	path, old      string // old is set for a rename
	status         byte
	added, deleted int64 // -1 for a binary file, and when they were not asked for
}

// maxFiles bounds the files of one comparison, and maxNames the bytes of names
// that one call holds: a repository may have names of any length.
const (
	maxFiles = 50_000
	maxNames = 16 << 20
)

// files lists the changed files, sorted by path; with the numbers of their lines
// if counted is set, for which git has to read them.
func (c *comparison) files(ctx context.Context, counted bool) ([]changedFile, error) {
	more := []string{"--raw", "-z", "--no-abbrev"}
	if counted {
		more = append(more, "--numstat")
	}
	var list []changedFile
	names := 0 // bytes of them
	numbers := make(map[string][2]int64)
	next := c.tokens(ctx, c.args(more, c.specs))
	defer next.stop()
	for {
		field, ok := next.token()
		if !ok {
			break
		}
		if strings.HasPrefix(field, ":") {
			status := field[strings.LastIndexByte(field, ' ')+1:]
			f := changedFile{status: 'M', added: -1, deleted: -1}
			if status != "" {
				f.status = status[0]
			}
			f.path, _ = next.token()
			if f.status == 'R' || f.status == 'C' {
				f.old = f.path
				f.path, _ = next.token()
			}
			// An unmerged file is listed twice, the second time for the
			// version in the working tree.
			if n := len(list); n > 0 && list[n-1].path == f.path && list[n-1].status == 'U' {
				continue
			}
			names += len(f.path) + len(f.old)
			if list = append(list, f); len(list) > maxFiles || names > maxNames {
				return nil, fmt.Errorf("more than %d files are changed, or their names have more than %d MiB; compare a part of them with paths", maxFiles, maxNames>>20)
			}
			continue
		}
		added, rest, _ := strings.Cut(field, "\t")
		deleted, path, found := strings.Cut(rest, "\t")
		if !found {
			continue
		}
		if path == "" { // a rename: its names follow
			next.token()
			path, _ = next.token()
		}
		numbers[path] = [2]int64{number(added), number(deleted)}
	}
	if err := next.err; err != nil {
		return nil, err
	}
	for i := range list {
		if n, ok := numbers[list[i].path]; ok {
			list[i].added, list[i].deleted = n[0], n[1]
		}
	}
	slices.SortFunc(list, func(a, b changedFile) int { return strings.Compare(a.path, b.path) })
	return list, nil
}

// number is a count of git's, or -1 for the dash of a binary file.
func number(s string) int64 {
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// A tokens reads output that is ended by NULs one piece at a time.
type tokens struct {
	next func() (record, error, bool)
	stop func()
	err  error
}

func (t *tokens) token() (string, bool) {
	rec, err, ok := t.next()
	if !ok || err != nil {
		t.err = err
		return "", false
	}
	return string(rec.Bytes), true
}

func (f changedFile) change() Change {
	c := Change{Kind: "file", Path: quote(f.path), Status: statuses[f.status]}
	if f.old != "" {
		c.OldPath = quote(f.old)
	}
	if f.added >= 0 {
		c.Added, c.Deleted = &f.added, &f.deleted
	}
	return c
}

// large tells whether the hunks of f are left out: a person does not read them,
// and a model should not by chance.
func (f changedFile) large() bool { return f.added+f.deleted > maxChanged }

const (
	maxChanged    = 2000     // lines added and deleted
	maxPatch      = 64 << 10 // bytes of the hunks of one file
	maxPatchLine  = 2000     // bytes of a line
	maxPieceLines = 100      // of a hunk
)

// A diffPosition is where a page of a comparison begins.
type diffPosition struct {
	// From and To are the ids that the comparison began with.
	From []byte `json:"f,omitempty"`
	To   []byte `json:"t,omitempty"`

	Hunks bool  `json:"h,omitzero"` // past the list of files
	Place place `json:"p,omitzero"`
	Line  int64 `json:"l,omitzero"` // lines of the file's hunks that were shown

	// The numbers of the summary, counted for the first page.
	Files   int   `json:"a,omitzero"`
	Added   int64 `json:"b,omitzero"`
	Deleted int64 `json:"c,omitzero"`
}

// A full page has been left at the position.
var errFull = errors.New("the page is full")

// fill adds files and hunks from *pos on, and keeps *pos at what comes next. It
// returns errFull when the page is.
func (c *comparison) fill(ctx context.Context, page *result.Page[Change], pos *diffPosition, summarise func()) error {
	list, err := c.files(ctx, !pos.Hunks)
	if err != nil {
		return err
	}
	if !pos.Hunks {
		pos.Files, pos.Added, pos.Deleted = len(list), 0, 0
		for _, f := range list {
			pos.Added += max(f.added, 0)
			pos.Deleted += max(f.deleted, 0)
		}
	}
	summarise()
	var failed error
	each := func(add func(changedFile) error) error {
		rest := resumed[changedFile]{from: pos.Place, path: func(f changedFile) string { return f.path }, yield: func(f changedFile) bool {
			if p := at(f.path); string(p.Path) != string(pos.Place.Path) || string(p.Hash) != string(pos.Place.Hash) {
				pos.Place, pos.Line = p, 0
			}
			failed = add(f)
			return failed == nil
		}}
		for _, f := range list {
			if !rest.add(f) {
				return failed
			}
		}
		rest.end()
		return failed
	}
	if !pos.Hunks {
		err := each(func(f changedFile) error {
			item := f.change()
			if f.large() && !c.statOnly && f.path != c.only {
				item.Text = "its hunks are left out; to see them compare this path alone"
			}
			if !page.Add(item) {
				return errFull
			}
			return nil
		})
		if err != nil || c.statOnly {
			return err
		}
		pos.Hunks, pos.Place, pos.Line = true, place{}, 0
	}
	return each(func(f changedFile) error { return c.addHunks(ctx, page, f, pos) })
}

// tokens runs git and returns its output piece by piece.
func (r *repo) tokens(ctx context.Context, args []string) *tokens {
	next, stop := iter.Pull2(r.records(ctx, 0, args...))
	return &tokens{next: next, stop: stop}
}
