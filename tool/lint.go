// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "github.com/weir-mcp/weir/internal/lint"

// A Finding is one thing in a list of tools that known hosts reject or
// mishandle.
type Finding struct {
	Tool  string // name of the tool, or "tool 3" for one without; empty for the list as a whole
	Place string // JSON pointer in the tool's definition, such as "/inputSchema/properties/q"
	Text  string // what is there, and what it does
}

// String is one line.
func (f Finding) String() string {
	if f.Tool == "" {
		return "list: " + f.Text
	}
	return f.Tool + f.Place + ": " + f.Text
}

// Lint reports what known hosts reject or mishandle in the list of r's tools.
// An author's own test calls it and expects nothing.
func (r *Registry) Lint() []Finding {
	list := []byte(`{"tools":[`)
	for i, t := range r.Tools() {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, t.Definition(withAnyOutput)...)
	}
	return Lint(append(list, "]}"...))
}

// Lint reports what known hosts reject or mishandle in the result of
// tools/list, of any server: the object with the member tools, or the whole
// response. Pages of a long list have to be joined before. The findings stand
// in the order of the tools.
func Lint(toolsListResult []byte) []Finding {
	var found []Finding
	for _, f := range lint.Tools(toolsListResult) {
		found = append(found, Finding{f.Tool, f.Place, f.Text})
	}
	return found
}
