// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"unicode/utf8"
)

// An acceptor says of a JSON text whether it fits a schema, when that is plain
// to see in one pass without allocating. It never says yes where the validator
// would say no; where it is not sure it gives up, and the validator is asked.
type acceptor struct {
	text []byte

	// rewrite is set when the text fits only after normalize: a null for an
	// optional property, an absent one with a default, an integer such as 1.0.
	rewrite bool

	// unread is set when a part was skipped that may hold duplicate names.
	unread bool

	flat  *flat // when set, spans is filled in
	spans [maxFlat]span

	depth int
}

// accept reports whether all of a.text fits n.
func (a *acceptor) accept(n *node) bool {
	i := a.value(skipSpace(a.text, 0), n)
	return i >= 0 && skipSpace(a.text, i) == len(a.text)
}

// value returns the index after the value at a.text[i], or -1 when it does not
// fit n for sure.
func (a *acceptor) value(i int, n *node) int {
	if n.ref != nil {
		n = n.deref()
	}
	if n.ask || i >= len(a.text) {
		return -1
	}
	if n.any {
		return a.skip(i)
	}
	switch a.text[i] {
	case '{':
		if n.kinds&kindObject == 0 || n.enum != nil || a.depth == maxDepth {
			return -1
		}
		a.depth++
		i = a.object(i, n)
		a.depth--
		return i
	case '[':
		if n.kinds&kindArray == 0 || n.enum != nil || a.depth == maxDepth {
			return -1
		}
		a.depth++
		i = a.array(i, n)
		a.depth--
		return i
	case '"':
		if n.kinds&kindString == 0 {
			return -1
		}
		return a.str(i, n)
	case 't':
		return a.literal(i, "true", n, kindBool)
	case 'f':
		return a.literal(i, "false", n, kindBool)
	case 'n':
		return a.literal(i, "null", n, kindNull)
	}
	return a.number(i, n)
}

func (a *acceptor) skip(i int) int {
	if c := a.text[i]; c == '{' || c == '[' {
		a.unread = true
	}
	return skipValue(a.text, i)
}

func (a *acceptor) literal(i int, text string, n *node, k kinds) int {
	end := i + len(text)
	if n.kinds&k == 0 || end > len(a.text) || string(a.text[i:end]) != text {
		return -1
	}
	if n.enum != nil && !n.has(a.text[i:end]) {
		return -1
	}
	return end
}

// has tells whether text, as it stands, is one of the allowed values.
func (n *node) has(text []byte) bool {
	for _, e := range n.enum {
		if string(text) == e {
			return true
		}
	}
	return false
}

func (a *acceptor) number(i int, n *node) int {
	end, digits := skipNumber(a.text, i)
	if end < 0 || n.kinds&(kindInteger|kindNumber) == 0 || end-i > maxDigits {
		return -1
	}
	text := a.text[i:end]
	if !digits {
		if _, _, ok := mantissa(text); !ok {
			return -1
		}
	}
	if n.kinds&kindNumber == 0 && (!digits || string(text) == "-0") {
		var buf [64]byte
		whole, ok := appendInteger(buf[:0], text)
		if !ok {
			return -1
		}
		a.rewrite = true
		text = whole
	}
	if n.enum != nil && (n.enumAsk || !digits || !n.has(text)) {
		return -1
	}
	if n.min.set {
		order, ok := n.min.compare(text)
		if !ok || order < 0 || order == 0 && n.exclusiveMin {
			return -1
		}
	}
	if n.max.set {
		order, ok := n.max.compare(text)
		if !ok || order > 0 || order == 0 && n.exclusiveMax {
			return -1
		}
	}
	return end
}

func (a *acceptor) str(i int, n *node) int {
	end, plain := skipString(a.text, i)
	if end < 0 {
		return -1
	}
	if n.enum != nil && (!plain || !n.has(a.text[i:end])) {
		return -1
	}
	if n.minLength == 0 && n.maxLength < 0 && n.pattern == nil && n.format == nil {
		return end
	}
	text := a.text[i+1 : end-1]
	if !plain {
		text = unquote(a.text[i:end])
	}
	if n.minLength > 0 || n.maxLength >= 0 {
		length := utf8.RuneCount(text)
		if length < n.minLength || n.maxLength >= 0 && length > n.maxLength {
			return -1
		}
	}
	if n.pattern != nil && !n.pattern.Match(text) {
		return -1
	}
	if n.format != nil && !n.format(string(text)) {
		return -1
	}
	return end
}

func (a *acceptor) array(i int, n *node) int {
	length := 0
	i = skipSpace(a.text, i+1)
	for i < len(a.text) && a.text[i] != ']' {
		if length > 0 {
			if a.text[i] != ',' {
				return -1
			}
			i = skipSpace(a.text, i+1)
			if i >= len(a.text) {
				return -1
			}
		}
		if n.items == nil {
			i = a.skip(i)
		} else {
			i = a.value(i, n.items)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(a.text, i)
		length++
	}
	if i >= len(a.text) || length < n.minItems || n.maxItems >= 0 && length > n.maxItems {
		return -1
	}
	return i + 1
}

func (a *acceptor) object(i int, n *node) int {
	var seen, given [maxProperties / 64]uint64 // given: seen and not dropped
	first := true
	next := 0 // the property that is likely to come
	i = skipSpace(a.text, i+1)
	for i < len(a.text) && a.text[i] != '}' {
		if !first {
			if a.text[i] != ',' {
				return -1
			}
			i = skipSpace(a.text, i+1)
		}
		first = false
		var name []byte
		if name, i = memberAt(a.text, i); i < 0 {
			return -1
		}
		p := n.find(name, next)
		switch {
		case p >= 0:
			next = p + 1
			bit := uint64(1) << (p % 64)
			if seen[p/64]&bit != 0 {
				return -1 // twice
			}
			seen[p/64] |= bit
			if bytes.HasPrefix(a.text[i:], null) && n.props[p].dropsNull() {
				a.rewrite = true
				i += len(null)
				break
			}
			given[p/64] |= bit
			start := i
			i = a.value(i, n.props[p].node)
			if a.flat != nil { // the root is the only object there is
				a.spans[p] = span{start, i}
			}
		case n.closed:
			return -1
		case n.extra != nil:
			a.unread = true // the names themselves
			i = a.value(i, n.extra)
		default:
			a.unread = true
			i = a.skip(i)
		}
		if i < 0 {
			return -1
		}
		i = skipSpace(a.text, i)
	}
	if i >= len(a.text) {
		return -1
	}
	for w, bits := range n.required {
		if given[w]&bits != bits {
			return -1
		}
	}
	if n.defaults && !a.rewrite {
		for p := range n.props {
			if n.props[p].def != nil && given[p/64]&(1<<(p%64)) == 0 {
				a.rewrite = true
			}
		}
	}
	return i + 1
}

var null = []byte("null")

// find returns the index in n.props of the property with that name, or -1. It
// looks at the index hint first.
func (n *node) find(name []byte, hint int) int {
	if hint < len(n.props) && n.props[hint].name == string(name) {
		return hint
	}
	if n.byName != nil {
		if p, ok := n.byName[string(name)]; ok {
			return p
		}
		return -1
	}
	for p := range n.props {
		if n.props[p].name == string(name) {
			return p
		}
	}
	return -1
}
