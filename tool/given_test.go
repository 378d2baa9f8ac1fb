// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

// TestGivenSchema has what becomes of schemas that authors wrote.
func TestGivenSchema(t *testing.T) {
	tests := []struct {
		name string
		in   string
		want string // or words of the error, after "error "
	}{
		{"case 35: nil", ``, noArguments},
		{"case 35: empty", ` { } `, noArguments},
		{"case 35: null", `null`, noArguments},
		{"case 35: no type", `{"properties":{"a":{"type":"string"}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"case 35: no properties", `{"type":"object"}`, `{"type":"object","properties":{}}`},
		{"case 35: required null", `{"type":"object","properties":{},"required":null}`, `error /required: has to be a list of different names`},
		{"case 36: oneOf", `{"type":"object","oneOf":[{"required":["a"]}]}`, `error oneOf at the root of a schema`},
		{"case 36: anyOf", `{"anyOf":[{"type":"object"}]}`, `error anyOf at the root`},
		{"case 36: allOf", `{"allOf":[{"type":"object"}]}`, `error allOf at the root`},
		{"case 36: not", `{"type":"object","not":{}}`, `error not at the root`},
		{"case 36: enum", `{"enum":[{}]}`, `error enum at the root`},
		{"case 36: root type", `{"type":"string"}`, `error root: the type has to be object`},
		{"case 36: root type list", `{"type":["object","null"]}`, `error root: the type has to be object`},
		{"case 36: boolean", `true`, `error has to be an object`},
		{"case 36: below the root", `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`,
			`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},{"type":"integer"}]}}}`},
		{"case 37: reference outside", `{"type":"object","properties":{"a":{"$ref":"https://example.org/a.json"}}}`, `error /properties/a: $ref "https://example.org/a.json" does not lead`},
		{"case 37: dangling reference", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}}}`, `error /properties/a: $ref`},
		{"case 37: reference to an anchor", `{"type":"object","properties":{"a":{"$ref":"#$defs/b"}},"$defs":{"b":{}}}`, `error /properties/a: $ref "#$defs/b"`},
		{"case 37: reference inside", `{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"array","items":{"$ref":"#/$defs/b"}}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"array","items":{"$ref":"#/$defs/b"}}}}`},
		{"case 37: id", `{"$id":"https://example.org/","type":"object"}`, `error root: $id is not supported`},
		{"case 38: draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"$ref":"#/definitions/b"}},"definitions":{"b":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}`},
		{"case 38: tuple", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`,
			`error /properties/a: items as a list is not in JSON Schema 2020-12`},
		{"case 38: dependencies", `{"type":"object","dependencies":{}}`, `error dependencies is not in JSON Schema 2020-12`},
		{"case 38: 2020-12", `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{}}`, `{"type":"object","properties":{}}`},
		{"case 38: another dialect", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, `error the dialect`},
		{"case 39: no items", `{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"type":"array"}}}}}`, `error /properties/a/properties/b: an array needs items`},
		{"case 39: items", `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`, `{"type":"object","properties":{"a":{"type":"array","items":{}}}}`},
		{"case 40: true", `{"type":"object","properties":{"a":true}}`, `{"type":"object","properties":{"a":{"description":"any JSON value"}}}`},
		{"case 40: false", `{"type":"object","properties":{"a":false}}`, `error /properties/a: a schema has to be an object`},
		{"white space", "{\r\n \"type\" : \"object\",\n\t\"properties\" : { } }", `{"type":"object","properties":{}}`},
		{"duplicate names", `{"type":"object","type":"object"}`, `error duplicate`},
		{"bad UTF-8", "{\"type\":\"object\",\"title\":\"\xff\"}", `error UTF-8`},
		{"not JSON", `{"type"`, `error`},
		{"bad type", `{"type":"object","properties":{"a":{"type":"strnig"}}}`, `error /properties/a: type "strnig" is unknown`},
		{"bad pattern", `{"type":"object","properties":{"a":{"type":"string","pattern":"(?=x)"}}}`, `error /properties/a: pattern "(?=x)" is no RE2 expression`},
		{"bad count", `{"type":"object","properties":{"a":{"type":"string","minLength":-1}}}`, `error /properties/a: minLength has to be a count`},
		{"bad bound", `{"type":"object","properties":{"a":{"type":"integer","minimum":"1"}}}`, `error /properties/a: minimum has to be a number`},
		{"multipleOf", `{"properties":{"a":{"type":"integer","multipleOf":0}}}`, `error /properties/a: multipleOf has to be a number above zero`},
		{"multipleOf below zero", `{"properties":{"a":{"type":"integer","multipleOf":-0.5}}}`, `error /properties/a: multipleOf has to be a number above zero`},
		{"multipleOf above zero", `{"type":"object","properties":{"a":{"type":"number","multipleOf":0.5}}}`, `{"type":"object","properties":{"a":{"type":"number","multipleOf":0.5}}}`},
		{"type twice", `{"properties":{"a":{"type":["string","null","string"]}}}`, `error /properties/a: type ["string","null","string"] has one twice`},
		{"examples", `{"properties":{"a":{"examples":5}}}`, `error /properties/a: examples has to be a list of values`},
		{"dependentRequired", `{"properties":{"a":{"dependentRequired":5}}}`, `error /properties/a/dependentRequired: expected object, but got number`},
		{"dependentRequired below", `{"properties":{"a":{"if":{"dependentRequired":{"a":["b","b"]}}}}}`, `error /properties/a/if/dependentRequired/a: items at index 0 and 1 are equal`},
		{"patternProperties", `{"properties":{"a":{"patternProperties":{"(":{}}}}}`, `error /properties/a/patternProperties/(: '(' is not valid 'regex'`},
		{"dependentSchemas", `{"properties":{"a":{"dependentSchemas":{"b":{"maxLength":1e1}}}}}`, `error /properties/a/dependentSchemas/b: maxLength has to be a count`},
		{"reference to itself", `{"properties":{"a":{"$ref":"#/properties/a"}}}`, `error a $ref leads back to itself: #/properties/a/$ref`},
		{"references in a circle", `{"properties":{"a":{"allOf":[{"$ref":"#/properties/b"}]},"b":{"$ref":"#/properties/a"}}}`, `error a $ref leads back to itself: #/properties/`},
		{"reference to no schema", `{"properties":{"a":{"$ref":"#/properties/b/default"},"b":{"default":{"type":5}}}}`, `error`},
		{"reference to an unknown keyword", `{"properties":{"a":{"$ref":"#/$defs/b/x-y"}},"$defs":{"b":{"x-y":{"multipleOf":0}}}}`, `error /$defs/b/x-y/multipleOf: must be > 0`},
		{"empty enum", `{"type":"object","properties":{"a":{"enum":[]}}}`, `error /properties/a: enum has to be a list`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := givenInput([]byte(tt.in), false)
			if want, isError := strings.CutPrefix(tt.want, "error"); isError {
				if err == nil || !strings.Contains(err.Error(), strings.TrimSpace(want)) {
					t.Fatalf("got %s, error %v; want error %q", got, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if _, err := compileValidator(got); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestGivenRegister checks that registration names the tool and the place, and
// that the two ways out of case 36 are there.
func TestGivenRegister(t *testing.T) {
	h := func(context.Context, *Request) (result.Result, error) { return result.Text("ok"), nil }
	combined := jsontext.Value(`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`)
	var r Registry
	err := r.Register(Info{Name: "combined", InputSchema: combined}, h)
	if err == nil || !strings.Contains(err.Error(), `tool: "combined": input schema: anyOf at the root`) {
		t.Errorf("case 36: got %v", err)
	}
	if err := r.Register(Info{Name: "combined", InputSchema: combined, AllowCombinators: true}, h); err != nil {
		t.Errorf("case 36: %v", err)
	}
	res, err := r.Call(t.Context(), "combined", `{}`)
	if err != nil || !res.IsError {
		t.Errorf("case 36: anyOf is not checked: %v %v", res, err)
	}
	array := jsontext.Value(`{"type":"array","items":{"type":"string"}}`)
	if err := r.Register(Info{Name: "array", OutputSchema: array}, h); err == nil {
		t.Error("case 36: an output schema without an object at its root was accepted")
	}
	if err := r.Register(Info{Name: "array", OutputSchema: array, AnyOutput: true}, h); err != nil {
		t.Errorf("case 36: %v", err)
	}
	if err := r.Register(Info{Name: "bad", OutputSchema: jsontext.Value(`{"type":"object","properties":{"a":{"type":"array"}}}`)}, h); err == nil ||
		!strings.Contains(err.Error(), `tool: "bad": output schema: /properties/a: an array needs items`) {
		t.Errorf("case 39: got %v", err)
	}
	for _, def := range []string{`{"type":"integer","default":"x"}`, `{"type":"string","enum":["a"],"default":"b"}`, `{"type":"array","items":{"type":"string"},"default":[1]}`} {
		in := jsontext.Value(`{"type":"object","properties":{"a":` + def + `}}`)
		if err := r.Register(Info{Name: "default", InputSchema: in}, h); err == nil || !strings.Contains(err.Error(), "a: the default") {
			t.Errorf("%s: got %v", def, err)
		}
	}
}

// FuzzGivenSchema checks that no text makes a panic, and that what is accepted
// is accepted again unchanged, and by both forms that check values.
func FuzzGivenSchema(f *testing.F) {
	for _, seed := range []string{
		``, `{}`, `{"type":"object","properties":{"a":{"type":"array","items":{"$ref":"#"}}}}`, noArguments, `{"definitions":{"a":true},"properties":{"b":{"$ref":"#/definitions/a"}}}`,
		`{"properties":{"a":{"enum":[1,"x",null]},"b":{"const":1.0},"c":{"type":["string","null"],"default":null}}}`, `{"$ref":"#/$defs/a","$defs":{"a":{"$ref":"#/$defs/a"}}}`,
		`{"patternProperties":{"^a":{"minimum":1}},"propertyNames":{"maxLength":3},"additionalProperties":{"type":"number"}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := givenInput(text, true)
		if err != nil {
			return
		}
		again, err := givenInput(got, true)
		if err != nil || string(again) != string(got) {
			t.Fatalf("%s becomes %s, %v", got, again, err)
		}
		n, err := compileNode(got)
		if err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		if _, err := compileValidator(got); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		a := acceptor{text: []byte(`{"a":[1],"b":null}`)}
		a.accept(n)
		_ = n.checkDefaults("", map[*node]bool{})
		(&normalizer{defaults: true, unwrap: true}).normalize(nil, a.text, n)
	})
}

// TestGivenKeywords checks that a value which is nothing for a keyword, whatever
// keyword that is, is refused at registration and not at each call.
func TestGivenKeywords(t *testing.T) {
	keywords := []string{
		"title", "description", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "contentEncoding", "contentMediaType", "contentSchema",
		"$ref", "type", "enum", "const", "default", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minLength", "maxLength", "pattern", "format",
		"properties", "patternProperties", "required", "additionalProperties", "propertyNames", "unevaluatedProperties", "minProperties", "maxProperties", "dependentRequired", "dependentSchemas",
		"items", "prefixItems", "contains", "minContains", "maxContains", "minItems", "maxItems", "uniqueItems", "unevaluatedItems",
		"allOf", "anyOf", "oneOf", "not", "if", "then", "else", "$defs", "definitions", "$schema", "$id", "$anchor", "$dynamicRef", "$vocabulary", "nullable", "discriminator",
	}
	for _, k := range keywords {
		refused := 0
		for _, v := range []string{`5`, `-1`, `1.5`, `"("`, `true`, `null`, `[]`, `[5]`, `["a","a"]`, `{}`, `{"a":5}`, `{"(":{}}`, `{"a":["b","b"]}`} {
			text, err := givenInput([]byte(`{"properties":{"p":{"`+k+`":`+v+`}}}`), false)
			if err != nil {
				refused++
				continue
			}
			if _, err := compileValidator(text); err != nil {
				t.Errorf("%s: %s is let through: %v", k, v, err)
			}
		}
		if refused == 0 && k != "const" && k != "default" && k != "nullable" && k != "discriminator" {
			t.Errorf("%s takes everything", k)
		}
	}
}
