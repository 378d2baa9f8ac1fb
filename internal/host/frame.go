// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import (
	"bytes"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Kind says what a line of the server's stdout is.
type Kind uint8

const (
	Stray          Kind = iota // not a JSON-RPC message
	Oversize                   // longer than Config.Limit; discarded unparsed
	ResultResponse             // a response with a result
	ErrorResponse              // a response with an error
	Notification               // a message with a method and no id
	ServerRequest              // a message with a method and an id
	BatchResponse              // an array; its members follow as frames of their own
)

var kindNames = [...]string{"stray line", "oversize frame", "result", "error", "notification", "request", "batch"}

func (k Kind) String() string { return kindNames[k] }

// Fault is a set of the ways in which a line breaks the rules of stdio. The
// faults are found independently of each other, so that one hides no other.
type Fault uint16

const (
	FaultUTF8     Fault = 1 << iota // bytes that are not UTF-8
	FaultCRLF                       // ended by CR LF
	FaultBOM                        // begins with a byte-order mark
	FaultBlank                      // nothing but white space
	FaultSyntax                     // not one complete JSON value
	FaultSeveral                    // more than one JSON value
	FaultMessage                    // JSON, but not a JSON-RPC 2.0 message
	FaultNames                      // an object with the same name twice, or a lone surrogate
	FaultUnasked                    // a response to, or progress of, no open request
	FaultOversize                   // longer than Config.Limit
	FaultUnended                    // the last line, without a line end
	FaultRequest                    // a request, in the era that has none from servers
	FaultEcho                       // a request of our own, sent back
)

var faultNames = [...]string{
	"not UTF-8", "ended by CRLF", "byte-order mark", "blank line", "not JSON", "several JSON values on one line",
	"not a JSON-RPC 2.0 message", "duplicate name or lone surrogate", "belongs to no open request", "over the frame limit",
	"no line end", "a request from a modern server", "our own request, sent back",
}

func (f Fault) String() string {
	var names []string
	for i, name := range faultNames {
		if f&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// A Frame is one line of the server's stdout, as it came.
type Frame struct {
	// Seq counts the lines from 0. Members of a batch have their line's Seq.
	Seq int
	// At is when the line end was read.
	At time.Time
	// Kind is what the line is, and Faults what is wrong with it.
	Kind   Kind
	Faults Fault
	// Raw is the line without its line end: the server's bytes, not to be
	// changed. Of an oversize frame it is the first KiB.
	Raw jsontext.Value
	// Size is the length of the line in bytes, without its line end; of an
	// oversize frame that ended the session what had come of it.
	Size int64

	// ID, Method, Params, Result are the members of the message, as sent;
	// nil or "" when absent. They share Raw's memory. Of an oversize frame
	// there is only the ID, if it is a response's and stands in the first KiB
	// or at the end.
	ID     jsontext.Value
	Method string
	Params jsontext.Value
	Result jsontext.Value
	// Err is the error of an ErrorResponse.
	Err *Error

	// Answers is the method of the request that a response answers, "" when
	// it is not known. Late says that the request had been cancelled.
	Answers string
	Late    bool
	// Protocol is the revision to judge the message by: that of the request
	// it belongs to, else the session's; "" before there is one.
	Protocol string

	tail []byte // the end of an oversize frame
}

// Error is the error of a JSON-RPC error response.
type Error struct {
	Code    int            `json:"code"`
	Message string         `json:"message"`
	Data    jsontext.Value `json:"data,omitempty"`
}

func (e *Error) Error() string {
	return "server answered with error " + strconv.Itoa(e.Code) + ": " + e.Message
}

// envelope is what parse finds in a message. The values share its memory.
type envelope struct {
	version, id, method, params, result, err jsontext.Value
}

// lenient makes the decoder read what a server (or a test, on purpose) should
// not have sent; the faults are found separately.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// errSeveral is parse's error for more than one JSON value.
var errSeveral = errors.New("more than one JSON value")

// parse finds the members of a JSON-RPC message. ok is false when b is one
// JSON value but not an object.
func parse(b []byte) (e envelope, ok bool, err error) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), lenient...)
	if dec.PeekKind() != '{' {
		if err = dec.SkipValue(); err == nil {
			err = atEnd(dec)
		}
		return e, false, err
	}
	if _, err = dec.ReadToken(); err != nil {
		return e, false, err
	}
	for dec.PeekKind() != '}' {
		name, err := dec.ReadToken()
		if err != nil {
			return e, false, err
		}
		var member *jsontext.Value
		switch name.String() {
		case "jsonrpc":
			member = &e.version
		case "id":
			member = &e.id
		case "method":
			member = &e.method
		case "params":
			member = &e.params
		case "result":
			member = &e.result
		case "error":
			member = &e.err
		}
		v, err := dec.ReadValue()
		if err != nil {
			return e, false, err
		}
		if member != nil {
			end := dec.InputOffset()
			*member = b[end-int64(len(v)) : end : end]
		}
	}
	if _, err = dec.ReadToken(); err != nil {
		return e, false, err
	}
	return e, true, atEnd(dec)
}

