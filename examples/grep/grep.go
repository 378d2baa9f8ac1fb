// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/examples/grep/internal/glob"
	"github.com/weir-mcp/weir/examples/grep/internal/search"
	"github.com/weir-mcp/weir/examples/grep/internal/tree"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// Query is what to search for and where. An answer repeats it once, beside the
// items.
type Query struct {
	Pattern    string   `json:"pattern" jsonschema:"minLength=1,maxLength=1000" jsonschema_description:"RE2 regular expression (no look-around, no back-references), matched against each line by itself."`
	Path       string   `json:"path,omitempty" jsonschema:"default=." jsonschema_description:"File or directory to search, relative to the root; \".\" is the root. A path given here is searched even if a .gitignore leaves it out."`
	Include    []string `json:"include,omitempty" jsonschema:"maxItems=50" jsonschema_description:"Search only files that match one of these globs, such as *.go, **/testdata/** or src/**/*.{ts,tsx}. One without a slash matches the name at any depth; others are relative to the root. A trailing slash names a directory with all below it."`
	Exclude    []string `json:"exclude,omitempty" jsonschema:"maxItems=50" jsonschema_description:"Leave out files and directories that match one of these globs, which are as in include."`
	IgnoreCase bool     `json:"ignoreCase,omitempty" jsonschema_description:"Match upper and lower case alike."`
	Literal    bool     `json:"literal,omitempty" jsonschema_description:"Take the pattern as plain text."`
	Context    int      `json:"context,omitempty" jsonschema:"minimum=0,maximum=20" jsonschema_description:"How many lines to show before and after each match. They are shown once where matches are near each other."`
	NoIgnore   bool     `json:"noIgnore,omitempty" jsonschema_description:"Search also what .gitignore files leave out."`
}

type grepInput struct {
	Query
	tool.PageInput
}

// A Match is one line that matches.
type Match struct {
	Path    string `json:"path" jsonschema_description:"relative to the root"`
	Line    int    `json:"line" jsonschema_description:"number of the matching line, from 1"`
	EndLine int    `json:"endLine" jsonschema_description:"number of the last line in excerpt: line itself, or the last line of context"`
	Column  int    `json:"column" jsonschema_description:"where the first match in the line begins, in bytes from 1"`
	Excerpt string `json:"excerpt" jsonschema_description:"the line; of a long one the surroundings of the match, with the number of bytes cut. With context, several lines, each with its number: 12-before, 13:match, 14-after."`
}

// GrepSummary is what stands beside the items of a page of matches. Its counts
// are those of this page alone.
type GrepSummary struct {
	Query         Query  `json:"query"`
	FilesSearched int    `json:"filesSearched" jsonschema_description:"files that were searched for this page"`
	Binary        int    `json:"binary,omitzero" jsonschema_description:"files that were not searched because they are binary"`
	Unreadable    int    `json:"unreadable,omitzero" jsonschema_description:"files and directories that could not be read"`
	Problem       string `json:"problem,omitempty" jsonschema_description:"the first of those, and why"`
}

const (
	maxProblem = 200 // bytes of GrepSummary.Problem
	noteRoom   = 320 // bytes that note never exceeds
)

// note says in the text form what was not searched.
func (s *GrepSummary) note() string {
	var text string
	if s.Binary > 0 {
		text = fmt.Sprintf("Not searched: binary files: %d.", s.Binary)
	}
	if s.Unreadable > 0 {
		if text != "" {
			text += " "
		}
		text += fmt.Sprintf("Could not be read: %d, the first: %s.", s.Unreadable, s.Problem)
	}
	return text
}

// maxCounted is the size of the largest file that is counted to its end, when it
// is the only one that is searched, to tell how many matches there are in all.
const maxCounted = 16 << 20

