// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"regexp"
	"unicode/utf8"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type pagedInput struct {
	Pattern        string `json:"pattern" jsonschema:"description=RE2 regular expression,minLength=1"`
	Path           string `json:"path,omitempty" jsonschema:"description=file or directory relative to the root,default=."`
	tool.PageInput        // adds cursor and maxBytes
}

var cursors cursor.Codec[position]

func addPaged(tools *tool.Registry, root *os.Root) {
	info := tool.Info{
		Name: "grep",
		Description: "Finds the lines of text files that match a regular expression. " +
			"Pass nextCursor as cursor, with the other arguments unchanged, for the next page.",
		ReadOnly: tool.Yes,
	}
	tool.AddPage(tools, info, func(ctx context.Context, req *tool.Request, in pagedInput, page *result.Page[Match]) error {
		return paged(ctx, req, root, in, page)
	})
}

func paged(ctx context.Context, req *tool.Request, root *os.Root, in pagedInput, page *result.Page[Match]) error {
	re, err := regexp.Compile(in.Pattern)
	if err != nil {
		return fmt.Errorf("pattern: %w", err) // the model reads it, and tries again
	}
	from, err := cursors.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	page.Noun, page.Sorted, page.Hint = "matching lines", "by path and line", "use a narrower path or a longer pattern"
	page.Line = func(m Match) string { return fmt.Sprintf("%s:%d:%s", m.Path, m.Line, m.Text) }
	page.Shrink = shrink
	for m, err := range matches(ctx, root, path.Clean(cmp.Or(in.Path, ".")), re, from) {
		if err != nil {
			return err
		}
		if !page.Add(m) { // full: leaving the loop stops the search
			page.NextCursor, err = cursors.Encode(req, position{m.Path, m.Line})
			return cmp.Or(page.Err(), err)
		}
	}
	return nil
}

// shrink stands in for a line that would not fit an empty page.
func shrink(m Match, max int) (Match, bool) {
	keep := max/2 - len(m.Path)
	if keep < 0 {
		return m, false
	}
	if keep < len(m.Text) {
		for keep > 0 && !utf8.RuneStart(m.Text[keep]) {
			keep--
		}
		m.Text = fmt.Sprintf("%s[%d bytes cut]", m.Text[:keep], len(m.Text)-keep)
	}
	return m, true
}
