// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// A normalizer brings JSON into the one form that is validated, decoded and
// bound into cursors. Guided by the schema, it drops nulls that count as
// absent, adds defaults, and writes integers such as 1.0 with digits alone. It
// takes one pass.
type normalizer struct {
	// defaults adds what is absent and has a default in the schema.
	defaults bool

	// unwrap replaces a string by the JSON in it, where the schema wants a
	// number, a boolean, an array or an object, and no string.
	unwrap bool

	depth int
}

// normalize appends the normal form of text to dst. What does not fit the
// schema is copied, for the validator to say why; so is what follows a mistake
// in the JSON.
func (z *normalizer) normalize(dst, text []byte, n *node) []byte {
	dst, end := z.value(dst, text, skipSpace(text, 0), n)
	return append(dst, text[skipSpace(text, end):]...)
}

// value appends the normal form of the value at text[i] and returns the index
// after it. Where that is not after i, the JSON is at fault.
func (z *normalizer) value(dst, text []byte, i int, n *node) ([]byte, int) {
	n = n.deref()
	if i >= len(text) || z.depth == maxDepth {
		return dst, i
	}
	z.depth++
	defer func() { z.depth-- }()
	switch c := text[i]; {
	case n.any:
	case c == '{' && n.kinds&kindObject != 0:
		return z.object(dst, text, i, n)
	case c == '[' && n.items != nil && n.kinds&kindArray != 0:
		return z.array(dst, text, i, n)
	case c == '"' && z.unwrap && n.typed && n.kinds&kindString == 0:
		if end, _ := skipString(text, i); end > 0 {
			inner := bytes.Trim(unquote(text[i:end]), " \n\t\r")
			if n.takes(inner) && jsontext.Value(inner).IsValid() {
				return z.normalize(dst, inner, n), end
			}
		}
	case (c == '-' || '0' <= c && c <= '9') && n.kinds&(kindNumber|kindInteger) == kindInteger:
		if end, _ := skipNumber(text, i); end > 0 {
			if out, ok := appendInteger(dst, text[i:end]); ok {
				return out, end
			}
		}
	}
	end := skipValue(text, i)
	if end < 0 {
		return dst, i
	}
	return append(dst, text[i:end]...), end
}

// takes tells whether n wants the kind of value that text begins with.
func (n *node) takes(text []byte) bool {
	if len(text) == 0 {
		return false
	}
	switch text[0] {
	case '{':
		return n.kinds&kindObject != 0
	case '[':
		return n.kinds&kindArray != 0
	case 't', 'f':
		return n.kinds&kindBool != 0
	case '"', 'n':
		return false
	}
	return n.kinds&(kindInteger|kindNumber) != 0
}

func (z *normalizer) array(dst, text []byte, i int, n *node) ([]byte, int) {
	dst = append(dst, '[')
	for i = skipSpace(text, i+1); i < len(text) && text[i] != ']'; i = skipSpace(text, i) {
		if text[i] == ',' {
			dst = append(dst, ',')
			i = skipSpace(text, i+1)
		}
		var end int
		if dst, end = z.value(dst, text, i, n.items); end <= i {
			return dst, i
		}
		i = end
	}
	return closing(dst, text, i)
}

func (z *normalizer) object(dst, text []byte, i int, n *node) ([]byte, int) {
	var seen, given [maxProperties / 64]uint64 // given: seen and not dropped
	dst = append(dst, '{')
	start := len(dst)
	for i = skipSpace(text, i+1); i < len(text) && text[i] != '}'; i = skipSpace(text, i) {
		if text[i] == ',' {
			i = skipSpace(text, i+1)
		}
		name, v := memberAt(text, i)
		if v < 0 {
			return dst, i
		}
		p := n.find(name, 0)
		if p >= 0 {
			w, bit := p/64, uint64(1)<<(p%64)
			again := seen[w]&bit != 0
			seen[w] |= bit
			if !again && bytes.HasPrefix(text[v:], null) && n.props[p].dropsNull() {
				i = v + len(null)
				continue
			}
			if again && given[w]&bit == 0 { // a name that is there twice has to stay so, to be refused
				if len(dst) > start {
					dst = append(dst, ',')
				}
				dst = append(quote.Append(dst, name), ":null"...)
			}
			given[w] |= bit
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(quote.Append(dst, name), ':')
		below := anything
		switch {
		case p >= 0:
			below = n.props[p].node
		case n.extra != nil:
			below = n.extra
		}
		var end int
		if dst, end = z.value(dst, text, v, below); end <= v {
			return dst, v
		}
		i = end
	}
	if z.defaults && n.defaults && i < len(text) {
		for p := range n.props {
			def := n.props[p].def
			if def == nil || given[p/64]&(1<<(p%64)) != 0 {
				continue
			}
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = append(quote.Append(dst, n.props[p].name), ':')
			dst = append(dst, def...)
		}
	}
	return closing(dst, text, i)
}

// anything is the node of a schema without rules.
var anything = &node{any: true}

// closing appends the bracket at text[i], if there is one.
func closing(dst, text []byte, i int) ([]byte, int) {
	if i >= len(text) {
		return dst, i
	}
	return append(dst, text[i]), i + 1
}