// grep is the handler of the tool.
func (f *files) grep(ctx context.Context, req *tool.Request, in grepInput) (result.Result, error) {
	s, err := f.newSearch(in.Query)
	if err != nil {
		return result.Result{}, err
	}
	from, err := f.grepCursors.Decode(req, in.Cursor)
	if err != nil {
		return result.Result{}, err
	}

	budget := req.Budget()
	// The summary at its largest, so that the page keeps room for it.
	summary := GrepSummary{Query: s.query, FilesSearched: 1e12, Binary: 1e12, Unreadable: 1e12}
	tells := budget.Bytes >= 4<<10 // of a smaller page matches need all the room
	if tells {
		budget.Bytes -= noteRoom
		summary.Problem = longestProblem
	}
	page := result.Page[Match]{
		Budget: budget,
		Noun:   "matching lines",
		Sorted: "by path and line",
		Hint:   "narrow the search with path, include or a longer pattern",
		Line:   line,
		Shrink: shrink,
		Extra:  &summary,
	}
	finish := func() result.Result {
		summary = s.summary
		if !tells {
			summary.Problem = ""
		}
		r := page.Result()
		if note := s.summary.note(); tells && note != "" {
			r.Content = append(r.Content, result.TextContent{Text: note})
		}
		return r
	}

	total, full := from.Seen, false // total counts the matches before this one
	for m, err := range s.matches(ctx, req, from) {
		switch {
		case err != nil && ctx.Err() != nil:
			// The call timed out, say: what there is so far, with the way to go on.
			if !full {
				page.NextCursor, _ = f.grepCursors.Encode(req, at(s.path, s.line+1, total))
			}
			return finish(), err
		case err != nil:
			return result.Result{}, err
		case !full && !page.Add(m):
			if err := page.Err(); err != nil {
				return result.Result{}, err
			}
			full = true
			page.NextCursor, err = f.grepCursors.Encode(req, at(s.path, m.Line, total))
			if err != nil {
				return result.Result{}, err
			}
		}
		if full && !s.countable {
			break
		}
		total++
	}
	if !full || s.countable {
		page.Total(int64(total))
	}
	return finish(), nil
}

// A running is one search: what it looks for, and how far it has come.
type running struct {
	*files
	query   Query
	pattern *search.Pattern
	tree    tree.Tree
	start   string

	path      string // the file that is searched
	line      int    // of its last match
	countable bool   // path is the only file, and small enough to be read to its end
	summary   GrepSummary
}

func (f *files) newSearch(q Query) (*running, error) {
	s := &running{files: f, query: q, summary: GrepSummary{Query: q}}
	var err error
	if s.pattern, err = search.Compile(q.Pattern, search.Options{Literal: q.Literal, IgnoreCase: q.IgnoreCase, Context: q.Context}); err != nil {
		return nil, err
	}
	s.tree = tree.Tree{Root: f.root, NoIgnore: q.NoIgnore}
	if s.tree.Include, err = glob.Parse(q.Include); err != nil {
		return nil, fmt.Errorf("include: %w", err)
	}
	if s.tree.Exclude, err = glob.Parse(q.Exclude); err != nil {
		return nil, fmt.Errorf("exclude: %w", err)
	}
	if s.start, err = glob.Clean(q.Path); err != nil {
		return nil, err
	}
	return s, nil
}

// matches yields the matches from a position on. Files that cannot be read are
// counted in the summary. An error ends the search.
func (s *running) matches(ctx context.Context, req *tool.Request, from position) func(yield func(Match, error) bool) {
	return func(yield func(Match, error) bool) {
		first, err := from.path(ctx, &s.tree, s.start)
		if err != nil {
			yield(Match{}, err)
			return
		}
		s.path, s.line = first, from.Line-1
		for file, err := range s.tree.Files(ctx, s.start, first) {
			switch {
			case err != nil && ctx.Err() != nil:
				yield(Match{}, context.Cause(ctx))
				return
			case err != nil && file.Path == "":
				yield(Match{}, explain(s.start, err))
				return
			case err != nil:
				s.unreadable(file.Path, err)
				continue
			}
			s.path, s.line = file.Path, 0
			if file.Path == first && from.Line > 0 {
				s.line = from.Line - 1
			}
			if !s.file(ctx, file, yield) {
				return
			}
			if s.summary.FilesSearched%256 == 0 {
				req.Progress(float64(s.summary.FilesSearched), 0, printable(file.Path, maxProblem))
			}
		}
	}
}

// file yields the matches of one file, after line s.line.
func (s *running) file(ctx context.Context, file tree.File, yield func(Match, error) bool) bool {
	s.opening(file.Path)
	f, err := file.Open()
	if err != nil {
		s.unreadable(file.Path, err)
		return true
	}
	defer f.Close()
	info, err := f.Stat()
	s.countable = err == nil && file.Path == s.start && info.Size() <= maxCounted
	s.summary.FilesSearched++
	for m, err := range s.pattern.Scan(ctx, f, s.line+1) {
		switch {
		case err == nil:
			s.line = m.Line
			if !yield(Match{file.Path, m.Line, m.EndLine, m.Column, m.Excerpt}, nil) {
				return false
			}
		case ctx.Err() != nil:
			return yield(Match{}, context.Cause(ctx))
		case errors.Is(err, search.ErrBinary):
			s.summary.FilesSearched--
			s.summary.Binary++
		default:
			s.unreadable(file.Path, err)
		}
	}
	return true
}

func (s *running) unreadable(path string, err error) {
	if s.summary.Unreadable == 0 {
		s.summary.Problem = printable(path, maxProblem-40) + ": " + printable(reason(err), 36)
	}
	s.summary.Unreadable++
}
