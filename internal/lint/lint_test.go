// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// TestTools has a finding for each thing that known hosts reject or mishandle
// (case 35 to case 40, case 50).
func TestTools(t *testing.T) {
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
		{"case 40: no type", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{},"b":{"description":"d"},"c":{"description":"d","type":"array","items":{}}}}}`,
			[]string{"/inputSchema/properties/a: has no description", "/inputSchema/properties/a: has no type", "/inputSchema/properties/c/items: has no type"}},
		{"case 40: no type in output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":{"type":"object","properties":{"a":{}}}}`, nil},
		{"unknown type", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":"float"},"b":{"description":"d","type":5}}}}`,
			[]string{"/inputSchema/properties/a/type: is \"float\", which is no type", "/inputSchema/properties/b/type: is 5"}},
		{"case 38: label below", `{` + good + `,"inputSchema":{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"a":{"$schema":"x","description":"d","type":"string"}}}}`,
			[]string{"/inputSchema/properties/a/$schema: is \"x\""}},
		{"case 43: enum", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":"integer","enum":[1]},"b":{"description":"d","enum":["x",""]},"c":{"description":"d","type":"string","enum":[]},"d":{"description":"d","type":"string","enum":"x"}}}}`,
			[]string{"/inputSchema/properties/a/enum/0: is 1", "/inputSchema/properties/b: has an enum and no type", "/inputSchema/properties/b/enum/1: is empty", "/inputSchema/properties/c/enum: has to be", "/inputSchema/properties/d/enum: has to be"}},
		{"enum in output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}}`, nil},
		{"values", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":"number","minimum":"1","exclusiveMinimum":true,"title":null},"b":{"description":"d","type":"string","pattern":"(?=x)","nullable":true}}}}`,
			[]string{"/inputSchema/properties/a/minimum: is \"1\"", "/inputSchema/properties/a/exclusiveMinimum: is true and has to be a number", "/inputSchema/properties/a/title: is null",
				"/inputSchema/properties/b/pattern: is no RE2", "/inputSchema/properties/b/nullable: is not in JSON Schema"}},
		{"what cannot be", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","type":"integer","minimum":5,"maximum":1,"default":"x"},"b":{"description":"d","type":"string","pattern":"("},"c":{"description":"d","type":"string","enum":["x","x"]},"d":{"description":"d","type":"string","minLength":1,"maxLength":1,"default":"x","pattern":"[^]("}}}}`,
			[]string{"/inputSchema/properties/a/minimum: is 5 and maximum is 1", "/inputSchema/properties/a/default: is \"x\" and not of the type", "/inputSchema/properties/b/pattern: is no regular expression in any", "/inputSchema/properties/c/enum/1: \"x\" stands there twice", "/inputSchema/properties/d/pattern: is no RE2"}},
		{"argument without description", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}}`, []string{"/inputSchema/properties/a: has no description"}},
		{"name of an argument", `{` + good + `,"inputSchema":{"type":"object","properties":{"a b":{"description":"d","type":"string"}}}}`, []string{"/inputSchema/properties/a b: the name"}},
		{"output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":{"type":"array"}}`, []string{"/outputSchema/type: is \"array\"", "/outputSchema: is an array without items"}},
		{"no object", `5`, []string{"list: a tool is 5"}},
		{"no name", `{"name":"","description":"d","inputSchema":` + noArguments + `}`, []string{"[tool 1/name: does not match"}},
		{"description no string", `{"name":"t","description":null,"inputSchema":` + noArguments + `}`, []string{"/description: is null and has to be a string"}},
		{"null members", `{` + good + `,"title":null,"annotations":null,"icons":null,"_meta":null,"execution":null,"inputSchema":` + noArguments + `}`,
			[]string{"/title: is null", "/annotations: is null", "/icons: is null", "/execution: is null", "/_meta: is null"}},
		{"null hints", `{` + good + `,"annotations":{"title":5,"readOnlyHint":null,"destructiveHint":"no","idempotentHint":1,"openWorldHint":true},"inputSchema":` + noArguments + `}`,
			[]string{"/annotations/title: is 5", "/annotations/readOnlyHint: is null and has to be a boolean", "/annotations/destructiveHint: is \"no\"", "/annotations/idempotentHint: is 1"}},
		{"icons", `{` + good + `,"icons":[{"src":"https://x/y.png"},{"src":5},7],"inputSchema":` + noArguments + `}`, []string{"/icons/1: has no src", "/icons/2: has no src"}},
		{"null output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":null}`, []string{"/outputSchema: is null"}},
		{"case 35: properties a list", `{` + good + `,"inputSchema":{"type":"object","properties":[]}}`, []string{"/inputSchema/properties: is an array and has to be an object"}},
		{"required unknown", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"type":"string","description":"d"}},"required":["a","b","a",5]}}`,
			[]string{"/inputSchema/required/1: \"b\" is no property", "/inputSchema/required/2: \"a\" stands there twice", "/inputSchema/required/3: is 5"}},
		{"required unknown in output", `{` + good + `,"inputSchema":` + noArguments + `,"outputSchema":{"type":"object","properties":{},"required":["b"]}}`, nil},
		{"required without properties", `{` + good + `,"inputSchema":{"type":"object","properties":{"a":{"description":"d","anyOf":[{"required":["x"]}]}}}}`,
			[]string{"/inputSchema/properties/a/anyOf: several hosts"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			list := `{"tools":[` + tt.tool + `]}`
			for _, text := range []string{list, `{"jsonrpc":"2.0","id":1,"result":` + list + `}`} {
				found := Tools([]byte(text))
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

// TestToolsBelow checks that no schema is overlooked, whatever keyword it stands
// under.
func TestToolsBelow(t *testing.T) {
	const bad = `{"type":"array"}`
	at := func(keyword, value string) string {
		return `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object","properties":{"a":{"description":"d",` + keyword + `:` + value + `}}}}]}`
	}
	for _, k := range []string{"items", "not", "if", "then", "else", "contains", "propertyNames", "contentSchema", "additionalProperties", "unevaluatedProperties", "unevaluatedItems"} {
		found := fmt.Sprint(Tools([]byte(at(`"`+k+`"`, bad))))
		if want := "t/inputSchema/properties/a/" + k + ": is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"oneOf", "anyOf", "allOf", "prefixItems"} {
		found := fmt.Sprint(Tools([]byte(at(`"`+k+`"`, `[{"type":"string"},`+bad+`]`))))
		if want := "t/inputSchema/properties/a/" + k + "/1: is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
		if combines := strings.Contains(found, "/a/"+k+": several hosts ignore or refuse combinators"); combines != (k != "prefixItems") {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"} {
		found := fmt.Sprint(Tools([]byte(at(`"`+k+`"`, `{"x/y":`+bad+`}`))))
		if want := "t/inputSchema/properties/a/" + k + "/x~1y: is an array without items"; !strings.Contains(found, want) {
			t.Errorf("%s: got %s", k, found)
		}
	}
	for _, k := range []string{"$ref", "$dynamicRef", "$id", "$anchor", "$defs", "definitions"} {
		found := Tools([]byte(at(`"`+k+`"`, `"#"`)))
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
		found := Tools([]byte(at(name, value)))
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

// TestRejected: a finding that only makes a tool worse is no reason to fail,
// and every other one is; each says what to change.
func TestRejected(t *testing.T) {
	list := `{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"type":"string","anyOf":[{"type":"string"}],"nullable":true,"pattern":"(?=x)"}}}},{"name":"u v","description":"d"}]}`
	for _, f := range Tools([]byte(list)) {
		if f.Change == "" {
			t.Errorf("%s: no change", f)
		}
		if f.Rejected != (f.Tool == "u v") {
			t.Errorf("%s: rejected is %t", f, f.Rejected)
		}
	}
}

// FuzzTools: no list is too strange.
func FuzzTools(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"t","description":"d","inputSchema":` + noArguments + `,"outputSchema":{"type":["array"],"items":[true]}}]}`))
	f.Add([]byte(`{"result":{"tools":[{"inputSchema":{"properties":{"a":{"$ref":"#"}},"required":[null],"enum":[1]}},5]}}`))
	f.Add([]byte(`{"tools":[{"icons":[{}],"annotations":{"readOnlyHint":1},"inputSchema":{"pattern":5,"allOf":{},"not":[]}}]}`))
	f.Fuzz(func(t *testing.T, list []byte) {
		for _, f := range Tools(list) {
			if f.Text == "" || f.Place != "" && f.Place[0] != '/' {
				t.Errorf("%+v", f)
			}
		}
	})
}

// TestDialect has a dialect that is named as a warning: known hosts take it
// (case 38).
func TestDialect(t *testing.T) {
	found := Tools([]byte(`{"tools":[{"name":"t","description":"d","inputSchema":{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}}]}`))
	if len(found) != 1 || found[0].Rejected {
		t.Errorf("got %+v, want one warning", found)
	}
}
