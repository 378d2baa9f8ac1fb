// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// maxFlatText is how long the texts of a struct may be, in sum, for it to be
// encoded at once: far less than what is handled between two looks at a
// context, whatever they become when they are quoted.
const maxFlatText = 4 << 10

// A flatField is a field of a flat struct, which is one of texts, integers and
// booleans. Most items of pages and most typed results are that. JSON v2 would
// give the same bytes, and is asked for every other type.
type flatField struct {
	index     int
	name      string // as it stands in the object: quoted, and with its colon
	omitEmpty bool
	omitZero  bool
}

var plainName = regexp.MustCompile(`^[A-Za-z0-9_]+$`)

// flatFields returns the fields of struct t, or nil if it is not flat.
func flatFields(t reflect.Type) []flatField {
	var fields []flatField
	for i := range t.NumField() {
		f := t.Field(i)
		tag, tagged := f.Tag.Lookup("json")
		switch {
		case f.Anonymous, !f.IsExported() && tagged:
			return nil
		case !f.IsExported(), tag == "-":
			continue
		case !isFlat(f.Type):
			return nil
		}
		options := strings.Split(tag, ",")
		field := flatField{index: i}
		name := f.Name
		if options[0] != "" {
			name = options[0]
		}
		for _, option := range options[1:] {
			switch option {
			case "omitempty":
				field.omitEmpty = true
			case "omitzero":
				field.omitZero = true
			default:
				return nil
			}
		}
		field.name = `"` + name + `":`
		if !plainName.MatchString(name) || slices.ContainsFunc(fields, func(f flatField) bool { return f.name == field.name }) {
			return nil
		}
		fields = append(fields, field)
	}
	return fields
}

// isFlat tells whether t is a predeclared type, which has no methods, and its
// JSON a text, an integer or a boolean.
func isFlat(t reflect.Type) bool {
	if t.PkgPath() != "" {
		return false
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// appendFlat appends v, a flat struct with these fields. It is false, and dst
// as it was, when the texts in v are too long to be dealt with at once.
func appendFlat(dst []byte, fields []flatField, v reflect.Value) ([]byte, bool) {
	size := len("{}")
	for _, f := range fields {
		size += len(f.name) + len("18446744073709551615,")
		if m := v.Field(f.index); m.Kind() == reflect.String {
			size += m.Len()
		}
	}
	if size > maxFlatText {
		return dst, false
	}
	dst = append(slices.Grow(dst, size), '{')
	empty := true
	for _, f := range fields {
		m := v.Field(f.index)
		if f.omitZero && m.IsZero() || f.omitEmpty && m.Kind() == reflect.String && m.Len() == 0 {
			continue
		}
		if !empty {
			dst = append(dst, ',')
		}
		empty = false
		dst = append(dst, f.name...)
		switch {
		case m.Kind() == reflect.String:
			dst = quote.Append(dst, m.String())
		case m.Kind() == reflect.Bool:
			dst = strconv.AppendBool(dst, m.Bool())
		case m.CanInt():
			dst = strconv.AppendInt(dst, m.Int(), 10)
		default:
			dst = strconv.AppendUint(dst, m.Uint(), 10)
		}
	}
	return append(dst, '}'), true
}
