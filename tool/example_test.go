// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type GreetInput struct {
	Name string `json:"name" jsonschema:"description=Whom to greet,minLength=1"`
	Loud bool   `json:"loud,omitempty" jsonschema:"description=Shout?"`
}

func greet(ctx context.Context, in GreetInput) (string, error) {
	text := "Hello, " + in.Name + "!"
	if in.Loud {
		text = strings.ToUpper(text)
	}
	return text, nil
}

// A tool is a function and a description. Its arguments are validated before it
// is called, and what is wrong with them is said so that a model can put it
// right.
func Example() {
	var tools tool.Registry // the zero value is ready
	tool.AddFunc(&tools, tool.Info{Name: "greet", Description: "Greets somebody.", ReadOnly: tool.Yes}, greet)

	for _, args := range []string{`{"name":"Ada","loud":true}`, `{"nmae":"Ada","loud":"yes"}`} {
		res, err := tools.Call(context.Background(), "greet", args)
		if err != nil {
			panic(err)
		}
		fmt.Println(res.Content[0].(result.TextContent).Text)
	}
	// Output:
	// HELLO, ADA!
	// Invalid arguments; greet was not run.
	// - loud: found "yes" (string), wanted boolean
	// - name: missing, wanted string
	// - nmae: unknown; did you mean "name"?
}

// A handler that returns a struct gives structured content, and publishes its
// schema.
func ExampleAddFunc() {
	type Input struct {
		A int64 `json:"a"`
		B int64 `json:"b"`
	}
	type Output struct {
		Sum int64 `json:"sum"`
	}
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "add"}, func(ctx context.Context, in Input) (Output, error) {
		return Output{Sum: in.A + in.B}, nil
	})
	res, err := tools.Call(context.Background(), "add", Input{A: 1 << 60, B: 1})
	fmt.Printf("%s %v\n", res.Structured, err)
	// Output:
	// {"sum":1152921504606846977} <nil>
}

var positions cursor.Codec[int]

// A tool that pages stops at its budget, and goes on where its cursor says.
func ExampleAddPage() {
	type Input struct {
		Prefix string `json:"prefix"`
		tool.PageInput
	}
	words := strings.Fields(strings.Repeat("alpha beta gamma ", 100))

	var tools tool.Registry
	tool.AddPage(&tools, tool.Info{Name: "words", Budget: result.Budget{Items: 2}},
		func(ctx context.Context, req *tool.Request, in Input, page *result.Page[string]) error {
			from, err := positions.Decode(req, in.Cursor)
			if err != nil {
				return err // the model sees why, and starts again
			}
			for i, w := range words[from:] {
				if !strings.HasPrefix(w, in.Prefix) {
					continue
				}
				if !page.Add(w) {
					page.NextCursor, err = positions.Encode(req, from+i)
					return err
				}
			}
			return nil
		})

	res, err := tools.Call(context.Background(), "words", `{"prefix":"b"}`)
	if err != nil {
		panic(err)
	}
	text := res.Content[0].(result.TextContent).Text
	fmt.Println(text[strings.LastIndex(text, "beta\nbeta"):])
	// Output:
	// beta
	// beta
}

// Lint belongs in an author's own test.
func ExampleRegistry_Lint() {
	var tools tool.Registry
	tool.AddFunc(&tools, tool.Info{Name: "find"}, func(ctx context.Context, in struct {
		Query string `json:"query"`
	}) (string, error) {
		return "", nil
	})
	for _, f := range tools.Lint() {
		fmt.Println(f)
	}
	// Output:
	// find/description: missing: a model chooses by it
	// find/inputSchema/properties/query: has no description: a model guesses what goes in
}
