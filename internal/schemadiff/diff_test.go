// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/internal/toollist"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// line is a change in short: "breaks callers /place: text".
func line(c Change) string { return fmt.Sprintf("%s %s: %s", c.Verdict, c.Place, c.Text) }

func parse(t testing.TB, text string) *toollist.List {
	t.Helper()
	l, err := toollist.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return l
}

func compare(t testing.TB, old, new string) []string {
	t.Helper()
	var lines []string
	for _, c := range Compare(parse(t, old), parse(t, new)) {
		if c.Tool != "t" && c.Tool != "find_files" && c.Place != "" {
			t.Errorf("of tool %q: %+v", c.Tool, c)
		}
		lines = append(lines, line(c))
	}
	return lines
}

func check(t testing.TB, got []string, want ...string) {
	t.Helper()
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// TestSchemas changes the property v of the arguments and of the results. Each
// effect is judged for both: "-" is narrower, "+" wider, "x" both, "?" unclear.
func TestSchemas(t *testing.T) {
	verdicts := map[string][2]string{ // for input, and for output
		"-": {"breaks callers", "compatible"},
		"+": {"compatible", "breaks callers"},
		"x": {"breaks callers", "breaks callers"},
		"?": {"review", "review"},
		"~": {"review", "compatible"}, // softly narrower
		"^": {"compatible", "review"},
	}
	tests := []struct {
		name, old, new string
		want           []string // effect, blank, place below v, colon, text
	}{
		{"same", `{"type":"string"}`, `{"type":"string"}`, nil},
		{"types in another order", `{"type":["string","null"]}`, `{"type":["null","string"]}`, nil},
		{"type narrowed", `{"type":"number"}`, `{"type":"integer"}`, []string{`- /type: type changed from number to integer`}},
		{"type widened", `{"type":"integer"}`, `{"type":["number","string"]}`, []string{`+ /type: type changed from integer to string or number`}},
		{"type replaced", `{"type":"string"}`, `{"type":"integer"}`, []string{`x /type: type changed from string to integer`}},
		{"type overlaps", `{"type":["string","integer"]}`, `{"type":["string","boolean"]}`, []string{`x /type: type changed from string or integer to string or boolean`}},
		{"type given", `{}`, `{"type":"boolean"}`, []string{`- /type: type changed from any value to boolean`}},
		{"type of a required null", `{"type":["string","null"]}`, `{"type":"string"}`, []string{`- /type: type changed from string or null to string`}},
		{"true", `true`, `{}`, nil},
		{"never", `{"type":"string"}`, `false`, []string{`- : is never valid any more`}},
		{"ever", `false`, `{"type":"string"}`, []string{`+ : was never valid, and can be now`}},

		{"enum value removed", `{"type":"string","enum":["a","b","c"]}`, `{"type":"string","enum":["c","a"]}`, []string{`- /enum: enum value removed: "b"`}},
		{"enum values added", `{"enum":["a"]}`, `{"enum":["a","b",1.0]}`, []string{`+ /enum: enum values added: "b", 1.0`}},
		{"enum values replaced", `{"enum":[1]}`, `{"enum":[2]}`, []string{`- /enum: enum value removed: 1`, `+ /enum: enum value added: 2`}},
		{"enum numbers", `{"enum":[1,2]}`, `{"enum":[1.0,20e-1]}`, nil},
		{"const", `{"const":"a"}`, `{"type":"string","enum":["a","b"]}`, []string{`+ /enum: enum value added: "b"`}},
		{"enum added", `{"type":"string"}`, `{"type":"string","enum":["a"]}`, []string{`- /enum: enum added: "a"`}},
		{"enum removed", `{"enum":["a","b"]}`, `{"type":"string","maxLength":1}`, []string{`+ /enum: enum removed, which was "a", "b"`}},
		{"enum removed and some with it", `{"enum":["a","bb",5]}`, `{"type":"string","maxLength":1}`, []string{`x : enum removed, and not taken any more: "bb", 5`}},
		{"enum of other values", `{"type":"string"}`, `{"enum":["a",5]}`, []string{`x /enum: enum added: "a", 5, of which not taken before: 5`}},
		{"enum of all", `{"type":"boolean"}`, `{"enum":[true,false]}`, nil},
		{"enum of one", `{"type":"boolean"}`, `{"const":true}`, []string{`- /enum: enum value removed: false`}},

		{"minimum added", `{"type":"integer"}`, `{"type":"integer","minimum":0}`, []string{`- /minimum: minimum added: 0`}},
		{"minimum raised", `{"type":"number","minimum":1}`, `{"type":"number","minimum":1.5}`, []string{`- /minimum: minimum raised from 1 to 1.5`}},
		{"maximum raised", `{"type":"number","maximum":1}`, `{"type":"number","maximum":9007199254740993}`, []string{`+ /maximum: maximum raised from 1 to 9007199254740993`}},
		{"maximum by a digit", `{"type":"integer","maximum":9007199254740993}`, `{"type":"integer","maximum":9007199254740992}`, []string{`- /maximum: maximum lowered from 9007199254740993 to 9007199254740992`}},
		{"maximum removed", `{"type":"number","maximum":1}`, `{"type":"number"}`, []string{`+ /maximum: maximum removed, was 1`}},
		{"end opened", `{"type":"number","minimum":0}`, `{"type":"number","exclusiveMinimum":0}`, []string{`- /exclusiveMinimum: exclusiveMinimum changed from minimum 0 to 0`}},
		{"integers", `{"type":"integer","minimum":1,"maximum":9,"multipleOf":1}`, `{"type":"integer","exclusiveMinimum":0,"exclusiveMaximum":10,"maximum":9.5}`, nil},
		{"integers that differ", `{"type":"integer","exclusiveMaximum":10}`, `{"type":"integer","maximum":8.5}`, []string{`- /maximum: maximum lowered from exclusiveMaximum 10 to 8.5`}},
		{"bound of another type", `{"type":"string","minimum":0}`, `{"type":"string","minimum":5}`, nil},
		{"multipleOf", `{"type":"number","multipleOf":2}`, `{"type":"number","multipleOf":4}`, []string{`- /multipleOf: multipleOf changed from 2 to 4`}},
		{"multipleOf divided", `{"type":"number","multipleOf":0.2}`, `{"type":"number","multipleOf":0.1}`, []string{`+ /multipleOf: multipleOf changed from 0.2 to 0.1`}},
		{"multipleOf other", `{"type":"number","multipleOf":2}`, `{"type":"number","multipleOf":3}`, []string{`x /multipleOf: multipleOf changed from 2 to 3`}},

		{"maxLength lowered", `{"type":"string","maxLength":10}`, `{"type":"string","maxLength":5}`, []string{`- /maxLength: maxLength lowered from 10 to 5`}},
		{"minLength of nothing", `{"type":"string"}`, `{"type":"string","minLength":0}`, nil},
		{"minLength lowered", `{"type":"string","minLength":3}`, `{"type":"string","minLength":1}`, []string{`+ /minLength: minLength lowered from 3 to 1`}},
		{"pattern added", `{"type":"string"}`, `{"type":"string","pattern":"^a"}`, []string{`- /pattern: pattern added: "^a"`}},
		{"pattern changed", `{"type":"string","pattern":"^b"}`, `{"type":"string","pattern":"^a"}`, []string{`? /pattern: pattern changed from "^b" to "^a"`}},
		{"format added", `{"type":"string"}`, `{"type":"string","format":"date"}`, []string{`~ /format: format added: "date"`}},
		{"format removed", `{"type":"string","format":"date"}`, `{"type":"string"}`, []string{`^ /format: format removed, was "date"`}},
		{"encoding", `{"type":"string"}`, `{"type":"string","contentEncoding":"base64"}`, []string{`? /contentEncoding: contentEncoding added: "base64"`}},

		{"items", `{"type":"array","items":{"type":"string"}}`, `{"type":"array","items":{"type":"integer"}}`, []string{`x /items/type: type changed from string to integer`}},
		{"items given", `{"type":"array"}`, `{"type":"array","items":{"type":"integer"}}`, []string{`- /items/type: type changed from any value to integer`}},
		{"maxItems", `{"type":"array","items":{}}`, `{"type":"array","items":{},"maxItems":5,"uniqueItems":true}`, []string{`- /maxItems: maxItems added: 5`, `- /uniqueItems: the items have to be different now`}},
		{"prefixItems", `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, `{"type":"array","items":{"type":"integer"}}`, []string{`x /items/type: type changed from string to integer`}},
		{"prefixItems of another dialect", `{"type":"array","items":[{"type":"string"}],"additionalItems":{"type":"integer"}}`, `{"type":"array","prefixItems":[{"type":"string"}],"items":{"type":"integer"}}`, nil},
		{"contains", `{"type":"array","contains":{"type":"number"}}`, `{"type":"array","contains":{"type":"integer"}}`, []string{`- /contains/type: type changed from number to integer`}},

		{"map", `{"type":"object","additionalProperties":{"type":"integer"}}`, `{"type":"object","additionalProperties":{"type":"number"}}`, []string{`+ /additionalProperties/type: type changed from integer to number`}},
		{"map gone", `{"type":"object"}`, `{"type":"object","additionalProperties":{"type":"integer"}}`, []string{`- /additionalProperties/type: type changed from any value to integer`}},
		{"maxProperties", `{"type":"object"}`, `{"type":"object","maxProperties":3}`, []string{`- /maxProperties: maxProperties added: 3`}},
		{"property names", `{"type":"object","propertyNames":{"maxLength":5}}`, `{"type":"object","propertyNames":{"maxLength":4}}`, []string{`- /propertyNames/maxLength: maxLength lowered from 5 to 4`}},
		{"needs", `{"type":"object","dependentRequired":{"a":["b"]}}`, `{"type":"object","dependentRequired":{"a":["c"]}}`, []string{`+ /dependentRequired/a: a does not need "b" any more`, `- /dependentRequired/a: a needs "c" now`}},
		{"patterns of names", `{"type":"object","patternProperties":{"^x":{"type":"string"}}}`, `{"type":"object","patternProperties":{"^x":{"type":"integer"}}}`, []string{`x /patternProperties/^x/type: type changed from string to integer`}},

		{"a reference written out", `{"$ref":"#/$defs/s"}`, `{"type":"string"}`, nil},
		{"a reference with words", `{"allOf":[{"$ref":"#/$defs/s"}]}`, `{"type":"string"}`, nil},
		{"a reference changed", `{"$ref":"#/$defs/s"}`, `{"$ref":"#/$defs/n"}`, []string{`x /type: type changed from string to number`}},
		{"a reference that leads nowhere", `{"$ref":"#/$defs/no"}`, `{"$ref":"#/$defs/nor"}`, []string{`? /$ref: $ref changed from "#/$defs/no" to "#/$defs/nor"`}},
		{"an optional of another generator", `{"anyOf":[{"type":"string","maxLength":5},{"type":"null"}]}`, `{"type":["string","null"],"maxLength":5}`, nil},
		{"an optional enum of another generator", `{"anyOf":[{"enum":["a"],"type":"string"},{"type":"null"}]}`, `{"type":["string","null"],"enum":[null,"a"]}`, nil},
		{"one of both", `{"oneOf":[{"type":"string"},{"type":"integer","minimum":0}]}`, `{"type":["string","integer"],"minimum":1}`, []string{`- /minimum: minimum raised from 0 to 1`}},
		{"anyOf member removed", `{"anyOf":[{"minimum":5},{"maximum":1},{"const":3}]}`, `{"anyOf":[{"maximum":1},{"minimum":5}]}`, []string{`- /anyOf: one of anyOf removed: {"const":3}`}},
		{"anyOf member added", `{"anyOf":[{"minimum":5}],"type":"number"}`, `{"anyOf":[{"minimum":5},{"maximum":1}],"type":"number"}`, []string{`+ /anyOf/1: one of anyOf added: {"maximum":1}`}},
		{"anyOf member changed", `{"type":"number","anyOf":[{"minimum":5},{"maximum":1}]}`, `{"type":"number","anyOf":[{"maximum":1},{"minimum":6}]}`, []string{`- /anyOf/1/minimum: minimum raised from 5 to 6`}},
		{"allOf member added", `{"type":"number","allOf":[{"minimum":5}]}`, `{"type":"number","allOf":[{"minimum":5},{"maximum":7}]}`, []string{`- /maximum: maximum added: 7`}},
		{"enum as constants", `{"enum":["x","y"]}`, `{"anyOf":[{"const":"x"},{"const":"y","type":"string"}]}`, nil},
		{"constants as enum", `{"type":"string","oneOf":[{"const":"x","title":"X"},{"const":"y"}]}`, `{"type":"string","enum":["y","x"]}`, nil},
		{"allOf written flat", `{"allOf":[{"type":"string"},{"maxLength":5}]}`, `{"type":"string","maxLength":5}`, nil},
		{"an anchor", `{"$ref":"#foo","$defs":{"f":{"$anchor":"foo","type":"string"}}}`, `{"type":"string"}`, nil},
		{"number and integer", `{"type":"number"}`, `{"anyOf":[{"type":"number"},{"type":"integer"}]}`, []string{`^ /type: type changed from number to any value`, `? /anyOf: anyOf added, with 2 schemas`}},
		{"oneOf reordered and changed", `{"oneOf":[{"type":"object","properties":{"k":{"const":"p"}}},{"type":"object","properties":{"k":{"const":"q"}}}]}`,
			`{"oneOf":[{"type":"object","minProperties":1,"properties":{"k":{"const":"q"}}},{"type":"object","minProperties":1,"properties":{"k":{"const":"p"}}}]}`,
			[]string{`b /oneOf/1/minProperties: minProperties added: 1`, `b /oneOf/0/minProperties: minProperties added: 1`}},
		{"oneOf member changed", `{"type":"number","oneOf":[{"minimum":5},{"maximum":1}]}`, `{"type":"number","oneOf":[{"minimum":4},{"maximum":1}]}`, []string{`w /oneOf/0/minimum: minimum lowered from 5 to 4`}},
		{"not", `{"not":{"type":"string"}}`, `{"not":{"type":"integer"}}`, []string{`? /not: not changed`}},
		{"a keyword that nobody knows", `{"x-unit":"m"}`, `{"x-unit":"km"}`, []string{`? /x-unit: x-unit changed from "m" to "km"`}},
	}
	verdicts["b"] = [2]string{"breaks callers", "review"} // narrower among oneOf
	verdicts["w"] = [2]string{"review", "breaks callers"} // wider among oneOf
	list := func(v string, dir direction) string {
		object := `{"type":"object","properties":{"v":` + v + `},"required":["v"],"additionalProperties":false,"$defs":{"s":{"type":"string"},"n":{"type":"number"}}}`
		if dir == input {
			return `{"tools":[{"name":"t","inputSchema":` + object + `}]}`
		}
		return `{"tools":[{"name":"t","outputSchema":` + object + `}]}`
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, dir := range []direction{input, output} {
				var worst, mild []string
				for _, w := range tt.want {
					effect, rest, _ := strings.Cut(w, " ")
					place := "/inputSchema/properties/v"
					if dir == output {
						place = "/outputSchema/properties/v"
					}
					text := verdicts[effect][dir] + " " + place + rest
					if strings.HasPrefix(text, "compatible") {
						mild = append(mild, text)
						continue
					}
					worst = append(worst, text)
				}
				check(t, compare(t, list(tt.old, dir), list(tt.new, dir)), append(worst, mild...)...)
				check(t, compare(t, list(tt.old, dir), list(tt.old, dir)))
			}
		})
	}
}

// TestArguments changes the properties of the arguments.
func TestArguments(t *testing.T) {
	const s = `{"type":"string"}`
	tests := []struct {
		name, old, new string // members of the schema
		want           []string
	}{
		{"added", `"properties":{}`, `"properties":{"a":` + s + `}`, []string{"compatible /inputSchema/properties/a: optional argument added"}},
		{"added and required", `"properties":{}`, `"properties":{"a":` + s + `},"required":["a"]`, []string{"breaks callers /inputSchema/properties/a: required argument added"}},
		{"added to a map", `"additionalProperties":{"type":"integer"}`, `"properties":{"a":` + s + `},"additionalProperties":{"type":"integer"}`,
			[]string{"breaks callers /inputSchema/properties/a/type: type changed from integer to string", "compatible /inputSchema/properties/a: optional argument added"}},
		{"removed", `"properties":{"a":` + s + `},"additionalProperties":false`, `"properties":{},"additionalProperties":false`,
			[]string{"breaks callers /inputSchema/properties/a: argument removed"}},
		{"removed, others taken", `"properties":{"a":` + s + `}`, `"properties":{}`, []string{"review /inputSchema/properties/a: argument removed"}},
		{"removed, yet required", `"properties":{"a":` + s + `}`, `"properties":{},"required":["a"]`,
			[]string{"breaks callers /inputSchema/properties/a: argument is required now", "review /inputSchema/properties/a: argument removed"}},
		{"removed into a map", `"properties":{"a":` + s + `}`, `"additionalProperties":{"type":"integer"}`,
			[]string{"breaks callers /inputSchema/properties/a/type: type changed from string to integer", "breaks callers /inputSchema/additionalProperties/type: type changed from any value to integer",
				"review /inputSchema/properties/a: argument removed, and is one of those with any name now"}},
		{"renamed", `"properties":{"max_results":` + s + `},"additionalProperties":false`, `"properties":{"maxResults":{"type":"string","maxLength":9},"maxresults":` + s + `},"additionalProperties":false`,
			[]string{"breaks callers /inputSchema/properties/max_results: argument renamed to maxresults", "compatible /inputSchema/properties/maxResults: optional argument added"}},
		{"renamed by what it says", `"properties":{"q":{"type":"string","description":"what to look for"}}`, `"properties":{"pattern":{"type":"string","description":"what to look for"}},"required":["pattern"]`,
			[]string{"breaks callers /inputSchema/properties/q: argument renamed to pattern", "breaks callers /inputSchema/properties/pattern: argument is required now"}},
		{"replaced", `"properties":{"path":` + s + `},"additionalProperties":false`, `"properties":{"limit":` + s + `},"additionalProperties":false`,
			[]string{"breaks callers /inputSchema/properties/path: argument removed", "compatible /inputSchema/properties/limit: optional argument added"}},
		{"required", `"properties":{"a":` + s + `}`, `"properties":{"a":` + s + `},"required":["a"]`, []string{"breaks callers /inputSchema/properties/a: argument is required now"}},
		{"optional", `"properties":{"a":` + s + `},"required":["a"]`, `"properties":{"a":` + s + `}`, []string{"compatible /inputSchema/properties/a: argument is optional now"}},
		{"required in another order", `"properties":{"a":{},"b":{}},"required":["a","b"]`, `"properties":{"b":{},"a":{}},"required":["b","a"]`, nil},
		{"closed", ``, `"additionalProperties":false`, []string{"breaks callers /inputSchema/additionalProperties: unknown arguments are refused now"}},
		{"closed otherwise", `"additionalProperties":false`, `"unevaluatedProperties":false`, nil},
		{"opened", `"additionalProperties":false`, `"additionalProperties":{}`, []string{"compatible /inputSchema/additionalProperties: unknown arguments are taken now"}},
		{"null of an optional one", `"properties":{"a":{"anyOf":[{"type":"string"},{"type":"null"}],"default":null}}`, `"properties":{"a":` + s + `}`,
			[]string{"review /inputSchema/properties/a/type: null is not taken any more, only string"}},
		{"null in an enum", `"properties":{"a":{"enum":["x",null]}}`, `"properties":{"a":{"enum":["x"]}}`, []string{"review /inputSchema/properties/a/enum: null is not taken any more"}},
		{"default changed", `"properties":{"a":{"default":"x"}}`, `"properties":{"a":{"default":"y"}}`, []string{`review /inputSchema/properties/a/default: default changed from "x" to "y"`}},
		{"default added", `"properties":{"a":{},"b":{}},"required":["a"]`, `"properties":{"a":{"default":1},"b":{"default":2}}`,
			[]string{"review /inputSchema/properties/b/default: default added: 2", "compatible /inputSchema/properties/a/default: default added: 1", "compatible /inputSchema/properties/a: argument is optional now"}},
		{"default removed", `"properties":{"a":{"default":1}}`, `"properties":{"a":{}}`, []string{"review /inputSchema/properties/a/default: default removed, was 1"}},
		{"words", `"properties":{"a":{"description":"b","title":"c","examples":[1]}}`, `"properties":{"a":{"description":"d","deprecated":true}}`,
			[]string{`review /inputSchema/properties/a/description: description changed from "b" to "d"`, `compatible /inputSchema/properties/a/title: title removed, was "c"`,
				"compatible /inputSchema/properties/a/examples: examples removed, was an array", "compatible /inputSchema/properties/a/deprecated: deprecated added: true"}},
		{"a pattern of names", `"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false`, `"properties":{"xa":{"type":"integer"}},"patternProperties":{"^x":{"type":"string"}},"additionalProperties":false`,
			[]string{"breaks callers /inputSchema/properties/xa/type: type changed from string to integer", "compatible /inputSchema/properties/xa: optional argument added"}},
		{"inside of inside", `"properties":{"a/b":{"type":"array","items":{"type":"object","properties":{"c":` + s + `},"additionalProperties":false}}}`,
			`"properties":{"a/b":{"type":"array","items":{"type":"object","properties":{},"additionalProperties":false}}}`,
			[]string{"breaks callers /inputSchema/properties/a~1b/items/properties/c: argument removed"}},
		{"recursive", `"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"object","properties":{"kids":{"type":"array","items":{"$ref":"#/$defs/n"}}}}}`,
			`"properties":{"n":{"$ref":"#/definitions/n"}},"definitions":{"n":{"type":"object","properties":{"kids":{"type":"array","maxItems":3,"items":{"$ref":"#/definitions/n"}}}}}`,
			[]string{"breaks callers /inputSchema/properties/n/properties/kids/maxItems: maxItems added: 3"}},
		{"recursive by nothing", `"properties":{"n":{"$ref":"#/properties/n"}}`, `"properties":{"n":{"$ref":"#/properties/n"}}`, nil},
		{"shared", `"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"string"}}`,
			`"properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}`,
			[]string{"breaks callers /inputSchema/properties/a/type: type changed from string to integer", "breaks callers /inputSchema/properties/b/type: type changed from string to integer"}},
	}
	list := func(members string) string {
		return `{"tools":[{"name":"t","inputSchema":{` + strings.TrimSuffix(`"type":"object",`+members, ",") + `}}]}`
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, compare(t, list(tt.old), list(tt.new)), tt.want...)
			check(t, compare(t, list(tt.new), list(tt.new)))
		})
	}
}

