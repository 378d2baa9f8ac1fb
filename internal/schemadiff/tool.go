// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
)

// tools compares the tools by their names.
func (c *comparison) tools() {
	var removed, added []string
	for _, name := range document.Names(toAny(c.old)) {
		if _, ok := c.new[name]; !ok {
			removed = append(removed, name)
		}
	}
	for _, name := range document.Names(toAny(c.new)) {
		if old, ok := c.old[name]; ok {
			c.tool(name, old, c.new[name])
			continue
		}
		added = append(added, name)
	}
	for _, name := range removed {
		i := slices.IndexFunc(added, func(n string) bool { return sameTool(c.old[name], c.new[n], name, n) })
		if i < 0 {
			c.add(name, "", Breaks, "tool removed", "calls of it are refused")
			continue
		}
		c.add(name, "", Breaks, fmt.Sprintf("tool renamed to %s", added[i]), "calls under the old name are refused")
		c.tool(name, c.old[name], c.new[added[i]])
		added = slices.Delete(added, i, i+1)
	}
	for _, name := range added {
		c.add(name, "", Compatible, "tool added", "")
	}
}

func toAny(m map[string]document.Object) document.Object {
	o := make(document.Object, len(m))
	for name := range m {
		o[name] = nil
	}
	return o
}

// sameTool tells whether a tool of another name is the old one: it says the
// same of itself, or it takes the same arguments under a name that is near.
func sameTool(old, new document.Object, oldName, newName string) bool {
	return said(old) != "" && said(old) == said(new) ||
		similar(oldName, newName) && hasProperties(old["inputSchema"]) && same(bare(old["inputSchema"]), bare(new["inputSchema"]))
}

// said is a description that is long enough to tell by.
func said(o document.Object) string {
	s, _ := o["description"].(string)
	if len(s) < 10 {
		return ""
	}
	return s
}

func hasProperties(schema any) bool {
	s, _ := schema.(document.Object)
	p, _ := s["properties"].(document.Object)
	return len(p) > 0
}

// tool compares two definitions.
func (c *comparison) tool(name string, old, new document.Object) {
	c.words(name, old, new)
	c.hints(name, old, new)
	c.execution(name, old, new)
	c.input(name, old["inputSchema"], new["inputSchema"])
	c.output(name, old["outputSchema"], new["outputSchema"])
	for _, member := range union(old, new) {
		switch member {
		case "name", "title", "description", "icons", "annotations", "execution", "inputSchema", "outputSchema":
			continue
		}
		if !same(old[member], new[member]) {
			c.add(name, "/"+document.Escape(member), Review, edited(member, old[member], new[member]), "hosts that know it may treat the tool otherwise")
		}
	}
}

// words compares what models and people read.
func (c *comparison) words(name string, old, new document.Object) {
	if !same(old["description"], new["description"]) {
		c.add(name, "/description", Review, edited("description", old["description"], new["description"]), readByModels)
	}
	for _, member := range []string{"title", "icons"} {
		if !same(old[member], new[member]) {
			c.add(name, "/"+member, Compatible, edited(member, old[member], new[member]), "")
		}
	}
}

const readByModels = "a model chooses and fills in by it: see that it still calls the tool as meant"

// hintDefaults are what the protocol assumes of a hint that is not set.
var hintDefaults = document.Object{"readOnlyHint": false, "destructiveHint": true, "idempotentHint": false, "openWorldHint": true}

// hints compares the annotations, with what hosts assume where one is missing.
func (c *comparison) hints(name string, old, new document.Object) {
	was, _ := old["annotations"].(document.Object)
	is, _ := new["annotations"].(document.Object)
	for _, hint := range union(was, is) {
		if same(was[hint], is[hint]) {
			continue
		}
		place, text := "/annotations/"+document.Escape(hint), edited(hint, was[hint], is[hint])
		before, after := hinted(was, hint), hinted(is, hint)
		_, known := hintDefaults[hint]
		switch {
		case hint == "title":
			c.add(name, place, Compatible, text, "")
		case !known:
			c.add(name, place, Review, text, "hosts that know it may treat the tool otherwise")
		case before == after:
			c.add(name, place, Compatible, text, "it is what hosts assume without it")
		case after == (hint == "readOnlyHint" || hint == "idempotentHint"):
			c.add(name, place, Review, text, "hosts may now run it without asking: see that it is true")
		default:
			c.add(name, place, Review, text, "hosts may now ask a person first, or refuse it where nobody can answer")
		}
	}
	if a, b := old["annotations"], new["annotations"]; was == nil && is == nil && !same(a, b) {
		c.add(name, "/annotations", Review, edited("annotations", a, b), "")
	}
}

func hinted(annotations document.Object, hint string) bool {
	v, ok := annotations[hint].(bool)
	if !ok {
		v, _ = hintDefaults[hint].(bool)
	}
	return v
}

// execution compares how a tool wants to be run (revision 2025-11-25).
func (c *comparison) execution(name string, old, new document.Object) {
	was, is := taskSupport(old), taskSupport(new)
	place := "/execution/taskSupport"
	switch {
	case was == is:
		if !same(old["execution"], new["execution"]) {
			c.add(name, "/execution", Review, edited("execution", old["execution"], new["execution"]), "hosts that know it may treat the tool otherwise")
		}
	case is == "required":
		c.add(name, place, Breaks, fmt.Sprintf("taskSupport changed from %s to %s", was, is), "plain calls are refused")
	case is == "forbidden":
		c.add(name, place, Breaks, fmt.Sprintf("taskSupport changed from %s to %s", was, is), "calls as a task are refused")
	default:
		c.add(name, place, Compatible, fmt.Sprintf("taskSupport changed from %s to %s", was, is), "")
	}
}

func taskSupport(t document.Object) string {
	e, _ := t["execution"].(document.Object)
	if s, ok := e["taskSupport"].(string); ok {
		return s
	}
	return "forbidden"
}

// input compares the schemas of the arguments. Arguments are an object, also
// where a schema does not say so, or is missing.
func (c *comparison) input(name string, old, new any) {
	d := &differ{c: c, tool: name, dir: input, oldRoot: old, newRoot: new, seen: map[pair]bool{}}
	d.schema("/inputSchema", argumentsOf(old), argumentsOf(new))
}

func (c *comparison) output(name string, old, new any) {
	switch {
	case old == nil && new == nil:
	case old == nil:
		c.add(name, "/outputSchema", Compatible, "output schema added", "")
	case new == nil:
		c.add(name, "/outputSchema", Breaks, "output schema removed", "callers that read structured content have nothing to rely on")
	default:
		d := &differ{c: c, tool: name, dir: output, oldRoot: old, newRoot: new, seen: map[pair]bool{}}
		d.schema("/outputSchema", old, new)
	}
}

func argumentsOf(schema any) any {
	s, ok := schema.(document.Object)
	switch _, typed := s["type"]; {
	case schema == nil, schema == true:
		return document.Object{"type": "object"}
	case !ok || typed || s["$ref"] != nil:
		return schema
	}
	s = without(s)
	s["type"] = "object"
	return s
}
