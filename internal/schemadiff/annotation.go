// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import "github.com/weir-mcp/weir/internal/document"

// annotations compares what says nothing about what is valid.
func (d *differ) annotations(place string, old, new document.Object, m member) {
	for _, key := range annotationKeys {
		a, b := old[key], new[key]
		if same(a, b) {
			continue
		}
		at, text := place+"/"+key, edited(key, a, b)
		switch key {
		case "description":
			if d.dir == input {
				d.add(at, Review, text, readByModels)
				continue
			}
			d.add(at, Compatible, text, "")
		case "default":
			d.changedDefault(at, text, a, b, m)
		case "readOnly", "writeOnly":
			d.add(at, Review, text, "")
		default:
			d.add(at, Compatible, text, "")
		}
	}
}

// changedDefault reports a default, which is what calls get that leave an
// argument out.
func (d *differ) changedDefault(at, text string, a, b any, m member) {
	switch {
	case d.dir == output, a == nil && !m.wasOptional:
		d.add(at, Compatible, text, "")
	case a == nil:
		d.add(at, Review, text, "see that calls which leave it out get what they got before")
	case b == nil:
		d.add(at, Review, text, "calls that leave it out may get something else")
	default:
		d.add(at, Review, text, "calls that leave it out get something else")
	}
}
