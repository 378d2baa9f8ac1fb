// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/document"
)

// same tells whether two values are equal, numbers by their value.
func same(a, b any) bool { return bytes.Equal(canonical(nil, a), canonical(nil, b)) }

// canonical appends v as compact JSON in which equal values are equal texts.
func canonical(dst []byte, v any) []byte {
	switch v := v.(type) {
	case json.Number:
		return document.AppendCanonical(dst, []byte(v))
	case []any:
		dst = append(dst, '[')
		for _, e := range v {
			dst = append(canonical(dst, e), ',')
		}
		return append(dst, ']')
	case document.Object:
		dst = append(dst, '{')
		for _, name := range document.Names(v) {
			dst = append(document.Append(dst, name), ':')
			dst = append(canonical(dst, v[name]), ',')
		}
		return append(dst, '}')
	}
	return document.Append(dst, v)
}

// union are the names of two objects, sorted.
func union(a, b document.Object) []string {
	return slices.Compact(slices.Sorted(slices.Values(append(document.Names(a), document.Names(b)...))))
}

// edited says how a value changed that is added, removed or replaced.
func edited(what string, old, new any) string {
	switch {
	case old == nil:
		return fmt.Sprintf("%s added: %s", what, document.Show(new))
	case new == nil:
		return fmt.Sprintf("%s removed, was %s", what, document.Show(old))
	}
	was, is := document.Show(old), document.Show(new)
	if a, ok := old.(string); ok {
		if b, ok := new.(string); ok {
			was, is = excerpts(a, b)
		}
	}
	if was == is {
		return what + " changed"
	}
	return fmt.Sprintf("%s changed from %s to %s", what, was, is)
}

// excerpts shows two texts from a little before where they begin to differ.
func excerpts(a, b string) (string, string) {
	const before, most = 20, 60
	if len(a) <= most && len(b) <= most {
		return document.Show(a), document.Show(b)
	}
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	i = max(0, i-before)
	for i > 0 && !utf8.RuneStart(a[i]) {
		i--
	}
	mark := ""
	if i > 0 {
		mark = "…"
	}
	return document.Show(mark + a[i:]), document.Show(mark + b[i:])
}

// similar tells whether one name may have become the other.
func similar(a, b string) bool {
	x, y := fold(a), fold(b)
	if x == y {
		return true
	}
	if min(len(x), len(y)) >= 3 && (strings.Contains(x, y) || strings.Contains(y, x)) {
		return true
	}
	return distance(x, y) <= max(len(x), len(y))/3
}

// fold leaves out what naming habits differ in.
func fold(name string) string {
	if len(name) > 64 {
		name = name[:64]
	}
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// distance is how many bytes have to be put in, left out or replaced to make b
// of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			d := before
			if a[i] != b[j] {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(b)]
}