// TestFields changes the fields of the results.
func TestFields(t *testing.T) {
	const s = `{"type":"string"}`
	tests := []struct {
		name, old, new string
		want           []string
	}{
		{"added", `"properties":{}`, `"properties":{"a":` + s + `}`, []string{"compatible /outputSchema/properties/a: field added"}},
		{"added to closed", `"properties":{},"additionalProperties":false`, `"properties":{"a":` + s + `},"additionalProperties":false`, []string{"review /outputSchema/properties/a: field added"}},
		{"removed", `"properties":{"a":` + s + `},"required":["a"]`, `"properties":{}`, []string{"breaks callers /outputSchema/properties/a: field removed"}},
		{"removed, optional", `"properties":{"a":` + s + `}`, `"properties":{}`, []string{"review /outputSchema/properties/a: field removed"}},
		{"renamed", `"properties":{"line_no":` + s + `}`, `"properties":{"lineNo":` + s + `},"required":["lineNo"]`,
			[]string{"breaks callers /outputSchema/properties/line_no: field renamed to lineNo", "compatible /outputSchema/properties/lineNo: field is required now"}},
		{"optional", `"properties":{"a":` + s + `},"required":["a"]`, `"properties":{"a":` + s + `}`, []string{"breaks callers /outputSchema/properties/a: field is optional now"}},
		{"required", `"properties":{"a":` + s + `}`, `"properties":{"a":` + s + `},"required":["a"]`, []string{"compatible /outputSchema/properties/a: field is required now"}},
		{"required by name only", `"required":["a"]`, `"properties":{"a":` + s + `}`, []string{"breaks callers /outputSchema/properties/a: field is optional now", "compatible /outputSchema/properties/a: field added"}},
		{"closed", ``, `"additionalProperties":false`, []string{"compatible /outputSchema/additionalProperties: there are no unknown fields any more"}},
		{"opened", `"additionalProperties":false`, ``, []string{"review /outputSchema/additionalProperties: there may be unknown fields now"}},
		{"words", `"description":"a","properties":{"a":{"default":1}}`, `"description":"b","properties":{"a":{"default":2}}`,
			[]string{"compatible /outputSchema/properties/a/default: default changed from 1 to 2", `compatible /outputSchema/description: description changed from "a" to "b"`}},
		{"null of an optional one", `"properties":{"a":{"type":["string","null"]}}`, `"properties":{"a":` + s + `}`, []string{"compatible /outputSchema/properties/a/type: type changed from string or null to string"}},
	}
	list := func(members string) string {
		return `{"tools":[{"name":"t","outputSchema":{` + strings.TrimSuffix(`"type":"object",`+members, ",") + `}}]}`
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { check(t, compare(t, list(tt.old), list(tt.new)), tt.want...) })
	}
}

