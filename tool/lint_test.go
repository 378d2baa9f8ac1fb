// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"strings"
	"testing"
)

// TestLint: what internal/lint finds reaches an author (case 35 to case 40,
// case 50), and a good list has nothing.
func TestLint(t *testing.T) {
	for tool, want := range map[string]string{
		`{"name":"t","description":"d","inputSchema":` + noArguments + `}`:                                     "[]",
		`{"name":"a b","description":"d","inputSchema":` + noArguments + `}`:                                   "[a b/name: does not match ^[a-zA-Z0-9_-]{1,64}$: hosts hide all tools of the server]",
		`{"name":"t","description":"d","inputSchema":{"type":"object"}}`:                                       "[t/inputSchema: is an object without properties: hosts refuse the tool]",
		`{"name":"t","description":"d","inputSchema":` + noArguments + `,"annotations":{"readOnlyHint":null}}`: "[t/annotations/readOnlyHint: is null and has to be a boolean: hosts that check the list refuse all of it]",
	} {
		if got := fmt.Sprint(Lint([]byte(`{"tools":[` + tool + `]}`))); got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
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
