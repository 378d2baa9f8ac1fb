// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"reflect"

	"github.com/weir-mcp/weir/internal/document"
)

// A direction says who makes the values that a schema describes.
type direction uint8

const (
	input  direction = iota // callers: a new schema must take what the old one took
	output                  // the tool: a new schema may only let through what the old one did
)

// An effect is what a change does to the set of values that a schema takes.
type effect uint8

const (
	narrower effect = iota // some values are not taken any more
	wider                  // some more are taken
	both                   // some others are taken
	unclear                // what it does cannot be told
	// The soft ones are those that many validators, or callers, do not mind.
	softNarrower
	softWider
)

func (d direction) verdict(e effect) Verdict {
	switch {
	case e == both, e == narrower && d == input, e == wider && d == output:
		return Breaks
	case e == unclear, e == softNarrower && d == input, e == softWider && d == output:
		return Review
	}
	return Compatible
}

// differ compares two schemas.
type differ struct {
	c                *comparison
	tool             string
	dir              direction
	oldRoot, newRoot any
	floor            Verdict // the least verdict of what is found here
	doubt            bool    // nothing found here is sure to break callers

	seen  map[pair]bool
	views map[uintptr]document.Object
	full  bool // maxPairs was reached
}

// A pair is two places that were compared: recursive schemas come back to
// them, and what is shared is told once.
type pair struct{ old, new uintptr }

// maxPairs bounds the work on schemas that are made to be endless.
const maxPairs = 1 << 16

// member says what is known of the place of a schema in the one above.
type member struct {
	wasOptional, isOptional bool
}

func (d *differ) add(place string, v Verdict, text, why string) {
	d.c.add(d.tool, place, max(v, d.floor), text, why)
}

// found adds a change with an effect, and what it means.
func (d *differ) found(place string, e effect, text string) {
	v := d.dir.verdict(e)
	if d.doubt && v == Breaks {
		v, e = Review, unclear
	}
	why := ""
	switch {
	case v == Breaks && d.dir == input:
		why = "calls that were right are refused"
	case v == Breaks:
		why = "callers get what they do not expect"
	case e == unclear:
		why = "what it does cannot be told from the schemas"
	case v == Review && d.dir == input:
		why = "servers that check it refuse calls that were right"
	case v == Review:
		why = "a caller that checks results against the saved schema refuses it"
	}
	d.add(place, v, text, why)
}

// anything is a schema that takes every value.
var anything = document.Object{}

// schema compares two schemas, which stand at place in the new definition.
func (d *differ) schema(place string, a, b any) { d.member(place, a, b, member{}) }

func (d *differ) member(place string, a, b any, m member) {
	old, oldNever := d.view(a, d.oldRoot)
	new, newNever := d.view(b, d.newRoot)
	switch {
	case oldNever && newNever:
		return
	case oldNever:
		d.found(place, wider, "was never valid, and can be now")
		return
	case newNever:
		d.found(place, narrower, "is never valid any more")
		return
	}
	p := pair{address(a), address(b)}
	if d.seen[p] || d.full || p == (pair{}) {
		return
	}
	d.seen[p] = true
	if len(d.seen) > maxPairs {
		d.full = true
		d.add(place, Review, "the schemas are too large to be compared in full", "")
		return
	}
	doubt := d.doubt
	d.doubt = doubt || d.doubtful(old, new)
	defer func() { d.doubt = doubt }()
	common, listed := d.values(place, old, new, m)
	if !listed {
		d.numbers(place, old, new, common)
		d.strings(place, old, new, common)
		d.arrays(place, old, new, common)
		d.objects(place, old, new, common)
	}
	d.combined(place, old, new)
	d.annotations(place, old, new, m)
}

// address tells objects apart; it is 0 for what takes everything.
func address(v any) uintptr {
	o, ok := v.(document.Object)
	if !ok || len(o) == 0 {
		return 0
	}
	return reflect.ValueOf(o).Pointer()
}

// equal tells whether two values, which may hold schemas, mean the same. A
// reference means what it leads to, which stands elsewhere.
func (d *differ) equal(a, b any) bool {
	return same(a, b) && (!refers(a) || same(d.oldRoot, d.newRoot))
}

// refers tells whether there is a reference in v.
func refers(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if refers(e) {
				return true
			}
		}
	case document.Object:
		for name, e := range v {
			if name == "$ref" || name == "$dynamicRef" || name == "$recursiveRef" || refers(e) {
				return true
			}
		}
	}
	return false
}
