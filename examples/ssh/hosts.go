// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"strings"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// cursors are those of the tools.
type cursors struct {
	list cursor.Codec[listPosition]
	read cursor.Codec[readPosition]
	tail cursor.Codec[tailPosition]
}

// A listPosition is how many hosts were shown. The list does not change.
type listPosition int

type hostsInput struct {
	tool.PageInput
}

// A HostItem is a host as a model sees it: without address, account and keys.
type HostItem struct {
	Host        string   `json:"host" jsonschema_description:"its name"`
	Description string   `json:"description,omitempty" jsonschema_description:"what it is"`
	Commands    []string `json:"commands" jsonschema_description:"what may be run there"`
	Paths       []string `json:"paths" jsonschema_description:"what may be read there: files, and directories with all below them"`
}

func (h HostItem) line() string {
	s := h.Host
	if h.Description != "" {
		s += " (" + strings.Join(strings.Fields(h.Description), " ") + ")"
	}
	if len(h.Commands) > 0 {
		s += "; run: " + strings.Join(h.Commands, "; ")
	}
	if len(h.Paths) > 0 {
		s += "; read: " + strings.Join(h.Paths, ", ")
	}
	return s
}

func (f *fleet) addHosts(tools *tool.Registry) {
	tool.AddPage(tools, tool.Info{
		Name: "hosts", Title: "Hosts",
		Description: "Lists the machines that can be reached, with the commands that may be run and the files that may be read on each. Nothing else is allowed. " + commandRules,
		ReadOnly:    tool.Yes, OpenWorld: tool.No,
	}, f.listHosts)
}

// commandRules are what a model has to know of the patterns.
const commandRules = `In a command, "*" stands for any text within one argument and "?" for one byte, "..." for any number of further arguments; what they stand for does not begin with "-" and has no part "..".`

// listHosts is the handler of hosts.
func (f *fleet) listHosts(_ context.Context, req *tool.Request, in hostsInput, page *result.Page[HostItem]) error {
	from, err := f.list.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	page.Noun, page.Line = "hosts", HostItem.line
	// An entry with very many commands is shortened, and says so.
	page.Shrink = func(h HostItem, limit int) (HostItem, bool) {
		h.Commands = f.shorten(h.Commands, limit/3)
		h.Paths = f.shorten(h.Paths, limit/3)
		return h, true
	}
	page.Total(int64(len(f.machines)))
	for i := int(from); i < len(f.machines); i++ {
		m := &f.machines[i]
		item := HostItem{m.name, m.description, f.allowed(m), append([]string{}, m.paths...)}
		if !page.Add(item) {
			page.NextCursor, err = f.list.Encode(req, listPosition(i))
			return err
		}
	}
	return nil
}

// shorten keeps the first words, as far as they fit.
func (f *fleet) shorten(words []string, limit int) []string {
	size := 0
	for i, w := range words {
		if size += 2*len(w) + 4; size > limit {
			return append(words[:i:i], "… and others, too many to show")
		}
	}
	return words
}

// allowed are the commands that may be run on a machine, as a model reads them.
func (f *fleet) allowed(m *machine) []string {
	out := []string{}
	for i := range m.commands {
		if c := &m.commands[i]; f.permits(c) {
			out = append(out, c.String())
		}
	}
	if f.may.any {
		out = append(out, "any command")
	}
	return out
}

// permits tells whether the command line lets an entry count.
func (f *fleet) permits(c *command) bool { return !c.destructive || f.may.destructive || f.may.any }
