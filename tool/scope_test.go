// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"testing"

	"github.com/weir-mcp/weir/result"
)

// TestCursorScope checks what a cursor is bound to (case 71): the arguments as
// they are meant, however they are written, but for cursor and maxBytes.
func TestCursorScope(t *testing.T) {
	var r Registry
	var scope string
	Add(&r, Info{Name: "search"}, func(_ context.Context, req *Request, _ searchInput) (result.Result, error) {
		tool, query := req.CursorScope()
		scope = tool + " " + string(query)
		return result.Text("x"), nil
	})
	const want = `search {"context":0,"path":".","pattern":"é"}`
	for _, args := range []string{
		`{"pattern":"é","context":0}`,
		`{ "context" : 0.0, "pattern":"\u00e9", "path":"." }`,
		`{"maxBytes":4096,"pattern":"é","path":null,"context":0e5,"cursor":"x","globs":null}`,
	} {
		if _, err := r.Call(t.Context(), "search", args); err != nil || scope != want {
			t.Errorf("%s: got %s, %v", args, scope, err)
		}
	}
	for _, args := range []string{`{"pattern":"e","context":0}`, `{"pattern":"é","context":1}`, `{"pattern":"é","context":0,"globs":[]}`} {
		if r.Call(t.Context(), "search", args); scope == want {
			t.Errorf("%s has the scope of another query", args)
		}
	}
	type input struct {
		F float64 `json:"f"`
		A any     `json:"a,omitempty"`
	}
	Add(&r, Info{Name: "numbers"}, func(_ context.Context, req *Request, _ input) (result.Result, error) {
		_, query := req.CursorScope()
		scope = string(query)
		return result.Text("x"), nil
	})
	for want, list := range map[string][]string{
		`{"f":1}`:                                {`1`, `1.0`, `1e0`, `10e-1`, `0.1E+1`},
		`{"f":5e-1}`:                             {`0.5`, `5e-1`, `0.50`, `50e-2`},
		`{"f":-12e2}`:                            {`-1200`, `-1.2e3`, `-1200.0`},
		`{"f":0}`:                                {`0`, `-0`, `0.0`, `0e9`},
		`{"f":90071992547409931e-1}`:             {`9007199254740993.1`, `9.0071992547409931e15`},
		`{"a":["1.0 \" 2.0",{"1.0":2e1}],"f":3}`: {`3.0,"a":["1.0 \" 2.0",{"1.0":20}]`},
	} {
		for _, f := range list {
			if _, err := r.Call(t.Context(), "numbers", `{"f":`+f+`}`); err != nil || scope != want {
				t.Errorf("%s: got %s, want %s, %v", f, scope, want, err)
			}
		}
	}
}
