// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// resultSchema compiles CallToolResult of a revision, or returns nil where the
// schemas are not at hand.
func resultSchema(t *testing.T, protocol string) *jsonschema.Schema {
	t.Helper()
	dir := cmp.Or(os.Getenv("WEIR_SPEC"), filepath.Join("..", "..", "shared", "spec"))
	b, err := os.ReadFile(filepath.Join(dir, protocol, "schema.json"))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	url := "mcp:///" + protocol
	if err := c.AddResource(url, strings.NewReader(string(b))); err != nil {
		t.Fatal(err)
	}
	defs := "#/definitions/"
	if strings.Contains(string(b), `"$defs"`) {
		defs = "#/$defs/"
	}
	s, err := c.Compile(url + defs + "CallToolResult")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What leaves is what the schema of each revision asks for.
func TestSpec(t *testing.T) {
	page := Page[map[string]int]{NextCursor: "abc"}
	page.Add(map[string]int{"a": 1})
	results := map[string]Result{
		"everything": everything(),
		"zero":       {},
		"page":       page.Result(),
		"nil slice":  JSON([]int(nil)),
		"nil struct": JSON((*lists)(nil)),
		"error":      Errorf("no such file: %s", "x"),
		"too large":  JSON(strings.Repeat("x", 100<<10)),
		"cut":        Text(strings.Repeat("x\n", 100<<10)),
		"media":      Image("image/png", make([]byte, 2<<20)),
		"many":       {Content: make([]Content, 2000)},
	}
	for i := range results["many"].Content {
		results["many"].Content[i] = TextContent{Text: "x"}
	}
	for _, protocol := range protocols {
		s := resultSchema(t, protocol)
		if s == nil {
			continue
		}
		for name, r := range results {
			got := encode(t, protocol, r)
			var v any
			if err := json.Unmarshal([]byte(got), &v); err != nil {
				t.Fatal(err)
			}
			if err := s.Validate(v); err != nil {
				t.Errorf("%s, %s: %#v\n%.1000s", protocol, name, err, got)
			}
		}
		// The check itself must be able to fail.
		for _, bad := range []string{`{"content":[{"type":"text"}],"resultType":"complete"}`, `{}`, `{"content":[{"type":"image","mimeType":"a"}],"resultType":"complete"}`} {
			var v any
			if err := json.Unmarshal([]byte(bad), &v); err != nil {
				t.Fatal(err)
			}
			if s.Validate(v) == nil {
				t.Errorf("%s: the schema takes %s", protocol, bad)
			}
		}
	}
}
