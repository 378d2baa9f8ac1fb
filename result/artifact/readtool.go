// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// ToolName is the name of the tool that reads artifacts. The texts of a [Store]
// tell a model to use it.
const ToolName = "read_artifact"

// readInput is what the tool takes. A pointer tells absent from zero.
type readInput struct {
	Handle  string `json:"handle" jsonschema:"description=The handle that stands in the result that was cut"`
	Line    *int64 `json:"line,omitempty" jsonschema:"description=Begin at this line; the first is 1,minimum=1"`
	Tail    *int64 `json:"tail,omitempty" jsonschema:"description=Only the last so many lines,minimum=1"`
	Offset  *int64 `json:"offset,omitempty" jsonschema:"description=Begin at this byte; the first is 0,minimum=0"`
	Pattern string `json:"pattern,omitempty" jsonschema:"description=Only lines that match this RE2 regular expression; of a long line the part around its first match,maxLength=1024"`
	tool.PageInput
}

// readExtra stands beside the items of a page.
type readExtra struct {
	Bytes   int64 `json:"bytes" jsonschema:"description=size of the whole artifact"`
	Lines   int64 `json:"lines" jsonschema:"description=how many lines the whole artifact has"`
	Dropped int64 `json:"dropped,omitzero" jsonschema:"description=how many bytes came after the artifact and were not kept"`
}

// A readPosition is where a page goes on.
type readPosition struct {
	At    place `json:"at"`
	Total int64 `json:"t"` // items of all pages, or of those before in a search
}

var readCursors cursor.Codec[readPosition]

// ReadTool returns the tool read_artifact for the artifacts of s, in the form
// that [tool.Registry.Register] takes:
//
//	err := tools.Register(artifact.ReadTool(&store))
//
// The tool answers with pages of lines: all, from a line or a byte on, the last
// ones, or those that match a pattern. Long lines come in parts. Binary content
// is said to be binary and not shown. The Info may be changed before it is
// registered, but for its name and schemas.
func ReadTool(s *Store) (tool.Info, tool.Handler) {
	in, err := tool.SchemaOf[readInput]()
	if err != nil {
		panic(err) // the type is ours
	}
	info := tool.Info{
		Name:  ToolName,
		Title: "Read a stored output",
		Description: "Read an output that was too large for its result and was stored. Give the handle from that result. " +
			"Shows lines from the start, or from a line or byte offset, or the last ones (tail), or those that match a pattern, a page at a time. " +
			"Stored outputs expire; the error then says so.",
		ReadOnly:     tool.Yes,
		OpenWorld:    tool.No,
		InputSchema:  in,
		OutputSchema: tool.PageSchema[line, readExtra](),
	}
	return info, func(ctx context.Context, req *tool.Request) (result.Result, error) {
		var in readInput
		if err := json.Unmarshal(req.Arguments, &in, result.Options()); err != nil {
			return result.Result{}, err
		}
		return s.read(ctx, req, in)
	}
}

// read is one call of the tool.
func (s *Store) read(ctx context.Context, req *tool.Request, in readInput) (result.Result, error) {
	from, err := readCursors.Decode(req, in.Cursor)
	if err != nil {
		return result.Result{}, err
	}
	var re *regexp.Regexp
	if in.Pattern != "" {
		if re, err = regexp.Compile(in.Pattern); err != nil {
			return result.Result{}, fmt.Errorf("pattern: %w", err)
		}
	}
	r, err := s.Open(in.Handle)
	if err != nil {
		return result.Result{}, err
	}
	defer r.Close()
	if _, part, _ := parseHandle(in.Handle); part >= 0 { // the URI of a part
		if in.Offset != nil {
			return result.Result{}, errors.New(`artifact: give one offset: "offset", or that of the URI in "handle"`)
		}
		in.Offset = &part
	}
	if r.Info.Binary {
		return result.Result{}, fmt.Errorf("artifact: binary (%s, %s): there are no lines to show; its bytes are the resource %s", r.Info.MIMEType, count(r.Info.Size, "byte"), r.Info.URI())
	}
	if in.Cursor == "" {
		if from.At, err = in.begin(ctx, r); err != nil {
			return result.Result{}, err
		}
		if re == nil && from.At.Offset < r.Info.Size {
			from.Total = r.Info.Lines - from.At.Line + 1
		}
	}
	return readPage(ctx, req, r, re, from)
}

// begin is where the first page begins.
func (in readInput) begin(ctx context.Context, r *Reader) (place, error) {
	given := 0
	for _, arg := range []*int64{in.Line, in.Tail, in.Offset} {
		if arg != nil {
			given++
		}
	}
	switch {
	case given > 1:
		return place{}, errors.New(`artifact: give one of "line", "tail" and "offset", not more`)
	case in.Line != nil:
		return atLine(ctx, r, *in.Line)
	case in.Tail != nil:
		return atTail(ctx, r, *in.Tail)
	case in.Offset != nil:
		return atOffset(ctx, r, *in.Offset)
	}
	return place{Line: 1}, nil
}

// readPage fills one page.
func readPage(ctx context.Context, req *tool.Request, r *Reader, re *regexp.Regexp, from readPosition) (result.Result, error) {
	page := result.Page[line]{
		Budget: req.Budget(), Noun: "lines", Line: line.plain,
		Hint:  `use "pattern", "tail" or "line"`,
		Extra: readExtra{Bytes: r.Info.Size, Lines: r.Info.Lines, Dropped: r.Info.Dropped},
	}
	if re != nil {
		page.Noun = "matching lines"
		page.Hint = `use a narrower pattern`
		page.Line = func(l line) string { return strconv.FormatInt(l.Line, 10) + ":" + l.plain() }
	}
	most := partSize(page.Budget.Bytes)
	switch {
	case re != nil:
	case r.Info.Longest > int64(most): // who knows in how many parts
		page.Noun = "lines or parts"
	default:
		page.Total(from.Total)
	}
	if r.Info.Dropped > 0 {
		page.Noun += fmt.Sprintf(" (%s after them not kept)", count(r.Info.Dropped, "byte"))
	}
	lines := newLineReader(ctx, r, from.At, most)
	for {
		before := lines.at
		var l line
		var err error
		if re == nil {
			l, err = lines.next()
		} else {
			l, err = lines.nextMatch(r, re)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return result.Result{}, err
		}
		if page.Add(l) {
			continue
		}
		next := readPosition{At: before, Total: from.Total}
		if re != nil {
			next.Total += int64(page.Len())
		}
		if page.NextCursor, err = readCursors.Encode(req, next); err != nil {
			return result.Result{}, err
		}
		return page.Result(), nil
	}
	if re != nil {
		page.Total(from.Total + int64(page.Len()))
	}
	return page.Result(), nil
}

// partSize is how many bytes of a line one item has at most, so that an item
// fits a page of that budget, whatever its bytes become when they are encoded.
func partSize(budget int) int {
	return min(24+max(0, budget-result.MinBytes)/8, step/4)
}
