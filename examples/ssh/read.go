// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type readInput struct {
	Host      string `json:"host" jsonschema:"minLength=1,maxLength=63" jsonschema_description:"Name of the machine, as the tool hosts lists it."`
	Path      string `json:"path" jsonschema:"minLength=1" jsonschema_description:"The file, as an absolute path."`
	StartLine int64  `json:"startLine,omitzero" jsonschema:"minimum=1" jsonschema_description:"First line to return, from 1."`
	EndLine   int64  `json:"endLine,omitzero" jsonschema:"minimum=1" jsonschema_description:"Last line to return. Leave out for the end of the file."`
	Offset    int64  `json:"offset,omitzero" jsonschema:"minimum=0" jsonschema_description:"First byte to return, instead of lines. Much faster than a line far behind in a large file."`
	Bytes     int64  `json:"bytes,omitzero" jsonschema:"minimum=1" jsonschema_description:"With offset: how many bytes to return. Leave out for the end of the file."`
	tool.PageInput
}

// A readPosition is where a page of read_file begins.
type readPosition struct {
	Inode  int64 `json:"i,omitzero"`
	Offset int64 `json:"o,omitzero"`
	Line   int64 `json:"l,omitzero"`
}

// readFile is the handler of read_file.
func (f *fleet) readFile(ctx context.Context, req *tool.Request, in readInput, page *result.Page[Line]) error {
	from, err := f.read.Decode(req, in.Cursor)
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
	case (in.StartLine > 0 || in.EndLine > 0) && (in.Offset > 0 || in.Bytes > 0):
		return fmt.Errorf("startLine and endLine, or offset and bytes; not both")
	case in.EndLine > 0 && in.EndLine < in.StartLine:
		return fmt.Errorf("endLine %d is before startLine %d", in.EndLine, in.StartLine)
	}
	r := f.newReader(page)
	r.last = in.EndLine
	if in.Bytes > 0 {
		r.stop = in.Offset + min(in.Bytes, 1<<62)
	}
	offset, start := in.Offset, int64(0)
	if in.Cursor != "" {
		offset, r.line = from.Offset, from.Line
	} else if offset == 0 && in.Bytes == 0 {
		r.line = max(1, in.StartLine)
		start = in.StartLine
	}
	p, err := f.fetch(ctx, m, name, r.want(), "read", name, strconv.FormatInt(offset, 10), strconv.FormatInt(start, 10), strconv.Itoa(r.want()))
	if err != nil {
		return err
	}
	p.whole(r.want())
	switch {
	case in.Cursor != "" && p.same(from.Inode, from.Offset) != nil:
		return errReplaced
	case in.Cursor == "" && p.offset > 0 && len(p.data) == 0 && start > 0:
		return fmt.Errorf("startLine %d is past the end of %s, which has %d bytes", start, quote(name), p.size)
	case in.Cursor == "" && p.offset > p.size && len(p.data) == 0:
		return fmt.Errorf("offset %d is past the end of %s, which has %d bytes", offset, quote(name), p.size)
	case p.binary():
		return p.binaryError("read_file", name)
	}
	page.Noun, page.Line, page.Shrink = "lines", Line.line, Line.shrink
	page.Hint = "ask for a range of lines or bytes"
	page.Extra = &FileSummary{Size: max(p.size, p.offset+int64(len(p.data))), Offset: p.offset}
	r.at = p.offset
	if r.fill(p.data, len(p.data) < r.want()) {
		page.NextCursor, err = f.read.Encode(req, readPosition{p.inode, r.at, r.line})
	}
	return err
}
