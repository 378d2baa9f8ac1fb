// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A field is one property that a Go struct has in JSON.
type field struct {
	name     string
	goName   string
	index    []int // as for reflect.Value.FieldByIndex; nil inside an embedded pointer
	typ      reflect.Type
	tag      reflect.StructTag
	optional bool // omitempty, omitzero, a pointer, or inside an embedded pointer
	quoted   bool // the json option string: a number written as a string
	named    bool // by its json tag
	depth    int
}

// structFields lists the properties of the struct t by the rules of JSON v2:
// embedded structs are promoted, and of two fields with one name the shallower
// or else the only tagged one counts. What those rules would let vanish without
// a word is an error.
func structFields(t reflect.Type) ([]field, error) {
	var all []field
	if err := collect(t, []int{}, 0, false, map[reflect.Type]bool{}, &all); err != nil {
		return nil, err
	}
	var out []field
	for i, f := range all {
		dominant := true
		for j, g := range all {
			if i == j || f.name != g.name {
				continue
			}
			switch {
			case g.depth < f.depth, g.depth == f.depth && g.named && !f.named:
				dominant = false
			case g.depth == f.depth && g.named == f.named:
				return nil, fmt.Errorf("fields %s and %s have the same JSON name %q", f.goName, g.goName, f.name)
			}
		}
		if dominant {
			out = append(out, f)
		}
	}
	return out, nil
}

// collect appends the fields of t, which stands at index, and of what it
// embeds, in order.
func collect(t reflect.Type, index []int, depth int, optional bool, inside map[reflect.Type]bool, all *[]field) error {
	if inside[t] {
		return fmt.Errorf("type %s embeds itself", t)
	}
	inside[t] = true
	defer delete(inside, t)
	usable, tagged := t.NumField() == 0, false
	for i := range t.NumField() {
		sf := t.Field(i)
		tag, hasTag := sf.Tag.Lookup("json")
		tagged = tagged || hasTag
		if tag == "-" {
			continue
		}
		if !sf.IsExported() && !sf.Anonymous {
			if hasTag {
				return fmt.Errorf("field %s has a json tag but is not exported", sf.Name)
			}
			continue
		}
		usable = true
		f := field{name: sf.Name, goName: sf.Name, typ: sf.Type, tag: sf.Tag, depth: depth}
		if index != nil {
			f.index = append(slices.Clip(index), i)
		}
		if err := f.parseJSONTag(tag); err != nil {
			return fmt.Errorf("field %s: %w", sf.Name, err)
		}
		f.optional = f.optional || optional || sf.Type.Kind() == reflect.Pointer
		if sf.Anonymous && !f.named {
			if err := embed(sf, f.index, depth, optional, inside, all); err != nil {
				return err
			}
			continue
		}
		if !sf.IsExported() {
			return fmt.Errorf("field %s is not exported", sf.Name)
		}
		*all = append(*all, f)
	}
	if !usable && !tagged {
		return fmt.Errorf("type %s has no exported fields", t)
	}
	return nil
}

// embed collects the fields of an embedded struct.
func embed(sf reflect.StructField, index []int, depth int, optional bool, inside map[reflect.Type]bool, all *[]field) error {
	t := sf.Type
	if t.Kind() == reflect.Pointer {
		t, optional, index = t.Elem(), true, nil
		if !sf.IsExported() {
			return fmt.Errorf("embedded field %s is a pointer to an unexported type", sf.Name)
		}
	}
	switch {
	case t.Kind() != reflect.Struct:
		return fmt.Errorf("embedded field %s is no struct: give it a JSON name", sf.Name)
	case sf.Tag.Get("jsonschema") != "":
		return fmt.Errorf("embedded field %s has a jsonschema tag, but no property of its own", sf.Name)
	case sf.Tag.Get("json") != "":
		return fmt.Errorf("embedded field %s has json options, but no name", sf.Name)
	case implements(t, jsonMethods...) || implements(t, textMethods...):
		return fmt.Errorf("embedded field %s has a JSON form of its own: give it a JSON name", sf.Name)
	}
	return collect(t, index, depth+1, optional, inside, all)
}

// parseJSONTag reads the json tag of a field.
func (f *field) parseJSONTag(tag string) error {
	name, options, _ := strings.Cut(tag, ",")
	if strings.ContainsAny(name, "'\"`\\") {
		return fmt.Errorf("the name %s in the json tag has quotes or backslashes", name)
	}
	if name != "" {
		f.name, f.named = name, true
	}
	if options == "" {
		return nil
	}
	for o := range strings.SplitSeq(options, ",") {
		switch o {
		case "omitempty", "omitzero":
			f.optional = true
		case "string":
			t := f.typ
			if t.Kind() == reflect.Pointer {
				t = t.Elem()
			}
			if !slices.Contains(numericKinds, t.Kind()) {
				return fmt.Errorf("the json option string is for numbers")
			}
			f.quoted = true
		default:
			return fmt.Errorf("the json option %q is not supported (omitempty, omitzero and string are)", o)
		}
	}
	return nil
}

var numericKinds = []reflect.Kind{
	reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
	reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64,
	reflect.Float32, reflect.Float64,
}
