// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type grepInput struct {
	Repository
	Pattern    string   `json:"pattern" jsonschema:"description=Extended regular expression (POSIX)\\, or with perl one of Perl's.,minLength=1"`
	Fixed      bool     `json:"fixed,omitempty" jsonschema:"description=Search for pattern as it is: it is no regular expression."`
	Perl       bool     `json:"perl,omitempty" jsonschema:"description=pattern is a regular expression of Perl's\\, with \\d\\, \\b\\, lazy quantifiers and lookahead."`
	IgnoreCase bool     `json:"ignoreCase,omitempty" jsonschema:"description=Match upper and lower case alike."`
	Word       bool     `json:"word,omitempty" jsonschema:"description=Match whole words only."`
	Revision   string   `json:"revision,omitempty" jsonschema:"description=Search the files of this revision instead of the working tree."`
	Untracked  bool     `json:"untracked,omitempty" jsonschema:"description=Search untracked files of the working tree too\\, but not ignored ones."`
	Paths      []string `json:"paths,omitempty" jsonschema:"description=Only these files or directories\\, relative to the top of the repository.,maxItems=100"`
	Glob       string   `json:"glob,omitempty" jsonschema:"description=Only files that match\\, such as *.go or src/**/*.ts; with paths: below them."`
	Context    int      `json:"context,omitempty" jsonschema:"description=Lines to show before and after each match.,minimum=0,maximum=20"`
	PerFile    int      `json:"perFile,omitempty" jsonschema:"description=At most so many matching lines of each file.,minimum=1"`
	tool.PageInput
}

// A Match is one item of git_grep.
type Match struct {
	Path   string `json:"path" jsonschema:"description=relative to the top; in double quotes\\, as git quotes it\\, where it has unusual characters: pass it on like that"`
	Line   int64  `json:"line" jsonschema:"description=number of the line from 1"`
	Column int64  `json:"column,omitzero" jsonschema:"description=byte of the line\\, from 1\\, where the first match begins; absent for a line of the context"`
	Text   string `json:"text" jsonschema:"description=the line\\, or of a long one what is around the match"`
}

func (m Match) line() string {
	if m.Column == 0 {
		return fmt.Sprintf("%s-%d-%s", inLine(m.Path), m.Line, m.Text)
	}
	return fmt.Sprintf("%s:%d:%d:%s", inLine(m.Path), m.Line, m.Column, m.Text)
}

func (m Match) shrink(limit int) (Match, bool) {
	m.Path = cut(m.Path, limit, limit/2)
	m.Text = cut(m.Text, limit, max(limit-inJSON(m.Path)-60, 0))
	return m, true
}

// A grepPosition is where a page of git_grep begins.
type grepPosition struct {
	Tree  []byte `json:"t,omitempty"` // id of the revision's
	Place place  `json:"p,omitzero"`
	Line  int64  `json:"l,omitzero"` // of that file
	Seen  int64  `json:"n,omitzero"` // lines before
}

func (g *roots) gitGrep(ctx context.Context, req *tool.Request, in grepInput, page *result.Page[Match]) error {
	pos, err := g.grep.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	specs, err := pathspecs(in.Paths, in.Glob)
	if err != nil {
		return err
	}
	switch {
	case checkText("pattern", in.Pattern, false) != nil:
		return checkText("pattern", in.Pattern, false)
	case in.Fixed && in.Perl:
		return errors.New("fixed and perl exclude each other")
	case in.Revision != "" && in.Untracked:
		return errors.New("a revision has no untracked files; leave out untracked or revision")
	}
	open := g.worktree
	if in.Revision != "" {
		open = g.open
	}
	r, err := open(ctx, in.Repo)
	if err != nil {
		return err
	}
	if in.Revision != "" && pos.Tree == nil {
		id, err := r.resolve(ctx, in.Revision, "tree")
		if err != nil {
			return err
		}
		pos.Tree = rawID(id)
	}
	page.Noun, page.Sorted, page.Hint = "matching lines", "by path and line", "narrow the search with paths, glob or a longer pattern"
	if in.Context > 0 {
		page.Noun = "lines"
	}
	page.Line, page.Shrink = Match.line, Match.shrink
	shorten(page)

	full := false
	from := pos
	rest := resumed[found]{from: pos.Place, path: func(f found) string { return f.path }, yield: func(f found) bool {
		p := at(f.path)
		if string(p.Path) == string(from.Place.Path) && string(p.Hash) == string(from.Place.Hash) && f.Line < from.Line {
			return true
		}
		f.Path = quote(f.path)
		pos.Place, pos.Line = p, f.Line
		if full = !page.Add(f.Match); !full {
			pos.Seen++
		}
		return !full
	}}
	for f, err := range r.matches(ctx, in, pos.Tree, specs) {
		if err != nil {
			if page.Len() > 0 {
				pos.Line++ // behind the last one
				_ = stop(req, page, g.grep, pos)
			}
			return err
		}
		if !rest.add(f) {
			break
		}
	}
	if !full && (rest.begun || rest.end()) && !full {
		if pos.Seen == 0 {
			var trees []string
			if pos.Tree != nil {
				trees = append(trees, hex.EncodeToString(pos.Tree))
			}
			if err := r.checkPaths(ctx, in.Paths, trees...); err != nil {
				return err
			}
		}
		page.Total(pos.Seen)
		return nil
	}
	return stop(req, page, g.grep, pos)
}

