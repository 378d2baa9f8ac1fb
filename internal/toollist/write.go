// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package toollist

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/quote"
)

// A part is what a value is in a list, which decides the order of its names.
type part uint8

const (
	value   part = iota // a default, _meta, or a keyword nobody knows
	tool                // a definition
	schema              // a JSON Schema
	schemas             // an object or an array of them
)

// order has the names that stand first; all others follow by the alphabet.
var order = map[part][]string{
	tool: {"name", "title", "description", "annotations", "inputSchema", "outputSchema"},
	schema: {
		"$schema", "$id", "$ref", "type", "title", "description", "deprecated", "enum", "const", "default", "examples",
		"format", "pattern", "minLength", "maxLength", "minimum", "exclusiveMinimum", "maximum", "exclusiveMaximum", "multipleOf",
		"properties", "required", "additionalProperties", "items", "minItems", "maxItems", "uniqueItems",
	},
}

// lineWidth is the most that an array of plain values takes on one line.
const lineWidth = 100

// maxIndent is how deep values stand on lines of their own: the blanks before
// them would otherwise grow with the square of the depth.
const maxIndent = 48

// Append appends l as JSON with one member on a line, and an LF at the end.
// Lists with the same tools give the same bytes: tools, properties and required
// are sorted, and what stands in a schema or a definition stands in one order.
func (l *List) Append(dst []byte) []byte {
	w := writer{dst: append(dst, `{`+"\n  "+`"tools": `...)}
	w.array(l.Tools, tool, 1)
	return append(w.dst, "\n}\n"...)
}

type writer struct{ dst []byte }

func (w *writer) line(depth int) {
	w.dst = append(w.dst, '\n')
	for range depth {
		w.dst = append(w.dst, "  "...)
	}
}

func (w *writer) value(v any, p part, depth int) {
	if depth > maxIndent {
		w.dst = document.Append(w.dst, v)
		return
	}
	switch v := v.(type) {
	case document.Object:
		w.object(v, p, depth)
	case []any:
		if p == schemas {
			p = schema
		}
		w.array(v, p, depth)
	default:
		w.dst = document.Append(w.dst, v)
	}
}

func (w *writer) object(o document.Object, p part, depth int) {
	if len(o) == 0 {
		w.dst = append(w.dst, "{}"...)
		return
	}
	w.dst = append(w.dst, '{')
	for i, name := range names(o, p) {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.line(depth + 1)
		w.dst = append(quote.Append(w.dst, name), ": "...)
		v := o[name]
		if list, ok := v.([]any); ok && p == schema && (name == "required" || name == "type") {
			v = sorted(list)
		}
		w.value(v, below(p, name), depth+1)
	}
	w.line(depth)
	w.dst = append(w.dst, '}')
}

// names are the names of o in the order of p.
func names(o document.Object, p part) []string {
	var out []string
	for _, name := range order[p] {
		if _, has := o[name]; has {
			out = append(out, name)
		}
	}
	for _, name := range document.Names(o) {
		if !slices.Contains(order[p], name) {
			out = append(out, name)
		}
	}
	return out
}

// below is what the member name of a p is.
func below(p part, name string) part {
	switch p {
	case tool:
		if name == "inputSchema" || name == "outputSchema" {
			return schema
		}
	case schemas:
		return schema
	case schema:
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "allOf", "anyOf", "oneOf", "prefixItems":
			return schemas
		case "items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema",
			"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "additionalItems":
			return schema
		}
	}
	return value
}

func (w *writer) array(list []any, p part, depth int) {
	if text, ok := oneLine(list); ok {
		w.dst = append(w.dst, text...)
		return
	}
	w.dst = append(w.dst, '[')
	for i, v := range list {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.line(depth + 1)
		w.value(v, p, depth+1)
	}
	w.line(depth)
	w.dst = append(w.dst, ']')
}

// oneLine writes an array of plain values on one line, if it is short.
func oneLine(list []any) (string, bool) {
	var parts []string
	width := 0
	for _, v := range list {
		switch v.(type) {
		case document.Object, []any:
			return "", false
		}
		parts = append(parts, string(document.Append(nil, v)))
		if width += utf8.RuneCountInString(parts[len(parts)-1]) + 2; width > lineWidth {
			return "", false
		}
	}
	return "[" + strings.Join(parts, ", ") + "]", true
}

// sorted is a list in which the order says nothing, in order.
func sorted(list []any) []any {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b any) int {
		return strings.Compare(string(document.Append(nil, a)), string(document.Append(nil, b)))
	})
	return out
}
