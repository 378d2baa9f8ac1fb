// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"math"
	"reflect"
	"strconv"
)

// maxFlat is how many properties a struct may have to be decoded as it is
// checked.
const maxFlat = 16

// A flat is an input type that is decoded while its arguments are checked,
// which spares reading them twice: a struct of texts, numbers and booleans. For
// each property of its schema it has the place of the field. The decoder does
// the same, and is asked whenever something is out of the ordinary.
type flat struct {
	typ    reflect.Type
	fields [][]int // by the index in node.props
}

// newFlat returns the flat of t, whose schema is n, or nil if it is none.
func newFlat(t reflect.Type, n *node) *flat {
	if t == nil || t.Kind() != reflect.Struct || n.kinds != kindObject || len(n.props) > maxFlat ||
		implements(t, jsonMethods...) || implements(t, textMethods...) {
		return nil
	}
	fields, err := structFields(t)
	if err != nil || len(fields) != len(n.props) {
		return nil
	}
	f := &flat{typ: t, fields: make([][]int, len(n.props))}
	for _, field := range fields {
		p := n.find([]byte(field.name), 0)
		if p < 0 || field.index == nil || field.quoted || !isFlat(field.typ) {
			return nil
		}
		f.fields[p] = field.index
	}
	return f
}

// isFlat tells whether t is a type without methods whose JSON is one token.
func isFlat(t reflect.Type) bool {
	if t.PkgPath() != "" {
		return false
	}
	switch t.Kind() {
	case reflect.String, reflect.Bool, reflect.Float64,
		reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return true
	}
	return false
}

// A span is where the value of a property stands; the zero span is that of an
// absent one.
type span struct{ start, end int }

// decode makes the struct of the values that stand at spans in text, as a
// pointer to it. It returns nil where the decoder has to be asked.
func (f *flat) decode(text []byte, spans *[maxFlat]span) any {
	p := reflect.New(f.typ)
	for i, index := range f.fields {
		if s := spans[i]; s.end != 0 && !setFlat(p.Elem().FieldByIndex(index), text[s.start:s.end]) {
			return nil
		}
	}
	return p.Interface()
}

// setFlat sets v to what text, one JSON value, stands for, and tells whether
// it could.
func setFlat(v reflect.Value, text []byte) bool {
	switch text[0] {
	case '"':
		if v.Kind() != reflect.String {
			return false
		}
		v.SetString(string(unquote(text)))
		return true
	case 't', 'f':
		if v.Kind() != reflect.Bool {
			return false
		}
		v.SetBool(text[0] == 't')
		return true
	case 'n', '[', '{':
		return false
	}
	switch {
	case v.CanInt():
		n, ok := smallInteger(text)
		if !ok || v.OverflowInt(n) {
			return false
		}
		v.SetInt(n)
	case v.CanUint():
		n, ok := smallInteger(text)
		if !ok || n < 0 || v.OverflowUint(uint64(n)) {
			return false
		}
		v.SetUint(uint64(n))
	case v.CanFloat():
		n, err := strconv.ParseFloat(string(text), 64)
		if err != nil || math.IsInf(n, 0) {
			return false
		}
		v.SetFloat(n)
	default:
		return false
	}
	return true
}
