// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
)

// A Change is one item of git_diff and git_show. Which fields are there depends
// on Kind.
type Change struct {
	Kind string `json:"kind" jsonschema:"description=file: a changed file; hunk: lines of a change; note: something that is not shown; message: of a commit or tag; entry: of a directory; line: of a file,enum=file,enum=hunk,enum=note,enum=message,enum=entry,enum=line"`

	Path    string `json:"path,omitempty" jsonschema:"description=relative to the top; in double quotes\\, as git quotes it\\, where it has unusual characters: pass it on like that"`
	OldPath string `json:"oldPath,omitempty" jsonschema:"description=before it was renamed"`
	Status  string `json:"status,omitempty" jsonschema:"description=what became of the file,enum=added,enum=modified,enum=deleted,enum=renamed,enum=type changed,enum=unmerged"`
	Added   *int64 `json:"added,omitempty" jsonschema:"description=lines added; absent for a binary file"`
	Deleted *int64 `json:"deleted,omitempty" jsonschema:"description=lines deleted; absent for a binary file"`
	Type    string `json:"type,omitempty" jsonschema:"description=of an entry,enum=file,enum=executable,enum=symlink,enum=directory,enum=submodule"`
	Size    *int64 `json:"size,omitempty" jsonschema:"description=of a file in bytes"`
	Header  string `json:"header,omitempty" jsonschema:"description=of a hunk: where its lines stand before and after"`
	Line    int64  `json:"line,omitzero" jsonschema:"description=number of the line from 1"`
	Text    string `json:"text,omitempty" jsonschema:"description=the lines; of a hunk with a space\\, + or - before each"`
}

// line is a change in the text form.
func (c Change) line() string {
	switch c.Kind {
	case "file":
		name := inLine(c.Path)
		if c.OldPath != "" {
			name = inLine(c.OldPath) + " -> " + name
		}
		s := fmt.Sprintf("%-12s %s", c.Status, name)
		if c.Added != nil && c.Deleted != nil {
			s += fmt.Sprintf(" | +%d -%d", *c.Added, *c.Deleted)
		} else {
			s += " | binary"
		}
		if c.Text != "" {
			s += " (" + c.Text + ")"
		}
		return s
	case "hunk":
		return inLine(c.Path) + " " + c.Header + "\n" + c.Text
	case "note":
		if c.Path == "" {
			return c.Text
		}
		return inLine(c.Path) + ": " + c.Text
	case "entry":
		s := fmt.Sprintf("%-10s %s", c.Type, inLine(c.Path))
		if c.Size != nil {
			s += fmt.Sprintf(" (%d bytes)", *c.Size)
		}
		return s
	case "line":
		return fmt.Sprintf("%d\t%s", c.Line, c.Text)
	}
	return c.Text
}

// shrink shortens a change that would not fit a page of its own.
func (c Change) shrink(limit int) (Change, bool) {
	c.Path, c.OldPath = cut(c.Path, limit, limit/2), cut(c.OldPath, limit, limit/4)
	if i := strings.LastIndex(c.Header, "@@ "); i > 0 {
		c.Header = c.Header[:i+len("@@")]
	}
	bare := c
	bare.Text = ""
	c.Text = cut(c.Text, limit, max(limit-inJSON(bare.line()), 0))
	return c, true
}

// statuses are git's letters for what became of a file.
var statuses = map[byte]string{
	'A': "added", 'M': "modified", 'D': "deleted", 'R': "renamed", 'T': "type changed", 'U': "unmerged", 'C': "added", 'X': "modified", 'B': "modified",
}

// types are git's modes of what a tree holds.
func typeOf(mode string) string {
	switch strings.TrimLeft(mode, "0") {
	case "100755":
		return "executable"
	case "120000":
		return "symlink"
	case "40000":
		return "directory"
	case "160000":
		return "submodule"
	}
	return "file"
}
