// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/result"
)

type addInput struct {
	A int64 `json:"a" jsonschema:"description=The first number"`
	B int64 `json:"b" jsonschema:"description=The second number"`
}

type addOutput struct {
	Sum int64 `json:"sum"`
}

func addNumbers(_ context.Context, in addInput) (addOutput, error) {
	return addOutput{Sum: in.A + in.B}, nil
}

type textInput struct {
	Text string `json:"text" jsonschema:"description=What to say"`
}

type searchInput struct {
	Pattern string   `json:"pattern" jsonschema:"description=What to look for,minLength=1"`
	Path    string   `json:"path,omitempty" jsonschema:"description=Where to look,default=."`
	Globs   []string `json:"globs,omitempty" jsonschema:"description=Names of files"`
	Mode    string   `json:"mode,omitempty" jsonschema:"enum=files,enum=lines"`
	Context int      `json:"context,omitempty" jsonschema:"minimum=0,maximum=10"`
	PageInput
}

func BenchmarkServe(b *testing.B) {
	var r Registry
	AddFunc(&r, Info{Name: "add"}, addNumbers)
	AddFunc(&r, Info{Name: "echo"}, func(_ context.Context, in textInput) (string, error) { return in.Text, nil })
	Add(&r, Info{Name: "search"}, func(context.Context, *Request, searchInput) (result.Result, error) {
		return result.Text("found"), nil
	})
	for _, bm := range []struct{ name, tool, args string }{
		{"add", "add", `{"a":1,"b":2}`},
		{"echo", "echo", `{"text":"` + strings.Repeat("x", 128) + `"}`},
		{"search", "search", `{"pattern":"func","path":"src","globs":["*.go"],"context":2}`},
		{"default", "search", `{"pattern":"func"}`},
		{"refused", "search", `{"pattern":5,"paht":"src"}`},
	} {
		b.Run(bm.name, func(b *testing.B) {
			t, _ := r.Lookup(bm.tool)
			ctx := context.Background()
			b.ReportAllocs()
			for b.Loop() {
				req := Request{Arguments: []byte(bm.args), Protocol: "2025-11-25"}
				if _, err := t.Serve(ctx, &req); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAccept(b *testing.B) {
	s, err := schemaOfType(reflect.TypeFor[addInput](), closedInput)
	if err != nil {
		b.Fatal(err)
	}
	n, err := s.node()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		a := acceptor{text: []byte(`{"a":1,"b":2}`)}
		if !a.accept(n) {
			b.Fatal("not accepted")
		}
	}
}

// BenchmarkSchema makes the schema of one type, without the cache.
func BenchmarkSchema(b *testing.B) {
	for _, t := range []reflect.Type{reflect.TypeFor[addInput](), reflect.TypeFor[searchInput]()} {
		b.Run(t.Name(), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := generate(t, closedInput); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkRegister registers and lists 1,000 typed tools: of one type, and as
// if each had types of its own.
func BenchmarkRegister(b *testing.B) {
	for _, own := range []bool{false, true} {
		b.Run(fmt.Sprintf("own=%v", own), func(b *testing.B) {
			for b.Loop() {
				var r Registry
				size := 0
				for i := range 1000 {
					if own {
						typeSchemas.Clear()
					}
					AddFunc(&r, Info{Name: fmt.Sprintf("add_%d", i), Description: "Adds."}, addNumbers)
				}
				for _, t := range r.Tools() {
					size += len(t.Definition("2025-11-25"))
				}
				if size == 0 {
					b.Fatal("empty")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/1000, "µs/tool")
		})
	}
}
