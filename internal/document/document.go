// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package document holds JSON values in decoded form, with every digit of
// their numbers, and the ways to name and to show a part of one.
package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// An Object is a decoded JSON object; it is the type that the validator of
// package tool wants.
type Object = map[string]any

// ErrNumber refuses numbers whose exact value would take too much memory.
var ErrNumber = fmt.Errorf("number is out of range (at most %d digits, exponents up to %d)", MaxDigits, MaxExponent)

// An Error is a value that is valid JSON and cannot be used.
type Error struct {
	Place jsontext.Pointer
	Err   error
}

func (e *Error) Error() string { return e.Err.Error() + " at " + string(e.Place) }

// Unwrap returns e.Err.
func (e *Error) Unwrap() error { return e.Err }

// Decode decodes one JSON value into nil, bool, string, json.Number, []any and
// Object. Objects with duplicate names are refused, lone surrogates become
// U+FFFD, and numbers keep their text but have to be within bounds, see
// [Decimal].
func Decode(text []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
	v, err := Next(d)
	if err != nil {
		return nil, err
	}
	if _, err := d.ReadToken(); err == nil {
		return nil, errors.New("more than one JSON value")
	}
	return v, nil
}

// Next decodes the next value of d as [Decode] does; io.EOF means that there is
// none.
func Next(d *jsontext.Decoder) (any, error) {
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
		if _, _, _, ok := Decimal([]byte(s)); !ok {
			return nil, &Error{Place: d.StackPointer(), Err: ErrNumber}
		}
		return json.Number(s), nil
	case '[':
		list := []any{}
		for d.PeekKind() != ']' {
			v, err := Next(d)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		_, err = d.ReadToken()
		return list, err
	default: // an object
		obj := Object{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if obj[key], err = Next(d); err != nil {
				return nil, err
			}
		}
		_, err = d.ReadToken()
		return obj, err
	}
}

// Append appends v, which [Decode] made, as compact JSON with sorted names.
func Append(dst []byte, v any) []byte {
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
			dst = Append(dst, e)
		}
		return append(dst, ']')
	case Object:
		dst = append(dst, '{')
		for i, name := range Names(v) {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = append(quote.Append(dst, name), ':')
			dst = Append(dst, v[name])
		}
		return append(dst, '}')
	}
	return append(dst, "null"...)
}

// Names are the names of o, sorted.
func Names(o Object) []string {
	names := make([]string, 0, len(o))
	for name := range o {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Show writes v as JSON for a message: objects and arrays as words, and all
// else shortened.
func Show(v any) string {
	switch v.(type) {
	case Object:
		return "an object"
	case []any:
		return "an array"
	}
	text := string(Append(nil, v))
	if s, ok := v.(string); ok && len(text) > 60 {
		return `"` + quote.Cut(s, 50) + `…"`
	}
	if len(text) > 60 {
		return quote.Cut(text, 60) + "…"
	}
	return text
}
