// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// maxDepth is how deep arrays and objects may nest, the outermost counted. It
// is jsontext's limit, so that nothing passes here which fails to decode later.
const maxDepth = 10_000

// The functions below walk JSON text (RFC 8259) by offset. Each takes the
// offset where its part begins and returns the offset after it, or, when the
// text is not valid there, the complement of the offset of the fault, which is
// negative. Nothing is decoded and nothing is allocated, except beyond 64
// levels of nesting. White space outside of a value is the caller's.

// skipSpace returns the offset of the first byte that is not white space.
func skipSpace(b []byte, i int) int {
	for i < len(b) && b[i] <= ' ' && (b[i] == ' ' || b[i] == '\t' || b[i] == '\r' || b[i] == '\n') {
		i++
	}
	return i
}

// skipString skips the string whose opening quote is at b[i].
func skipString(b []byte, i int) int {
	for i++; i < len(b); {
		i += quote.Plain(b[i:])
		if i == len(b) {
			break
		}
		switch c := b[i]; {
		case c == '"':
			return i + 1
		case c == '\\':
			n := escape(b[i:])
			if n == 0 {
				return ^i
			}
			i += n
		case c < ' ':
			return ^i
		default:
			i += quote.Wide(b[i:])
			if i < len(b) && b[i] >= utf8.RuneSelf {
				r, n := utf8.DecodeRune(b[i:])
				if r == utf8.RuneError && n == 1 {
					return ^i
				}
				i += n
			}
		}
	}
	return ^len(b)
}

// escape is the length of the escape sequence at the start of b, or 0.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		if len(b) >= 6 && isHex(b[2]) && isHex(b[3]) && isHex(b[4]) && isHex(b[5]) {
			return 6
		}
	}
	return 0
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// skipNumber skips the number that begins at b[i].
func skipNumber(b []byte, i int) int {
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i < len(b) && b[i] == '0':
		i++
	default:
		if i = skipDigits(b, i); i < 0 {
			return i
		}
	}
	if i < len(b) && b[i] == '.' {
		if i = skipDigits(b, i+1); i < 0 {
			return i
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		return skipDigits(b, i)
	}
	return i
}

// skipDigits skips at least one digit.
func skipDigits(b []byte, i int) int {
	from := i
	for i < len(b) && '0' <= b[i] && b[i] <= '9' {
		i++
	}
	if i == from {
		return ^i
	}
	return i
}

// skipLiteral skips true, false or null.
func skipLiteral(b []byte, i int) int {
	for _, word := range [...]string{"true", "false", "null"} {
		if len(b)-i >= len(word) && string(b[i:i+len(word)]) == word {
			return i + len(word)
		}
	}
	return ^i
}

// skipName skips the name that begins at b[i], and its colon, and returns the
// offset of the value; end is the offset after the name's closing quote.
func skipName(b []byte, i int) (value, end int) {
	if i == len(b) || b[i] != '"' {
		return ^i, 0
	}
	end = skipString(b, i)
	if end < 0 {
		return end, 0
	}
	if i = skipSpace(b, end); i == len(b) || b[i] != ':' {
		return ^i, 0
	}
	return skipSpace(b, i+1), end
}

// skipValue skips the value that begins at b[i], inside depth arrays and
// objects.
func skipValue(b []byte, i, depth int) int {
	var open nest
	for {
		// A value begins at b[i].
		if i == len(b) {
			return ^i
		}
		switch c := b[i]; {
		case c == '"':
			i = skipString(b, i)
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return ^i
			}
			i = skipSpace(b, i+1)
			if i < len(b) && b[i] == c+2 { // } or ]
				depth--
				i++
				break
			}
			open.push(c == '{')
			if c == '{' {
				i, _ = skipName(b, i)
			}
			if i < 0 {
				return i
			}
			continue
		case c == '-' || '0' <= c && c <= '9':
			i = skipNumber(b, i)
		default:
			i = skipLiteral(b, i)
		}
		if i < 0 {
			return i
		}
		// A value has ended before b[i].
		for {
			if open.level == 0 {
				return i
			}
			if i = skipSpace(b, i); i == len(b) {
				return ^i
			}
			if b[i] == ',' {
				break
			}
			closing := byte(']')
			if open.object() {
				closing = '}'
			}
			if b[i] != closing {
				return ^i
			}
			open.pop()
			depth--
			i++
		}
		i = skipSpace(b, i+1)
		if open.object() {
			if i, _ = skipName(b, i); i < 0 {
				return i
			}
		}
	}
}

// nest remembers, for each open level, whether it is an object: one bit each,
// the innermost lowest, 64 of them in a word.
type nest struct {
	level int
	bits  uint64
	outer []uint64 // the levels that bits has no room for
}

func (n *nest) push(object bool) {
	if n.level > 0 && n.level%64 == 0 {
		n.outer = append(n.outer, n.bits)
	}
	n.level++
	n.bits <<= 1
	if object {
		n.bits |= 1
	}
}

func (n *nest) pop() {
	n.level--
	n.bits >>= 1
	if n.level > 0 && n.level%64 == 0 {
		n.bits = n.outer[len(n.outer)-1]
		n.outer = n.outer[:len(n.outer)-1]
	}
}

func (n *nest) object() bool { return n.bits&1 != 0 }

// object walks the members of one object and checks its syntax on the way.
type object struct {
	b     []byte
	i     int  // negative: the complement of a fault's offset
	depth int  // the arrays and objects around a member's value
	begun bool // past the opening brace
}

// openObject begins at the opening brace b[i], inside depth arrays and objects.
func openObject(b []byte, i, depth int) object {
	return object{b: b, i: i, depth: depth + 1}
}

// next steps to the next member and returns its name, decoded. Then o.i is at
// the value, and the caller moves o.i past it, with value or by itself. It
// returns false after the last member, when o.i is past the object, and at a
// fault, when o.i is negative.
func (o *object) next() (name []byte, ok bool) {
	i := o.i
	if i < 0 {
		return nil, false
	}
	if !o.begun {
		i++
	}
	i = skipSpace(o.b, i)
	switch {
	case i < len(o.b) && o.b[i] == '}':
		o.i = i + 1
		return nil, false
	case !o.begun:
		o.begun = true
	case i < len(o.b) && o.b[i] == ',':
		i = skipSpace(o.b, i+1)
	default:
		o.i = ^i
		return nil, false
	}
	var end int
	if o.i, end = skipName(o.b, i); o.i < 0 {
		return nil, false
	}
	name = o.b[i+1 : end-1]
	if bytes.IndexByte(name, '\\') >= 0 {
		name, _ = jsontext.AppendUnquote(nil, o.b[i:end])
	}
	return name, true
}

// value returns the value at o.i and moves past it; it is nil at a fault.
func (o *object) value() []byte {
	from := o.i
	if o.i = skipValue(o.b, from, o.depth); o.i < 0 {
		return nil
	}
	return o.b[from:o.i:o.i]
}

// unquote decodes a string that is valid JSON. It is false when an escaped
// lone surrogate had to become U+FFFD.
func unquote(raw []byte) (s string, ok bool) {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1]), true
	}
	b, err := jsontext.AppendUnquote(nil, raw)
	return string(b), err == nil
}