// found is a match with the path as it is.
type found struct {
	Match
	path string
}

// matches yields git's matches, sorted by path and line.
func (r *repo) matches(ctx context.Context, in grepInput, tree []byte, specs []string) func(yield func(found, error) bool) {
	args := []string{"grep", "-z", "-n", "--column", "--full-name", "-I", "--no-color", "--no-textconv", "--no-recurse-submodules", "--no-break", "--no-heading"}
	switch {
	case in.Fixed:
		args = append(args, "--fixed-strings")
	case in.Perl:
		args = append(args, "--perl-regexp")
	default:
		args = append(args, "--extended-regexp")
	}
	if in.IgnoreCase {
		args = append(args, "--ignore-case")
	}
	if in.Word {
		args = append(args, "--word-regexp")
	}
	if in.Context > 0 {
		args = append(args, "--context="+strconv.Itoa(in.Context))
	}
	if in.PerFile > 0 {
		args = append(args, "--max-count="+strconv.Itoa(in.PerFile))
	}
	if in.Untracked {
		args = append(args, "--untracked")
	}
	args = append(args, "-e", in.Pattern) // what follows -e is never an option
	prefix := ""
	if tree != nil {
		id := hex.EncodeToString(tree)
		args, prefix = append(args, id), id+":"
	}
	args = append(append(args, "--"), specs...)
	return func(yield func(found, error) bool) {
		tracked := beneath{top: r.top}
		var name []byte // the first lines of a name with line breaks
		for rec, err := range r.grepRecords(ctx, args) {
			if err != nil {
				yield(found{}, err)
				return
			}
			if in.Context > 0 && len(name) == 0 && string(rec.Bytes) == "--" {
				continue // between matches that are apart
			}
			path, rest, ok := bytes.Cut(rec.Bytes, []byte{0})
			if !ok {
				if len(name) < 1<<16 {
					name = append(append(name, rec.Bytes...), '\n')
				}
				continue
			}
			f := found{path: strings.TrimPrefix(string(name)+string(path), prefix)}
			name = name[:0]
			if tree == nil && tracked.linked(f.path) {
				continue
			}
			// "line NUL column NUL text", or of the context "line NUL text".
			line, rest, _ := bytes.Cut(rest, []byte{0})
			f.Line = number(string(line))
			if column, after, ok := bytes.Cut(rest, []byte{0}); ok && number(string(column)) > 0 {
				f.Column, rest = number(string(column)), after
			}
			f.Text = around(rest, int(f.Column), rec.Dropped)
			if !yield(f, nil) {
				return
			}
		}
	}
}

// grepRecords are the lines that git grep prints. That nothing matches is no
// error, though its exit status is 1.
func (r *repo) grepRecords(ctx context.Context, args []string) func(yield func(record, error) bool) {
	return func(yield func(record, error) bool) {
		for rec, err := range execRecords(ctx, r.cmd(args)) {
			if out := exited(err); out != nil {
				if out.ExitCode == 1 && out.End == "exited" && out.Stderr.Bytes == 0 {
					return
				}
				err = r.explain(ctx, out)
			}
			if !yield(rec, err) || err != nil {
				return
			}
		}
	}
}

// around is what of a long line is around its first match.
func around(line []byte, column int, dropped int64) string {
	const max = 500
	line = bytes.TrimSuffix(line, []byte("\r"))
	if len(line) <= max || column <= max*3/4 || column > len(line) {
		return text(line, max, dropped)
	}
	from := column - 1 - max/4
	for from < len(line) && !utf8.RuneStart(line[from]) {
		from++
	}
	return fmt.Sprintf("[%d bytes cut]", from) + text(line[from:], max, dropped)
}
