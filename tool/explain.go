// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// An explainer says what is wrong with a JSON text, for a schema that nodes
// alone decide about. It finds what the validator would find, in one pass and
// without a copy of the text, however large, deep and wrong that is.
type explainer struct {
	reporter
	d *jsontext.Decoder
}

// errEnough ends a walk that found as many problems as are kept.
var errEnough = errors.New("enough problems")

// explain returns the problems of text with s, whose nodes have to be certain.
func (s *schema) explain(text []byte) (problems, error) {
	n, err := s.node()
	if err != nil {
		return nil, err
	}
	doc, err := decodeDocument(s.text)
	if err != nil {
		return nil, err
	}
	e := explainer{reporter: reporter{schema: doc}, d: newDecoder(text)}
	if err := e.value(n); err != nil && err != errEnough {
		return problems{syntaxProblem(err)}, nil
	}
	return e.found.sorted(), nil
}

// newDecoder returns a decoder of text that refuses duplicate names and takes
// lone surrogates.
func newDecoder(text []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true))
}

// wrong adds what value, which was read last, has wrong with a keyword of n.
func (e *explainer) wrong(n *node, keyword string, value any) {
	if keyword == "enum" && len(n.enum) == 1 {
		if _, ok := e.rules(n)["const"]; ok {
			keyword = "const"
		}
	}
	e.reporter.explain(e.place(), keyword, e.rules(n), value, "")
}

func (e *explainer) rules(n *node) object {
	s, _ := resolve(e.schema, n.at)
	rules, _ := s.(object)
	return rules
}

// place is where the value that was read last stands.
func (e *explainer) place() string { return placeOf(string(e.d.StackPointer())) }

// value reads the next value, which should fit n.
func (e *explainer) value(n *node) error {
	n = n.deref()
	if n.any {
		return e.d.SkipValue()
	}
	if len(e.found) >= maxFound {
		return errEnough
	}
	kind := e.d.PeekKind()
	switch {
	case kind == '{' && n.kinds&kindObject != 0 && n.enum == nil:
		return e.object(n)
	case kind == '[' && n.kinds&kindArray != 0 && n.enum == nil:
		return e.array(n)
	case kind == '{' || kind == '[':
		var found any = object{}
		keyword, want := "type", kindObject
		if kind == '[' {
			found, want = []any{}, kindArray
		}
		if n.kinds&want != 0 {
			keyword = "enum"
		}
		if err := e.d.SkipValue(); err != nil {
			return err
		}
		e.wrong(n, keyword, found)
		return nil
	}
	tok, err := e.d.ReadToken()
	if err != nil {
		return err
	}
	switch kind {
	case '"':
		e.str(n, tok.String())
	case '0':
		e.number(n, tok.String())
	case 'n':
		e.literal(n, kindNull, nil)
	default:
		e.literal(n, kindBool, tok.Bool())
	}
	return nil
}

func (e *explainer) literal(n *node, k kinds, v any) {
	switch {
	case n.kinds&k == 0:
		e.wrong(n, "type", v)
	case n.enum != nil && !n.has(encodeDocument(nil, v)):
		e.wrong(n, "enum", v)
	}
}

func (e *explainer) str(n *node, s string) {
	if n.kinds&kindString == 0 {
		e.wrong(n, "type", s)
		return
	}
	if n.enum != nil && !n.has(encodeDocument(nil, s)) {
		e.wrong(n, "enum", s)
	}
	if n.minLength > 0 || n.maxLength >= 0 {
		length := utf8.RuneCountInString(s)
		if length < n.minLength {
			e.wrong(n, "minLength", s)
		}
		if n.maxLength >= 0 && length > n.maxLength {
			e.wrong(n, "maxLength", s)
		}
	}
	if n.pattern != nil && !n.pattern.MatchString(s) {
		e.wrong(n, "pattern", s)
	}
	if n.format != nil && !n.format(s) {
		e.wrong(n, "format", s)
	}
}

func (e *explainer) number(n *node, s string) {
	text, v := []byte(s), json.Number(s)
	if n.kinds&(kindInteger|kindNumber) == 0 {
		e.wrong(n, "type", v)
		return
	}
	if _, _, _, ok := decimal(text); !ok {
		e.add(e.place(), "%s", errNumber)
		return
	}
	whole, isWhole := appendInteger(nil, text)
	if n.kinds&kindNumber == 0 && !isWhole {
		if r, ok := new(big.Rat).SetString(s); ok && r.IsInt() {
			e.add(e.place(), "found %s, wanted an integer of fewer digits", show(v))
			return
		}
		e.wrong(n, "type", v)
		return
	}
	if n.enum != nil && !n.has(text) && !(isWhole && n.has(whole)) {
		e.wrong(n, "enum", v)
	}
	if n.min.set {
		keyword := "minimum"
		if n.exclusiveMin {
			keyword = "exclusiveMinimum"
		}
		if order := n.min.exactly(text); order < 0 || order == 0 && n.exclusiveMin {
			e.wrong(n, keyword, v)
		}
	}
	if n.max.set {
		keyword := "maximum"
		if n.exclusiveMax {
			keyword = "exclusiveMaximum"
		}
		if order := n.max.exactly(text); order > 0 || order == 0 && n.exclusiveMax {
			e.wrong(n, keyword, v)
		}
	}
}

