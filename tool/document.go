// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// errNumber refuses numbers whose exact value would take too much memory.
var errNumber = fmt.Errorf("number is out of range (at most %d digits, exponents up to %d)", maxDigits, maxExponent)

// An object is a decoded JSON object; it is the type that the validator wants.
type object = map[string]any

// decodeDocument decodes JSON into nil, bool, string, json.Number, []any and
// object. Objects with duplicate names are refused, lone surrogates become
// U+FFFD, and numbers keep their text but have to be within bounds.
func decodeDocument(text []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	v, err := decodeNext(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err == nil {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

func decodeNext(d *jsontext.Decoder) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		s := tok.String()
		if _, _, _, ok := decimal([]byte(s)); !ok {
			return nil, &decodeError{place: d.StackPointer(), err: errNumber}
		}
		return json.Number(s), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := decodeNext(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.ReadToken()
		return list, err
	default: // an object
		obj := object{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if obj[key], err = decodeNext(d); err != nil {
				return nil, err
			}
		}
		_, err = d.ReadToken()
		return obj, err
	}
}

// A decodeError is a value that is valid JSON and cannot be used.
type decodeError struct {
	place jsontext.Pointer
	err   error
}

func (e *decodeError) Error() string { return e.err.Error() + " at " + string(e.place) }

// resolve finds the value that the JSON pointer (RFC 6901) names in doc. A
// leading # is left out, percent signs are not decoded.
func resolve(doc any, pointer string) (any, bool) {
	if pointer != "" && pointer[0] != '/' {
		return nil, false
	}
	for token := range tokens(pointer) {
		switch v := doc.(type) {
		case object:
			next, ok := v[token]
			if !ok {
				return nil, false
			}
			doc = next
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil, false
			}
			doc = v[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

var (
	unescape = strings.NewReplacer("~1", "/", "~0", "~")
	escape   = strings.NewReplacer("~", "~0", "/", "~1")
)

// escapePointer makes a token of a JSON pointer of a name.
func escapePointer(name string) string { return escape.Replace(name) }

// tokens yields the unescaped tokens of a JSON pointer.
func tokens(pointer string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		if pointer == "" {
			return
		}
		for t := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
			if !yield(unescape.Replace(t)) {
				return
			}
		}
	}
}

// encodeDocument appends v, which decodeDocument made, as compact JSON with
// sorted names.
func encodeDocument(dst []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(dst, "null"...)
	case bool:
		return strconv.AppendBool(dst, v)
	case string:
		return quote.Append(dst, v)
	case json.Number:
		return append(dst, v...)
	case []any:
		dst = append(dst, '[')
		for i, e := range v {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = encodeDocument(dst, e)
		}
		return append(dst, ']')
	case object:
		dst = append(dst, '{')
		for i, name := range sortedNames(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(quote.Append(dst, name), ':')
			dst = encodeDocument(dst, v[name])
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

func sortedNames(o object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
