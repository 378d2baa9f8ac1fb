// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package quote writes Go text as JSON strings, and measures and cuts text by
// the bytes it takes as one.
//
// All of it follows one rule: what needs no escape stands for itself, the
// quote, the backslash and the control characters below U+0020 are escaped in
// their shortest form (RFC 8259 section 7), U+2028 and U+2029 are escaped
// because some line readers end a line there, each byte that is not part of
// valid UTF-8 becomes U+FFFD, and nothing else is touched: not <, > or &, and
// not U+007F. So a string from this package holds no raw line end, and is
// valid UTF-8, whatever it was made from.
//
// Nothing here keeps state; every function may be called at any time by any
// goroutine.
package quote

import (
	"slices"
	"unicode/utf8"
)

// Append appends s to dst as one JSON string, quotes included. It grows dst at
// most once as long as s needs no escapes; a caller that knows [Len] spares
// that too.
func Append[S string | []byte](dst []byte, s S) []byte {
	dst = slices.Grow(dst, len(s)+2)
	dst = append(dst, '"')
	dst = appendInner(dst, s)
	return append(dst, '"')
}

// AppendChunk appends what at most n bytes of s become inside a JSON string,
// without quotes, and returns what is left of s. It takes whole characters
// only, and at least one when s is not empty, so that
//
//	for s != "" {
//		dst, s = quote.AppendChunk(dst, s, 64<<10)
//	}
//
// ends, and appends exactly what Append would between its quotes. A caller can
// look at its context in between.
func AppendChunk(dst []byte, s string, n int) (out []byte, rest string) {
	n = border(s, n)
	return appendInner(dst, s[:n]), s[n:]
}

// border is the largest number of bytes of s, at most n, that does not end
// inside a character, or the length of the first character if n is less.
func border(s string, n int) int {
	if n >= len(s) {
		return len(s)
	}
	n = max(n, 0)
	for i := n; i > 0 && i > n-utf8.UTFMax; {
		i--
		if !utf8.RuneStart(s[i]) {
			continue
		}
		if _, size := utf8.DecodeRuneInString(s[i:]); i+size > n {
			n = i
		}
		break
	}
	if n == 0 && s != "" {
		_, n = utf8.DecodeRuneInString(s)
	}
	return n
}

func appendInner[S string | []byte](dst []byte, s S) []byte {
	from := 0 // s[from:i] stands for itself and is not appended yet
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
			dst = append(dst, s[from:i]...)
			dst = appendOdd(dst, s[i:i+size])
			i += size
			from = i
		}
		for i < len(s) && escapes[s[i]] != 0 {
			dst = append(dst, s[from:i]...)
			dst = appendEscape(dst, s[i])
			i++
			from = i
		}
	}
	return append(dst, s[from:]...)
}

// appendOdd appends a character beyond ASCII that does not stand for itself.
func appendOdd[S string | []byte](dst []byte, s S) []byte {
	if len(s) == 1 {
		return append(dst, "\uFFFD"...)
	}
	if s[2] == '\xa8' {
		return append(dst, `\u2028`...)
	}
	return append(dst, `\u2029`...)
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	if e := escapes[c]; e != 'u' {
		return append(dst, '\\', e)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&0xf])
}

// escapes has, for each ASCII character that must be escaped, the letter after
// the backslash, and 0 for all others.
var escapes = func() (t [256]byte) {
	for c := range byte(' ') {
		t[c] = 'u'
	}
	t['\b'], t['\f'], t['\n'], t['\r'], t['\t'] = 'b', 'f', 'n', 'r', 't'
	t['"'], t['\\'] = '"', '\\'
	return t
}()

// escapeLen is the length of an escape whose letter is e.
func escapeLen(e byte) int {
	if e == 'u' {
		return len(`\u0000`)
	}
	return len(`\n`)
}
