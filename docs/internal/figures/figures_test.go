// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"strings"
	"testing"
)

const sample = `{
	"when": "2026-01-02T03:04:05Z", "system": "linux/amd64", "cpu": "a processor", "go": "go1.26", "rounds": 5,
	"peers": [{"name": "go-sdk", "title": "go-sdk", "version": "v1"}, {"name": "mcp-go", "title": "mcp-go"}, {"name": "weir", "title": "Weir", "version": "this tree"}],
	"figures": [{
		"key": "stuck_cancel_ms", "title": "a cancel", "unit": "ms",
		"medians": {"go-sdk": 1234567.8, "mcp-go": null, "weir": 0.25},
		"weirOfFastestSDK": 0.5, "fastestSDK": "go-sdk",
		"targets": [{"target": "at most 1,000 ms", "met": "met"}]
	}],
	"notes": ["a note"]
}`

func TestTables(t *testing.T) {
	rep := new(report)
	if err := json.Unmarshal([]byte(sample), rep); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, have, want string }{
		{"all", rep.all(), "| a cancel, ms | 1,234,568 | never | 0.25 |\n\n* a note\n"},
		{"targets", rep.targets(), "| a cancel, ms | 0.25 |  | 0.50 × go-sdk | at most 1,000 ms: met |\n"},
		{"short", rep.short(), " | 1,234,568 | never | – | **0.25** |\n"},
		{"run", rep.about(), "Measured 2026-01-02 on linux/amd64, a processor, go1.26; medians over rounds in alternation: 5. go-sdk v1.\n"},
	}
	for _, tt := range tests {
		if !strings.HasSuffix(tt.have, tt.want) {
			t.Errorf("%s is\n%s\nwant at its end\n%s", tt.name, tt.have, tt.want)
		}
	}
}

func TestFill(t *testing.T) {
	tables := map[string]func() string{"a": func() string { return "new\n" }}
	const want = "x\n<!-- figures a -->\nnew\n<!-- end figures -->\ny"
	for _, text := range []string{strings.Replace(want, "new\n", "", 1), strings.Replace(want, "new", "old\nolder", 1), want} {
		if have, err := fill(text, tables); err != nil || have != want {
			t.Errorf("%q became %q, %v", text, have, err)
		}
	}
	if _, err := fill("<!-- figures b -->\n<!-- end figures -->", tables); err == nil {
		t.Error("an unknown table is no error")
	}
}
