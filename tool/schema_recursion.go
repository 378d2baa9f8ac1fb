// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"net/url"
	"reflect"
)

// findRecursion finds, for each circle of types that can be reached from t,
// one that is on it.
func (g *generator) findRecursion(t reflect.Type) {
	const open, done = 1, 2
	state := map[reflect.Type]int{}
	var visit func(t reflect.Type)
	visit = func(t reflect.Type) {
		for t.Kind() == reflect.Pointer && t.Name() == "" {
			t = t.Elem()
		}
		switch state[t] {
		case done:
			return
		case open:
			if g.recursive == nil {
				g.recursive = map[reflect.Type]bool{}
			}
			g.recursive[t] = true
			return
		}
		state[t] = open
		defer func() { state[t] = done }()
		switch t.Kind() {
		case reflect.Slice, reflect.Array, reflect.Map, reflect.Pointer:
			visit(t.Elem())
		case reflect.Struct:
			if t == reflect.TypeFor[url.URL]() || implements(t, schemaHook) || implements(t, jsonMethods...) || implements(t, textMethods...) {
				return
			}
			for i := range t.NumField() {
				if f := t.Field(i); f.IsExported() || f.Anonymous {
					if f.Tag.Get("json") != "-" {
						visit(f.Type)
					}
				}
			}
		}
	}
	visit(t)
}
