// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
)

// types is a set of the types of JSON values. A number is an integer or has a
// fraction.
type types uint8

const (
	null types = 1 << iota
	booleans
	integers
	fractions
	texts
	arrays
	objects
	allTypes = 1<<iota - 1
)

var typeNamed = map[string]types{
	"null": null, "boolean": booleans, "integer": integers, "number": integers | fractions,
	"string": texts, "array": arrays, "object": objects,
}

// typeWords are the names in the type of s.
func typeWords(s document.Object) []any {
	switch t := s["type"].(type) {
	case string:
		return []any{t}
	case []any:
		return t
	}
	return nil
}

// declaredTypes are the types that s allows. Names that are none count as no
// type at all.
func declaredTypes(s document.Object) (t types, declared bool) {
	for _, w := range typeWords(s) {
		name, _ := w.(string)
		t |= typeNamed[name]
	}
	if t == 0 {
		return allTypes, false
	}
	return t, true
}

// typeOf is the type of one value.
func typeOf(v any) types {
	switch v := v.(type) {
	case nil:
		return null
	case bool:
		return booleans
	case string:
		return texts
	case []any:
		return arrays
	case document.Object:
		return objects
	case json.Number:
		if r := number(v); r != nil && !r.IsInt() {
			return fractions
		}
	}
	return integers
}

// number is the exact value of a JSON number, or nil.
func number(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok {
		return nil
	}
	r, ok := new(big.Rat).SetString(string(n))
	if !ok {
		return nil
	}
	return r
}

// String is such as "string or null".
func (t types) String() string {
	if t == allTypes {
		return "any value"
	}
	var names []string
	for _, name := range []string{"string", "number", "integer", "boolean", "array", "object", "null"} {
		bits := typeNamed[name]
		if name == "integer" && slices.Contains(names, "number") {
			continue
		}
		if t&bits == bits {
			names = append(names, name)
		}
	}
	if t&(integers|fractions) == fractions {
		names = append(names, "a number with a fraction")
	}
	switch n := len(names); n {
	case 0:
		return "nothing"
	case 1:
		return names[0]
	default:
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
}

// values compares the types, and the values where they are listed. It returns
// the types that both allow; listed means that nothing else has to be looked
// at, since every value of one side is known.
func (d *differ) values(place string, old, new document.Object, m member) (common types, listed bool) {
	was, _ := declaredTypes(old)
	is, _ := declaredTypes(new)
	oldValues, oldListed := listedValues(old)
	newValues, newListed := listedValues(new)
	if oldListed && !newListed {
		newValues, newListed = fewValues(is)
	} else if newListed && !oldListed {
		oldValues, oldListed = fewValues(was)
	}
	switch {
	case oldListed && newListed:
		d.enums(place, oldValues, newValues, m)
		_, oldKnown := refused(without(old, "enum"), oldValues)
		_, newKnown := refused(without(new, "enum"), newValues)
		if !(oldKnown && newKnown) && !d.equal(bare(without(old, "enum")), bare(without(new, "enum"))) {
			d.found(place, unclear, "what is said beside the enum changed")
		}
		return was & is, true
	case oldListed:
		d.unlisted(place, oldValues, new)
		return was & is, true
	case newListed:
		d.listed(place, newValues, old)
		return was & is, true
	}
	text := fmt.Sprintf("type changed from %s to %s", was, is)
	switch gone, come := was&^is, is&^was; {
	case gone == 0 && come == 0:
	case come == 0 && gone == null && m.isOptional && d.dir == input:
		d.add(place+"/type", Review, fmt.Sprintf("null is not taken any more, only %s", is),
			"a caller that sends null for what it leaves out is refused, but not by a server that drops such nulls, as Weir does")
	case come == 0:
		d.found(place+"/type", narrower, text)
	case gone == 0:
		d.found(place+"/type", wider, text)
	default:
		d.found(place+"/type", both, text)
	}
	return was & is, false
}

// listedValues are the values of an enum that the rest of s takes too.
func listedValues(s document.Object) (list []any, ok bool) {
	all, ok := s["enum"].([]any)
	if !ok {
		return nil, false
	}
	rest := without(s, "enum")
	for _, v := range all {
		if taken, known := takes(rest, v); taken || !known {
			list = append(list, v)
		}
	}
	return list, true
}

// fewValues are all values of the types, if they are few.
func fewValues(t types) (list []any, ok bool) {
	if t&^(null|booleans) != 0 {
		return nil, false
	}
	if t&booleans != 0 {
		list = append(list, false, true)
	}
	if t&null != 0 {
		list = append(list, nil)
	}
	return list, true
}

// enums compares two lists of values.
func (d *differ) enums(place string, old, new []any, m member) {
	gone, come := minus(old, new), minus(new, old)
	if len(gone) == 1 && gone[0] == nil && m.isOptional && d.dir == input {
		d.add(place+"/enum", Review, "null is not taken any more",
			"a caller that sends null for what it leaves out is refused, but not by a server that drops such nulls, as Weir does")
	} else if len(gone) > 0 {
		d.found(place+"/enum", narrower, plural(len(gone), "enum value")+" removed: "+shown(gone))
	}
	if len(come) > 0 {
		d.found(place+"/enum", wider, plural(len(come), "enum value")+" added: "+shown(come))
	}
}

// unlisted compares a list of values with a schema that has none.
func (d *differ) unlisted(place string, old []any, new document.Object) {
	gone, known := refused(new, old)
	switch {
	case len(gone) > 0:
		d.found(place, both, "enum removed, and not taken any more: "+shown(gone))
	case !known:
		d.found(place, unclear, "enum removed: "+shown(old))
	default:
		d.found(place+"/enum", wider, "enum removed, which was "+shown(old))
	}
}

// listed compares a schema with a list of values that it has now.
func (d *differ) listed(place string, new []any, old document.Object) {
	come, known := refused(old, new)
	switch {
	case len(come) > 0:
		d.found(place+"/enum", both, "enum added: "+shown(new)+", of which not taken before: "+shown(come))
	case !known && d.dir == output:
		d.found(place+"/enum", unclear, "enum added: "+shown(new))
	default:
		d.found(place+"/enum", narrower, "enum added: "+shown(new))
	}
}

// refused are the values that s does not take. known is false when one cannot
// be told.
func refused(s document.Object, values []any) (list []any, known bool) {
	known = true
	for _, v := range values {
		taken, ok := takes(s, v)
		if !taken && ok {
			list = append(list, v)
		}
		known = known && ok
	}
	return list, known
}

func minus(a, b []any) (list []any) {
	in := map[string]bool{}
	for _, v := range b {
		in[string(canonical(nil, v))] = true
	}
	for _, v := range a {
		if key := string(canonical(nil, v)); !in[key] {
			in[key] = true
			list = append(list, v)
		}
	}
	return list
}

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

// shown lists the first values.
func shown(values []any) string {
	const most = 8
	var parts []string
	for i, v := range values {
		if i == most {
			parts = append(parts, fmt.Sprintf("and %d more", len(values)-most))
			break
		}
		parts = append(parts, document.Show(v))
	}
	return strings.Join(parts, ", ")
}
