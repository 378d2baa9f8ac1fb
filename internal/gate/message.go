// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// lenient makes the decoder read what a server should not have sent; the
// faults are found separately, so that one does not hide another.
var lenient = []jsontext.Options{jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)}

// message is one JSON-RPC message of the server.
type message struct {
	raw   jsontext.Value
	first time.Time // when the first byte of its line was read
	last  time.Time // when the last one was
	size  int64     // bytes of its line, without the LF

	version, id, method, params, result, err jsontext.Value
}

func (m *message) isResponse() bool { return m.method == nil && (m.result != nil || m.err != nil) }

// rpcError is the error of a response.
type rpcError struct {
	Code    jsontext.Value `json:"code"`
	Message jsontext.Value `json:"message"`
}

func (m *message) rpcError() (code int, text string, ok bool) {
	var e rpcError
	if m.err == nil || json.Unmarshal(m.err, &e, lenient...) != nil {
		return 0, "", false
	}
	code, err := strconv.Atoi(string(e.Code))
	return code, textOf(e.Message), err == nil
}

// newMessage reads the members of an object. ok is false when v is no
// JSON-RPC message at all.
func newMessage(v jsontext.Value, l *line) (m *message, ok bool) {
	m = &message{raw: v, first: l.first, last: l.last, size: l.size}
	if v.Kind() != '{' {
		return m, false
	}
	dec := jsontext.NewDecoder(bytes.NewReader(v), lenient...)
	dec.ReadToken()
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return m, false
		}
		key := name.String()
		val, err := dec.ReadValue()
		if err != nil {
			return m, false
		}
		val = val.Clone()
		switch key {
		case "jsonrpc":
			m.version = val
		case "id":
			m.id = val
		case "method":
			m.method = val
		case "params":
			m.params = val
		case "result":
			m.result = val
		case "error":
			m.err = val
		}
	}
	return m, m.method != nil || m.result != nil || m.err != nil
}

// wrong says in what ways m is no message of JSON-RPC 2.0 as MCP has it.
func (m *message) wrong() (problems []string) {
	add := func(s string) { problems = append(problems, s) }
	if textOf(m.version) != "2.0" {
		add(`it has no "jsonrpc":"2.0"`)
	}
	switch {
	case m.method != nil && m.method.Kind() != '"':
		add("its method is not a string")
	case m.method != nil && (m.result != nil || m.err != nil):
		add("it has a method and an answer")
	case m.result != nil && m.err != nil:
		add("it has a result and an error")
	case m.result != nil && m.id == nil:
		add("it has a result and no id")
	}
	if m.method != nil && m.id != nil && m.id.Kind() == 'n' {
		add("the id of its request is null")
	}
	if m.err != nil {
		var e rpcError
		switch {
		case m.err.Kind() != '{' || json.Unmarshal(m.err, &e, lenient...) != nil:
			add("its error is not an object")
		case e.Code.Kind() != '0':
			add("its error has no number as code")
		case e.Message.Kind() != '"':
			add("its error has no text as message")
		}
	}
	if utf8.Valid(m.raw) && !m.raw.IsValid() {
		switch {
		case !m.raw.IsValid(jsontext.AllowDuplicateNames(true)):
			add("a string in it has a lone surrogate escape")
		default:
			add("an object in it has the same name twice")
		}
	}
	return problems
}

// textOf is the decoded string v, "" when v is no string.
func textOf(v jsontext.Value) string {
	if v.Kind() != '"' {
		return ""
	}
	b, _ := jsontext.AppendUnquote(nil, v) // an error only says that something became U+FFFD
	return string(b)
}

// idKey is the form in which ids are compared: strings as decoded, numbers by
// their text; "" for what is no id.
func idKey(v jsontext.Value) string {
	switch v.Kind() {
	case '"':
		return `"` + textOf(v)
	case '0':
		return string(v)
	}
	return ""
}

// looseKeys are the keys that an id may have been meant as.
func looseKeys(v jsontext.Value) (keys []string) {
	switch v.Kind() {
	case '"':
		return []string{textOf(v)}
	case '0':
		keys = []string{`"` + string(v)}
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f == float64(int64(f)) {
			keys = append(keys, strconv.FormatInt(int64(f), 10))
		}
	}
	return keys
}

// values cuts b into the JSON values that stand in it one after the other.
// What is none is returned as text; half says that text is the beginning of a
// value that goes on after b.
func values(b []byte) (vals []jsontext.Value, text []byte, half bool) {
	dec := jsontext.NewDecoder(bytes.NewBuffer(b), lenient...)
	for {
		from := dec.InputOffset()
		v, err := dec.ReadValue()
		switch {
		case err == io.EOF:
			return vals, nil, false
		case err != nil:
			text = bytes.TrimSpace(b[from:])
			return vals, text, errors.Is(err, io.ErrUnexpectedEOF)
		}
		vals = append(vals, v.Clone())
	}
}

// embedded finds a message in text that is otherwise none: what was printed
// without a line end of its own before a frame.
func embedded(text []byte) (before []byte, rest []byte, ok bool) {
	for from := 0; ; {
		i := bytes.IndexByte(text[from:], '{')
		if i < 0 {
			return text, nil, false
		}
		from += i
		if vals, _, _ := values(text[from:]); len(vals) > 0 {
			if _, ok := newMessage(vals[0], &line{}); ok {
				return bytes.TrimSpace(text[:from]), text[from:], true
			}
		}
		from++
		if from > 4<<10 {
			return text, nil, false
		}
	}
}

// hex shows bytes as hexadecimal digits and as text, as xxd does, shortened.
func hex(b []byte) string {
	const most = 32
	shown := b[:min(len(b), most)]
	var digits, text strings.Builder
	for i, c := range shown {
		if i > 0 {
			digits.WriteByte(' ')
		}
		fmt.Fprintf(&digits, "%02x", c)
		if c < 0x20 || c > 0x7e {
			c = '.'
		}
		text.WriteByte(c)
	}
	more := ""
	if len(b) > most {
		more = fmt.Sprintf(" … (%s in all)", bytesOf(int64(len(b))))
	}
	return digits.String() + " |" + text.String() + "|" + more
}

// clip shortens text for a sentence.
func clip[T ~string | ~[]byte](s T) string {
	text := strings.ToValidUTF8(string(s), "\ufffd")
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }), " ")
	if runes := []rune(text); len(runes) > 160 {
		return string(runes[:160]) + "…"
	}
	return text
}

// number writes n with commas.
func number[N int | int64](n N) string {
	s := strconv.FormatInt(int64(n), 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// count is n of what noun says.
func count[N int | int64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

func bytesOf(n int64) string { return count(n, "byte") }

// size is n bytes, rounded for a reader.
func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return bytesOf(n)
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
