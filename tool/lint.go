// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"regexp"
	"strings"
)

// A Finding is one thing in a list of tools that known hosts reject or
// mishandle.
type Finding struct {
	Tool  string // name of the tool; empty for the list as a whole
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

// What Lint allows a whole list: hosts put all of it before the model, each
// time.
const (
	maxListBytes = 100 << 10
	maxListTools = 128
)

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
	l := linter{names: map[string]bool{}}
	doc, err := decodeDocument(toolsListResult)
	if err != nil {
		l.list("not one JSON value: %v", err)
		return l.found
	}
	root, _ := doc.(object)
	if inner, ok := root["result"].(object); ok {
		root = inner
	}
	tools, ok := root["tools"].([]any)
	if !ok {
		l.list("tools is %s and has to be an array", show(root["tools"]))
		return l.found
	}
	size := 2
	for _, t := range tools {
		size += len(encodeDocument(nil, t)) + 1
		l.tool(t)
	}
	if size > maxListBytes {
		l.list("the definitions take %d bytes (more than %d): hosts put them before the model in every conversation", size, maxListBytes)
	}
	if len(tools) > maxListTools {
		l.list("%d tools are more than the %d that some hosts take", len(tools), maxListTools)
	}
	return l.found
}

type linter struct {
	found []Finding
	name  string          // of the current tool
	names map[string]bool // of all so far
}

func (l *linter) list(format string, a ...any) {
	l.found = append(l.found, Finding{Text: fmt.Sprintf(format, a...)})
}

func (l *linter) add(place, format string, a ...any) {
	l.found = append(l.found, Finding{Tool: l.name, Place: place, Text: fmt.Sprintf(format, a...)})
}

func (l *linter) tool(v any) {
	t, ok := v.(object)
	if !ok {
		l.list("a tool is %s and has to be an object", show(v))
		return
	}
	l.name, _ = t["name"].(string)
	switch {
	case len(l.name) > 64:
		l.add("/name", "%d characters are more than the 64 that hosts allow", len(l.name))
	case !strictName.MatchString(l.name):
		l.add("/name", "does not match %s: hosts hide all tools of the server", strictName)
	case l.names[l.name]:
		l.add("/name", "stands in the list twice")
	}
	l.names[l.name] = true
	if s, _ := t["description"].(string); strings.TrimSpace(s) == "" {
		l.add("/description", "missing: a model chooses by it")
	}
	if t["inputSchema"] == nil {
		l.add("/inputSchema", "missing or null: hosts drop the tool")
	} else {
		l.root("/inputSchema", t["inputSchema"])
	}
	if out, ok := t["outputSchema"]; ok {
		l.root("/outputSchema", out)
	}
}

// root looks at a whole schema.
func (l *linter) root(place string, v any) {
	s, ok := v.(object)
	if !ok {
		l.add(place, "is %s and has to be an object", show(v))
		return
	}
	if s["type"] != "object" {
		l.add(place+"/type", "is %s and has to be \"object\"", show(s["type"]))
	}
	for _, k := range rootCombinators {
		if _, has := s[k]; has {
			l.add(place+"/"+k, "at the root of a schema: hosts refuse every request with it")
		}
	}
	if label, has := s["$schema"]; has {
		if text, _ := label.(string); !strings.Contains(text, "2020-12") {
			l.add(place+"/$schema", "is %s: strict hosts refuse other dialects than 2020-12", show(label))
		}
	}
	if place == "/inputSchema" {
		l.described(place, s)
	}
	l.schema(place, s, true)
}

// described looks for arguments without a description, and for names that
// hosts do not take.
func (l *linter) described(place string, s object) {
	props, _ := s["properties"].(object)
	for _, name := range sortedNames(props) {
		below := place + "/properties/" + escapePointer(name)
		if p, ok := props[name].(object); ok {
			if d, _ := p["description"].(string); strings.TrimSpace(d) == "" {
				l.add(below, "has no description: a model guesses what goes in")
			}
		}
		if !propertyName.MatchString(name) {
			l.add(below, "the name does not match %s: hosts refuse every request with it", propertyName)
		}
	}
}

var propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)

// schema looks at a schema and all below it.
func (l *linter) schema(place string, v any, root bool) {
	s, ok := v.(object)
	if !ok {
		if _, isBool := v.(bool); isBool {
			l.add(place, "is a boolean as a schema: hosts fail on it")
		} else {
			l.add(place, "is %s and has to be a schema", show(v))
		}
		return
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$id", "$anchor", "$defs", "definitions"} {
		if _, has := s[k]; has {
			l.add(place+"/"+k, "several hosts lose the server over references; write the schema out")
		}
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "not"} {
		if _, has := s[k]; has && !root {
			l.add(place+"/"+k, "several hosts ignore or refuse combinators")
		}
	}
	l.types(place, s)
	if req, has := s["required"]; has {
		if _, isList := req.([]any); !isList {
			l.add(place+"/required", "is %s and has to be an array", show(req))
		}
	}
	for _, name := range sortedNames(s) {
		l.below(place+"/"+escapePointer(name), name, s[name])
	}
}

func (l *linter) types(place string, s object) {
	types := typesOf(s["type"])
	if _, union := s["type"].([]any); union {
		l.add(place+"/type", "is a union of types: hosts turn it into a string or fail")
	}
	for _, t := range types {
		switch {
		case t == "array" && s["items"] == nil && s["prefixItems"] == nil:
			l.add(place, "is an array without items: hosts refuse the tool")
		case t == "object" && s["properties"] == nil:
			l.add(place, "is an object without properties: hosts refuse the tool")
		}
	}
}

// below looks at the schemas in the value of one keyword.
func (l *linter) below(place, keyword string, v any) {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		m, _ := v.(object)
		for _, name := range sortedNames(m) {
			l.schema(place+"/"+escapePointer(name), m[name], false)
		}
	case "items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		if list, isList := v.([]any); isList && keyword == "items" {
			l.add(place, "is a list, which is not in JSON Schema 2020-12")
			for i, e := range list {
				l.schema(fmt.Sprintf("%s/%d", place, i), e, false)
			}
			return
		}
		l.schema(place, v, false)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
		if open, isBool := v.(bool); !isBool {
			l.schema(place, v, false)
		} else if open && keyword == "additionalProperties" {
			l.add(place, "is true as a schema: hosts fail on it; leave it out")
		}
	case "oneOf", "anyOf", "allOf", "prefixItems":
		list, _ := v.([]any)
		for i, e := range list {
			l.schema(fmt.Sprintf("%s/%d", place, i), e, false)
		}
	}
}
