// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"strconv"
	"strings"
)

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// Escape makes a token of a JSON pointer (RFC 6901) of a name.
func Escape(name string) string { return escape.Replace(name) }

// Tokens yields the unescaped tokens of a JSON pointer.
func Tokens(pointer string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if pointer == "" {
			return
		}
		for t := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if !yield(unescape.Replace(t)) {
				return
			}
		}
	}
}

// Resolve finds the value that the JSON pointer names in doc. Percent signs are
// not decoded.
func Resolve(doc any, pointer string) (any, bool) {
	if pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	for token := range Tokens(pointer) {
		switch v := doc.(type) {
		case Object:
			next, ok := v[token]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}