// TestTools changes the definitions around the schemas.
func TestTools(t *testing.T) {
	const a = `"inputSchema":{"type":"object","properties":{"a":{"type":"string"}}}`
	tests := []struct {
		name, old, new string // definitions, without braces
		want           []string
	}{
		{"removed", `"name":"t",` + a, `"name":"other","inputSchema":{}`, []string{"compatible : tool added", "breaks callers : tool removed"}},
		{"renamed", `"name":"find_files",` + a, `"name":"findFile",` + a, []string{"breaks callers : tool renamed to findFile"}},
		{"renamed by what it says", `"name":"t","description":"Searches files.","inputSchema":{}`, `"name":"grep","description":"Searches files.",` + a,
			[]string{"breaks callers : tool renamed to grep", "compatible /inputSchema/properties/a: optional argument added"}},
		{"description", `"name":"t","description":"Finds files."`, `"name":"t","description":"Finds lines."`, []string{`review /description: description changed from "Finds files." to "Finds lines."`}},
		{"a long description", `"name":"t","description":"` + strings.Repeat("Finds files. ", 20) + `Then stops."`, `"name":"t","description":"` + strings.Repeat("Finds files. ", 20) + `Then goes on."`,
			[]string{`review /description: description changed from "…. Finds files. Then stops." to "…. Finds files. Then goes on."`}},
		{"title", `"name":"t"`, `"name":"t","title":"T"`, []string{`compatible /title: title added: "T"`}},
		{"hints", `"name":"t","annotations":{"readOnlyHint":true,"idempotentHint":false,"openWorldHint":false}`, `"name":"t","annotations":{"readOnlyHint":false,"destructiveHint":false,"openWorldHint":false,"title":"x"}`,
			[]string{"review /annotations/destructiveHint: destructiveHint added: false", "review /annotations/readOnlyHint: readOnlyHint changed from true to false",
				"compatible /annotations/idempotentHint: idempotentHint removed, was false", `compatible /annotations/title: title added: "x"`}},
		{"no hints", `"name":"t","annotations":null`, `"name":"t"`, nil},
		{"output added", `"name":"t"`, `"name":"t","outputSchema":{"type":"object"}`, []string{"compatible /outputSchema: output schema added"}},
		{"output removed", `"name":"t","outputSchema":{"type":"object"}`, `"name":"t"`, []string{"breaks callers /outputSchema: output schema removed"}},
		{"tasks", `"name":"t"`, `"name":"t","execution":{"taskSupport":"required"}`, []string{"breaks callers /execution/taskSupport: taskSupport changed from forbidden to required"}},
		{"tasks as well", `"name":"t"`, `"name":"t","execution":{"taskSupport":"optional"}`, []string{"compatible /execution/taskSupport: taskSupport changed from forbidden to optional"}},
		{"meta", `"name":"t","_meta":{"a":1}`, `"name":"t","_meta":{"a":2}`, []string{"review /_meta: _meta changed"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			check(t, compare(t, `{"tools":[{`+tt.old+`}]}`, `{"tools":[{`+tt.new+`}]}`), tt.want...)
		})
	}
	// Which way a hint goes is said.
	changes := Compare(parse(t, `{"tools":[{"name":"t","annotations":{"readOnlyHint":true,"destructiveHint":false}}]}`), parse(t, `{"tools":[{"name":"t","annotations":{"idempotentHint":true}}]}`))
	why := map[string]string{}
	for _, c := range changes {
		why[c.Place] = c.Why
	}
	for hint, want := range map[string]string{"readOnlyHint": "ask a person first", "destructiveHint": "ask a person first", "idempotentHint": "without asking"} {
		if got := why["/annotations/"+hint]; !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", hint, got, want)
		}
	}
}
