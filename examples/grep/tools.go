// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/examples/grep/internal/tree"
	"github.com/weir-mcp/weir/tool"
)

// files is what both tools read.
type files struct {
	root *os.Root

	grepCursors cursor.Codec[position]
	readCursors cursor.Codec[lineNumber]

	opened func(path string) // called before a file is opened; nil but in tests
}

func newTools(f *files) *tool.Registry {
	var tools tool.Registry
	tool.Add(&tools, tool.Info{
		Name:  "grep",
		Title: "Search files",
		Description: "Finds the lines of text files that match a regular expression, sorted by path and line. " +
			"Answers are pages: pass nextCursor as cursor, with the other arguments unchanged, to go on. " +
			"Skips binary files, .git and what .gitignore files leave out.",
		ReadOnly:     tool.Yes,
		OpenWorld:    tool.No,
		AcceptText:   true,
		OutputSchema: tool.PageSchema[Match, GrepSummary](),
	}, f.grep)
	tool.Add(&tools, tool.Info{
		Name:  "read_file",
		Title: "Read a file",
		Description: "Returns the numbered lines of one text file, or a range of them. " +
			"Answers are pages: pass nextCursor as cursor, with the other arguments unchanged, to go on. " +
			"A line of more than 2000 bytes is cut, and says how much is missing; grep shows the surroundings of a match in it.",
		ReadOnly:     tool.Yes,
		OpenWorld:    tool.No,
		AcceptText:   true,
		OutputSchema: tool.PageSchema[Line, ReadSummary](),
	}, f.read)
	return &tools
}

func (f *files) opening(path string) {
	if f.opened != nil {
		f.opened(path)
	}
}

// explain turns an error of the file system into words for a model, which knows
// paths below the root only.
func explain(path string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("there is no %q below the root; paths are relative to it, %q is the root itself", path, ".")
	case errors.Is(err, tree.ErrNotRegular):
		return fmt.Errorf("%q is not a file that can be read: it is a directory, or something that may wait", path)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("no permission to read %q", path)
	}
	return fmt.Errorf("%q cannot be read: %s", path, reason(err))
}

// reason is the innermost text of a file system's error.
func reason(err error) string {
	var pe *fs.PathError
	if errors.As(err, &pe) {
		err = pe.Err
	}
	return err.Error()
}

// printable replaces what a JSON string would escape, so that the length of the
// answer is known, and keeps at most max bytes.
func printable(s string, max int) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '"' || r == '\\' || r == '\u2028' || r == '\u2029' {
			return '?'
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > max {
		s = s[:cutAt(s, max-len("…"))] + "…"
	}
	return s
}

// cutAt returns the largest n up to max that is not inside a character of s.
func cutAt(s string, max int) int {
	if max >= len(s) {
		return len(s)
	}
	for max > 0 && s[max]&0xC0 == 0x80 {
		max--
	}
	return max
}
