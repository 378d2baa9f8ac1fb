// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// metaPrefix begins the names inside _meta that the specification defines
// (2026-07-28, basic/index, "_meta").
const metaPrefix = "io.modelcontextprotocol/"

// Meta is what a request's _meta says about the request. Its raw parts are
// slices of what was parsed.
type Meta struct {
	Raw jsontext.Value // the whole object; nil when absent

	// ProgressToken is the JSON text to send back with each progress
	// notification: a string or an integer. It is nil when absent.
	ProgressToken jsontext.Value

	// The rest belongs to 2026-07-28, each under io.modelcontextprotocol/.

	ProtocolVersion    string
	HasProtocolVersion bool           // the member is there, be it ""
	ClientCapabilities jsontext.Value // an object; nil when absent
	ClientName         string         // of clientInfo, for display only
	ClientVersion      string
	LogLevel           string // "" when absent
}

// ParseMeta reads the _meta of a request's params, as [Parse] found it; nil
// gives the zero Meta. A member that Meta knows is an error, CodeInvalidParams,
// if it has the wrong type or stands there twice. So is a progress token of
// more than 1 KiB, or with an escaped lone surrogate.
func ParseMeta(v jsontext.Value) (Meta, *Error) {
	if v == nil {
		return Meta{}, nil
	}
	if len(v) == 0 || v[0] != '{' {
		return Meta{}, errorf(CodeInvalidParams, "_meta must be an object")
	}
	const (
		token = 1 << iota
		version
		capabilities
		client
		level
	)
	m := Meta{Raw: v}
	var seen int
	o := openObject(v, 0, 0)
	for name, more := o.next(); more; name, more = o.next() {
		value := o.value()
		if value == nil {
			break
		}
		var (
			key    int
			wanted string
			ok     = true
		)
		switch string(name) {
		case "progressToken":
			key, wanted, ok = token, "a string or an integer of at most 1 KiB", isToken(value)
			m.ProgressToken = value
		case metaPrefix + "protocolVersion":
			key, wanted, ok = version, "a string", setText(&m.ProtocolVersion, value)
			m.HasProtocolVersion = true
		case metaPrefix + "clientCapabilities":
			key, wanted, ok = capabilities, "an object", value[0] == '{'
			m.ClientCapabilities = value
		case metaPrefix + "clientInfo":
			key, wanted, ok = client, "an object with the strings name and version", m.setClient(value)
		case metaPrefix + "logLevel":
			key, wanted, ok = level, "a string", setText(&m.LogLevel, value)
		}
		switch {
		case seen&key != 0:
			return Meta{}, errorf(CodeInvalidParams, "_meta has %s twice", name)
		case !ok && key == token && (value[0] == '"' || len(value) > maxID):
			return Meta{}, errorf(CodeInvalidRequest, "%s in _meta must be %s", name, wanted)
		case !ok:
			return Meta{}, errorf(CodeInvalidParams, "%s in _meta must be %s", name, wanted)
		}
		seen |= key
	}
	if o.i != len(v) {
		return Meta{}, errorf(CodeInvalidParams, "_meta is not valid JSON")
	}
	return m, nil
}

// setClient takes name and version out of clientInfo. What is missing stays "".
func (m *Meta) setClient(v []byte) bool {
	if v[0] != '{' {
		return false
	}
	o := openObject(v, 0, 0)
	for name, more := o.next(); more; name, more = o.next() {
		value, ok := o.value(), true
		switch string(name) {
		case "name":
			ok = setText(&m.ClientName, value)
		case "version":
			ok = setText(&m.ClientVersion, value)
		}
		if !ok {
			return false
		}
	}
	return true
}

// setText decodes a string. A lone surrogate in it becomes U+FFFD.
func setText(s *string, v []byte) bool {
	if len(v) == 0 || v[0] != '"' {
		return false
	}
	*s, _ = unquote(v)
	return true
}

// isToken reports whether v may be a progress token.
func isToken(v []byte) bool {
	switch {
	case len(v) > maxID+2:
		return false
	case v[0] == '"':
		_, ok := unquote(v)
		return ok
	}
	return len(v) <= maxID && (v[0] == '-' || '0' <= v[0] && v[0] <= '9') && isInteger(string(v))
}

// isInteger reports whether a JSON number is an integer in the sense of JSON
// Schema: 1, 1.0 and 1.5e1 are, 1.5 is not. A negative exponent never is.
func isInteger(number string) bool {
	mantissa, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	_, fraction, _ := strings.Cut(mantissa, ".")
	fraction = strings.TrimRight(fraction, "0")
	if exponent == "" {
		return fraction == ""
	}
	digits, err := strconv.ParseUint(strings.TrimPrefix(exponent, "+"), 10, 32)
	return err == nil && uint64(len(fraction)) <= digits
}
