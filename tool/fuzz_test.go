// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzAccept compares accept with the validator, over schemas as well as
// values: what accept takes, the validator has to take, as it stands or, where
// accept says so, in normal form (case 45, case 51). It may leave out values,
// never add one.
func FuzzAccept(f *testing.F) {
	schemas := []string{
		noArguments,
		`{"properties":{"a":{"type":"integer","minimum":-1,"maximum":10},"b":{"type":"string","minLength":1,"maxLength":3,"pattern":"^[a-z]*$"},"c":{"type":"boolean","default":true}},"required":["a"],"additionalProperties":false}`,
		`{"properties":{"a":{"type":"array","items":{"type":["number","null"],"exclusiveMinimum":0.1,"exclusiveMaximum":1e3},"minItems":1,"maxItems":3}},"additionalProperties":{"type":"string","format":"date-time"}}`,
		`{"properties":{"a":{"enum":[1,"x",null,true,1.5]},"b":{"const":2},"c":{"enum":["a\"b","é"]}}}`,
		`{"properties":{"a":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}},"additionalProperties":false}}}`,
		`{"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}]},"b":{"type":"integer","multipleOf":3},"c":{"type":"array","items":{},"uniqueItems":true}}}`,
		`{"properties":{"a":{"type":"object","properties":{"b":{"type":"integer","default":1.0}},"minProperties":1},"b":true},"required":["zz"]}`,
		`{"properties":{"a":{"enum":[1,"x",null,true]},"b":{"const":2},"c":{"type":["string","null"],"minLength":3,"maxLength":1,"format":"email"},"d":{"type":"integer","minimum":5,"maximum":1},"e":{}},"required":["a","c","e"],"additionalProperties":false}`,
		`{"properties":{"a":{"type":"number","minimum":0.1234567890123456789,"exclusiveMaximum":10},"e":{},"b":{"type":"array","items":{"enum":[1,"é"]},"minItems":2,"maxItems":0}},"required":["a","e"]}`,
		`{"properties":{"a":{"minItems":2,"maxItems":3},"b":{"maxLength":1}}}`,
		`{"additionalProperties":false,"patternProperties":{"^a":{"type":"integer"}}}`,
	}
	values := []string{
		`{}`, `{"a":1}`, `{"a":1.0,"b":"abc","c":null}`, `{"a":1e1}`, `{"a":-0}`, `{"a":[1,null,0.2]}`, `{"a":[1,2,3,4],"x":"2026-07-28T12:00:00Z"}`, `{"a":"x","b":2.0,"c":"a\"b"}`,
		`{"a":{"kids":[{},{"kids":[]}]}}`, `{"b":6,"c":[1,1.0]}`, `{"a":{"b":1},"zz":1}`, ` { "a" : 12 , "a" : 13 } `, `{"\u0061":1,"b":"\ud800"}`, `[]`, `{"a":1e999}`, `{"a":10.000000000000000001}`,
		`{"a":100000000000000000000}`, `{"a":"é","c":"\u00e9"}`, `{"a":1,"a":2}`, `{"a":18446744073709551617}`, `{"a":[0.09999999999999999999]}`, `{"a":1,"b":"éééé"}`, `{"a":true,"b":{"c":[[[]]]}}`, `{"a":1,}`, `{"a"`,
		`{"a":{},"b":[[],1.0,2],"c":"ab","d":3,"x":1,"y":null}`, `{"a":0.12345678901234567891,"b":"x","d":1.5}`, `{"a":0.1234567890123456788,"b":[{}],"d":"x"}`, `{"a":[],"b":null,"c":[],"d":10e-1}`, `{"a":[{}],"b":"xx"}`, `{"a":[{},[[]],1,"x"]}`, `{"a":10,"e":null,"b":["é","\u00e9",1]}`,
	}
	for _, s := range schemas {
		for _, v := range values {
			f.Add([]byte(s), []byte(v))
		}
	}
	f.Fuzz(func(t *testing.T, schemaText, value []byte) {
		if len(schemaText) > 4<<10 || len(value) > 4<<10 {
			return
		}
		text, err := givenInput(schemaText, true)
		if err != nil {
			return
		}
		s := newSchema(text)
		n, err := s.node()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		valid := checkSyntax(jsontext.Value(value)) == nil
		if valid && s.certain() {
			sameProblems(t, s, value)
		}
		a := acceptor{text: value}
		accepted := a.accept(n)
		normal := (&normalizer{defaults: true}).normalize(nil, value, n)
		if !valid || !accepted {
			return // any answer will do, as long as it does not panic
		}
		if a.rewrite {
			b := acceptor{text: normal}
			if !b.accept(n) {
				if defaultsFit(n) {
					t.Fatalf("%s: %s is accepted, and not in its normal form %s", text, value, normal)
				}
				return
			}
			value = normal
		}
		found, err := s.problems(value)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if len(found) > 0 && !(a.unread && duplicate(value)) {
			t.Fatalf("%s: %s is accepted, and the validator says\n%v", text, value, found)
		}
	})
}

// sameProblems checks that explain says of value what the validator says.
func sameProblems(t *testing.T, s *schema, value []byte) {
	if _, err := decodeDocument(value); err != nil {
		return // numbers that the validator never sees
	}
	want, err := s.ask(value)
	if err != nil {
		t.Fatal(err)
	}
	got, err := s.explain(value)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want) && !strings.Contains(got.String(), "fewer digits") && len(want) < maxFound {
		t.Fatalf("%s: of %s explain says\n%v\nand the validator\n%v", s.text, value, got, want)
	}
}

// defaultsFit tells whether the defaults in a schema fit it, as registration
// demands.
func defaultsFit(n *node) bool {
	return n.checkDefaults("", map[*node]bool{}) == nil && n.certain(map[*node]bool{})
}

// duplicate tells whether value is refused for duplicate names, which accept
// says that it did not look for.
func duplicate(value jsontext.Value) bool {
	return !value.IsValid(jsontext.AllowInvalidUTF8(true))
}

// FuzzArguments checks that no arguments make a panic, and that a handler never
// sees what its type cannot hold: what prepare lets through either decodes or
// is refused with a place.
func FuzzArguments(f *testing.F) {
	r := argumentTools()
	tools := r.Tools()
	for _, seed := range []string{
		`{"pattern":"x"}`, `{"i":1e3,"big":-0,"s":"5"}`, `{"ids":"[1]","obj":"{\"dir\":\"/\"}"}`, `{"when":"2026-07-28t12:00:00z"}`,
		`{"name":"a","kids":[{"name":null}]}`, `{"r":"","q":[],"a":{"a":[1,{"b":null}]}}`, `null`, `"{}"`,
	} {
		for i := range tools {
			f.Add(uint8(i), []byte(seed))
		}
	}
	f.Fuzz(func(t *testing.T, which uint8, value []byte) {
		tool := tools[int(which)%len(tools)]
		res, err := r.Call(t.Context(), tool.Info().Name, value)
		if err != nil {
			if _, ok := err.(*Error); !ok {
				t.Fatal(err)
			}
			return
		}
		if len(res.Content) != 1 {
			t.Fatalf("%d blocks", len(res.Content))
		}
	})
}
