// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type tailInput struct {
	Host       string `json:"host" jsonschema:"minLength=1,maxLength=63" jsonschema_description:"Name of the machine, as the tool hosts lists it."`
	Path       string `json:"path" jsonschema:"minLength=1" jsonschema_description:"The file, as an absolute path."`
	Lines      int    `json:"lines,omitzero" jsonschema:"minimum=1,maximum=1000,default=50" jsonschema_description:"How many lines to return at most. With a cursor and without a pattern all that is new is returned."`
	Pattern    string `json:"pattern,omitempty" jsonschema:"maxLength=1000" jsonschema_description:"Return the last lines that match this POSIX extended regular expression (grep -E), which is looked for on the machine, in all of the file."`
	Fixed      bool   `json:"fixed,omitzero" jsonschema_description:"The pattern is plain text (grep -F)."`
	IgnoreCase bool   `json:"ignoreCase,omitzero" jsonschema_description:"Letters match in either case, those of ASCII only."`
	tool.PageInput
}

// A tailPosition is the end of what was shown.
type tailPosition struct {
	Inode  int64 `json:"i,omitzero"`
	Offset int64 `json:"o,omitzero"`
}

// TailSummary stands beside the lines of a page.
type TailSummary struct {
	Size    int64 `json:"size" jsonschema_description:"bytes of the file"`
	Earlier bool  `json:"earlier" jsonschema_description:"there are earlier lines, or earlier matches, that are not here"`
}

// tailLog is the handler of tail_log.
func (f *fleet) tailLog(ctx context.Context, req *tool.Request, in tailInput, page *result.Page[Line]) error {
	from, err := f.tail.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	m, err := f.machine(in.Host)
	if err != nil {
		return err
	}
	name, err := f.cleanPath(m, in.Path)
	switch {
	case err != nil:
		return err
	case strings.ContainsAny(in.Pattern, "\n\x00"):
		return fmt.Errorf("pattern: it has no line breaks; use | between alternatives")
	case in.Pattern == "" && (in.Fixed || in.IgnoreCase):
		return fmt.Errorf("fixed and ignoreCase need a pattern")
	}
	page.Noun, page.Line, page.Shrink = "lines", Line.line, Line.shrink
	page.Hint = "ask for fewer lines, or use a pattern"
	if in.Pattern == "" && in.Cursor != "" {
		return f.added(ctx, req, m, name, from, page)
	}
	summary := &TailSummary{}
	page.Extra = summary
	var found []Line
	var end tailPosition
	window := 2 * page.Budget.Bytes
	if in.Pattern == "" {
		found, end, err = f.lastLines(ctx, m, name, in.Lines, window, summary)
	} else {
		found, end, err = f.lastMatches(ctx, m, name, in, from, window, summary)
	}
	if err != nil {
		return err
	}
	if page.NextCursor, err = f.tail.Encode(req, end); err != nil {
		return err
	}
	page.More()
	// The newest lines that fit are what is wanted.
	for !fits(page, found) {
		found = found[1+len(found)/16:]
		summary.Earlier = true
	}
	for _, l := range found {
		page.Add(l)
	}
	return nil
}

// fits tells whether a page like this one has room for the lines.
func fits(page *result.Page[Line], lines []Line) bool {
	try := result.Page[Line]{Budget: page.Budget, Noun: page.Noun, Hint: page.Hint, Line: page.Line, Shrink: page.Shrink, Extra: page.Extra}
	for i, l := range lines {
		if !try.Add(l) {
			return i == len(lines)-1 && i == 0
		}
	}
	return true
}

