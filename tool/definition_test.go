// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v5"
)

var revisions = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// TestDefinition has what each revision is shown of a tool.
func TestDefinition(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{
		Name: "add", Title: "Add <two>", Description: "Adds.\u2028Numbers.",
		ReadOnly: Yes, Destructive: No, Icons: []Icon{{Src: "data:image/png;base64,AA==", MIMEType: "image/png", Sizes: []string{"48x48", "any"}, Theme: "dark"}},
		Meta: map[string]any{"b": []int(nil), "a": "x"}, MaxResultSizeChars: 200_000,
	}, addNumbers)
	const (
		name   = `{"name":"add","title":"Add <two>"`
		desc   = `,"description":"Adds.\u2028Numbers."`
		icons  = `,"icons":[{"src":"data:image/png;base64,AA==","mimeType":"image/png","sizes":["48x48","any"],"theme":"dark"}]`
		input  = `,"inputSchema":{"type":"object","properties":{"a":{"type":"integer","description":"The first number"},"b":{"type":"integer","description":"The second number"}},"required":["a","b"],"additionalProperties":false}`
		output = `,"outputSchema":{"type":"object","properties":{"sum":{"type":"integer"}},"required":["sum"],"additionalProperties":false}`
		hints  = `,"annotations":{"readOnlyHint":true,"destructiveHint":false}`
		meta   = `,"_meta":{"a":"x","anthropic/maxResultSizeChars":200000,"b":[]}}` // case 27
	)
	want := map[string]string{
		"":           `{"name":"add"` + desc + input + `}`,
		"2024-11-05": `{"name":"add"` + desc + input + `}`,
		"2025-03-26": `{"name":"add"` + desc + input + `,"annotations":{"title":"Add <two>","readOnlyHint":true,"destructiveHint":false}}`,
		"2025-06-18": name + desc + input + output + hints + meta,
		"2025-11-25": name + desc + icons + input + output + hints + meta,
		"2026-07-28": name + desc + icons + input + output + hints + meta,
	}
	tool, _ := r.Lookup("add")
	for protocol, want := range want {
		got := tool.Definition(protocol)
		if string(got) != want {
			t.Errorf("%s: got\n%s\nwant\n%s", protocol, got, want)
		}
		if again := tool.Definition(protocol); &again[0] != &got[0] {
			t.Errorf("%s: made twice", protocol)
		}
	}
}

// TestDefinitionPlain checks that nothing unset is shown, and that an output
// schema whose root is no object is shown to the one revision that knows it.
func TestDefinitionPlain(t *testing.T) {
	var r Registry
	if err := r.Register(Info{Name: "plain", AnyOutput: true, OutputSchema: []byte(`{"type":"string"}`)}, nothing); err != nil {
		t.Fatal(err)
	}
	tool, _ := r.Lookup("plain")
	for _, p := range revisions {
		want := `{"name":"plain","inputSchema":` + noArguments
		if p == "2026-07-28" {
			want += `,"outputSchema":{"type":"string"}`
		}
		if got := string(tool.Definition(p)); got != want+"}" {
			t.Errorf("%s: got %s", p, got)
		}
	}
}

// TestDefinitionSpec checks definitions against the protocol's own schemas,
// where they are at hand.
func TestDefinitionSpec(t *testing.T) {
	dir := os.Getenv("WEIR_SPEC")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "spec")
	}
	r := argumentTools()
	AddFunc(r, Info{Name: "add", Title: "Add", Description: "Adds.", ReadOnly: Yes, Idempotent: No, OpenWorld: Yes, Destructive: Yes,
		Icons: []Icon{{Src: "https://example.org/icon.png"}}, Meta: map[string]any{"example.org/x": 1}}, addNumbers)
	AddFunc(r, Info{Name: "list", AnyOutput: true}, addConstFunc([]item{}))
	for _, p := range revisions {
		text, err := os.ReadFile(filepath.Join(dir, p, "schema.json"))
		if err != nil {
			t.Skip("no specification here")
		}
		defs := "definitions"
		if bytes.Contains(text, []byte(`"$defs"`)) {
			defs = "$defs"
		}
		c := jsonschema.NewCompiler()
		if err := c.AddResource("mcp:///spec.json", bytes.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		s, err := c.Compile("mcp:///spec.json#/" + defs + "/Tool")
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range r.Tools() {
			doc, err := decodeDocument(tool.Definition(p))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(doc); err != nil {
				t.Errorf("%s: %s: %#v", p, tool.Info().Name, err)
			}
			if tool.Info().Name != "list" {
				continue
			}
			if _, has := doc.(object)["outputSchema"]; has != (p == "2026-07-28") {
				t.Errorf("%s shows an output schema without an object: %v", p, has)
			}
		}
	}
}
