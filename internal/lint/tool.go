// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
)

type linter struct {
	found []Finding
	name  string          // of the current tool; empty outside of one
	names map[string]bool // of all so far
	input bool            // the current schema describes arguments, which reach a model's API
}

func (l *linter) reject(place, change, format string, a ...any) {
	l.found = append(l.found, Finding{Tool: l.name, Place: place, Rejected: true, Text: fmt.Sprintf(format, a...), Change: change})
}

func (l *linter) warn(place, change, format string, a ...any) {
	l.found = append(l.found, Finding{Tool: l.name, Place: place, Text: fmt.Sprintf(format, a...), Change: change})
}

func (l *linter) tool(v any, index int) {
	t, ok := v.(document.Object)
	if !ok {
		l.name = ""
		l.reject("", "write an object for each tool", "a tool is %s and has to be an object", document.Show(v))
		return
	}
	name, _ := t["name"].(string)
	if l.name = name; name == "" {
		l.name = fmt.Sprintf("tool %d", index+1)
	}
	const rename = "rename the tool: letters, digits, _ and -, at most 64"
	switch {
	case len(name) > 64:
		l.reject("/name", rename, "%d characters are more than the 64 that hosts allow", len(name))
	case !ToolName.Matches(name):
		l.reject("/name", rename, "does not match %s: hosts hide all tools of the server", ToolName)
	case l.names[name]:
		l.reject("/name", "rename one of the two", "stands in the list twice")
	}
	l.names[name] = true
	if d, has := t["description"]; !has || isBlank(d) {
		l.warn("/description", "say what the tool does and when to use it", "missing: a model chooses by it")
	}
	l.members(t)
	if t["inputSchema"] == nil {
		l.reject("/inputSchema", `for no arguments write {"type":"object","properties":{},"additionalProperties":false}`, "missing or null: hosts drop the tool")
	} else {
		l.input = true
		l.root("/inputSchema", t["inputSchema"])
	}
	if out, ok := t["outputSchema"]; ok {
		l.input = false
		l.root("/outputSchema", out)
	}
}

func isBlank(v any) bool {
	s, ok := v.(string)
	return ok && strings.TrimSpace(s) == ""
}

// members looks at the types of a definition's members. Hosts that check the
// answer refuse the whole list over one, such as a hint that is null.
func (l *linter) members(t document.Object) {
	l.kinds("", t, [][2]string{{"title", "string"}, {"description", "string"}, {"annotations", "object"}, {"icons", "array"}, {"execution", "object"}, {"_meta", "object"}})
	if a, ok := t["annotations"].(document.Object); ok {
		l.kinds("/annotations", a, [][2]string{{"title", "string"}, {"readOnlyHint", "boolean"}, {"destructiveHint", "boolean"}, {"idempotentHint", "boolean"}, {"openWorldHint", "boolean"}})
	}
	if icons, ok := t["icons"].([]any); ok {
		for i, v := range icons {
			icon, _ := v.(document.Object)
			if _, ok := icon["src"].(string); !ok {
				l.reject(fmt.Sprintf("/icons/%d", i), "give the icon a src, or leave it out", "has no src that is a string: hosts that check the list refuse all of it")
			}
		}
	}
}

func (l *linter) kinds(place string, o document.Object, want [][2]string) {
	for _, w := range want {
		name, kind := w[0], w[1]
		if v, has := o[name]; has && kindOf(v) != kind {
			change := "write " + article(kind)
			if v == nil {
				change = "leave it out where there is none"
			}
			l.reject(place+"/"+name, change, "is %s and has to be %s: hosts that check the list refuse all of it", document.Show(v), article(kind))
		}
	}
}

// kindOf is the JSON type of a decoded value.
func kindOf(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case []any:
		return "array"
	case document.Object:
		return "object"
	}
	return "number"
}

func article(kind string) string {
	if kind == "array" || kind == "object" {
		return "an " + kind
	}
	return "a " + kind
}
