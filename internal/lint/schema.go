// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
)

// root looks at a whole schema.
func (l *linter) root(place string, v any) {
	s, ok := v.(document.Object)
	if !ok {
		change := "write a schema of type object"
		if place == "/outputSchema" {
			change = "leave it out where there is none"
		}
		l.reject(place, change, "is %s and has to be an object", document.Show(v))
		return
	}
	if s["type"] != "object" {
		change := `write "type":"object"`
		if place == "/outputSchema" {
			change = "put the value into an object, as one of its properties"
		}
		l.reject(place+"/type", change, "is %s and has to be \"object\"", document.Show(s["type"]))
	}
	for _, k := range RootCombinators {
		if _, has := s[k]; has {
			l.reject(place+"/"+k, "say it in the description, and check it in the tool", "at the root of a schema: hosts refuse every request with it")
		}
	}
	if place == "/inputSchema" {
		l.described(place, s)
	}
	l.schema(place, s, true)
}

// described looks for arguments without a description, and for names that
// hosts do not take.
func (l *linter) described(place string, s document.Object) {
	props, _ := s["properties"].(document.Object)
	for _, name := range document.Names(props) {
		below := place + "/properties/" + document.Escape(name)
		if p, ok := props[name].(document.Object); ok {
			if d, has := p["description"]; !has || isBlank(d) {
				l.warn(below, "say what goes in, with an example", "has no description: a model guesses what goes in")
			}
		}
		if !propertyName.Matches(name) {
			l.reject(below, "rename the argument: letters, digits, _ . and -, at most 64", "the name does not match %s: hosts refuse every request with it", propertyName)
		}
	}
}

// schema looks at a schema and all below it.
func (l *linter) schema(place string, v any, root bool) {
	s, ok := v.(document.Object)
	if !ok {
		if _, isBool := v.(bool); isBool {
			l.reject(place, `write {"description":"any JSON value"} for true, and leave the property out for false`, "is a boolean as a schema: hosts fail on it")
		} else {
			l.reject(place, "write a schema", "is %s and has to be a schema", document.Show(v))
		}
		return
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$recursiveRef", "$id", "$anchor", "$dynamicAnchor", "$defs", "definitions"} {
		if _, has := s[k]; has {
			l.reject(place+"/"+k, "write the schema out where it is used", "several hosts lose the server over references; write the schema out")
		}
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "not"} {
		if _, has := s[k]; has && !root {
			l.warn(place+"/"+k, "write one type; an argument that may be missing is left out of required", "several hosts ignore or refuse combinators")
		}
	}
	if label, has := s["$schema"]; has {
		if text, _ := label.(string); !strings.Contains(text, "2020-12") {
			l.warn(place+"/$schema", "leave it out: 2020-12 is what the protocol assumes", "is %s: strict hosts refuse other dialects than 2020-12", document.Show(label))
		}
	}
	l.types(place, s)
	l.required(place, s)
	l.enum(place, s)
	l.values(place, s)
	for _, name := range document.Names(s) {
		l.below(place+"/"+document.Escape(name), name, s[name])
	}
}

var typeNames = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

func (l *linter) types(place string, s document.Object) {
	types, isUnion := s["type"].([]any)
	if isUnion {
		l.reject(place+"/type", "write one type; an argument that may be missing is left out of required", "is a union of types: hosts turn it into a string or fail")
	} else if t, has := s["type"]; has {
		types = []any{t}
	}
	for _, t := range types {
		name, _ := t.(string)
		switch {
		case name == "array" && s["items"] == nil && s["prefixItems"] == nil:
			l.reject(place, `write "items" with the schema of one element`, "is an array without items: hosts refuse the tool")
		case name == "object" && s["properties"] == nil:
			l.reject(place, `write "properties", empty where there are none`, "is an object without properties: hosts refuse the tool")
		case !slices.Contains(typeNames, name) && place != "/inputSchema" && place != "/outputSchema": // of a root it is said already
			l.reject(place+"/type", "write one of "+strings.Join(typeNames, ", "), "is %s, which is no type of JSON Schema", document.Show(t))
		}
	}
}

