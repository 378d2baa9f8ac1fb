// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a message is. Zero is none of the kinds.
type Kind uint8

// The kinds of JSON-RPC messages.
const (
	Request      Kind = iota + 1 // a method and an id
	Notification                 // a method without an id: never answered
	Response                     // a result or an error without a method
)

// Message is the envelope of one frame. Its raw parts are slices of the frame,
// which must not be changed while they are used; its strings are copies.
type Message struct {
	Kind   Kind
	ID     ID     // zero for notifications, and for responses without a usable id
	Method string // decoded; may be "" in a request or notification
	Params Params
}

// Params is the params member of a message, and those of its members that
// most requests have. A raw member is nil when it is absent.
type Params struct {
	Present bool // there is a params member
	Object  bool // it is an object; nothing else is valid MCP
	Raw     jsontext.Value

	Name, Arguments, Meta, RequestID jsontext.Value // name, arguments, _meta, requestId

	// Duplicate is the name of one of the four that stands there twice, or
	// "". Of two, the last is kept.
	Duplicate string
}

// Member returns the member of params with exactly that name, the last one if
// there are several, and whether there is one. It walks the object again, so it
// is for members that few requests have.
func (p Params) Member(name string) (v jsontext.Value, ok bool) {
	if !p.Object || len(p.Raw) == 0 {
		return nil, false
	}
	o := openObject(p.Raw, 0, 0)
	for n, more := o.next(); more; n, more = o.next() {
		value := o.value()
		if string(n) == name {
			v, ok = value, true
		}
	}
	if o.i < 0 {
		return nil, false
	}
	return v, ok
}

// scan fills p from the value at b[i], inside depth arrays and objects, and
// returns the offset after it as the skip functions do.
func (p *Params) scan(b []byte, i, depth int) int {
	*p = Params{Present: true}
	from := i
	if i == len(b) || b[i] != '{' {
		i = skipValue(b, i, depth)
	} else {
		p.Object = true
		o := openObject(b, i, depth)
		for name, more := o.next(); more; name, more = o.next() {
			var member *jsontext.Value
			switch string(name) {
			case "name":
				member = &p.Name
			case "arguments":
				member = &p.Arguments
			case "_meta":
				member = &p.Meta
			case "requestId":
				member = &p.RequestID
			}
			v := o.value()
			if member == nil {
				continue
			}
			if *member != nil {
				p.Duplicate = string(name)
			}
			*member = v
		}
		i = o.i
	}
	if i >= 0 {
		p.Raw = b[from:i:i]
	}
	return i
}

// The members of an envelope, as bits.
const (
	hasVersion = 1 << iota
	hasID
	hasMethod
	hasParams
	hasResult
	hasError
)

// Parse reads the envelope of one frame in one pass. The whole frame is checked
// to be one JSON text in valid UTF-8 (RFC 8259), nested at most 10,000 deep;
// only the id and the method are decoded. Names match exactly, after
// unescaping; unknown ones are ignored.
//
// The errors, the first that applies:
//   - CodeParse: not valid UTF-8, or not valid JSON;
//   - CodeInvalidRequest: not an object (see [IsBatch] for arrays); a member of
//     the envelope twice; an id that [ParseID] refuses, except in a response;
//     jsonrpc is not "2.0"; the method is not a string, or has an escaped lone
//     surrogate; there is neither method, result nor error.
//
// With an error the Message has the id, and nothing else, when it is usable and
// stands there once.
func Parse(frame []byte) (Message, *Error) {
	var m Message
	i := skipSpace(frame, 0)
	if i == len(frame) || frame[i] != '{' {
		if err := syntax(frame, skipValue(frame, i, 0)); err != nil {
			return Message{}, err
		}
		return Message{}, errorf(CodeInvalidRequest, "a message is a JSON object")
	}
	var (
		seen, twice         uint8
		version, id, method []byte
	)
	o := openObject(frame, i, 0)
	for name, more := o.next(); more; name, more = o.next() {
		var key uint8
		switch string(name) {
		case "jsonrpc":
			key, version = hasVersion, o.value()
		case "id":
			key, id = hasID, o.value()
		case "method":
			key, method = hasMethod, o.value()
		case "params":
			key, o.i = hasParams, m.Params.scan(frame, o.i, o.depth)
		case "result":
			key, _ = hasResult, o.value()
		case "error":
			key, _ = hasError, o.value()
		default:
			o.value()
		}
		twice |= seen & key
		seen |= key
	}
	if err := syntax(frame, o.i); err != nil {
		return Message{}, err
	}
	if twice != 0 {
		return Message{}, errorf(CodeInvalidRequest, "a member of the message stands there twice")
	}
	isResponse := seen&hasMethod == 0 && seen&(hasResult|hasError) != 0
	if seen&hasID != 0 {
		var ok bool
		if m.ID, ok = ParseID(id); !ok && !isResponse {
			return Message{}, errorf(CodeInvalidRequest, "id must be a string or a number of at most %d bytes", maxID)
		}
	}
	if !isVersion(version) {
		return Message{ID: m.ID}, errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	switch {
	case seen&hasMethod != 0:
		var ok bool
		if m.Method, ok = methodName(method); !ok {
			return Message{ID: m.ID}, errorf(CodeInvalidRequest, "method must be a string of Unicode characters")
		}
		m.Kind = Request
		if seen&hasID == 0 {
			m.Kind = Notification
		}
	case isResponse:
		m.Kind = Response
	default:
		return Message{ID: m.ID}, errorf(CodeInvalidRequest, "neither method nor result nor error")
	}
	return m, nil
}

// syntax is nil when only white space follows the offset end in the frame, and
// the error otherwise; end may be a fault as the skip functions return it.
func syntax(frame []byte, end int) *Error {
	if end >= 0 {
		if end = skipSpace(frame, end); end == len(frame) {
			return nil
		}
		end = ^end
	}
	if !utf8.Valid(frame) {
		return errorf(CodeParse, "not valid UTF-8")
	}
	return errorf(CodeParse, "not valid JSON at byte %d", ^end)
}

func isVersion(v []byte) bool {
	if string(v) == `"2.0"` {
		return true
	}
	if len(v) == 0 || v[0] != '"' {
		return false
	}
	s, _ := unquote(v)
	return s == "2.0"
}

// methodName decodes a method. The names that make up nearly all traffic are
// not allocated.
func methodName(v []byte) (name string, ok bool) {
	switch string(v) {
	case `"tools/call"`:
		return "tools/call", true
	case `"notifications/cancelled"`:
		return "notifications/cancelled", true
	case `"ping"`:
		return "ping", true
	case `"tools/list"`:
		return "tools/list", true
	}
	if v[0] != '"' {
		return "", false
	}
	return unquote(v)
}
