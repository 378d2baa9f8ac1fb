// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// outline stands for an item that is too large: what members it has, or how it
// begins.
func outline(v jsontext.Value, limit int) (jsontext.Value, bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(v))
	switch dec.PeekKind() {
	case '"':
		tok, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		text := tok.String()
		end := fmt.Sprintf("[… of %d bytes: fetch shows all of the document]", len(text))
		short := cut(text, max(limit/2-len(end), 0)) // half, since escapes take room
		out, err := jsontext.AppendQuote(nil, strings.TrimSuffix(short, "…")+end)
		return out, err == nil && len(out) <= limit
	case '[':
		out, err := jsontext.AppendQuote(nil, fmt.Sprintf("[a list of %d bytes: a pointer to it shows its elements]", len(v)))
		return out, err == nil && len(out) <= limit
	case '{':
	default:
		return nil, false
	}
	dec.ReadToken()
	out := []byte(`{"[too large; name fields, or a pointer]":{`)
	for first := true; dec.PeekKind() == '"'; first = false {
		name, err := dec.ReadToken()
		if err != nil {
			return nil, false
		}
		key := name.String()
		member, err := dec.ReadValue()
		if err != nil {
			return nil, false
		}
		if !first {
			out = append(out, ',')
		}
		out, _ = jsontext.AppendQuote(out, key)
		out = append(out, ':')
		if len(member) <= 60 {
			out = append(out, member...)
		} else {
			kind := map[jsontext.Kind]string{'{': "an object", '[': "a list", '"': "a text"}[member.Kind()]
			out, _ = jsontext.AppendQuote(out, fmt.Sprintf("%s of %d bytes", kind, len(member)))
		}
		if len(out)+2 > limit*3/4 {
			return nil, false
		}
	}
	return append(out, "}}"...), true
}
