// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"

	"github.com/weir-mcp/weir/internal/document"
)

// arrays compares what is said of arrays.
func (d *differ) arrays(place string, old, new document.Object, common types) {
	if common&arrays == 0 {
		return
	}
	oldFirst, _ := old["prefixItems"].([]any)
	newFirst, _ := new["prefixItems"].([]any)
	rest := func(s document.Object) any {
		if items, has := s["items"]; has {
			return items
		}
		return anything
	}
	for i := range max(len(oldFirst), len(newFirst)) {
		below := fmt.Sprintf("%s/prefixItems/%d", place, i)
		a, b := rest(old), rest(new)
		if i < len(oldFirst) {
			a = oldFirst[i]
		}
		if i < len(newFirst) {
			b = newFirst[i]
		} else {
			below = place + "/items"
		}
		d.schema(below, a, b)
	}
	d.schema(place+"/items", rest(old), rest(new))
	d.count(place, "minItems", old, new)
	d.count(place, "maxItems", old, new)
	switch was, is := isTrue(old["uniqueItems"]), isTrue(new["uniqueItems"]); {
	case is && !was:
		d.found(place+"/uniqueItems", narrower, "the items have to be different now")
	case was && !is:
		d.found(place+"/uniqueItems", wider, "the items need not be different any more")
	}
	d.contains(place, old, new)
	d.keyword(place, "unevaluatedItems", old, new, narrower, wider)
}

// contains compares contains, and how often it has to fit.
func (d *differ) contains(place string, old, new document.Object) {
	a, oldHas := old["contains"]
	b, newHas := new["contains"]
	counts := func(s document.Object) bool { return s["minContains"] != nil || s["maxContains"] != nil }
	switch {
	case !oldHas && !newHas:
	case counts(old) || counts(new):
		for _, key := range []string{"contains", "minContains", "maxContains"} {
			d.keyword(place, key, old, new, unclear, unclear)
		}
	case !oldHas:
		d.found(place+"/contains", narrower, edited("contains", nil, b))
	case !newHas:
		d.found(place+"/contains", wider, edited("contains", a, nil))
	default:
		d.schema(place+"/contains", a, b)
	}
}