// exactly is compare for every number within the bounds of decimal.
func (b *bound) exactly(text []byte) int {
	if order, ok := b.compare(text); ok {
		return order
	}
	x, ok := new(big.Rat).SetString(string(text))
	y, ok2 := new(big.Rat).SetString(b.text)
	if !ok || !ok2 {
		return 0
	}
	return x.Cmp(y)
}

func (e *explainer) array(n *node) error {
	if _, err := e.d.ReadToken(); err != nil {
		return err
	}
	items := n.items
	if items == nil {
		items = anything
	}
	length := 0
	for ; e.d.PeekKind() != ']'; length++ {
		if err := e.value(items); err != nil {
			return err
		}
	}
	if _, err := e.d.ReadToken(); err != nil {
		return err
	}
	if length < n.minItems {
		e.sized(e.place(), "minItems", e.rules(n)["minItems"], length, "items")
	}
	if n.maxItems >= 0 && length > n.maxItems {
		e.sized(e.place(), "maxItems", e.rules(n)["maxItems"], length, "items")
	}
	return nil
}

func (e *explainer) object(n *node) error {
	if _, err := e.d.ReadToken(); err != nil {
		return err
	}
	given, unknown := object{}, object{} // the names alone
	for e.d.PeekKind() != '}' {
		tok, err := e.d.ReadToken()
		if err != nil {
			return err
		}
		name := tok.String()
		below := anything
		switch p := n.find([]byte(name), 0); {
		case p >= 0:
			given[name] = nil
			below = n.props[p].node
		case n.closed:
			if len(unknown) < maxFound {
				unknown[name] = nil
			}
		case n.extra != nil:
			below = n.extra
		}
		if err := e.value(below); err != nil {
			return err
		}
	}
	if _, err := e.d.ReadToken(); err != nil {
		return err
	}
	for _, p := range n.props {
		if _, ok := given[p.name]; p.required && !ok {
			e.wrong(n, "required", given)
			break
		}
	}
	if len(unknown) > 0 {
		e.wrong(n, "additionalProperties", unknown)
	}
	return nil
}

// What the validator is given at most: for each wrong value it makes an error
// of some hundred bytes, and of a value that is nested deeply one for each
// level and branch, each as long as the path to it.
const (
	maxAskValues = 20_000
	maxAskDepth  = 64
)

// tooMuch says why text, the arguments of a tool, is more than the validator
// is asked about. It is empty for what is not.
func tooMuch(text []byte) problems {
	d := newDecoder(text)
	for values := 0; ; {
		tok, err := d.ReadToken()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return problems{syntaxProblem(err)}
		}
		in, length := d.StackIndex(d.StackDepth())
		isName := in == '{' && length%2 == 1
		if !isName && tok.Kind() != '}' && tok.Kind() != ']' {
			values++
		}
		switch {
		case d.StackDepth() > maxAskDepth:
			return problems{{placeOf(string(d.StackPointer())), fmt.Sprintf("nested too deeply to check (more than %d levels)", maxAskDepth)}}
		case values > maxAskValues:
			return problems{{"", fmt.Sprintf("more than %d values are too many to check: send less at once", maxAskValues)}}
		}
	}
}

// valueAt returns the value that the JSON pointer names in text, or nil.
func valueAt(text []byte, pointer string) jsontext.Value {
	d := jsontext.NewDecoder(bytes.NewBuffer(text), jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
	for want := range tokens(pointer) {
		open, err := d.ReadToken()
		if err != nil {
			return nil
		}
		for i := 0; ; i++ {
			name := fmt.Sprint(i)
			switch d.PeekKind() {
			case '}', ']', 0:
				return nil
			}
			if open.Kind() == '{' {
				tok, err := d.ReadToken()
				if err != nil {
					return nil
				}
				name = tok.String()
			} else if open.Kind() != '[' {
				return nil
			}
			if name == want {
				break
			}
			if d.SkipValue() != nil {
				return nil
			}
		}
	}
	v, err := d.ReadValue()
	if err != nil {
		return nil
	}
	return v
}

// shown is show for a value in JSON.
func shown(v jsontext.Value) string {
	switch v.Kind() {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return show(string(unquote(v)))
	}
	return clip(strings.TrimSpace(string(v)), 60)
}
