// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quote

import (
	"math/bits"
	"unicode/utf8"
)

// Plain is the length of the longest prefix of s that holds only ASCII which
// stands for itself inside a JSON string: no control character, no quote and
// no backslash. It looks at eight bytes at a time.
func Plain[S string | []byte](s S) int {
	i := 0
	for ; len(s)-i >= 32; i += 32 {
		t := s[i : i+32]
		a, b := special(load(t[0:8])), special(load(t[8:16]))
		c, d := special(load(t[16:24])), special(load(t[24:32]))
		if a|b|c|d == 0 {
			continue
		}
		switch {
		case a != 0:
			return i + bits.TrailingZeros64(a)/8
		case b != 0:
			return i + 8 + bits.TrailingZeros64(b)/8
		case c != 0:
			return i + 16 + bits.TrailingZeros64(c)/8
		}
		return i + 24 + bits.TrailingZeros64(d)/8
	}
	for ; len(s)-i >= 8; i += 8 {
		if m := special(load(s[i : i+8])); m != 0 {
			return i + bits.TrailingZeros64(m)/8
		}
	}
	for i < len(s) && s[i] < utf8.RuneSelf && escapes[s[i]] == 0 {
		i++
	}
	return i
}

// load reads eight bytes, the first one lowest. The compiler makes one load of
// it.
func load[S string | []byte](s S) uint64 {
	_ = s[7]
	return uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56
}

// special has the high bit of a byte set for each byte of w that is not plain.
// The lowest of these bits is exact. Those above it may be set by a borrow
// where the byte is plain, so only zero or not, and the lowest, mean something.
func special(w uint64) uint64 {
	const (
		ones = 0x0101010101010101
		high = 0x8080808080808080
	)
	below := w - ones*' '
	quote := (w ^ ones*'"') - ones
	slash := (w ^ ones*'\\') - ones
	return (w | below | quote | slash) & high
}

// Wide is the length of the longest prefix of s that holds only characters
// beyond ASCII which stand for themselves inside a JSON string: valid UTF-8,
// and neither U+2028 nor U+2029.
func Wide[S string | []byte](s S) int {
	i := 0
	for len(s)-i >= 3 {
		a, b, c := s[i], s[i+1], s[i+2]
		switch {
		case a < 0xc2 || b&0xc0 != 0x80:
			return i // ASCII, or invalid
		case a < 0xe0:
			i += 2
			continue
		case a > 0xe0 && a < 0xf0 && a != 0xed && c&0xc0 == 0x80:
			if a == 0xe2 && b == 0x80 && c&^1 == 0xa8 {
				return i
			}
			i += 3
			continue
		}
		size, cost := char(s[i:])
		if size != cost {
			return i
		}
		i += size
	}
	for i < len(s) && s[i] >= utf8.RuneSelf {
		size, cost := char(s[i:])
		if size != cost {
			break
		}
		i += size
	}
	return i
}

// char looks at the first character of s, which must begin with a byte beyond
// ASCII: the bytes it has in s, and the bytes it takes inside a JSON string.
// The two are equal exactly when it stands for itself.
func char[S string | []byte](s S) (size, cost int) {
	r, size := decode(s)
	switch {
	case r == utf8.RuneError && size == 1:
		return 1, len("\uFFFD")
	case r == '\u2028' || r == '\u2029':
		return size, len(`\u2028`)
	}
	return size, size
}

// decode is utf8.DecodeRune for both types; at most four bytes are copied.
func decode[S string | []byte](s S) (rune, int) {
	var b [utf8.UTFMax]byte
	return utf8.DecodeRune(b[:copy(b[:], s)])
}
