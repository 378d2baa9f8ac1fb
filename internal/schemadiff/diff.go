// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package schemadiff tells what changed between two lists of tools, and whether
// that breaks their callers.
//
// A caller sends arguments and reads structured content. So arguments are
// contravariant: a new input schema has to take all that the old one took. And
// structured content is covariant: a new output schema may only let through
// what the old one let through. What changes neither, but what a model, a host
// or a person goes by, is for review.
package schemadiff

import (
	"cmp"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/toollist"
)

// A Verdict is what a change does to callers. The greater is the worse.
type Verdict uint8

const (
	// Compatible means that what worked goes on to work.
	Compatible Verdict = iota
	// Review means that it depends on what the tool does, or on the caller.
	Review
	// Breaks means that calls which were right are refused, or that results
	// come which callers do not expect.
	Breaks
)

// String is "compatible", "review" or "breaks callers".
func (v Verdict) String() string {
	return [...]string{"compatible", "review", "breaks callers"}[v]
}

// A Change is one difference between two lists.
type Change struct {
	Tool    string // name of the tool
	Place   string // JSON pointer in its definition, the new one where both have it; empty for the tool as a whole
	Verdict Verdict
	Text    string // what changed
	Why     string // what that means to callers; empty where it is plain
}

// Compare tells what changed from old to new: by the name of the tool, and
// within a tool the worst first. Two lists that differ only in what Parse
// leaves out, or in the order of tools, properties or required names, have no
// changes.
func Compare(old, new *toollist.List) []Change {
	c := &comparison{old: index(old), new: index(new)}
	c.tools()
	slices.SortStableFunc(c.found, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Tool, b.Tool), -cmp.Compare(a.Verdict, b.Verdict))
	})
	return c.found
}

// Worst is the worst verdict of changes, Compatible when there are none.
func Worst(changes []Change) Verdict {
	worst := Compatible
	for _, c := range changes {
		worst = max(worst, c.Verdict)
	}
	return worst
}

// index finds tools by their names; what has none, or has one that came
// before, is no tool that can be called.
func index(l *toollist.List) map[string]document.Object {
	m := make(map[string]document.Object, len(l.Tools))
	for _, v := range l.Tools {
		t, ok := v.(document.Object)
		name := toollist.Name(v)
		if _, twice := m[name]; ok && name != "" && !twice {
			m[name] = t
		}
	}
	return m
}

// comparison is one run of Compare.
type comparison struct {
	old, new map[string]document.Object
	found    []Change
}

func (c *comparison) add(tool, place string, v Verdict, text, why string) {
	c.found = append(c.found, Change{tool, place, v, text, why})
}
