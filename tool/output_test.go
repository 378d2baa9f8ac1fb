// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

type (
	item struct {
		ID   int64  `json:"id"`
		Name string `json:"name,omitempty"`
	}
	listing struct {
		Items  []item         `json:"items"`
		Index  map[string]int `json:"index"`
		Nested struct {
			Deep [][]string `json:"deep"`
		} `json:"nested"`
		Next *item `json:"next"`
	}
	safeID struct {
		ID int64 `json:"id,string"`
	}
)

// TestAddFunc has what becomes of each kind of value that a plain function
// returns.
func TestAddFunc(t *testing.T) {
	const bigID = 1915883588174806058
	tests := []struct {
		name       string
		add        func(*Registry, Info)
		any        bool
		text       string
		structured string
	}{
		{name: "string", add: addConst("hello"), text: "hello"},
		{name: "named string", add: addConst(colour("red")), text: "red"},
		{name: "result", add: addConst(result.Text("own")), text: "own"},
		{name: "case 30: nil slices and maps", add: addConst(listing{}),
			structured: `{"items":[],"index":{},"nested":{"deep":[]}}`},
		{name: "case 30: nested nil", add: addConst(listing{Items: []item{{}}, Index: map[string]int{"a": 1}, Next: &item{ID: 2}}),
			structured: `{"items":[{"id":0}],"index":{"a":1},"nested":{"deep":[]},"next":{"id":2}}`},
		{name: "case 30: nil pointer", add: addConst((*listing)(nil)), structured: `{"items":[],"index":{},"nested":{"deep":[]}}`},
		{name: "case 30: nil slice at the root", add: addConst([]item(nil)), any: true, structured: `[]`},
		{name: "case 30: nil map", add: addConst(map[string]item(nil)), structured: `{}`},
		{name: "case 33: exact integers", add: addConst(item{ID: bigID, Name: "x"}), structured: `{"id":1915883588174806058,"name":"x"}`},
		{name: "case 33: as a string", add: addConst(safeID{ID: bigID}), structured: `{"id":"1915883588174806058"}`},
		{name: "number", add: addConst(42), any: true, structured: `42`},
		{name: "any", add: addConst[any](map[string]any{"a": []any{1, nil}}), any: true, structured: `{"a":[1,null]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Registry
			tt.add(&r, Info{Name: "t", AnyOutput: tt.any})
			res, err := r.Call(t.Context(), "t", nil)
			if err != nil {
				t.Fatal(err)
			}
			structured, _ := res.Structured.(jsontext.Value)
			if string(structured) != tt.structured {
				t.Errorf("structured is %s, want %s", structured, tt.structured)
			}
			if text := textOf(t, res); text != cmp.Or(tt.text, tt.structured) {
				t.Errorf("text is %s", text)
			}
			tool, _ := r.Lookup("t")
			if tool.out == nil {
				return
			}
			walkSchema(t, nonArrayRoot(tool.out.text))
			if found, err := tool.out.problems(structured); err != nil || len(found) > 0 {
				t.Errorf("%s does not fit %s: %v %v", structured, tool.out.text, found, err)
			}
		})
	}
}

// nonArrayRoot leaves out a root that AnyOutput allows and hosts do not.
func nonArrayRoot(text []byte) []byte {
	if string(lookup(text, "type")) == `"object"` {
		return text
	}
	return []byte(`{"type":"object","properties":{"root":` + string(text) + `}}`)
}

func addConst[Out any](out Out) func(*Registry, Info) {
	return func(r *Registry, info Info) { AddFunc(r, info, addConstFunc(out)) }
}

func addConstFunc[Out any](out Out) func(context.Context, struct{}) (Out, error) {
	return func(context.Context, struct{}) (Out, error) { return out, nil }
}

// TestAddFuncError checks that what stands beside an error is kept when it is
// something.
func TestAddFuncError(t *testing.T) {
	broken := errors.New("broken")
	var r Registry
	AddFunc(&r, Info{Name: "none"}, func(context.Context, struct{}) (*item, error) { return nil, broken })
	AddFunc(&r, Info{Name: "zero"}, func(context.Context, struct{}) (item, error) { return item{}, broken })
	AddFunc(&r, Info{Name: "some"}, func(context.Context, struct{}) (item, error) { return item{ID: 7}, broken })
	AddFunc(&r, Info{Name: "text"}, func(context.Context, struct{}) (string, error) { return "half", broken })
	for name, want := range map[string]string{
		"none": "broken", "zero": "broken",
		"some": `broken` + "\n" + `The output so far follows.|{"id":7}`,
		"text": "broken\nThe output so far follows.|half",
	} {
		res, err := r.Call(t.Context(), name, nil)
		got := textOf(t, res)
		if err != nil || got != want || !res.IsError || res.Structured != nil {
			t.Errorf("%s: got %q, structured %v, isError %v, %v", name, got, res.Structured, res.IsError, err)
		}
	}
}

// TestOutputSchema checks that structured content is validated, and that the
// peer is told nothing of what is wrong.
func TestOutputSchema(t *testing.T) {
	out := jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer","maximum":9},"p":{"type":["string","null"]},"q":{"type":"string"}},"required":["n"],"additionalProperties":false}`)
	tests := []struct {
		name string
		res  result.Result
		want string // structured; or, after "error ", words of the log; "-" for none
	}{
		{"fits", result.JSON(map[string]any{"n": 1}), `{"n":1}`},
		{"raw", result.JSON(jsontext.Value(`{ "n" : 1 }`)), `{"n":1}`},
		{"null for an optional property", result.JSON(map[string]any{"n": 1, "p": nil, "q": nil}), `{"n":1,"p":null}`},
		{"too large", result.JSON(map[string]any{"n": 10}), "error - n: found 10, wanted at most 9"},
		{"missing", result.JSON(map[string]any{}), "error - n: missing, wanted integer"},
		{"unknown", result.JSON(map[string]any{"n": 1, "secret": "x"}), "error - secret: unknown"},
		{"none", result.Text("x"), "error no structured content"},
		{"nil", result.JSON(nil), "error no structured content"},
		{"no object", result.JSON(5), "error - result: found 5, wanted object"},
		{"cannot be encoded", result.JSON(func() {}), "error "},
		{"raw JSON at fault", result.JSON(jsontext.Value(`{"n":1,"n":2}`)), "error "},
		{"error result", result.Result{IsError: true, Structured: map[string]any{"x": 1}}, "-"},
		{"over the budget", result.JSON(map[string]any{"n": 1, "q": strings.Repeat("x", 100_000)}), "-"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var r Registry
			if err := r.Register(Info{Name: "t", OutputSchema: out}, func(context.Context, *Request) (result.Result, error) { return tt.res, nil }); err != nil {
				t.Fatal(err)
			}
			res, err := r.Call(t.Context(), "t", nil)
			if words, isError := strings.CutPrefix(tt.want, "error "); isError {
				var internal *InternalError
				if !errors.As(err, &internal) || !strings.Contains(err.Error(), words) {
					t.Errorf("got %v, %v; want an internal error with %q", res, err, words)
				}
				if len(res.Content) > 0 || res.Structured != nil {
					t.Errorf("case 47: something is left to send: %v", res)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if tt.want == "-" {
				if !res.IsError || res.Structured != nil || len(res.Content) == 0 {
					t.Errorf("got %v", res)
				}
				return
			}
			if got, _ := res.Structured.(jsontext.Value); string(got) != tt.want || textOf(t, res) != tt.want {
				t.Errorf("got %s, text %s; want %s", got, textOf(t, res), tt.want)
			}
		})
	}
}

// TestAddPage checks the output schema of pages, and that pages fit it.
func TestAddPage(t *testing.T) {
	type input struct {
		N int `json:"n"`
		PageInput
	}
	type extra struct {
		Query string `json:"query"`
	}
	list := func(_ context.Context, req *Request, in input, page *result.Page[item]) error {
		page.Extra = extra{Query: "q"}
		for i := range in.N {
			if !page.Add(item{ID: int64(i), Name: "name"}) {
				page.NextCursor = "next"
				break
			}
		}
		if in.N == 3 {
			return errors.New("broken")
		}
		return nil
	}
	var r Registry
	AddPage(&r, Info{Name: "open"}, list)
	AddPage(&r, Info{Name: "closed", OutputSchema: PageSchema[item, extra]()}, list)
	for _, name := range []string{"open", "closed"} {
		tool, _ := r.Lookup(name)
		walkSchema(t, tool.out.text)
		for args, want := range map[string]string{
			`{"n":0}`:                    `"items":[]`,
			`{"n":2}`:                    `"items":[{"id":0,"name":"name"},{"id":1,"name":"name"}]`,
			`{"n":1000,"maxBytes":1024}`: `"nextCursor":"next"`,
		} {
			res, err := r.Call(t.Context(), name, args)
			if err != nil {
				t.Fatal(name, args, err)
			}
			got, _ := res.Structured.(jsontext.Value)
			if !strings.Contains(string(got), want) || !strings.Contains(string(got), `"query":"q"`) || len(got) > 1024 {
				t.Errorf("%s %s: got %s", name, args, got)
			}
		}
		res, err := r.Call(t.Context(), name, `{"n":3}`)
		if err != nil || !res.IsError || res.Structured != nil || !strings.Contains(textOf(t, res), "broken\nThe output so far follows.|") {
			t.Errorf("%s: got %v, %v", name, res, err)
		}
	}
	version := r.Version()
	mustPanic(t, `tool: "x": the input type has to embed tool.PageInput`, func() {
		AddPage(&r, Info{Name: "x"}, func(context.Context, *Request, struct{}, *result.Page[item]) error { return nil })
	})
	if _, ok := r.Lookup("x"); ok || r.Version() != version {
		t.Error("a tool that was refused is there, or was")
	}
	mustPanic(t, `tool: "x": item type struct { C chan int }: C: type chan int has no JSON form`, func() {
		AddPage(&r, Info{Name: "x"}, func(context.Context, *Request, PageInput, *result.Page[struct{ C chan int }]) error { return nil })
	})
	mustPanic(t, "no struct", func() { PageSchema[item, int]() })
	mustPanic(t, `the field "items"`, func() {
		PageSchema[item, struct {
			Items int `json:"items"`
		}]()
	})
}

func mustPanic(t *testing.T, words string, f func()) {
	t.Helper()
	defer func() {
		t.Helper()
		if v, _ := recover().(string); v == "" || !strings.Contains(v, words) {
			t.Errorf("panic is %q, want %q", v, words)
		}
	}()
	f()
}
