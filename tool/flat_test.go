// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	jsonv2 "github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/result"
)

type flatInput struct {
	Text  string  `json:"text,omitempty"`
	Name  string  // without a tag
	Small int8    `json:"small,omitempty"`
	Wide  int64   `json:"wide,omitempty"`
	Bits  uint16  `json:"bits,omitempty"`
	Share float64 `json:"share,omitempty"`
	Yes   bool    `json:"yes,omitempty" jsonschema:"default=true"`
	PageInput
}

// FuzzFlat checks that what is decoded while it is checked is what the decoder
// makes of it.
func FuzzFlat(f *testing.F) {
	for _, seed := range []string{
		`{"Name":"x"}`, `{"text":"a\u00e9\ud83d\ude00\ud800","Name":""}`, `{"Name":"é","small":-128,"bits":65535,"yes":false}`,
		`{"Name":"x","small":128}`, `{"Name":"x","wide":9223372036854775807}`, `{"Name":"x","wide":-9223372036854775808}`, `{"Name":"x","bits":-1}`,
		`{"Name":"x","share":1e400}`, `{"Name":"x","share":-0}`, `{"Name":"x","wide":1e3}`, `{"Name":"x","wide":null,"cursor":"c","maxBytes":2048}`,
		` { "Name" : "x" , "N\u0061me":"y" } `, `{"Name":"x","name":"y"}`, `{"Name":"x","text":"\/\b\u2028"}`,
	} {
		f.Add([]byte(seed))
	}
	var r Registry
	AddFunc(&r, Info{Name: "flat"}, func(context.Context, flatInput) (string, error) { return "", nil })
	t, _ := r.Lookup("flat")
	t.base = func(_ context.Context, req *Request) (result.Result, error) {
		in, err := decode[flatInput](t, req)
		var want flatInput
		wantErr := jsonv2.Unmarshal(req.Arguments, &want, t.decodeRules())
		if (err == nil) != (wantErr == nil) || err == nil && !reflect.DeepEqual(in, want) {
			return result.Result{}, &Error{Message: "decode differs"}
		}
		return result.Result{}, nil
	}
	t.wrap(nil)
	f.Fuzz(func(tt *testing.T, args []byte) {
		if checkSyntax(args) != nil {
			return
		}
		if _, err := r.Call(tt.Context(), "flat", args); err != nil && strings.Contains(err.Error(), "differs") {
			tt.Fatalf("%s: %v", args, err)
		}
	})
}

// Defaults and numbers such as 1e3 do not keep arguments from being decoded
// while they are checked.
func TestFlat(t *testing.T) {
	var r Registry
	tools := map[string]bool{}
	AddFunc(&r, Info{Name: "flat"}, func(context.Context, flatInput) (string, error) { return "", nil })
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, req *Request) (result.Result, error) {
			tools[string(req.Arguments)] = req.decoded != nil
			return next(ctx, req)
		}
	})
	for _, args := range []string{`{"Name":"x","yes":false}`, `{"Name":"x"}`, `{"Name":"x","wide":1e3,"text":null,"yes":true}`} {
		if res, err := r.Call(t.Context(), "flat", args); err != nil || res.IsError {
			t.Fatal(args, res, err)
		}
	}
	for args, decoded := range tools {
		if !decoded {
			t.Errorf("%s was not decoded while it was checked", args)
		}
	}
	if len(tools) != 3 {
		t.Errorf("%d calls", len(tools))
	}
}

// Types that are more than texts, numbers and booleans are left to the decoder.
func TestNotFlat(t *testing.T) {
	type own string
	for _, typ := range []reflect.Type{
		reflect.TypeFor[struct{ A []string }](),
		reflect.TypeFor[struct{ A *int }](),
		reflect.TypeFor[struct{ A own }](),
		reflect.TypeFor[struct{ A float32 }](),
		reflect.TypeFor[struct{ A json.Number }](),
		reflect.TypeFor[struct {
			A int64 `json:",string"`
		}](),
		reflect.TypeFor[struct{ *PageInput }](),
		reflect.TypeFor[map[string]int](),
	} {
		s, err := schemaOfType(typ, closedInput)
		if err != nil {
			t.Fatalf("%s: %v", typ, err)
		}
		if s.flat() != nil {
			t.Errorf("%s is said to be flat", typ)
		}
	}
	if s, err := schemaOfType(reflect.TypeFor[flatInput](), closedInput); err != nil || s.flat() == nil {
		t.Errorf("%T is not flat (%v)", flatInput{}, err)
	}
}

// A middleware may give a handler other arguments.
func TestFlatReplaced(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "echo"}, func(_ context.Context, in textInput) (string, error) { return in.Text, nil })
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, req *Request) (result.Result, error) {
			req.Arguments = []byte(`{"text":"two"}`)
			return next(ctx, req)
		}
	})
	res, err := r.Call(t.Context(), "echo", `{"text":"one"}`)
	if err != nil {
		t.Fatal(err)
	}
	if got := res.Content[0].(result.TextContent).Text; got != "two" {
		t.Errorf("the handler saw %q", got)
	}
}
