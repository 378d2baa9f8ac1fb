// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/weir-mcp/weir/examples/grep/internal/glob"
	"github.com/weir-mcp/weir/examples/grep/internal/search"
	"github.com/weir-mcp/weir/examples/grep/internal/tree"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type readInput struct {
	Path      string `json:"path" jsonschema:"minLength=1" jsonschema_description:"File to read, relative to the root."`
	StartLine int    `json:"startLine,omitzero" jsonschema:"minimum=1,default=1" jsonschema_description:"First line to return, from 1."`
	EndLine   int    `json:"endLine,omitzero" jsonschema:"minimum=1" jsonschema_description:"Last line to return. Leave out for the end of the file."`
	tool.PageInput
}

// A Line is one line of a file, without its end.
type Line struct {
	Line int    `json:"line" jsonschema_description:"its number, from 1"`
	Text string `json:"text" jsonschema_description:"its text; a long one is cut, with the number of bytes cut"`
}

// ReadSummary is what stands beside the lines of a page.
type ReadSummary struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes" jsonschema_description:"size of the file"`
	Lines int    `json:"lines,omitzero" jsonschema_description:"lines of the file, if it is small enough to be counted"`
}

// A lineNumber is where a page of lines begins.
type lineNumber int

// maxReadLine is the most bytes of a line that are shown whole.
const maxReadLine = 2000

// every matches every line.
var every = func() *search.Pattern {
	p, err := search.Compile("", search.Options{MaxLine: maxReadLine})
	if err != nil {
		panic(err) // the pattern is a constant
	}
	return p
}()

// read is the handler of read_file.
func (f *files) read(ctx context.Context, req *tool.Request, in readInput) (result.Result, error) {
	next, err := f.readCursors.Decode(req, in.Cursor)
	if err != nil {
		return result.Result{}, err
	}
	end := cmp.Or(in.EndLine, math.MaxInt)
	if end < in.StartLine {
		return result.Result{}, fmt.Errorf("endLine %d is before startLine %d", end, in.StartLine)
	}
	path, err := glob.Clean(in.Path)
	if err != nil {
		return result.Result{}, err
	}
	f.opening(path)
	file, err := tree.Open(f.root, path)
	if err != nil {
		return result.Result{}, explain(path, err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return result.Result{}, explain(path, err)
	}

	summary := ReadSummary{Path: path, Bytes: info.Size()}
	counted := info.Size() <= maxCounted
	if counted {
		if summary.Lines, err = search.CountLines(ctx, file); err != nil {
			return result.Result{}, explain(path, err)
		}
	}
	page := result.Page[Line]{
		Budget: req.Budget(),
		Noun:   "lines",
		Hint:   "ask for less with startLine and endLine",
		Line:   func(l Line) string { return strconv.Itoa(l.Line) + "\t" + l.Text },
		Shrink: shrinkLine,
		Extra:  &summary,
	}
	from := max(in.StartLine, int(next))
	last := from - 1 // the last line that is on the page or left out of it
	for m, err := range every.Scan(ctx, file, from) {
		switch {
		case errors.Is(err, search.ErrBinary):
			return result.Errorf("%q is a binary file of %d bytes. read_file shows text only.", path, info.Size()), nil
		case err != nil && ctx.Err() != nil:
			page.NextCursor, _ = f.readCursors.Encode(req, lineNumber(last+1))
			return page.Result(), err
		case err != nil:
			return result.Result{}, explain(path, err)
		}
		if m.Line > end {
			break
		}
		if !page.Add(Line{m.Line, m.Excerpt}) {
			if err := page.Err(); err != nil {
				return result.Result{}, err
			}
			if page.NextCursor, err = f.readCursors.Encode(req, lineNumber(m.Line)); err != nil {
				return result.Result{}, err
			}
			break
		}
		last = m.Line
	}
	if counted && in.StartLine > max(summary.Lines, 1) {
		lines := "lines"
		if summary.Lines == 1 {
			lines = "line"
		}
		return result.Result{}, fmt.Errorf("%q has %d %s; startLine %d is past its end", path, summary.Lines, lines, in.StartLine)
	}
	switch {
	case counted:
		page.Total(int64(max(0, min(end, summary.Lines)-in.StartLine+1)))
	case page.NextCursor == "":
		page.Total(int64(max(0, last-in.StartLine+1)))
	}
	return page.Result(), nil
}

func shrinkLine(l Line, max int) (Line, bool) {
	n := cutAt(l.Text, max-60)
	if n <= 0 {
		return l, false
	}
	if n < len(l.Text) {
		l.Text = fmt.Sprintf("%s[%d bytes cut]", l.Text[:n], len(l.Text)-n)
	}
	return l, true
}
