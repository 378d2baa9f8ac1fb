// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quote

import (
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrUTF8 is returned by [Raw] for JSON that is not valid UTF-8.
var ErrUTF8 = errors.New("quote: JSON is not valid UTF-8")

// Raw appends to dst the one JSON value that src holds, without white space
// and with each string written by the rules of this package, so that JSON from
// an author may stand in a frame. Numbers keep their text. An escaped lone
// surrogate becomes U+FFFD.
//
// It returns dst as it was and an error when src is not valid UTF-8 (ErrUTF8),
// is not exactly one JSON value (RFC 8259), is nested more than 10,000 deep,
// or has an object with the same name twice.
func Raw(dst, src []byte) ([]byte, error) {
	if !utf8.Valid(src) {
		return dst, ErrUTF8
	}
	// Invalid UTF-8 is allowed for the sake of lone surrogates alone.
	out, err := jsontext.AppendFormat(dst, src, jsontext.AllowInvalidUTF8(true), jsontext.EscapeForJS(true))
	if err != nil {
		return dst, fmt.Errorf("quote: %w", err)
	}
	return out, nil
}