// lastLines are the last lines of a file, as far as they are within the window.
func (f *fleet) lastLines(ctx context.Context, m *machine, name string, most, window int, s *TailSummary) ([]Line, tailPosition, error) {
	count := window + 1 // one byte more tells whether the first line is whole
	p, err := f.fetch(ctx, m, name, count, "read", name, strconv.Itoa(-count), "0", strconv.Itoa(count))
	if err != nil {
		return nil, tailPosition{}, err
	}
	p.whole(count)
	if p.binary() {
		return nil, tailPosition{}, p.binaryError("tail_log", name)
	}
	s.Size = max(p.size, p.offset+int64(len(p.data)))
	end := tailPosition{p.inode, p.offset + int64(len(p.data))}
	data := p.data
	if p.offset > 0 {
		s.Earlier = true
		data = afterFirst(data)
	}
	lines := split(data)
	if len(lines) > most {
		s.Earlier = true
		lines = lines[len(lines)-most:]
	}
	found := make([]Line, len(lines))
	for i, l := range lines {
		found[i] = f.short(Line{Text: f.text(l)})
	}
	return found, end, nil
}

// lastMatches are the last lines that match, behind a position.
func (f *fleet) lastMatches(ctx context.Context, m *machine, name string, in tailInput, from tailPosition, window int, s *TailSummary) ([]Line, tailPosition, error) {
	flags := "-E"
	if in.Fixed {
		flags = "-F"
	}
	if in.IgnoreCase {
		flags += "i"
	}
	p, err := f.fetch(ctx, m, name, window, "grep", name, strconv.FormatInt(from.Offset, 10), flags, in.Pattern, strconv.Itoa(in.Lines+1), strconv.Itoa(window))
	if err != nil {
		return nil, tailPosition{}, err
	}
	if in.Cursor != "" {
		if err := p.same(from.Inode, from.Offset); err != nil {
			return nil, tailPosition{}, err
		}
	}
	s.Size = p.size
	data := p.data
	if len(data) >= window {
		s.Earlier = true
		data = afterFirst(data)
	}
	lines := split(data)
	if len(lines) > in.Lines {
		s.Earlier = true
		lines = lines[len(lines)-in.Lines:]
	}
	found := make([]Line, len(lines))
	for i, l := range lines {
		number, text, ok := bytes.Cut(l, []byte(":"))
		n, err := strconv.ParseInt(string(number), 10, 64)
		if !ok || err != nil { // the end of a line that is longer than the window
			n, text = 0, l
		}
		if from.Offset > 0 {
			n = 0 // counted from there
		}
		found[i] = f.short(Line{Line: n, Text: f.text(text)})
	}
	return found, tailPosition{p.inode, p.size}, nil
}

// afterFirst is what comes behind the first line end, or all if that is nothing.
func afterFirst(data []byte) []byte {
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i+1 < len(data) {
		return data[i+1:]
	}
	return data
}

// split are the lines of data.
func split(data []byte) [][]byte {
	var lines [][]byte
	for l := range bytes.Lines(data) {
		lines = append(lines, l)
	}
	return lines
}

// short cuts a line that would take the room of many.
func (f *fleet) short(l Line) Line {
	if len(l.Text) > 4096 {
		l, _ = l.shrink(4096)
	}
	return l
}

// added shows what has come behind a position.
func (f *fleet) added(ctx context.Context, req *tool.Request, m *machine, name string, from tailPosition, page *result.Page[Line]) error {
	r := f.newReader(page)
	p, err := f.fetch(ctx, m, name, r.want(), "read", name, strconv.FormatInt(from.Offset, 10), "0", strconv.Itoa(r.want()))
	if err != nil {
		return err
	}
	p.whole(r.want())
	if err := p.same(from.Inode, from.Offset); err != nil {
		return err
	}
	if p.binary() {
		return p.binaryError("tail_log", name)
	}
	page.Extra = &TailSummary{Size: max(p.size, p.offset+int64(len(p.data))), Earlier: p.offset > 0}
	r.at = p.offset
	more := r.fill(p.data, len(p.data) < r.want())
	page.NextCursor, err = f.tail.Encode(req, tailPosition{p.inode, r.at})
	if !more {
		page.More()
	}
	return err
}