func atEnd(dec *jsontext.Decoder) error {
	switch _, err := dec.ReadToken(); err {
	case io.EOF:
		return nil
	case nil:
		return errSeveral
	default:
		return err
	}
}

// answered finds the id that a response answers of which only the start and
// the end are at hand; it stands in one of them with most servers. known is
// false when nothing can be said; a known line without an id is no response.
func answered(head, tail []byte) (id jsontext.Value, known bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(head), lenient...)
	if t, err := dec.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, len(head) > 0 && head[0] != '{' && head[0] != '['
	}
	for {
		name, err := dec.ReadToken()
		if err != nil || name.Kind() != '"' {
			break
		}
		switch name.String() {
		case "method":
			return nil, true
		case "result", "error":
			if id != nil {
				return id, true
			}
		}
		isID := name.String() == "id"
		v, err := dec.ReadValue()
		if err != nil {
			break
		}
		if isID && len(bytes.TrimSpace(head[dec.InputOffset():])) > 0 { // else a number may go on
			id = v.Clone()
		}
	}
	if m := lastID.FindSubmatch(tail); id == nil && m != nil {
		id = bytes.Clone(m[1])
	}
	return id, id != nil
}

// lastID matches the end of a message whose last member, but for the version,
// is its id. What stands right before the brace that ends a message is a
// member of it, and of nothing within it.
var lastID = regexp.MustCompile(`[{,\s]"id"\s*:\s*("(?:[^"\\]|\\.)*"|-?[0-9][0-9.eE+-]*)\s*(?:,\s*"jsonrpc"\s*:\s*"2\.0"\s*)?\}\s*$`)

// members returns the elements of a JSON array.
func members(b []byte) []jsontext.Value {
	var list []jsontext.Value
	if json.Unmarshal(b, &list, lenient...) != nil {
		return nil
	}
	return list
}

// classify fills in f from f.Raw.
func classify(f *Frame) {
	if f.Kind == Oversize {
		f.ID, _ = answered(f.Raw, f.tail)
		return
	}
	if !utf8.Valid(f.Raw) {
		f.Faults |= FaultUTF8
	}
	raw := bytes.TrimSpace(f.Raw)
	if rest, ok := bytes.CutPrefix(raw, []byte("\xef\xbb\xbf")); ok {
		f.Faults |= FaultBOM
		raw = bytes.TrimSpace(rest)
	}
	if len(raw) == 0 {
		f.Faults |= FaultBlank
		return
	}
	if raw[0] == '[' && jsontext.Value(raw).IsValid(lenient...) {
		f.Kind = BatchResponse
		return
	}
	e, ok, err := parse(raw)
	switch {
	case err == errSeveral:
		f.Faults |= FaultSeveral
		return
	case err != nil:
		f.Faults |= FaultSyntax
		return
	case !ok || text(e.version) != "2.0":
		f.Faults |= FaultMessage
		return
	}
	if f.Faults&FaultUTF8 == 0 && !jsontext.Value(raw).IsValid() {
		f.Faults |= FaultNames
	}
	f.ID, f.Method, f.Params = e.id, text(e.method), e.params
	switch {
	case e.method != nil && e.method.Kind() != '"', e.method != nil && (e.result != nil || e.err != nil):
		f.Faults |= FaultMessage
	case e.method != nil && e.id != nil:
		f.Kind = ServerRequest
	case e.method != nil:
		f.Kind = Notification
	case e.result != nil && e.err == nil && e.id != nil:
		f.Kind, f.Result = ResultResponse, e.result
	case e.err != nil && e.result == nil:
		f.Kind, f.Err = ErrorResponse, new(Error)
		if json.Unmarshal(e.err, f.Err, lenient...) != nil {
			f.Faults |= FaultMessage
		}
	default:
		f.Faults |= FaultMessage
	}
}

// text is the decoded string v, "" when v is not a string.
func text(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v) // an error only says that something became U+FFFD
	return string(b)
}

// idKey is the form in which ids and progress tokens are compared: strings as
// decoded, numbers by their text. It is "" for what cannot be an id.
func idKey(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return `"` + text(v)
	case '0':
		return string(v)
	}
	return ""
}