// required looks at the names of properties that must be there.
func (l *linter) required(place string, s document.Object) {
	req, has := s["required"]
	if !has {
		return
	}
	list, isList := req.([]any)
	if !isList {
		l.reject(place+"/required", "write an array of names, or leave it out", "is %s and has to be an array", document.Show(req))
		return
	}
	props, known := s["properties"].(document.Object)
	seen := map[string]bool{}
	for i, v := range list {
		name, isString := v.(string)
		below := fmt.Sprintf("%s/required/%d", place, i)
		_, defined := props[name]
		switch {
		case !isString:
			l.reject(below, "write the name of a property", "is %s and has to be a string", document.Show(v))
		case seen[name]:
			l.reject(below, "write the name once", "%s stands there twice: validators refuse the schema", document.Show(name))
		case l.input && known && !defined:
			l.reject(below, "describe the property, or take its name out of required", "%s is no property of the schema: the Gemini API refuses every request with it", document.Show(name))
		}
		seen[name] = true
	}
}

// enum looks at the values of an enumeration.
func (l *linter) enum(place string, s document.Object) {
	v, has := s["enum"]
	if !has {
		return
	}
	list, _ := v.([]any)
	if len(list) == 0 {
		l.reject(place+"/enum", "list the values, or leave it out", "has to be an array of values: validators refuse the schema")
		return
	}
	seen := map[string]bool{}
	for i, e := range list {
		text := string(document.Append(nil, e))
		if seen[text] {
			l.warn(fmt.Sprintf("%s/enum/%d", place, i), "write the value once", "%s stands there twice", document.Show(e))
		}
		seen[text] = true
	}
	if !l.input {
		return
	}
	if _, typed := s["type"]; !typed {
		l.reject(place, `write "type":"string"`, "has an enum and no type: the Gemini API refuses every request with it")
	}
	for i, e := range list {
		below := fmt.Sprintf("%s/enum/%d", place, i)
		switch text, isString := e.(string); {
		case !isString:
			l.reject(below, "make the values strings, or say them in the description", "is %s: the Gemini API takes strings only, and refuses every request", document.Show(e))
		case text == "":
			l.reject(below, "leave the argument out of required instead", "is empty: the Gemini API refuses every request with it")
		}
	}
}

// below looks at the schemas in the value of one keyword.
func (l *linter) below(place, keyword string, v any) {
	switch keyword {
	case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas":
		m, ok := v.(document.Object)
		if !ok && v != nil && keyword == "properties" {
			l.reject(place, "write an object, empty where there are none", "is %s and has to be an object", document.Show(v))
		}
		for _, name := range document.Names(m) {
			below := place + "/" + document.Escape(name)
			if keyword == "properties" {
				l.says(below, m[name])
			}
			l.schema(below, m[name], false)
		}
	case "items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		if list, isList := v.([]any); isList && keyword == "items" {
			l.reject(place, "write prefixItems, or one schema for all elements", "is a list, which is not in JSON Schema 2020-12")
			for i, e := range list {
				l.schema(fmt.Sprintf("%s/%d", place, i), e, false)
			}
			return
		}
		if keyword == "items" {
			l.says(place, v)
		}
		l.schema(place, v, false)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
		if open, isBool := v.(bool); !isBool {
			l.schema(place, v, false)
		} else if open && keyword == "additionalProperties" {
			l.reject(place, "leave it out, which means the same", "is true as a schema: hosts fail on it; leave it out")
		}
	case "oneOf", "anyOf", "allOf", "prefixItems":
		list, _ := v.([]any)
		for i, e := range list {
			l.schema(fmt.Sprintf("%s/%d", place, i), e, false)
		}
	}
}

// says looks for a schema that says nothing at all. One with a description
// alone is how any value is written.
func (l *linter) says(place string, v any) {
	s, ok := v.(document.Object)
	if !ok || !l.input {
		return
	}
	for _, k := range []string{"type", "enum", "const", "$ref", "$dynamicRef", "anyOf", "oneOf", "allOf", "not", "description"} {
		if _, has := s[k]; has {
			return
		}
	}
	l.reject(place, "write the type; for any value at least a description", "has no type: hosts skip the tool, or send each value as text")
}
