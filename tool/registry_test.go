// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/result"
)

func nothing(context.Context, *Request) (result.Result, error) { return result.Text("nothing"), nil }

// TestNames has which names are refused (case 50).
func TestNames(t *testing.T) {
	tests := []struct {
		name          string
		strict, loose bool
	}{
		{"grep", true, true},
		{"Read_File-2", true, true},
		{strings.Repeat("x", 64), true, true},
		{strings.Repeat("x", 65), false, true},
		{strings.Repeat("x", 128), false, true},
		{strings.Repeat("x", 129), false, false},
		{"a.b", false, true},
		{"a/b", false, true},
		{"New Tool", false, false},
		{"", false, false},
		{"é", false, false},
		{"a\n", false, false},
		{"a,b", false, false},
	}
	for _, tt := range tests {
		var r Registry
		if err := r.Register(Info{Name: tt.name}, nothing); (err == nil) != tt.strict {
			t.Errorf("%q: got %v", tt.name, err)
		} else if err != nil && !strings.Contains(err.Error(), fmt.Sprintf("tool: %q: the name does not match", tt.name)) {
			t.Errorf("%q: the error is %q", tt.name, err)
		}
		var loose Registry
		if err := loose.Register(Info{Name: tt.name, LooseName: true}, nothing); (err == nil) != tt.loose {
			t.Errorf("%q, loose: got %v", tt.name, err)
		}
	}
	var r Registry
	if err := r.Register(Info{Name: "a"}, nothing); err != nil {
		t.Fatal(err)
	}
	if err := r.Register(Info{Name: "a"}, nothing); err == nil || !strings.Contains(err.Error(), "is there already") {
		t.Errorf("the same name twice: got %v", err)
	}
}

// TestInfoRefused has what else registration refuses.
func TestInfoRefused(t *testing.T) {
	for words, info := range map[string]Info{
		"MaxResultSizeChars is not within": {MaxResultSizeChars: 500_001},
		"negative Timeout":                 {Timeout: -1},
		"negative MaxCalls":                {MaxCalls: -1},
		"negative Budget":                  {Budget: result.Budget{Items: -1}},
		"a hint is neither":                {Idempotent: 3},
		`the icon "x.png"`:                 {Icons: []Icon{{Src: "x.png"}}},
		"the icon theme":                   {Icons: []Icon{{Src: "https://example.org/x.png", Theme: "pink"}}},
		"field Meta:":                      {Meta: map[string]any{"x": make(chan int)}},
		"input schema:":                    {InputSchema: []byte("[")},
		"output schema:":                   {OutputSchema: []byte("{}x")},
	} {
		info.Name = "t"
		var r Registry
		if err := r.Register(info, nothing); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("got %v, want %q", err, words)
		}
	}
	var r Registry
	if err := r.Register(Info{Name: "t"}, nil); err == nil {
		t.Error("a nil handler was accepted")
	}
}

