// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type diffInput struct {
	Repository
	From        string   `json:"from,omitempty" jsonschema:"description=Revision on the left. Left out: the index\\, or HEAD with staged."`
	To          string   `json:"to,omitempty" jsonschema:"description=Revision on the right. Left out: the working tree\\, or the index with staged."`
	Staged      bool     `json:"staged,omitempty" jsonschema:"description=Compare the index with from: what would be committed."`
	MergeBase   bool     `json:"mergeBase,omitempty" jsonschema:"description=Compare to with the commit where it left from (like from...to): what a branch adds."`
	Paths       []string `json:"paths,omitempty" jsonschema:"description=Only these files or directories\\, relative to the top of the repository.,maxItems=100"`
	Glob        string   `json:"glob,omitempty" jsonschema:"description=Only files that match\\, such as *.go or src/**/*.ts; with paths: below them."`
	Context     int      `json:"context,omitempty" jsonschema:"description=Unchanged lines around each change.,default=3,minimum=0,maximum=50"`
	IgnoreSpace bool     `json:"ignoreSpace,omitempty" jsonschema:"description=Ignore changes of white space."`
	StatOnly    bool     `json:"statOnly,omitempty" jsonschema:"description=List the files only\\, without their hunks."`
	tool.PageInput
}

// A DiffSummary stands beside the items of git_diff.
type DiffSummary struct {
	From    string `json:"from" jsonschema:"description=the left side: a commit (in a small page the first digits of its id)\\, or the index"`
	To      string `json:"to" jsonschema:"description=the right side: a commit\\, the index or the working tree"`
	Files   int    `json:"files" jsonschema:"description=files that differ"`
	Added   int64  `json:"added" jsonschema:"description=lines added in all"`
	Deleted int64  `json:"deleted" jsonschema:"description=lines deleted in all"`
}

func (g *roots) gitDiff(ctx context.Context, req *tool.Request, in diffInput, page *result.Page[Change], note *string) error {
	pos, err := g.diff.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	specs, err := pathspecs(in.Paths, in.Glob)
	if err != nil {
		return err
	}
	switch {
	case in.Staged && in.To != "":
		return errors.New("staged compares from with the index; leave out to")
	case in.From == "" && in.To != "":
		return errors.New("to needs from: the revision on the left; HEAD is the current commit")
	case in.MergeBase && (in.From == "" || in.To == ""):
		return errors.New("mergeBase needs from and to")
	}
	open := g.worktree
	if in.To != "" {
		open = g.open
	}
	r, err := open(ctx, in.Repo)
	if err != nil {
		return err
	}
	if in.Cursor == "" {
		if pos, err = r.sides(ctx, in); err != nil {
			return err
		}
	}
	c := &comparison{repo: r, specs: specs, context: in.Context, ignoreSpace: in.IgnoreSpace, statOnly: in.StatOnly}
	if len(in.Paths) == 1 && in.Glob == "" {
		c.only, _ = cleanPath(in.Paths[0])
	}
	summary := &DiffSummary{From: "index", To: "working tree", Files: 1e9, Added: 1e12, Deleted: 1e12}
	if in.Staged {
		c.sides = append(c.sides, "--cached")
		summary.To = "index"
	}
	if pos.From != nil {
		c.sides = append(c.sides, hex.EncodeToString(pos.From))
		summary.From = hex.EncodeToString(pos.From)
	}
	if pos.To != nil {
		c.sides = append(c.sides, hex.EncodeToString(pos.To))
		summary.To = hex.EncodeToString(pos.To)
	}
	page.Noun, page.Hint = "changes", "narrow the comparison with paths, glob or statOnly"
	page.Line, page.Shrink, page.Extra = Change.line, Change.shrink, summary
	shorten(page)
	if small(page.Budget) {
		summary.From, summary.To = short(summary.From), short(summary.To)
	}
	err = c.fill(ctx, page, &pos, func() {
		summary.Files, summary.Added, summary.Deleted = pos.Files, pos.Added, pos.Deleted
		*note = fmt.Sprintf("%s to %s: files that differ: %d, lines added: %d, deleted: %d.", summary.From, summary.To, pos.Files, pos.Added, pos.Deleted)
	})
	if err == errFull || err != nil && page.Len() > 0 {
		if stopErr := stop(req, page, g.diff, pos); err == errFull {
			return stopErr
		}
	}
	if err == nil && pos.Files == 0 && in.Cursor == "" {
		var trees []string
		for _, id := range [][]byte{pos.From, pos.To} {
			if id != nil {
				trees = append(trees, hex.EncodeToString(id))
			}
		}
		return r.checkPaths(ctx, in.Paths, trees...)
	}
	return err
}

// sides resolves the revisions, once for all pages.
func (r *repo) sides(ctx context.Context, in diffInput) (diffPosition, error) {
	var pos diffPosition
	id := func(rev string) (string, error) {
		// A tree will do, such as HEAD:src.
		if id, err := r.resolve(ctx, rev, "commit"); err == nil {
			return id, nil
		}
		return r.resolve(ctx, rev, "tree")
	}
	from := in.From
	if from == "" && in.Staged {
		from = "HEAD"
		if head, err := r.parse(ctx, "HEAD"); err == nil && head == "" {
			pos.From = rawID(r.emptyTree()) // before the first commit
			return pos, nil
		}
	}
	if from == "" {
		return pos, nil
	}
	left, err := id(from)
	if err != nil {
		return pos, err
	}
	pos.From = rawID(left)
	if in.To == "" {
		return pos, nil
	}
	right, err := id(in.To)
	if err != nil {
		return pos, err
	}
	pos.To = rawID(right)
	if in.MergeBase {
		out, err := r.output(ctx, "merge-base", left, right)
		base := strings.TrimSuffix(out, "\n")
		if err != nil || !r.isID(base) {
			return pos, errors.New("mergeBase: the two revisions have no commit in common")
		}
		pos.From = rawID(base)
	}
	return pos, nil
}
