// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest_test

import (
	"context"
	jsonv1 "encoding/json"
	"math"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// anyInput has a field for each rule of result.Options.
type anyInput struct {
	Wait  time.Duration `json:"wait,omitzero"`
	At    *time.Time    `json:"at,omitzero"`
	URL   *url.URL      `json:"url,omitzero"`
	Data  []byte        `json:"data,omitzero"`
	Big   int64         `json:"big,omitzero"`
	Names []string      `json:"names,omitempty"`
	Text  string        `json:"text,omitzero"`
}

// TestSameInput: a client takes what tool.Registry.Call takes, with the same
// outcome, and refuses what that refuses.
func TestSameInput(t *testing.T) {
	var tools tool.Registry
	tool.Add(&tools, tool.Info{Name: "any"}, func(_ context.Context, req *tool.Request, _ anyInput) (result.Result, error) {
		return result.Text(string(req.Arguments)), nil
	})
	at, link := time.Unix(0, 0).UTC(), &url.URL{Scheme: "https", Host: "example.com"}
	tests := []struct {
		name string
		in   any
		bad  bool // not a JSON object
	}{
		{name: "nothing", in: nil},
		{name: "duration", in: anyInput{Wait: 90 * time.Second}},
		{name: "duration in a map", in: map[string]any{"wait": time.Second}},
		{name: "time and URL", in: anyInput{At: &at, URL: link}},
		{name: "bytes in a field", in: anyInput{Data: []byte("x")}},
		{name: "int64", in: anyInput{Big: math.MaxInt64}},
		{name: "json.Number", in: map[string]any{"big": jsonv1.Number("9007199254740993")}},
		{name: "nil slice", in: struct {
			Names []string `json:"names"`
		}{}},
		{name: "nil pointer", in: (*anyInput)(nil)},
		{name: "bad UTF-8", in: anyInput{Text: "a\xff"}},
		{name: "string", in: `{"wait":"1s"}`},
		{name: "string of several lines", in: "{\n\t\"text\": \"a\"\n}\n"},
		{name: "bytes", in: []byte(`{"text":"a"}`)},
		{name: "jsontext.Value", in: jsontext.Value(`{"text":"a"}`)},
		{name: "json.RawMessage", in: jsonv1.RawMessage(`{"text":"a"}`)},
		{name: "empty object", in: `{}`},
		{name: "unknown argument", in: `{"nope":1}`},
		{name: "given twice", in: `{"text":"a","text":"b"}`},
		{name: "array", in: `[1]`, bad: true},
		{name: "Go slice", in: []int{}, bad: true},
		{name: "empty string", in: "", bad: true},
		{name: "nil bytes", in: []byte(nil), bad: true},
		{name: "half", in: `{"text":`, bad: true},
		{name: "two values", in: `{} {}`, bad: true},
		{name: "raw bad UTF-8", in: "{\"text\":\"\xff\"}", bad: true},
		{name: "channel", in: map[string]any{"text": make(chan int)}, bad: true},
	}
	c := servertest.New(t, &server.Server{Name: "any", Tools: &tools})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want, wantErr := tools.Call(t.Context(), "any", tt.in)
			got, err := c.Call(t.Context(), "any", tt.in)
			if (wantErr != nil) != tt.bad || (err != nil) != tt.bad {
				t.Fatalf("errors are %v from the registry, %v from the client; want some: %t", wantErr, err, tt.bad)
			}
			if tt.bad {
				return
			}
			text := want.Content[0].(result.TextContent).Text
			if v := jsontext.Value(text); v.Compact() == nil {
				text = string(v) // on a wire it is one line
			}
			if got.Text() != text || got.IsError != want.IsError {
				t.Errorf("the client got %q (error: %t), the registry %q (error: %t)", got.Text(), got.IsError, text, want.IsError)
			}
		})
	}

	// What is sent without Call follows the same rules.
	params := map[string]any{"name": "any", "arguments": anyInput{Wait: time.Minute}}
	if v, err := c.Request(t.Context(), "tools/call", params); err != nil || !strings.Contains(string(v), `1m0s`) {
		t.Errorf("Request: %s, %v", v, err)
	}
	p, err := c.Begin(servertest.Request{Method: "tools/call", Params: params})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := p.Wait(t.Context()); err != nil || !strings.Contains(string(v), `1m0s`) {
		t.Errorf("Begin: %s, %v", v, err)
	}
	if err := c.Notify("notifications/progress", map[string]any{"progressToken": "t", "progress": 1, "waited": time.Second}); err != nil {
		t.Errorf("Notify: %v", err)
	}
	if err := c.Notify("notifications/progress", make(chan int)); err == nil {
		t.Error("Notify took a channel")
	}
}
