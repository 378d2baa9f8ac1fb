// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
)

// PageInput is embedded in the input type of a tool that answers with pages.
type PageInput struct {
	// Cursor says where the page begins. Empty means at the start. Package
	// cursor decodes it.
	Cursor string `json:"cursor,omitempty" jsonschema:"description=Where to go on: nextCursor of the page before. Leave out to start."`

	// MaxBytes lowers the budget of the page; see [Request.Budget], which
	// honours it. Zero means the budget as it is.
	MaxBytes int `json:"maxBytes,omitempty" jsonschema:"description=Make the page smaller than usual: its size in bytes.,minimum=1024"`
}

// SchemaOf returns the JSON Schema of T as arguments: what [Add] publishes for
// a handler with that input type. The caller must not change it.
func SchemaOf[T any]() (jsontext.Value, error) {
	s, err := schemaOfType(reflect.TypeFor[T](), closedInput)
	if err != nil {
		return nil, fmt.Errorf("tool: schema of %s: %w", reflect.TypeFor[T](), err)
	}
	return s.text, nil
}

// PageSchema returns the JSON Schema of the structured form of a
// result.Page[T] whose Extra has the type Extra, for use as Info.OutputSchema.
// It panics when a type has no schema, or Extra is no struct.
func PageSchema[T, Extra any]() jsontext.Value {
	text, err := pageSchema(reflect.TypeFor[T](), reflect.TypeFor[Extra]())
	if err != nil {
		panic(fmt.Sprintf("tool: page schema of %s: %v", reflect.TypeFor[T](), err))
	}
	return text
}

// pageSchema is the schema of a page of items of type item. A nil extra means
// that other properties are not known.
func pageSchema(item, extra reflect.Type) (jsontext.Value, error) {
	g := newGenerator(output)
	g.findRecursion(item)
	if extra != nil {
		g.findRecursion(extra)
	}
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), Required: []string{"items", "truncated"}}
	set := func(name string, p *jsonschema.Schema) { s.Properties.Set(name, p) }
	set("items", &jsonschema.Schema{Type: "array", Items: g.schema(item)})
	set("truncated", &jsonschema.Schema{Type: "boolean", Description: "whether the page ended before everything was listed"})
	set("nextCursor", &jsonschema.Schema{Type: "string", Description: "the argument cursor of the next page"})
	set("totalEstimate", &jsonschema.Schema{Type: "integer", Minimum: "0", Description: "how many items all pages have, where known"})
	set("omitted", &jsonschema.Schema{Type: "integer", Minimum: "0", Description: "how many items were too large for the page"})
	if extra != nil {
		x := g.schema(extra)
		if x.Properties == nil {
			return nil, fmt.Errorf("%s is no struct", extra)
		}
		for p := x.Properties.Oldest(); p != nil; p = p.Next() {
			if _, taken := s.Properties.Get(p.Key); taken {
				return nil, fmt.Errorf("the field %q of %s has the name of a field of the page", p.Key, extra)
			}
			set(p.Key, p.Value)
		}
		s.Required = append(s.Required, x.Required...)
		s.AdditionalProperties = jsonschema.FalseSchema
	}
	return g.finish(s)
}
