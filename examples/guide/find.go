// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type findInput struct {
	Text string `json:"text" jsonschema:"description=what the lines contain,minLength=1"`
	tool.PageInput
}

type match struct {
	Line int    `json:"line"` // from 1
	Text string `json:"text"`
}

func (l *logFile) find(ctx context.Context, req *tool.Request, in findInput, page *result.Page[match]) error {
	from, err := l.cursors.Decode(req, in.Cursor)
	if err != nil {
		return err // the model reads why, and that it can start again
	}
	page.Noun = "matching lines"
	page.Line = func(m match) string { return fmt.Sprintf("%d: %s", m.Line, m.Text) }
	for line, err := range l.lines(ctx, from) {
		if err != nil {
			return err
		}
		from = line.next
		if !strings.Contains(line.text, in.Text) {
			continue
		}
		if !page.Add(match{line.next.Lines, line.text}) { // full: go on here
			page.NextCursor, err = l.cursors.Encode(req, line.begin)
			return err
		}
	}
	page.More() // the log grows: the cursor is for later
	page.NextCursor, err = l.cursors.Encode(req, from)
	return err
}
