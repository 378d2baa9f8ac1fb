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
		d.found(at, sure(old, new, key, narrower), fmt.Sprintf("%s added, with %d %s", key, len(b), plural(len(b), "schema")))
		return
	case !has:
		d.found(at, sure(old, new, key, wider), fmt.Sprintf("%s removed, which had %d %s", key, len(a), plural(len(a), "schema")))
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
	rest := gone[:0]
	for _, v := range gone {
		i := slices.IndexFunc(come, func(i int) bool { return tag(v) != "" && tag(v) == tag(b[i]) })
		if i < 0 {
			rest = append(rest, v)
			continue
		}
		d.schema(fmt.Sprintf("%s/%d", at, come[i]), v, b[come[i]])
		come = slices.Delete(come, i, i+1)
	}
	gone = rest
	if len(gone) == len(come) && len(gone) > 1 {
		d.found(at, unclear, fmt.Sprintf("%d of %s changed", len(gone), key))
		return
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

// sure is e where a keyword is all that differs; otherwise what else changed
// may say the same as the keyword.
func sure(old, new document.Object, key string, e effect) effect {
	if same(bare(without(old, key)), bare(without(new, key))) {
		return e
	}
	return unclear
}

// doubtful tells whether alternatives that stand on one side only may make up
// for what else seems to break.
func (d *differ) doubtful(old, new document.Object) bool {
	if d.dir == output {
		old, new = new, old
	}
	for _, key := range []string{"allOf", "anyOf", "oneOf"} {
		_, had := old[key]
		if _, has := new[key]; had && !has && sure(old, new, key, wider) == unclear {
			return true
		}
	}
	return false
}

// tag is what tells an alternative from the others: its properties of one
// value. It is "" where there are none.
func tag(v any) string {
	o, _ := v.(document.Object)
	props, _ := o["properties"].(document.Object)
	tags := document.Object{}
	for name, p := range props {
		p, _ := p.(document.Object)
		if list, _ := constAsEnum(p)["enum"].([]any); len(list) == 1 {
			tags[name] = list[0]
		}
	}
	if len(tags) == 0 {
		return ""
	}
	return string(canonical(nil, tags))
}
