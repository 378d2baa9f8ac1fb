// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// Repository is the argument that every tool has.
type Repository struct {
	Repo string `json:"repo,omitempty" jsonschema:"description=Directory of the repository\\, or one in it: relative to the root of the server\\, or absolute. With several roots a relative one begins with the name of a root.,default=."`
}

// paging is what descriptions say of pages.
const paging = " Answers are pages: pass nextCursor as cursor, with the other arguments unchanged, to go on."

func newTools(g *roots) *tool.Registry {
	var tools tool.Registry
	// reads describes a tool that changes nothing, on this machine only.
	reads := func(name, title, description string) tool.Info {
		return tool.Info{
			Name: name, Title: title, Description: description + paging,
			ReadOnly: tool.Yes, OpenWorld: tool.No, AcceptText: true,
		}
	}
	info := reads("git_status", "Status", "Shows the current branch, how it stands to its upstream, an operation under way such as a merge, and the files that are staged, changed, in conflict or untracked.")
	info.OutputSchema = tool.PageSchema[StatusEntry, StatusSummary]()
	addNoted(&tools, info, g.gitStatus)

	info = reads("git_log", "History", "Lists commits, newest first, with author, date and subject; all of a branch, or those of a range, a path, an author or a time. The pages of one list stay as they are when commits are added meanwhile.")
	tool.AddPage(&tools, info, g.gitLog)

	info = reads("git_diff", "Compare", "Compares the working tree with the index, the index with a commit, or two commits: first a line for each file with the number of lines, then the changes, hunk by hunk. "+
		"The hunks of a very large change, such as that of a generated file, are left out unless paths names the file alone.")
	info.OutputSchema = tool.PageSchema[Change, DiffSummary]()
	addNoted(&tools, info, g.gitDiff)

	info = reads("git_show", "Show an object", "Shows a commit (its message, a line for each file, and the changes to its first parent), a tag, a directory at a revision, or the lines of a file at a revision.")
	info.OutputSchema = tool.PageSchema[Change, ShowSummary]()
	tool.AddPage(&tools, info, g.gitShow)

	info = reads("git_blame", "Who wrote which line", "Shows for each line of a file, or of a range of them, the commit that it comes from, with author and date.")
	info.OutputSchema = tool.PageSchema[BlameLine, BlameSummary]()
	tool.AddPage(&tools, info, g.gitBlame)

	info = reads("git_grep", "Search", "Finds the lines that match a pattern in the tracked files of the working tree, or in all files of a revision. Binary files are skipped.")
	tool.AddPage(&tools, info, g.gitGrep)

	info = reads("git_branches", "Branches and tags", "Lists local branches, remote-tracking branches or tags, with the commit that each points to, and how a branch stands to its upstream.")
	tool.AddPage(&tools, info, g.gitBranches)

	info = reads("git_ls_files", "List files", "Lists the files that are tracked, at a revision too, or those that are untracked, ignored, changed, deleted or in conflict, sorted by path.")
	tool.AddPage(&tools, info, g.gitLsFiles)

	if g.write {
		g.addWriters(&tools)
	}
	return &tools
}

// noteRoom is what a note may take of a page.
const noteRoom = 600

// addNoted is tool.AddPage for pages that have something to say before their
// items, which it is for a model that sees the text only.
func addNoted[In, T any](tools *tool.Registry, info tool.Info, h func(context.Context, *tool.Request, In, *result.Page[T], *string) error) {
	tool.Add(tools, info, func(ctx context.Context, req *tool.Request, in In) (result.Result, error) {
		page := result.Page[T]{Budget: req.Budget()}
		tells := page.Budget.Bytes >= 4<<10 // of a smaller page the items need all the room
		if tells {
			page.Budget.Bytes -= noteRoom
		}
		var note string
		err := h(ctx, req, in, &page, &note)
		if err != nil && page.Len() == 0 {
			return result.Result{}, err
		}
		res := page.Result()
		if tells && note != "" {
			res.Content = append([]result.Content{result.TextContent{Text: text([]byte(note), noteRoom/2, 0)}}, res.Content...)
		}
		return res, err
	})
}
