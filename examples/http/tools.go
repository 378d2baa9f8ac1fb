// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result/artifact"
	"github.com/weir-mcp/weir/tool"
)

// maxCalls bounds the calls of each tool that run at once, and with them what is
// held of bodies: in JSON, a text of maxBody.
const maxCalls = 32

// newTools returns the tools of f, and the one that reads what it keeps.
func newTools(f *fetcher) *tool.Registry {
	var tools tool.Registry
	timeout := f.policy.Timeout + f.policy.Timeout/4 // a call ends itself before, with what it has read
	tool.Add(&tools, tool.Info{
		Name: "fetch", Title: "Fetch a page",
		Description: "Reads a web page or a file by its URL: status, headers and the text of the body. HTML becomes plain text, with links as [n] that are listed once at the end. " +
			"A long text comes in parts: pass nextCursor as cursor, with the other arguments unchanged, to go on. Binary content is described and not shown.",
		ReadOnly: tool.Yes, OpenWorld: tool.Yes, AcceptText: true, Timeout: timeout, MaxCalls: maxCalls,
		OutputSchema: schemaOf[Fetched](),
	}, hiding(f.policy.secrets, f.fetch))
	tool.Add(&tools, tool.Info{
		Name: "fetch_json", Title: "Fetch JSON",
		Description: "Reads JSON by its URL, as a list of items: the elements of the list that pointer names, with only the members that fields names. No more of it is read than a page has room for. " +
			"Answers are pages: pass nextCursor as cursor, with the other arguments unchanged, to go on, also over the further pages of an API.",
		ReadOnly: tool.Yes, OpenWorld: tool.Yes, AcceptText: true, Timeout: timeout, MaxCalls: maxCalls,
		OutputSchema: tool.PageSchema[jsontext.Value, ListSummary](),
	}, hiding(f.policy.secrets, f.fetchJSON))
	tool.Add(&tools, tool.Info{
		Name: "head", Title: "Ask for headers",
		Description: "Asks for the status and the headers of a URL without the body: whether it is there, its type, its size, when it changed, where it redirects to.",
		ReadOnly:    tool.Yes, OpenWorld: tool.Yes, AcceptText: true, Timeout: timeout, MaxCalls: maxCalls,
		OutputSchema: schemaOf[Head](),
	}, hiding(f.policy.secrets, f.head))
	if f.store != nil {
		if err := tools.Register(artifact.ReadTool(f.store)); err != nil {
			panic(err)
		}
	}
	return &tools
}

// schemaOf is the schema of a result.
func schemaOf[T any]() jsontext.Value {
	s, err := tool.SchemaOf[T]()
	if err != nil {
		panic(err)
	}
	return s
}
