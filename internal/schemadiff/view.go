// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"net/url"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
)

// annotationKeys are the keywords that say nothing about what is valid.
var annotationKeys = []string{"title", "description", "default", "examples", "deprecated", "$comment", "readOnly", "writeOnly"}

// besides are the keywords that may stand beside a reference, or beside
// alternatives, without constraining anything.
func besides(name string) bool {
	switch name {
	case "$defs", "definitions", "$schema", "$id", "$anchor":
		return true
	}
	return slices.Contains(annotationKeys, name)
}

// view is the schema v in the form that is compared: references followed, the
// forms of older dialects and of alternatives of one type each brought to one.
// never means that v takes no value.
func (d *differ) view(v, root any) (s document.Object, never bool) {
	o, ok := v.(document.Object)
	if !ok {
		return anything, v == false
	}
	if len(o) == 0 {
		return anything, false
	}
	if s, ok := d.views[address(o)]; ok {
		return s, false
	}
	s, never = d.follow(o, root)
	if never {
		return s, true
	}
	s = listItems(constAsEnum(d.alternatives(flat(constants(s)), root)))
	if d.views == nil {
		d.views = map[uintptr]document.Object{}
	}
	d.views[address(o)] = s
	return s, false
}

// maxRefs bounds references that lead to references.
const maxRefs = 32

// follow replaces a reference by what it leads to. One with constraints beside
// it becomes one of allOf; one that leads nowhere is kept.
func (d *differ) follow(o document.Object, root any) (s document.Object, never bool) {
	s = o
	for range maxRefs {
		ref, has := s["$ref"].(string)
		if !has {
			return s, false
		}
		target, found := lookUp(root, ref)
		if !found {
			return s, false
		}
		if target == false {
			return nil, true
		}
		next, isObject := target.(document.Object)
		if !isObject {
			next = anything
		}
		alone := true
		for name := range s {
			alone = alone && (name == "$ref" || besides(name))
		}
		merged := document.Object{}
		if alone {
			for name, v := range next {
				merged[name] = v
			}
		}
		for name, v := range s {
			if name != "$ref" && name != "$defs" && name != "definitions" {
				merged[name] = v
			}
		}
		if !alone {
			all, _ := s["allOf"].([]any)
			merged["allOf"] = append(slices.Clone(all), target)
			return merged, false
		}
		s = merged
	}
	return s, false
}

// lookUp finds what a reference leads to.
func lookUp(root any, ref string) (any, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, false
	}
	pointer, err := url.PathUnescape(fragment)
	if err != nil {
		return nil, false
	}
	if pointer != "" && pointer[0] != '/' {
		at := anchored(nil, root, pointer)
		if len(at) != 1 {
			return nil, false
		}
		return at[0], true
	}
	return document.Resolve(root, pointer)
}

// anchored appends the schemas in v that have the anchor.
func anchored(list []any, v any, anchor string) []any {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			list = anchored(list, e, anchor)
		}
	case document.Object:
		if v["$anchor"] == anchor {
			list = append(list, v)
		}
		for _, e := range v {
			list = anchored(list, e, anchor)
		}
	}
	return list
}

// constants writes alternatives of listed values as one enum.
func constants(s document.Object) document.Object {
	for _, key := range []string{"anyOf", "oneOf"} {
		list, _ := s[key].([]any)
		_, taken := s["enum"]
		_, single := s["const"]
		if len(list) < 2 || taken || single {
			continue
		}
		var all []any
		for _, v := range list {
			o, _ := v.(document.Object)
			m := constAsEnum(o)
			_, ok := m["enum"].([]any)
			for name := range m {
				ok = ok && (name == "enum" || name == "type" || besides(name))
			}
			if !ok {
				return s
			}
			values, _ := listedValues(m)
			if key == "oneOf" && len(minus(values, all)) != len(values) {
				return s
			}
			all = append(all, values...)
		}
		s = without(s, key)
		s["enum"] = minus(all, nil)
		return s
	}
	return s
}

// flat writes the members of allOf beside each other, where each keyword
// stands by itself and is there once.
func flat(s document.Object) document.Object {
	list, _ := s["allOf"].([]any)
	if len(list) == 0 {
		return s
	}
	merged := without(s, "allOf")
	for _, v := range list {
		o, _ := v.(document.Object)
		if o == nil {
			return s
		}
		for name, e := range o {
			_, taken := merged[name]
			switch name {
			case "type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf",
				"minLength", "maxLength", "pattern", "format", "minItems", "maxItems", "uniqueItems",
				"minProperties", "maxProperties", "required":
				if taken {
					return s
				}
				merged[name] = e
			default:
				if !slices.Contains(annotationKeys, name) {
					return s
				}
				if !taken {
					merged[name] = e
				}
			}
		}
	}
	return merged
}

