// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
)

func TestHint(t *testing.T) {
	long := strings.Repeat("x", 40)
	property := func(names ...string) string {
		var all []string
		for _, n := range names {
			all = append(all, `"`+n+`":{"type":"string"}`)
		}
		return `{"type":"object","properties":{` + strings.Join(all, ",") + `}}`
	}
	for _, tt := range []struct {
		schema string
		pages  bool
		want   string
	}{
		{noArguments, false, "use another tool; this one has no arguments"},
		{`{"type":"object","properties":{}}`, false, ""},
		{property("a"), false, "narrow the argument a"},
		{property("path", "in file"), false, `narrow the arguments (path, "in file")`},
		{property("cursor", "path", "maxBytes"), true, "narrow the argument path"},
		{property("cursor", "path"), false, "narrow the arguments (cursor, path)"},
		{`{"type":"object","properties":{"cursor":{},"maxBytes":{}},"additionalProperties":false}`, true, "set maxBytes for a smaller page"},
		{`{"type":"object","properties":{"a":{"type":"boolean"},"n":{"type":"integer"}}}`, false, "narrow the argument n"},
		{`{"type":"object","properties":{"a":{"type":"boolean"}}}`, false, "narrow the argument a"},
		{property("a"+long, "b"+long, "c"+long), false, "narrow the arguments (a" + long + ", b" + long + ", …)"},
		{property(long + long), false, ""},
	} {
		got := hintOf([]byte(tt.schema), tt.pages)
		if got != tt.want || len(got) > maxHint {
			t.Errorf("%s: got %q (%d bytes), want %q", tt.schema, got, len(got), tt.want)
		}
	}
}

// TestHintUsed checks that whatever is left out of a result is said with the
// tool's own arguments, unless the author says it better.
func TestHintUsed(t *testing.T) {
	type input struct {
		Table string `json:"table,omitempty"`
		Where string `json:"where,omitempty"`
	}
	type rows struct {
		Rows []string `json:"rows"`
	}
	const args = "narrow the arguments (table, where)"
	var r Registry
	big := strings.Repeat("x", 2000)
	AddFunc(&r, Info{Name: "structured", Budget: result.Budget{Bytes: 1024}}, func(context.Context, input) (rows, error) {
		return rows{[]string{big}}, nil
	})
	AddFunc(&r, Info{Name: "text", Budget: result.Budget{Bytes: 1024}}, func(context.Context, input) (string, error) { return big, nil })
	AddFunc(&r, Info{Name: "none", Budget: result.Budget{Bytes: 1024}}, func(context.Context, struct{}) (string, error) { return big, nil })
	AddFunc(&r, Info{Name: "own", Budget: result.Budget{Bytes: 1024}}, func(context.Context, input) (result.Result, error) {
		res := result.JSON([]string{big})
		res.Hint = "ask later"
		return res, nil
	})
	AddPage(&r, Info{Name: "page"}, func(_ context.Context, _ *Request, in struct {
		input
		PageInput
	}, p *result.Page[string]) error {
		p.NextCursor = "c"
		p.Add("x")
		return nil
	})
	AddPage(&r, Info{Name: "all"}, func(_ context.Context, _ *Request, in PageInput, p *result.Page[string]) error {
		p.NextCursor = "c"
		p.Add("x")
		return nil
	})
	for name, want := range map[string]string{
		"structured": "its structured content is more than 2,000 bytes, the limit is 1,024 bytes. To get less, " + args + ".",
		"text":       "to see it, " + args + " …]",
		"none":       "to see it, use another tool; this one has no arguments …]",
		"own":        "To get less, ask later.",
		"page":       `Use cursor "c" to continue, or ` + args + ".",
		"all":        `Use cursor "c" to continue, or set maxBytes for a smaller page.`,
	} {
		res, err := r.Call(t.Context(), name, nil)
		if text := textOf(t, res); err != nil || !strings.Contains(text, want) {
			t.Errorf("%s: got %s, %v", name, text, err)
		}
		if res.Hint != "" && name != "own" {
			t.Errorf("%s: the hint is left in the result: %s", name, fmt.Sprint(res))
		}
	}
}