// TestAddPanics has what Add panics with, which names the tool and the place.
func TestAddPanics(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "there"}, addNumbers)
	mustPanic(t, `tool: "there": a tool of that name is there already`, func() { AddFunc(&r, Info{Name: "there"}, addNumbers) })
	mustPanic(t, `tool: "a b": the name does not match`, func() { AddFunc(&r, Info{Name: "a b"}, addNumbers) })
	mustPanic(t, `tool: "t": input type tool.badTag: A: unknown keyword "descriptoin"`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, badTag) (string, error) { return "", nil })
	})
	mustPanic(t, `tool: "t": output type`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, struct{}) (struct{ C chan int }, error) { return struct{ C chan int }{}, nil })
	})
	mustPanic(t, `tool: "t": output schema: the root is no object`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, struct{}) ([]string, error) { return nil, nil })
	})
	mustPanic(t, `tool: "t": output schema: the root is no object`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, struct{}) (any, error) { return nil, nil })
	})
	mustPanic(t, `tool: "t": input schema: arguments are an object`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, []string) (string, error) { return "", nil })
	})
	mustPanic(t, `tool: "t": input schema: mode: the default "c" does not fit the schema`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, struct {
			Mode string `json:"mode" jsonschema:"enum=a,enum=b,default=c"`
		}) (string, error) {
			return "", nil
		})
	})
	mustPanic(t, `tool: "t": input type struct { Wait time.Duration "json:\"wait\" jsonschema:\"default=90\"" }: wait: the default cannot be used: found "90", wanted a duration`, func() {
		AddFunc(&r, Info{Name: "t"}, func(context.Context, struct {
			Wait time.Duration `json:"wait" jsonschema:"default=90"`
		}) (string, error) {
			return "", nil
		})
	})
	mustPanic(t, `tool: "t": a text has no output schema`, func() {
		AddFunc(&r, Info{Name: "t", OutputSchema: []byte(noArguments)}, func(context.Context, struct{}) (string, error) { return "", nil })
	})
	mustPanic(t, `tool: "t": the handler is nil`, func() { AddFunc[struct{}, string](&r, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": the handler is nil`, func() { Add[struct{}](&r, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": the handler is nil`, func() { AddPage[PageInput, item](&r, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": the registry is nil`, func() { AddFunc[struct{}, string](nil, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": the registry is nil`, func() { Add[struct{}](nil, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": the registry is nil`, func() { AddPage[PageInput, item](nil, Info{Name: "t"}, nil) })
	mustPanic(t, `tool: "t": item type func(): `, func() { AddPage[PageInput, func()](&r, Info{Name: "t"}, nil) })
	if err := (*Registry)(nil).Register(Info{Name: "t"}, echoRaw); err == nil || err.Error() != `tool: "t": the registry is nil` {
		t.Errorf("got %v", err)
	}
	if err := r.Register(Info{Name: "t"}, nil); err == nil || err.Error() != `tool: "t": the handler is nil` {
		t.Errorf("got %v", err)
	}
	mustPanic(t, "tool: Use: middleware 1 is nil", func() {
		r.Use(func(next Handler) Handler { return next }, nil)
	})
	if len(r.Tools()) != 1 {
		t.Errorf("%d tools", len(r.Tools()))
	}
}

// TestRegistry has the life of a registry: its order, versions and watchers.
func TestRegistry(t *testing.T) {
	var r Registry
	if r.Version() != 0 || len(r.Tools()) != 0 || r.Tools() == nil || r.Remove("a") {
		t.Error("the zero registry is not empty")
	}
	var seen []string
	names := func() string {
		var all []string
		for _, tool := range r.Tools() {
			all = append(all, tool.Info().Name)
		}
		return strings.Join(all, " ")
	}
	stop := r.OnChange(func() { seen = append(seen, fmt.Sprint(r.Version(), " ", names())) })
	for _, name := range []string{"b", "c", "a"} {
		if err := r.Register(Info{Name: name}, nothing); err != nil {
			t.Fatal(err)
		}
	}
	before := r.Tools()
	tool, _ := r.Lookup("b")
	if !r.Remove("b") || r.Remove("b") {
		t.Error("Remove does not tell what it did")
	}
	if _, ok := r.Lookup("b"); ok {
		t.Error("a removed tool is there")
	}
	if len(before) != 3 {
		t.Error("a list that was handed out changed")
	}
	if res, err := tool.Serve(t.Context(), &Request{}); err != nil || textOf(t, res) != "nothing" {
		t.Errorf("a call of a removed tool that was looked up before: %v, %v", res, err)
	}
	stop()
	stop()
	r.Register(Info{Name: "d"}, nothing)
	want := []string{"1 b", "2 b c", "3 a b c", "4 a c"}
	if fmt.Sprint(seen) != fmt.Sprint(want) {
		t.Errorf("the watcher saw %q, want %q", seen, want)
	}
}

// TestMiddleware checks the order of middleware, and that it reaches tools of
// before and after.
func TestMiddleware(t *testing.T) {
	var r Registry
	var trace []string
	mark := func(name string) Middleware {
		return func(next Handler) Handler {
			return func(ctx context.Context, req *Request) (result.Result, error) {
				trace = append(trace, name+":"+req.Tool)
				res, err := next(ctx, req)
				trace = append(trace, name)
				return res, err
			}
		}
	}
	AddFunc(&r, Info{Name: "early"}, addNumbers)
	r.Use(mark("a"), mark("b"))
	AddFunc(&r, Info{Name: "late"}, addNumbers)
	r.Use(mark("c"))
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, req *Request) (result.Result, error) {
			if string(req.Arguments) == `{"a":0,"b":0}` {
				return result.Error("not today"), nil
			}
			return next(ctx, req)
		}
	})
	for _, name := range []string{"early", "late"} {
		trace = nil
		res, err := r.Call(t.Context(), name, `{"a":1,"b":2}`)
		if err != nil || textOf(t, res) != `{"sum":3}` {
			t.Errorf("got %v, %v", res, err)
		}
		if got, want := strings.Join(trace, " "), strings.ReplaceAll("a:t b:t c:t c b a", ":t", ":"+name); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		res, err = r.Call(t.Context(), name, `{"a":0.0,"b":-0}`)
		if err != nil || textOf(t, res) != "not today" || !res.IsError {
			t.Errorf("got %v, %v", res, err)
		}
	}
}

// TestRegistryAtOnce uses a registry from many goroutines, for -race.
func TestRegistryAtOnce(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "add"}, addNumbers)
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			name := fmt.Sprintf("tool%d", i)
			stop := r.OnChange(func() { r.Tools() })
			defer stop()
			for range 20 {
				if err := r.Register(Info{Name: name, InputSchema: []byte(`{"type":"object"}`)}, nothing); err != nil {
					t.Error(err)
				}
				r.Use(func(next Handler) Handler { return next })
				for _, args := range []string{`{"a":1,"b":2}`, `{"a":1.0,"b":2}`, `{"a":"x"}`} {
					if _, err := r.Call(t.Context(), "add", args); err != nil {
						t.Error(err)
					}
				}
				for _, tool := range r.Tools() {
					tool.Definition("2025-11-25")
				}
				r.Version()
				r.Remove(name)
			}
		})
	}
	wg.Wait()
	if len(r.Tools()) != 1 {
		t.Errorf("%d tools are left", len(r.Tools()))
	}
}
