// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quote

import (
	"unicode/utf8"
)

// Len is the number of bytes that [Append] would add for s, quotes included.
func Len[S string | []byte](s S) int {
	n := len(s) + 2
	for i := 0; i < len(s); {
		i += Plain(s[i:])
		if i < len(s) && s[i] >= utf8.RuneSelf {
			i += Wide(s[i:])
		}
		for i < len(s) && s[i] >= utf8.RuneSelf {
			size, cost := char(s[i:])
			if size == cost {
				break
			}
			n += cost - size
			i += size
		}
		for i < len(s) && escapes[s[i]] != 0 {
			n += escapeLen(escapes[s[i]]) - 1
			i++
		}
	}
	return n
}

// Cut returns the longest prefix of s that ends at the border of a character
// and takes at most limit bytes inside a JSON string, the quotes not counted.
// A byte that is not part of valid UTF-8 counts as a character of three bytes,
// which is what it becomes. A limit below zero is zero. The time follows the
// limit, not the length of s.
func Cut(s string, limit int) string {
	i := 0 // s[:i] fits, with limit bytes to spare
	for i < len(s) && limit > 0 {
		fits := s[i:min(len(s), i+limit)] // no character takes less than its bytes
		if n := Plain(fits); n > 0 {
			i += n
			limit -= n
			continue
		}
		if n := Wide(fits); n > 0 {
			i += n
			limit -= n
			continue
		}
		size, cost := 1, 0
		if c := s[i]; c >= utf8.RuneSelf {
			size, cost = char(s[i:])
		} else {
			cost = escapeLen(escapes[c])
		}
		if cost > limit {
			break
		}
		i += size
		limit -= cost
	}
	return s[:i]
}

// CutTail is [Cut] from the other end: the longest suffix of s that begins at
// the border of a character and takes at most limit bytes.
func CutTail(s string, limit int) string {
	i := len(s) // s[i:] fits, with limit bytes to spare
	for i > 0 && limit > 0 {
		if i >= 8 && limit >= 8 && special(load(s[i-8:i])) == 0 {
			i -= 8
			limit -= 8
			continue
		}
		size, cost := 1, 1
		switch c := s[i-1]; {
		case c >= utf8.RuneSelf:
			_, size = utf8.DecodeLastRuneInString(s[:i])
			_, cost = char(s[i-size : i])
		case escapes[c] != 0:
			cost = escapeLen(escapes[c])
		}
		if cost > limit {
			break
		}
		i -= size
		limit -= cost
	}
	return s[i:]
}
