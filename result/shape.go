// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"encoding"
	jsonv1 "encoding/json"
	"net/url"
	"reflect"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// A shape is what is known of a type before a value of it is encoded. JSON v2
// encodes a string whole before its writer sees a byte, so Marshal looks for
// strings beyond the limit first; and it looks for our functions at every value
// once there are any, so they are set only where a type needs them.
type shape struct {
	long    bool     // a value may hold, or reach, a string or bytes
	funcs   bool     // a value may hold, or reach, a type of fullOptions
	factor  int      // of a leaf: the limit times factor is too long for it
	fields  []int    // of a struct: those that matter
	members []*shape // of a struct: the shapes of fields
	key     *shape   // of a map
	elem    *shape   // of a map, slice, array or pointer

	flat []flatField // of a flat struct, or of a pointer to one
}

// rawFactor is how much longer than the limit raw JSON may be before it is
// compacted; more than that is not white space alone.
const rawFactor = 8

var shapes sync.Map // reflect.Type to *shape; a shape is complete when it is here

func shapeOf(t reflect.Type) *shape {
	if s, ok := shapes.Load(t); ok {
		return s.(*shape)
	}
	open := make(map[reflect.Type]*shape)
	s := newShape(t, open)
	for t, s := range open {
		shapes.Store(t, s)
	}
	return s
}

// newShape returns the shape of t, made of those in open where it can. A type
// that is met inside itself counts as one that may hold anything.
func newShape(t reflect.Type, open map[reflect.Type]*shape) *shape {
	if s, ok := open[t]; ok {
		return s
	}
	s := &shape{long: true, funcs: true}
	open[t] = s
	long, funcs := false, false
	add := func(t reflect.Type) *shape {
		m := newShape(t, open)
		long, funcs = long || m.long, funcs || m.funcs
		return m
	}
	switch k := t.Kind(); {
	case t == reflect.TypeFor[time.Duration](), t == reflect.TypeFor[jsonv1.Number](), t == reflect.TypeFor[url.URL]():
		funcs = true
	case t == reflect.TypeFor[jsontext.Value](), t == reflect.TypeFor[jsonv1.RawMessage]():
		long, funcs, s.factor = true, true, rawFactor
	case implements[json.MarshalerTo](t):
		funcs = true // it may encode others in turn
	case implements[json.Marshaler](t), implements[encoding.TextAppender](t), implements[encoding.TextMarshaler](t):
	case k == reflect.Interface:
		long, funcs = true, true
	case k == reflect.String:
		long, s.factor = true, 1
	case k == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		long, s.factor = true, 1
	case k == reflect.Slice, k == reflect.Array, k == reflect.Pointer:
		s.elem = add(t.Elem())
		if k == reflect.Pointer && t.Elem().Kind() == reflect.Struct {
			s.flat = s.elem.flat
		}
	case k == reflect.Map:
		s.key, s.elem = add(t.Key()), add(t.Elem())
	case k == reflect.Struct:
		s.flat = flatFields(t)
		for i := range t.NumField() {
			f := t.Field(i)
			if !f.IsExported() && !f.Anonymous || f.Tag.Get("json") == "-" {
				continue
			}
			if m := add(f.Type); m.long {
				s.fields = append(s.fields, i)
				s.members = append(s.members, m)
			}
		}
	}
	s.long, s.funcs = long, funcs
	return s
}

func implements[I any](t reflect.Type) bool {
	i := reflect.TypeFor[I]()
	return t.Implements(i) || t.Kind() != reflect.Interface && reflect.PointerTo(t).Implements(i)
}

// A search looks for a string or bytes longer than limit.
type search struct {
	limit int
	left  int // values still to look at; each would take a byte at least
	depth int
}

// maxDepth ends the search in values that hold themselves; JSON v2 refuses them.
const maxDepth = 1000

// long returns the length of a string or bytes in v that is too long, or 0.
func (f *search) long(s *shape, v reflect.Value) int {
	if f.left--; f.left < 0 || f.depth > maxDepth || !s.long {
		return 0
	}
	f.depth++
	defer func() { f.depth-- }()

	switch v.Kind() {
	case reflect.String:
		if v.Len()/s.factor > f.limit {
			return v.Len()
		}
	case reflect.Interface:
		if !v.IsNil() {
			e := v.Elem()
			return f.long(shapeOf(e.Type()), e)
		}
	case reflect.Pointer:
		if !v.IsNil() {
			return f.long(s.elem, v.Elem())
		}
	case reflect.Slice, reflect.Array:
		if s.elem == nil {
			if v.Len()/s.factor > f.limit {
				return v.Len()
			}
			return 0
		}
		for i := range v.Len() {
			if n := f.long(s.elem, v.Index(i)); n > 0 || f.left < 0 {
				return n
			}
		}
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			if n := f.long(s.key, it.Key()); n > 0 {
				return n
			}
			if n := f.long(s.elem, it.Value()); n > 0 || f.left < 0 {
				return n
			}
		}
	case reflect.Struct:
		for i, m := range s.members {
			if n := f.long(m, v.Field(s.fields[i])); n > 0 {
				return n
			}
		}
	}
	return 0
}
