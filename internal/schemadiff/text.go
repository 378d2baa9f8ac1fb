// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"github.com/weir-mcp/weir/internal/document"
)

// strings compares what is said of strings.
func (d *differ) strings(place string, old, new document.Object, common types) {
	if common&texts == 0 {
		return
	}
	d.count(place, "minLength", old, new)
	d.count(place, "maxLength", old, new)
	d.keyword(place, "pattern", old, new, narrower, wider)
	d.keyword(place, "format", old, new, softNarrower, softWider) // many do not check it
	for _, key := range []string{"contentEncoding", "contentMediaType", "contentSchema"} {
		if !d.equal(old[key], new[key]) {
			d.add(place+"/"+key, Review, edited(key, old[key], new[key]), "the text means something else")
		}
	}
}

// keyword compares a keyword whose values cannot be compared with each other.
func (d *differ) keyword(place, key string, old, new document.Object, added, removed effect) {
	a, b := old[key], new[key]
	if d.equal(a, b) {
		return
	}
	e := unclear
	switch {
	case a == nil:
		e = added
	case b == nil:
		e = removed
	}
	d.found(place+"/"+key, e, edited(key, a, b))
}
