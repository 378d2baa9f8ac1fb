// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/invopop/jsonschema"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// anyValue describes a value of any type. A bare true would say the same, but
// hosts refuse booleans where they expect a schema.
const anyValue = "any JSON value"

// appendSchema appends s as compact JSON, with the keywords that a reader looks
// for first in front.
func appendSchema(dst []byte, s *jsonschema.Schema) ([]byte, error) {
	w := schemaWriter{dst: dst}
	w.schema(s)
	return w.dst, w.err
}

type schemaWriter struct {
	dst []byte
	err error
}

func (w *schemaWriter) schema(s *jsonschema.Schema) {
	w.dst = append(w.dst, '{')
	start := len(w.dst)
	w.text("$schema", s.Version)
	w.text("$id", string(s.ID))
	w.text("$anchor", s.Anchor)
	w.text("$ref", s.Ref)
	w.text("$dynamicRef", s.DynamicRef)
	w.text("type", s.Type)
	w.text("title", s.Title)
	w.text("description", s.Description)
	w.text("$comment", s.Comments)
	w.values("enum", s.Enum)
	w.any("const", s.Const)
	w.any("default", s.Default)
	w.values("examples", s.Examples)
	w.flag("deprecated", s.Deprecated)
	w.flag("readOnly", s.ReadOnly)
	w.flag("writeOnly", s.WriteOnly)
	w.number("multipleOf", s.MultipleOf)
	w.number("minimum", s.Minimum)
	w.number("maximum", s.Maximum)
	w.number("exclusiveMinimum", s.ExclusiveMinimum)
	w.number("exclusiveMaximum", s.ExclusiveMaximum)
	w.count("minLength", s.MinLength)
	w.count("maxLength", s.MaxLength)
	w.text("pattern", s.Pattern)
	w.text("format", s.Format)
	w.text("contentEncoding", s.ContentEncoding)
	w.text("contentMediaType", s.ContentMediaType)
	w.sub("contentSchema", s.ContentSchema)
	w.properties(s)
	w.named("patternProperties", s.PatternProperties)
	if len(s.Required) > 0 {
		w.any("required", s.Required)
	}
	if s.AdditionalProperties == jsonschema.FalseSchema {
		w.key("additionalProperties")
		w.dst = append(w.dst, "false"...)
	} else {
		w.sub("additionalProperties", s.AdditionalProperties)
	}
	w.sub("propertyNames", s.PropertyNames)
	w.count("minProperties", s.MinProperties)
	w.count("maxProperties", s.MaxProperties)
	if len(s.DependentRequired) > 0 {
		w.any("dependentRequired", s.DependentRequired)
	}
	w.named("dependentSchemas", s.DependentSchemas)
	w.list("prefixItems", s.PrefixItems)
	w.sub("items", s.Items)
	w.sub("contains", s.Contains)
	w.count("minItems", s.MinItems)
	w.count("maxItems", s.MaxItems)
	w.flag("uniqueItems", s.UniqueItems)
	w.count("minContains", s.MinContains)
	w.count("maxContains", s.MaxContains)
	w.list("allOf", s.AllOf)
	w.list("anyOf", s.AnyOf)
	w.list("oneOf", s.OneOf)
	w.sub("not", s.Not)
	w.sub("if", s.If)
	w.sub("then", s.Then)
	w.sub("else", s.Else)
	for _, name := range sortedNames(s.Extras) {
		w.any(name, s.Extras[name])
	}
	w.named("$defs", s.Definitions)
	if len(w.dst) == start { // an empty schema, or a boolean one
		if text, _ := json.Marshal(s); string(text) == "false" {
			w.dst = append(w.dst[:start-1], text...)
			return
		}
		w.text("description", anyValue)
	}
	w.dst = append(w.dst, '}')
}

func (w *schemaWriter) key(name string) {
	if w.dst[len(w.dst)-1] != '{' {
		w.dst = append(w.dst, ',')
	}
	w.dst = append(quote.Append(w.dst, name), ':')
}

func (w *schemaWriter) text(name, v string) {
	if v != "" {
		w.key(name)
		w.dst = quote.Append(w.dst, v)
	}
}

func (w *schemaWriter) flag(name string, v bool) {
	if v {
		w.key(name)
		w.dst = append(w.dst, "true"...)
	}
}

func (w *schemaWriter) number(name string, v json.Number) {
	if v != "" {
		w.key(name)
		w.dst = append(w.dst, v...)
	}
}

func (w *schemaWriter) count(name string, v *uint64) {
	if v != nil {
		w.key(name)
		w.dst = strconv.AppendUint(w.dst, *v, 10)
	}
}

func (w *schemaWriter) values(name string, v []any) {
	if len(v) > 0 {
		w.any(name, v)
	}
}

// maxSchema bounds what one keyword's value may take in a schema.
const maxSchema = 1 << 20

func (w *schemaWriter) any(name string, v any) {
	if v == nil {
		return
	}
	w.key(name)
	text, err := result.Marshal(background, v, maxSchema)
	if err != nil {
		w.err = err
		text = []byte("null")
	}
	w.dst = append(w.dst, text...)
}

func (w *schemaWriter) sub(name string, s *jsonschema.Schema) {
	if s != nil {
		w.key(name)
		w.schema(s)
	}
}

func (w *schemaWriter) list(name string, list []*jsonschema.Schema) {
	if len(list) == 0 {
		return
	}
	w.key(name)
	w.dst = append(w.dst, '[')
	for i, s := range list {
		if i > 0 {
			w.dst = append(w.dst, ',')
		}
		w.schema(s)
	}
	w.dst = append(w.dst, ']')
}

func (w *schemaWriter) named(name string, m map[string]*jsonschema.Schema) {
	if len(m) == 0 {
		return
	}
	w.key(name)
	w.dst = append(w.dst, '{')
	names := make([]string, 0, len(m))
	for n := range m {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		w.key(n)
		w.schema(m[n])
	}
	w.dst = append(w.dst, '}')
}

// properties writes the properties in the order of their fields. Hosts drop
// objects without the keyword.
func (w *schemaWriter) properties(s *jsonschema.Schema) {
	if s.Properties == nil && s.Type != "object" {
		return
	}
	w.key("properties")
	w.dst = append(w.dst, '{')
	if s.Properties != nil {
		for p := s.Properties.Oldest(); p != nil; p = p.Next() {
			w.key(p.Key)
			w.schema(p.Value)
		}
	}
	w.dst = append(w.dst, '}')
}
