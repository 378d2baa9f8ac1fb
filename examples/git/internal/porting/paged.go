// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"cmp"
	"context"
	"encoding/hex"
	"fmt"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type pagedInput struct {
	Revision       string `json:"revision,omitempty" jsonschema:"description=A branch\\, tag or commit,default=HEAD"`
	tool.PageInput        // adds cursor and maxBytes
}

// A position is where a page begins. It holds the commit that the first page
// began with, and not the branch, which moves on.
type position struct {
	Commit []byte `json:"c"`
	Skip   int    `json:"n"`
}

var cursors cursor.Codec[position]

func addPaged(tools *tool.Registry, dir string) {
	info := tool.Info{
		Name: "git_log",
		Description: "Lists the commits of a revision, newest first. " +
			"Pass nextCursor as cursor, with the other arguments unchanged, for the next page.",
		ReadOnly: tool.Yes,
	}
	tool.AddPage(tools, info, func(ctx context.Context, req *tool.Request, in pagedInput, page *result.Page[Commit]) error {
		return paged(ctx, req, dir, in, page)
	})
}

func paged(ctx context.Context, req *tool.Request, dir string, in pagedInput, page *result.Page[Commit]) error {
	from, err := cursors.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	if from.Commit == nil {
		id, err := commit(ctx, dir, in.Revision)
		if err != nil {
			return err
		}
		from.Commit, _ = hex.DecodeString(id)
	}
	page.Noun, page.Hint = "commits", "ask for a later revision"
	page.Line = func(c Commit) string { return fmt.Sprintf("%s %s %s: %s", c.Commit[:12], c.Date, c.Author, c.Subject) }
	most := page.Budget.Items + 1 // with one more it is known whether there are more
	for c, err := range commits(ctx, dir, hex.EncodeToString(from.Commit), from.Skip, most) {
		if err != nil {
			return err
		}
		if !page.Add(c) { // full: leaving the loop ends git
			page.NextCursor, err = cursors.Encode(req, from)
			return cmp.Or(page.Err(), err)
		}
		from.Skip++
	}
	return nil
}
