// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/weir-mcp/weir/internal/document"
	"github.com/weir-mcp/weir/internal/toollist"
)

// maker makes random schemas and values. Objects are closed or maps: that an
// argument is added where unknown ones were taken is called compatible, though
// it is not for a caller that gave an unknown one.
type maker struct{ *rand.Rand }

func (m maker) pick(all ...any) any { return all[m.IntN(len(all))] }

func (m maker) small() any { return json.Number(fmt.Sprint(m.IntN(5))) }

// text and names are few, so that they are the same often.
func (m maker) text() any { return m.pick("", "a", "bb", "ccc") }

func (m maker) name() string { return m.pick("p", "q", "r").(string) }

func (m maker) schema(depth int) any {
	if m.IntN(20) == 0 {
		return m.IntN(4) > 0
	}
	s := document.Object{}
	if m.IntN(8) > 0 {
		types := []any{"null", "boolean", "integer", "number", "string"}
		if depth > 0 {
			types = append(types, "array", "object", "object")
		}
		s["type"] = m.pick(types...)
		if m.IntN(4) == 0 {
			if other := m.pick(types...); other != s["type"] {
				s["type"] = []any{s["type"], other}
			}
		}
	}
	for range m.IntN(4) {
		m.keyword(s, depth)
	}
	if declared, _ := declaredTypes(s); declared&objects != 0 && s["additionalProperties"] == nil {
		s["additionalProperties"] = false
		if m.IntN(3) == 0 && depth > 0 {
			s["additionalProperties"] = m.schema(0)
		}
		if s["additionalProperties"] == true {
			s["additionalProperties"] = false
		}
		if o, ok := s["additionalProperties"].(document.Object); ok && len(o) == 0 {
			s["additionalProperties"] = false
		}
	}
	return s
}

// keyword sets one keyword of s, or takes it away.
func (m maker) keyword(s document.Object, depth int) {
	keys := []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "enum", "const", "minItems", "maxItems", "uniqueItems"}
	if depth > 0 {
		keys = append(keys, "properties", "properties", "required", "items", "prefixItems", "contains", "anyOf", "allOf", "oneOf", "not", "minProperties", "maxProperties", "propertyNames",
			"dependentRequired", "dependentSchemas", "if", "then", "$ref", "patternProperties")
	}
	key := keys[m.IntN(len(keys))]
	if m.IntN(5) == 0 {
		delete(s, key)
		return
	}
	switch key {
	case "multipleOf":
		s[key] = m.pick(json.Number("1"), json.Number("2"), json.Number("0.5"), json.Number("4"))
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		s[key] = m.pick(m.small(), json.Number("1.5"), json.Number("2.5e0"))
	case "pattern":
		s[key] = m.pick("a", "b$", "^c")
	case "enum":
		s[key] = []any{m.value(1), m.value(0), m.value(0)}
		s[key] = slices.CompactFunc(s[key].([]any), func(a, b any) bool { return same(a, b) })
	case "const":
		s[key] = m.value(0)
	case "uniqueItems":
		s[key] = m.IntN(2) == 0
	case "properties", "dependentSchemas":
		o, _ := s[key].(document.Object)
		copied := without(o, m.name())
		copied[m.name()] = m.schema(depth - 1)
		s[key] = copied
	case "patternProperties":
		s[key] = document.Object{m.pick("p|q", "r").(string): m.schema(depth - 1)}
	case "required":
		s[key] = []any{m.name()}
	case "dependentRequired":
		s[key] = document.Object{m.name(): []any{m.name()}}
	case "items", "contains", "not", "propertyNames", "if", "then":
		s[key] = m.schema(depth - 1)
	case "prefixItems", "anyOf", "allOf", "oneOf":
		list := []any{m.schema(depth - 1)}
		if m.IntN(2) == 0 {
			list = append(list, m.schema(depth-1))
		}
		if old, ok := s[key].([]any); ok && m.IntN(2) == 0 {
			list = append(list, old...)
			m.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
		s[key] = list
	case "$ref":
		s[key] = m.pick("#/$defs/x", "#/$defs/y")
	default:
		s[key] = m.small()
	}
}

// mutate is a copy of a schema with something changed, somewhere.
func (m maker) mutate(v any, depth int) any {
	s, ok := v.(document.Object)
	if !ok || m.IntN(12) == 0 {
		return m.schema(depth)
	}
	s = without(s)
	for range 1 + m.IntN(2) {
		key := m.pick("properties", "items", "anyOf", "allOf", "oneOf", "type", "").(string)
		switch sub := s[key].(type) {
		case document.Object:
			if key != "properties" {
				s[key] = m.mutate(sub, depth-1)
				continue
			}
			for name, p := range sub {
				sub = without(sub)
				sub[name] = m.mutate(p, depth-1)
				break
			}
			s[key] = sub
		case []any:
			if key != "type" {
				sub = slices.Clone(sub)
				i := m.IntN(len(sub))
				sub[i] = m.mutate(sub[i], depth-1)
				s[key] = sub
			}
		default:
			m.keyword(s, depth)
		}
	}
	return s
}