// constAsEnum writes const as an enum of one value.
func constAsEnum(s document.Object) document.Object {
	v, has := s["const"]
	if !has {
		return s
	}
	values := []any{v}
	if list, too := s["enum"].([]any); too {
		values = minus(values, minus(values, list)) // what is in both
	}
	s = without(s, "const")
	s["enum"] = values
	return s
}

// listItems writes items that are a list, of older dialects, as prefixItems.
func listItems(s document.Object) document.Object {
	list, is := s["items"].([]any)
	if _, too := s["prefixItems"]; !is || too {
		return s
	}
	rest, has := s["additionalItems"]
	s = without(s, "items", "additionalItems")
	s["prefixItems"] = list
	if has {
		s["items"] = rest
	}
	return s
}

func without(o document.Object, names ...string) document.Object {
	copied := make(document.Object, len(o))
	for name, v := range o {
		if !slices.Contains(names, name) {
			copied[name] = v
		}
	}
	return copied
}

// typeKeys are the keywords that constrain values of one type only.
var typeKeys = map[string]types{
	"minimum": integers | fractions, "maximum": integers | fractions, "exclusiveMinimum": integers | fractions,
	"exclusiveMaximum": integers | fractions, "multipleOf": integers | fractions,
	"minLength": texts, "maxLength": texts, "pattern": texts, "format": texts, "contentEncoding": texts, "contentMediaType": texts, "contentSchema": texts,
	"items": arrays, "prefixItems": arrays, "minItems": arrays, "maxItems": arrays, "uniqueItems": arrays, "contains": arrays,
	"minContains": arrays, "maxContains": arrays, "unevaluatedItems": arrays,
	"properties": objects, "required": objects, "additionalProperties": objects, "patternProperties": objects, "propertyNames": objects,
	"minProperties": objects, "maxProperties": objects, "dependentRequired": objects, "dependentSchemas": objects, "unevaluatedProperties": objects,
}

// alternatives writes anyOf and oneOf, whose members are of different types
// and which stand alone, as one schema with a union of types, and what has one
// member as that: so do generators differ in what they make of an optional or
// a shared value.
func (d *differ) alternatives(s document.Object, root any) document.Object {
	list, ok := s["anyOf"].([]any)
	key := "anyOf"
	if !ok {
		list, ok = s["oneOf"].([]any)
		key = "oneOf"
	}
	if !ok {
		list, ok = s["allOf"].([]any)
		key = "allOf"
	}
	if !ok || len(list) == 0 || key == "allOf" && len(list) > 1 {
		return s
	}
	for name := range s {
		if name != key && !besides(name) {
			return s
		}
	}
	merged := without(s, key)
	if o, is := list[0].(document.Object); is && len(list) == 1 {
		m, never := d.follow(o, root)
		if never {
			return s
		}
		for name, v := range m {
			if _, taken := merged[name]; !taken {
				merged[name] = v
			}
		}
		return merged
	}
	var all types
	var names []any
	nulls, enums := 0, 0
	for _, v := range list {
		o, _ := v.(document.Object)
		m, never := d.follow(o, root)
		t, declared := declaredTypes(m)
		if o == nil || never || !declared || t&all != 0 {
			return s
		}
		all |= t
		names = append(names, typeWords(m)...)
		if t == null {
			nulls++
		}
		for name, v := range m {
			_, taken := merged[name]
			switch {
			case name == "type", name == "$defs", name == "definitions":
			case name == "enum":
				enums++
				merged[name] = v
			case besides(name):
				if !taken {
					merged[name] = v
				}
			case taken || typeKeys[name]&t == 0:
				return s
			default:
				merged[name] = v
			}
		}
	}
	if enums > 0 {
		values, isList := merged["enum"].([]any)
		if enums > 1 || !isList || len(list)-nulls > 1 {
			return s
		}
		if nulls > 0 {
			merged["enum"] = append(slices.Clone(values), nil)
		}
	}
	merged["type"] = names
	return merged
}

// bare is a schema without what says nothing about what is valid.
func bare(v any) any {
	o, ok := v.(document.Object)
	if !ok {
		return v
	}
	out := document.Object{}
	for name, e := range o {
		switch name {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
			if m, ok := e.(document.Object); ok {
				copied := document.Object{}
				for k, s := range m {
					copied[k] = bare(s)
				}
				e = copied
			}
		case "allOf", "anyOf", "oneOf", "prefixItems":
			if list, ok := e.([]any); ok {
				var copied []any
				for _, s := range list {
					copied = append(copied, bare(s))
				}
				e = copied
			}
		case "items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema",
			"additionalProperties", "unevaluatedProperties", "unevaluatedItems":
			e = bare(e)
		case "$schema":
			continue
		default:
			if slices.Contains(annotationKeys, name) {
				continue
			}
		}
		out[name] = e
	}
	return out
}
