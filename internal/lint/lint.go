// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package lint knows what hosts reject or mishandle in the list of a server's
// tools. It needs no server and no registry, so that it can look at anybody's.
package lint

import (
	"github.com/weir-mcp/weir/internal/document"
)

// A Finding is one thing in a list of tools that known hosts reject or
// mishandle.
type Finding struct {
	Tool  string // name of the tool, or "tool 3" for one without; empty for the list as a whole
	Place string // JSON pointer in the tool's definition, such as "/inputSchema/properties/q"
	// Rejected says that a known host refuses the tool over it, or all tools of
	// the server, or every request of the conversation. False means that hosts
	// or models make less of the tool.
	Rejected bool
	Text     string // what is there, and what it does
	Change   string // what to do about it
}

// String is one line, without Change.
func (f Finding) String() string {
	if f.Tool == "" {
		return "list: " + f.Text
	}
	return f.Tool + f.Place + ": " + f.Text
}

// What Tools allows a whole list: hosts put all of it before the model, each
// time.
const (
	maxListBytes = 100 << 10
	maxListTools = 128
)

// RootCombinators are the keywords that make hosts refuse a schema when they
// stand at its root: some then drop the tool, some the server. It must not be
// changed.
var RootCombinators = []string{"oneOf", "anyOf", "allOf", "not", "enum", "const", "if"}

// Tools reports what known hosts reject or mishandle in the result of
// tools/list: the object with the member tools, or the whole response. Pages of
// a long list have to be joined before. The findings stand in the order of the
// tools.
func Tools(list []byte) []Finding {
	l := linter{names: map[string]bool{}}
	doc, err := document.Decode(list)
	if err != nil {
		l.reject("", "write one JSON value, with each name once in an object", "not one JSON value: %v", err)
		return l.found
	}
	root, _ := doc.(document.Object)
	if inner, ok := root["result"].(document.Object); ok {
		root = inner
	}
	tools, ok := root["tools"].([]any)
	if !ok {
		l.reject("", "answer with an array, empty where there are no tools", "tools is %s and has to be an array", document.Show(root["tools"]))
		return l.found
	}
	size := 2
	for i, t := range tools {
		size += len(document.Append(nil, t)) + 1
		l.tool(t, i)
	}
	l.name = ""
	if size > maxListBytes {
		l.warn("", "shorten descriptions, or split the server",
			"the definitions take %d bytes (more than %d): hosts put them before the model in every conversation", size, maxListBytes)
	}
	if len(tools) > maxListTools {
		l.reject("", "join tools that differ in one argument, or split the server",
			"%d tools are more than the %d that some hosts take", len(tools), maxListTools)
	}
	return l.found
}
