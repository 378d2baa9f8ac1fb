// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"

	"github.com/weir-mcp/weir/result"
)

// smallPage is the size in bytes below which a page has hardly room for what
// stands beside its items.
const smallPage = 3 << 10

func small(b result.Budget) bool { return b.Bytes < smallPage }

// larger is what to do about items that a small page has no room for.
const larger = "give a larger maxBytes"

// shorten makes what a small page says beside its items short, so that the
// smallest holds an ordinary item.
func shorten[T any](page *result.Page[T]) {
	if small(page.Budget) {
		page.Sorted, page.Hint = "", larger
	}
}

// cut is s, or as much of it as takes room bytes in JSON together with words
// about the rest. limit is the size of the page's room.
func cut(s string, limit, room int) string {
	size := inJSON(s)
	if size <= room {
		return s
	}
	how := ""
	if limit < smallPage {
		how = "; " + larger
	}
	words := func(n int) string { return fmt.Sprintf("[%d bytes cut%s]", len(s)-n, how) }
	keep := room - len(words(0))
	n := 0
	for i, r := range s {
		if keep -= costInJSON(r); keep < 0 {
			n = i
			break
		}
	}
	if shorter := s[:n] + words(n); len(shorter) < size {
		return shorter
	}
	return s
}

// inJSON is how many bytes s takes inside a JSON string.
func inJSON(s string) (n int) {
	for _, r := range s {
		n += costInJSON(r)
	}
	return n
}

func costInJSON(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t' || r == '\r':
		return 2
	case r < ' ':
		return len(`\u0000`)
	}
	return len(string(r))
}
