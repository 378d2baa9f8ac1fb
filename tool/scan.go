// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// The functions of this file walk over JSON text that is known to be valid:
// every frame was parsed before a tool sees it. On text that is not valid they
// still stay inside it, and return -1 or stop early.

// skipSpace returns the index of the first byte at or after i that is not
// white space, or len(b).
func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at b[i], and
// whether its bytes stand for themselves (no escapes).
func skipString(b []byte, i int) (end int, plain bool) {
	i++
	plain = true
	for i < len(b) {
		i += quote.Plain(b[i:])
		for i < len(b) && b[i] >= 0x80 {
			i++
		}
		if i >= len(b) {
			break
		}
		switch b[i] {
		case '"':
			return i + 1, plain
		case '\\':
			plain = false
			i += 2
		default:
			if b[i] < ' ' {
				return -1, false
			}
			i++
		}
	}
	return -1, false
}

// skipNumber returns the index after the number that begins at b[i], and
// whether it is written with digits alone.
func skipNumber(b []byte, i int) (end int, digits bool) {
	start := i
	digits = true
	if i < len(b) && b[i] == '-' {
		i++
	}
	for ; i < len(b); i++ {
		switch c := b[i]; {
		case '0' <= c && c <= '9':
		case c == '.' || c == 'e' || c == 'E' || c == '+' || c == '-':
			digits = false
		default:
			return end1(start, i), digits
		}
	}
	return end1(start, i), digits
}

// end1 is i, or -1 when nothing was consumed.
func end1(start, i int) int {
	if i == start {
		return -1
	}
	return i
}

// skipValue returns the index after the value that begins at b[i].
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch c := b[i]; c {
		case '"':
			if i, _ = skipString(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return -1
			}
			depth--
			i++
		case ' ', '\n', '\t', '\r', ',', ':':
			if depth == 0 {
				return -1
			}
			i++
			continue
		case 't', 'n':
			i += 4
		case 'f':
			i += 5
		default:
			if i, _ = skipNumber(b, i); i < 0 {
				return -1
			}
		}
		if depth == 0 {
			if i > len(b) {
				return -1
			}
			return i
		}
	}
	return -1
}

// unquote returns the text of the JSON string s, quotes included. Lone
// surrogates become U+FFFD.
func unquote(s []byte) []byte {
	if len(s) >= 2 && bytes.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1]
	}
	t, _ := jsontext.AppendUnquote(nil, s) // the error tells of surrogates only
	return t
}

// maxDepth is how deep JSON may be nested. The reader of frames allows no more.
const maxDepth = 10_000

// memberAt reads the name of the member of an object that begins at b[i], as
// text, and returns it with the index of its value, or -1.
func memberAt(b []byte, i int) (name []byte, value int) {
	if i >= len(b) || b[i] != '"' {
		return nil, -1
	}
	end, plain := skipString(b, i)
	if end < 0 {
		return nil, -1
	}
	name = b[i+1 : end-1]
	if !plain {
		name = unquote(b[i:end])
	}
	if i = skipSpace(b, end); i >= len(b) || b[i] != ':' {
		return nil, -1
	}
	if i = skipSpace(b, i+1); i >= len(b) {
		return nil, -1
	}
	return name, i
}

// nameAt returns the name of a member that begins at b[i], with quotes, or nil
// when something else does.
func nameAt(b []byte, i int64) []byte {
	if i < 0 || i >= int64(len(b)) {
		return nil
	}
	start := skipSpace(b, int(i))
	if _, v := memberAt(b, start); v < 0 {
		return nil
	}
	end, _ := skipString(b, start)
	return b[start:end]
}

// A member is one name and value of an object.
type member struct {
	name  []byte // as text, without quotes and escapes
	value jsontext.Value
}

// members yields what is in the object obj, in its order. It stops where obj
// is not valid.
func members(obj []byte, yield func(member) bool) {
	i := skipSpace(obj, 0)
	if i >= len(obj) || obj[i] != '{' {
		return
	}
	for i = skipSpace(obj, i+1); i < len(obj); i = skipSpace(obj, i+1) {
		name, v := memberAt(obj, i)
		if v < 0 {
			return
		}
		end := skipValue(obj, v)
		if end < 0 || !yield(member{name, obj[v:end]}) {
			return
		}
		if i = skipSpace(obj, end); i >= len(obj) || obj[i] != ',' {
			return
		}
	}
}

// elements yields the values in the array list, in order. It stops where list
// is not valid.
func elements(list []byte, yield func(value []byte) bool) {
	i := skipSpace(list, 0)
	if i >= len(list) || list[i] != '[' {
		return
	}
	for i = skipSpace(list, i+1); i < len(list) && list[i] != ']'; i = skipSpace(list, i+1) {
		end := skipValue(list, i)
		if end < 0 || !yield(list[i:end]) {
			return
		}
		if i = skipSpace(list, end); i >= len(list) || list[i] != ',' {
			return
		}
	}
}

// lookup returns the member of obj with that name, or nil.
func lookup(obj []byte, name string) jsontext.Value {
	var v jsontext.Value
	members(obj, func(m member) bool {
		if string(m.name) == name {
			v = m.value
		}
		return v == nil
	})
	return v
}
