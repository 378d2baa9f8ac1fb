// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package wire reads and writes JSON-RPC 2.0 messages as frames: each one is a
// line of UTF-8, ended by one LF, on a byte stream that either side may stop
// at any byte.
//
// A [Reader] turns the bytes that come into frames, and [Parse] a frame into a
// [Message] whose parts are still the peer's bytes. A [Writer] puts frames on
// the stream, whole and in order, and never makes a sender wait.
//
// The package knows the envelope of a message and nothing of its methods.
package wire

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// maxID bounds the text of an id and of a progress token in bytes, a string's
// quotes not counted.
const maxID = 1 << 10

// ID is the id of a request. The zero ID is none.
type ID struct {
	// Raw is the JSON text that the peer sent, to be sent back as it is.
	Raw string
	// Key is equal for two ids exactly when they are the same: strings by
	// what they decode to, written as this package quotes them, and numbers
	// by their text. So 1 is not "1", nor 1.0, and no digit is lost.
	Key string
}

// ParseID reads an id from its JSON text, which stands alone without white
// space. It is false for anything but a number or a string, for one of more
// than 1 KiB, and for a string with an escaped lone surrogate.
func ParseID(v jsontext.Value) (ID, bool) {
	switch {
	case len(v) == 0 || len(v) > maxID+2:
		return ID{}, false
	case v[0] != '"':
		if len(v) > maxID || skipNumber(v, 0) != len(v) {
			return ID{}, false
		}
		raw := string(v)
		return ID{Raw: raw, Key: raw}, true
	case skipString(v, 0) != len(v):
		return ID{}, false
	}
	raw := string(v)
	if quote.Len(raw[1:len(raw)-1]) == len(raw) {
		return ID{Raw: raw, Key: raw}, true
	}
	s, ok := unquote(v)
	if !ok {
		return ID{}, false
	}
	return ID{Raw: raw, Key: string(quote.Append(nil, s))}, true
}

// The codes of JSON-RPC errors that Weir sends (JSON-RPC 2.0 section 5.1, and
// MCP 2026-07-28 for the last one).
const (
	CodeParse              = -32700
	CodeInvalidRequest     = -32600
	CodeMethodNotFound     = -32601
	CodeInvalidParams      = -32602
	CodeInternal           = -32603
	CodeUnsupportedVersion = -32022
)

// Error is the error of a JSON-RPC response. Its text goes to the peer.
type Error struct {
	Code    int
	Message string
	Data    jsontext.Value // nil is left out
}

func (e *Error) Error() string { return fmt.Sprintf("%s (code %d)", e.Message, e.Code) }

// errorf makes an Error whose text begins with what JSON-RPC calls its code.
func errorf(code int, format string, args ...any) *Error {
	name := "Invalid request: "
	switch code {
	case CodeParse:
		name = "Parse error: "
	case CodeInvalidParams:
		name = "Invalid params: "
	}
	return &Error{Code: code, Message: name + fmt.Sprintf(format, args...)}
}
