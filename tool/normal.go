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
// absent, adds defaults, and writes integers such as 1.0 with digits alone.
type normalizer struct {
	// defaults adds what is absent and has a default in the schema.
	defaults bool

	// unwrap replaces a string by the JSON in it, where the schema wants a
	// number, a boolean, an array or an object, and no string.
	unwrap bool
}

// value appends the normal form of the value text to dst. Text that does not
// fit the schema is copied, for the validator to say why.
func (z normalizer) value(dst, text []byte, n *node) []byte {
	n = n.deref()
	text = bytes.TrimLeft(text, " \n\t\r")
	if len(text) == 0 || n.any {
		return append(dst, text...)
	}
	switch c := text[0]; {
	case c == '{' && n.kinds&kindObject != 0:
		return z.object(dst, text, n)
	case c == '[' && n.items != nil && n.kinds&kindArray != 0:
		return z.array(dst, text, n)
	case c == '"' && z.unwrap && n.typed && n.kinds&kindString == 0:
		if inner := unquote(text); n.takes(inner) && jsontext.Value(inner).IsValid() {
			return z.value(dst, bytes.TrimRight(inner, " \n\t\r"), n)
		}
	case (c == '-' || '0' <= c && c <= '9') && n.kinds&(kindNumber|kindInteger) == kindInteger:
		if out, ok := appendInteger(dst, text); ok {
			return out
		}
	}
	return append(dst, text...)
}

// takes tells whether n wants the kind of value that text begins with.
func (n *node) takes(text []byte) bool {
	text = bytes.TrimLeft(text, " \n\t\r")
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

func (z normalizer) array(dst, text []byte, n *node) []byte {
	dst = append(dst, '[')
	first := true
	elements(text, func(v []byte) bool {
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = z.value(dst, v, n.items)
		return true
	})
	return append(dst, ']')
}

func (z normalizer) object(dst, text []byte, n *node) []byte {
	var given [maxProperties / 64]uint64
	dst = append(dst, '{')
	start := len(dst)
	members(text, func(m member) bool {
		p := n.find(m.name, 0)
		if p >= 0 && string(m.value) == "null" && n.props[p].dropsNull() {
			return true
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(quote.Append(dst, m.name), ':')
		switch {
		case p >= 0:
			given[p/64] |= 1 << (p % 64)
			dst = z.value(dst, m.value, n.props[p].node)
		case n.extra != nil:
			dst = z.value(dst, m.value, n.extra)
		default:
			dst = append(dst, m.value...)
		}
		return true
	})
	if z.defaults && n.defaults {
		for i, p := range n.props {
			if p.def == nil || given[i/64]&(1<<(i%64)) != 0 {
				continue
			}
			if len(dst) > start {
				dst = append(dst, ',')
			}
			dst = append(quote.Append(dst, p.name), ':')
			dst = append(dst, p.def...)
		}
	}
	return append(dst, '}')
}