func (m maker) value(depth int) any {
	kinds := 6
	if depth > 0 {
		kinds = 10
	}
	switch m.IntN(kinds) {
	case 0:
		return nil
	case 1:
		return m.IntN(2) == 0
	case 2, 3:
		return m.pick(m.small(), json.Number("1.5"), json.Number("2.0"))
	case 4, 5:
		return m.text()
	case 6, 7:
		list := []any{}
		for range m.IntN(3) {
			list = append(list, m.value(depth-1))
		}
		return list
	default:
		o := document.Object{}
		for range m.IntN(4) {
			o[m.name()] = m.value(depth - 1)
		}
		return o
	}
}

func compile(text string) (*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	if err := c.AddResource("mcp:///s", strings.NewReader(text)); err != nil {
		return nil, err
	}
	return c.Compile("mcp:///s")
}

var rounds = flag.Int("rounds", 1000, "pairs of schemas that TestSound makes")

// TestSound asks a validator: arguments that the old schema takes and the new
// one refuses, and results that only the new one takes, are never called
// compatible. Nor does a schema differ from itself.
func TestSound(t *testing.T) {
	rounds := *rounds
	apart, agreed := 0, 0
	for round := range rounds {
		m := maker{rand.New(rand.NewPCG(uint64(round), 7))}
		old := document.Object{"type": "object", "properties": document.Object{"v": m.schema(2)}, "additionalProperties": false,
			"$defs": document.Object{"x": m.schema(1), "y": m.schema(1)}}
		new := without(old)
		new["properties"] = document.Object{"v": m.mutate(old["properties"].(document.Object)["v"], 2)}
		if m.IntN(4) == 0 {
			new["$defs"] = document.Object{"x": m.mutate(old["$defs"].(document.Object)["x"], 1), "y": m.schema(1)}
		}
		oldText, newText := string(document.Append(nil, old)), string(document.Append(nil, new))
		a, errA := compile(oldText)
		b, errB := compile(newText)
		if errA != nil || errB != nil {
			continue // a reference that leads back to itself
		}
		for dir, schema := range []string{"inputSchema", "outputSchema"} {
			list := func(s string) *toollist.List { return parse(t, `{"tools":[{"name":"t","`+schema+`":`+s+`}]}`) }
			changes := Compare(list(oldText), list(newText))
			if again := Compare(list(oldText), list(oldText)); len(again) > 0 {
				t.Fatalf("a schema differs from itself: %v\n%s", again, oldText)
			}
			from, to := a, b
			if direction(dir) == output {
				from, to = b, a
			}
			for range 30 {
				v := document.Object{"v": m.value(2)}
				if from.Validate(v) != nil || to.Validate(v) == nil {
					continue
				}
				apart++
				if Worst(changes) == Compatible {
					t.Fatalf("%s of round %d: %s tells them apart, and they are called compatible: %v\nold %s\nnew %s", schema, round, document.Append(nil, v), changes, oldText, newText)
				}
				break
			}
			if Worst(changes) == Compatible {
				agreed++
			}
		}
	}
	t.Logf("%d pairs were told apart by a value, %d were called compatible", apart, agreed)
	if apart < rounds/20 || agreed < rounds/20 {
		t.Errorf("of %d pairs only %d were told apart, and %d called compatible", 2*rounds, apart, agreed)
	}
}

// FuzzCompare: no list is too strange, and none differs from itself.
func FuzzCompare(f *testing.F) {
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]},"outputSchema":{"anyOf":[{"type":"null"},{"type":"string","enum":["x"]}]}}]}`),
		[]byte(`{"tools":[{"name":"t","inputSchema":{"type":["object"],"additionalProperties":{"$ref":"#/properties/a"},"properties":{"a":{"minimum":1e9}}},"outputSchema":false}]}`))
	f.Add([]byte(`{"tools":[{"name":"t","inputSchema":{"items":[{"const":1}],"patternProperties":{"(":5},"dependentRequired":{"a":5},"oneOf":[[]],"allOf":[{"$ref":"#/allOf/0","x":1}]},"annotations":{"readOnlyHint":1}},5,{"name":7}]}`),
		[]byte(`{"tools":[{"name":"u","inputSchema":{"items":true,"patternProperties":5,"required":[5,"a"],"multipleOf":0,"minLength":"x","enum":[],"$ref":"#/%zz"}},{"name":"t","execution":5,"annotations":[]}]}`))
	f.Fuzz(func(t *testing.T, old, new []byte) {
		a, errA := toollist.Parse(old)
		b, errB := toollist.Parse(new)
		if errA != nil || errB != nil {
			return
		}
		for _, c := range append(Compare(a, b), Compare(b, a)...) {
			if c.Tool == "" || c.Text == "" || c.Place != "" && c.Place[0] != '/' {
				t.Errorf("%+v", c)
			}
		}
		for _, l := range [][]byte{old, new} {
			x, _ := toollist.Parse(l)
			y, _ := toollist.Parse(l)
			if changes := Compare(x, y); len(changes) > 0 {
				t.Errorf("a list differs from itself: %v", changes)
			}
		}
	})
}
