// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"
	"slices"

	"github.com/weir-mcp/weir/internal/document"
)

// handled are the keywords that are compared elsewhere, or say nothing.
var handled = []string{
	"type", "enum", "const", "required", "allOf", "anyOf", "oneOf", "additionalItems",
	"$defs", "definitions", "$id", "$anchor",
}

// combined compares the alternatives and conditions, and the keywords that
// nobody knows.
func (d *differ) combined(place string, old, new document.Object) {
	d.list(place, "allOf", old, new, wider, narrower)
	d.list(place, "anyOf", old, new, narrower, wider)
	floor := d.floor
	d.floor = max(d.floor, d.ifChanged(old["oneOf"], new["oneOf"])) // a value may fit two of them now, or one
	d.list(place, "oneOf", old, new, both, wider)
	d.floor = floor
	for _, key := range []string{"not", "if", "then", "else"} {
		d.keyword(place, key, old, new, unclear, unclear)
	}
	for _, key := range union(old, new) {
		if _, ofType := typeKeys[key]; ofType || slices.Contains(handled, key) || slices.Contains(annotationKeys, key) {
			continue
		}
		switch key {
		case "not", "if", "then", "else":
		default:
			d.keyword(place, key, old, new, unclear, unclear)
		}
	}
}

func (d *differ) ifChanged(a, b any) Verdict {
	if d.equal(a, b) {
		return Compatible
	}
	return Review
}

// list compares a keyword that holds a list of schemas, in which order says
// nothing. Members that are on one side only are removed or added; when there
// are as many of the one as of the other, one has become the other.
func (d *differ) list(place, key string, old, new document.Object, removed, added effect) {
	a, had := old[key].([]any)
	b, has := new[key].([]any)
	at := place + "/" + key
	switch {
	case !had && !has:
		return
	case !had:
		d.found(at, narrower, fmt.Sprintf("%s added, with %d schemas", key, len(b)))
		return
	case !has:
		d.found(at, wider, fmt.Sprintf("%s removed, which had %d schemas", key, len(a)))
		return
	}
	var gone []any
	var come []int
	for i := range b {
		come = append(come, i)
	}
	for _, v := range a {
		i := slices.IndexFunc(come, func(i int) bool { return same(bare(v), bare(b[i])) })
		if i < 0 {
			gone = append(gone, v)
			continue
		}
		d.schema(fmt.Sprintf("%s/%d", at, come[i]), v, b[come[i]])
		come = slices.Delete(come, i, i+1)
	}
	if len(gone) == len(come) {
		for n, i := range come {
			d.schema(fmt.Sprintf("%s/%d", at, i), gone[n], b[i])
		}
		return
	}
	for _, v := range gone {
		d.found(at, removed, fmt.Sprintf("one of %s removed: %s", key, describe(v)))
	}
	for _, i := range come {
		d.found(fmt.Sprintf("%s/%d", at, i), added, fmt.Sprintf("one of %s added: %s", key, describe(b[i])))
	}
}

// describe is a schema as short JSON.
func describe(v any) string {
	text := string(document.Append(nil, bare(v)))
	if runes := []rune(text); len(runes) > 60 {
		return string(runes[:60]) + "…"
	}
	return text
}
