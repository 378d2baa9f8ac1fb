// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"strings"
	"testing"
)

// TestLint has a finding for each thing that known hosts reject or mishandle
// (case 35 to case 40, case 50).
func TestLint(t *testing.T) {
	const good = `"name":"t","description":"d"`
	tests := []struct {
		name string
		tool string
		want []string // "place: words"
	}{
		{"good", `{` + good + `,"inputSchema":` + noArguments + `}`, nil},
		{"name", `{"name":"a b","description":"d","inputSchema":` + noArguments + `}`, []string{"/name: does not match"}},
		{"long name", `{"name":"` + strings.Repeat("x", 65) + `","description":"d","inputSchema":` + noArguments + `}`, []string{"/name: 65 characters"}},
		{"description", `{"name":"t","inputSchema":` + noArguments + `}`, []string{"/description: missing"}},
		{"case 35: no schema", `{` + good + `,"inputSchema":null}`, []string{"/inputSchema: missing or null"}},
		{"case 35: empty schema", `{` + good + `,"inputSchema":{}}`, []string{"/inputSchema/type: is null"}},
		{"case 35: no properties", `{` + good + `,"inputSchema":{"type":"object"}}`, []string{"/inputSchema: is an object without properties"}},
		{"case 35: required null", `{` + good + `,"inputSchema":{"type":"object","properties":{},"required":null}}`, []string{"/inputSchema/required: is null"}},
		{"case 36: root", `{` + good + `,"inputSchema":{"type":"object","properties":{},"oneOf":[{"required":["a"]}]}}`, []string{"/inputSchema/oneOf: at the root"}},
		{"combinators below", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"}]}}}}`,
			[]string{"/inputSchema/properties/a/anyOf: several hosts"}},
		{"case 37: references", `{` + good + `,"inputSchema":{"$id":"x","type":"object","properties":{"a":{"description":"d","$ref":"#/$defs/b"}},"$defs":{"b":{"type":"string"}}}}`,
			[]string{"/inputSchema/$id:", "/inputSchema/$defs:", "/inputSchema/properties/a/$ref:"}},
		{"case 38: label", `{` + good + `,"inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}}`, []string{"/inputSchema/$schema: is"}},
		{"case 39: items", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":"array","items":{"type":"array"}}}}}`,
			[]string{"/inputSchema/properties/a/items: is an array without items"}},
		{"case 40: boolean", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":true}}}`, []string{"/inputSchema/properties/a: is a boolean"}},
		{"case 40: open", `{` + good + `,"inputSchema":{"type":"object","properties":{},"additionalProperties":true}}`, []string{"/inputSchema/additionalProperties: is true"}},
		{"case 40: union", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":["string","null"]}}}}`,
			[]string{"/inputSchema/properties/a/type: is a union"}},
		{"argument without description", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, []string{"/inputSchema/properties/a: has no description"}},
		{"name of an argument", `{` + good + `,"inputSchema":{"type":"object","properties":{"a b":{"description":"d","type":"string"}}}}`, []string{"/inputSchema/properties/a b: the name"}},
		{"output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":{"type":"array"}}`, []string{"/outputSchema/type: is \"array\"", "/outputSchema: is an array without items"}},
		{"no object", `5`, []string{"list: a tool is 5"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := `{"tools":[` + tt.tool + `]}`
			for _, text := range []string{list, `{"jsonrpc":"2.0","id":1,"result":` + list + `}`} {
				found := Lint([]byte(text))
				all := fmt.Sprint(found)
				for _, want := range tt.want {
					if !strings.Contains(all, want) {
						t.Errorf("no %q in %s", want, all)
					}
				}
				if len(tt.want) != len(found) {
					t.Errorf("got %d findings: %s", len(found), all)
				}
			}
		})
	}
}

// TestLintBelow checks that no schema is overlooked, whatever keyword it stands
// under.
func TestLintBelow(t *testing.T) {
	const bad = `{"type":"array"}`
	at := func(keyword, value string) string {
		return `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"description":"d",` + keyword + `:` + value + `}}}}]}`
	}
	for _, k := range []string{"items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"} {
		found := fmt.Sprint(Lint([]byte(at(`"`+k+`"`, bad))))
		if want := "t/inputSchema/properties/a/" + k + ": is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		found := fmt.Sprint(Lint([]byte(at(`"`+k+`"`, `[{"type":"string"},`+bad+`]`))))
		if want := "t/inputSchema/properties/a/" + k + "/1: is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
		if combines := strings.Contains(found, "/a/"+k+": several hosts ignore or refuse combinators"); combines != (k != "prefixItems") {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		found := fmt.Sprint(Lint([]byte(at(`"`+k+`"`, `{"x/y":`+bad+`}`))))
		if want := "t/inputSchema/properties/a/" + k + "/x~1y: is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$id", "$anchor", "$defs", "definitions"} {
		found := Lint([]byte(at(`"`+k+`"`, `"#"`)))
		if len(found) != 1 || found[0].Place != "/inputSchema/properties/a/"+k || !strings.Contains(found[0].Text, "references") {
			t.Errorf("%s: got %v", k, found)
		}
	}
	for keyword, want := range map[string]string{
		`"items":[{"type":"string"},` + bad + `]`: "/items: is a list|/items/1: is an array without items",
		`"not":false`:                                      "/not: several hosts ignore or refuse combinators|/not: is a boolean as a schema",
		`"contains":5`:                                     "/contains: is 5 and has to be a schema",
		`"unevaluatedItems":true`:                          "",
		`"unevaluatedProperties":false`:                    "",
		`"additionalProperties":false`:                     "",
		`"additionalProperties":true`:                      "/additionalProperties: is true as a schema",
		`"type":"array","prefixItems":[{"type":"string"}]`: "",
		`"type":["array","null"]`:                          ": is an array without items|/type: is a union",
		`"type":"object"`:                                  ": is an object without properties",
	} {
		name, value, _ := strings.Cut(keyword, ":")
		found := Lint([]byte(at(name, value)))
		count := 0
		for part := range strings.SplitSeq(want, "|") {
			if part == "" {
				continue
			}
			count++
			if !strings.Contains(fmt.Sprint(found), "t/inputSchema/properties/a"+part) {
				t.Errorf("%s: got %v, want %s", keyword, found, part)
			}
		}
		if len(found) != count {
			t.Errorf("%s: got %v", keyword, found)
		}
	}
}

// TestLintList has the findings about a list as a whole.
func TestLintList(t *testing.T) {
	for text, want := range map[string]string{
		`{`:            "list: not one JSON value",
		`{"tools":{}}`: "list: tools is an object",
		`[]`:           "list: tools is null",
		`{"tools":[{"name":"a","description":"d","inputSchema":` + noArguments + `},{"name":"a","description":"d","inputSchema":` + noArguments + `}]}`: "a/name: stands in the list twice",
	} {
		if found := fmt.Sprint(Lint([]byte(text))); !strings.Contains(found, want) {
			t.Errorf("%.40s: got %s, want %q", text, found, want)
		}
	}
	var r Registry
	for i := range 200 {
		if err := r.Register(Info{Name: fmt.Sprintf("tool%d", i), Description: strings.Repeat("x", 1000)}, nothing); err != nil {
			t.Fatal(err)
		}
	}
	found := fmt.Sprint(r.Lint())
	if !strings.Contains(found, "list: the definitions take ") || !strings.Contains(found, "list: 200 tools are more") {
		t.Errorf("got %s", found)
	}
	var empty Registry
	if found := empty.Lint(); found != nil {
		t.Errorf("an empty registry: %v", found)
	}
}
