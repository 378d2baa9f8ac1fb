// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"io"
	"maps"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/weir-mcp/weir/internal/quote"
)

func bound(t *testing.T, r Result, b Budget, s Store) Result {
	t.Helper()
	out, err := Bound(t.Context(), r, b, s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// texts returns what a model reads of r, block by block.
func texts(r Result) []string {
	var out []string
	for _, c := range r.Content {
		switch c := c.(type) {
		case TextContent:
			out = append(out, c.Text)
		case EmbeddedContent:
			out = append(out, c.Resource.URI+c.Resource.MIMEType+c.Resource.Text)
		case LinkContent:
			out = append(out, c.URI+c.Name+c.Title+c.Description+c.MIMEType)
		}
	}
	return out
}

func encodedLen(texts []string) int {
	n := 0
	for _, s := range texts {
		n += quote.Len(s) - 2
	}
	return n
}

func cutMeta(t *testing.T, r Result) truncated {
	t.Helper()
	var got truncated
	if v, ok := r.Meta[TruncatedKey]; ok {
		if err := json.Unmarshal(v.(jsontext.Value), &got, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
	}
	return got
}

func TestBudgetDefaults(t *testing.T) {
	for _, tt := range []struct{ b, d, want Budget }{
		{Budget{}, Budget{}, Budget{32 << 10, 1000, 1 << 20}},
		{Budget{Bytes: 5000}, Budget{Bytes: 6000, Items: 7}, Budget{5000, 7, 1 << 20}},
		{Budget{-1, -1, -1}, Budget{-1, -1, 9}, Budget{32 << 10, 1000, 9}},
		{Budget{Bytes: 1}, Budget{}, Budget{1 << 10, 1000, 1 << 20}},
	} {
		if got := tt.b.WithDefaults(tt.d); got != tt.want {
			t.Errorf("%+v with %+v: got %+v, want %+v", tt.b, tt.d, got, tt.want)
		}
	}
}

// case 32: a structured result has a text, which is the same in compact JSON,
// unless its author gave one.
func TestBoundStructured(t *testing.T) {
	out := bound(t, JSON(struct {
		ID   int64 `json:"id"`
		List []int `json:"list"`
	}{ID: 1915883588174806058}), Budget{}, nil)
	const want = `{"id":1915883588174806058,"list":[]}`
	if v, ok := out.Structured.(jsontext.Value); !ok || string(v) != want {
		t.Errorf("structured %s", out.Structured)
	}
	if got := texts(out); len(got) != 1 || got[0] != want {
		t.Errorf("text %q", got)
	}
	r := JSON(1)
	r.Content = Text("one").Content
	if got := texts(bound(t, r, Budget{}, nil)); len(got) != 1 || got[0] != "one" {
		t.Errorf("text %q", got)
	}
	// case 30: a nil pointer is an object all the same.
	out = bound(t, JSON((*lists)(nil)), Budget{}, nil)
	if v := out.Structured.(jsontext.Value); v.Kind() != '{' {
		t.Errorf("structured %s", v)
	}
}

// JSON of an author never reaches the result as he wrote it.
func TestBoundRaw(t *testing.T) {
	for name, in := range map[string]any{
		"indent": jsonv1.RawMessage("{\n  \"a\": 1\n}"),
		"CRLF":   jsontext.Value("{\r\n\"a\":1}\r\n"),
		"method": method("{\t\"a\":\n1}"),
		"nested": map[string]any{"a": jsontext.Value("\n1")},
	} {
		out := bound(t, Result{Structured: in, Meta: map[string]any{"m": in}}, Budget{}, nil)
		if got := string(out.Structured.(jsontext.Value)); got != `{"a":1}` {
			t.Errorf("%s: structured %s", name, got)
		}
		if got := string(out.Meta["m"].(jsontext.Value)); got != `{"a":1}` {
			t.Errorf("%s: _meta %s", name, got)
		}
	}
	for name, in := range map[string]any{
		"duplicate":        jsonv1.RawMessage(`{"a":1,"a":1}`),
		"bad UTF-8":        jsontext.Value("\"\xff\""),
		"method duplicate": method(`{"a":1,"a":1}`),
		"syntax":           jsontext.Value("{"),
	} {
		if out, err := Bound(t.Context(), JSON(in), Budget{}, nil); err == nil {
			t.Errorf("%s: %s", name, out.Structured)
		}
		if out, err := Bound(t.Context(), Result{Meta: map[string]any{"m": in}}, Budget{}, nil); err == nil {
			t.Errorf("%s in _meta: %s", name, out.Meta)
		}
	}
	if _, err := Bound(t.Context(), Result{Content: []Content{nil}}, Budget{}, nil); err == nil {
		t.Error("a nil block passed")
	}
}

// Annotations that a host would not take, a number that is not JSON above all,
// are an author's mistake, in a block of any kind.
func TestBoundAnnotations(t *testing.T) {
	kinds := func(a *Annotations) []Content {
		return []Content{
			TextContent{Text: "t", Annotations: a}, &TextContent{Annotations: a}, ImageContent{Annotations: a},
			AudioContent{Annotations: a}, LinkContent{Annotations: a}, EmbeddedContent{Annotations: a},
		}
	}
	for _, a := range []*Annotations{
		{Priority: ptr(math.NaN())}, {Priority: ptr(math.Inf(1))}, {Priority: ptr(math.Inf(-1))},
		{Priority: ptr(1.0000001)}, {Priority: ptr(-1e-9)}, {Audience: []string{"user", "model"}}, {Audience: []string{""}},
	} {
		for _, c := range kinds(a) {
			if _, err := Bound(t.Context(), Result{Content: []Content{c}}, Budget{}, nil); err == nil {
				t.Errorf("%T with %+v passed", c, a)
			}
			e := Encoding{Protocol: "2025-11-25"}
			if _, err := e.Append(t.Context(), nil, Result{Content: []Content{c}}); err == nil && a.Priority != nil && math.IsNaN(*a.Priority) {
				t.Errorf("%T with %+v was encoded", c, a)
			}
		}
	}
	for _, a := range []*Annotations{{}, {Priority: ptr(0.0)}, {Priority: ptr(1.0)}, {Audience: []string{"assistant", "user"}}} {
		if _, err := Bound(t.Context(), Result{Content: kinds(a)}, Budget{}, nil); err != nil {
			t.Errorf("%+v: %v", a, err)
		}
	}
}

// Structured content that is too large becomes an error that names size, limit
// and what to ask for instead; it is not built.
func TestBoundStructuredTooLarge(t *testing.T) {
	rows := make([]map[string]string, 20)
	for i := range rows {
		rows[i] = map[string]string{"body": strings.Repeat("x", 5<<10)}
	}
	whole, err := json.Marshal(rows)
	if err != nil {
		t.Fatal(err)
	}
	r := Result{Structured: rows, Content: Text("the author's words").Content, Hint: `set "limit" to less than 20`}
	out := bound(t, r, Budget{}, nil)
	got := texts(out)
	want := "The result is too large to return: its structured content is " + comma(int64(len(whole))) +
		` bytes, the limit is 32,768 bytes. To get less, set "limit" to less than 20.`
	if !out.IsError || out.Structured != nil || len(got) != 2 || got[0] != want || got[1] != "the author's words" {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
	if cut := cutMeta(t, out); cut.StructuredBytes != int64(len(whole)) {
		t.Errorf("_meta %+v, size is %d", cut, len(whole))
	}
	// The text of structured content may be over the budget alone.
	out = bound(t, JSON(make([]bool, 6000)), Budget{Bytes: 36001}, nil)
	if out.IsError || out.Meta != nil {
		t.Errorf("structured content that fits: %+v", out.Meta)
	}
	quotes := strings.Repeat(`"`, 16000)
	out = bound(t, JSON(quotes), Budget{}, nil)
	if out.IsError || !strings.Contains(texts(out)[0], "left out here; the structured content is whole; if you cannot see it, narrow the arguments …]") || len(out.Structured.(jsontext.Value)) != 32002 {
		t.Errorf("structured content of %d bytes: %.300q", len(out.Structured.(jsontext.Value)), texts(out))
	}
}

// case 28: media has a budget of its own, and is whole or not there.
func TestBoundMedia(t *testing.T) {
	data := make([]byte, 300<<10) // 400 KiB in base64
	r := Result{Content: []Content{
		ImageContent{Data: data, MIMEType: "image/png"},
		AudioContent{Data: data, MIMEType: "audio/wav"},
		EmbeddedContent{Resource: Resource{URI: "file:///a", MIMEType: "application/zip", Blob: data}},
		ImageContent{Data: data[:99<<10], MIMEType: "image/gif"},
	}}
	out := bound(t, r, Budget{Bytes: 1 << 10}, nil)
	for i, want := range []Content{ImageContent{}, AudioContent{}, TextContent{}, ImageContent{}} {
		if got := out.Content[i]; reflect.TypeOf(got) != reflect.TypeOf(want) {
			t.Errorf("block %d is a %T, want a %T", i, got, want)
		}
	}
	const want = "[resource application/zip of 307,200 bytes left out: 409,600 bytes in base64, and the limit for the media of a result is 1,048,576]"
	if got := texts(out)[0]; got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
	if cut := cutMeta(t, out); cut.MediaBytes != 300<<10 || cut.MediaBlocks != 1 {
		t.Errorf("_meta %+v", cut)
	}
	if got := out.Content[0].(ImageContent).Data; len(got) != len(data) {
		t.Errorf("%d bytes of the image", len(got))
	}
	one := bound(t, Image("image/png", make([]byte, 768<<10)), Budget{}, nil)
	if _, ok := one.Content[0].(ImageContent); !ok {
		t.Error("an image of exactly the budget was left out")
	}
	one = bound(t, Image("image/png", make([]byte, 768<<10+1)), Budget{}, nil)
	if _, ok := one.Content[0].(TextContent); !ok {
		t.Error("an image over the budget was sent")
	}
}

// Blocks past the limit of items are counted.
func TestBoundItems(t *testing.T) {
	r := Result{Content: make([]Content, 1500)}
	for i := range r.Content {
		r.Content[i] = TextContent{Text: "x"}
	}
	out := bound(t, r, Budget{}, nil)
	got := texts(out)
	if len(got) != 1000 || got[999] != "[501 more content blocks, 501 bytes, left out; to see them, narrow the arguments]" {
		t.Errorf("%d blocks, the last %q", len(got), got[len(got)-1])
	}
	if cut := cutMeta(t, out); cut.Blocks != 501 {
		t.Errorf("_meta %+v", cut)
	}
}

// _meta is bounded too, and what an author gave is not changed.
func TestBoundMeta(t *testing.T) {
	m := map[string]any{"a": []int(nil), "b": strings.Repeat("x", 20<<10), "c": strings.Repeat("y", 20<<10), "d": int64(1) << 60}
	r := Result{Content: []Content{TextContent{Text: "t", Meta: maps.Clone(m)}}, Meta: m}
	out := bound(t, r, Budget{}, nil)
	block := out.Content[0].(TextContent).Meta
	if len(block) != 3 || block["c"] != nil || string(block["a"].(jsontext.Value)) != `[]` || string(block["d"].(jsontext.Value)) != `1152921504606846976` {
		t.Errorf("the block's _meta has %d values", len(block))
	}
	if len(out.Meta) != 3 || out.Meta["b"] != nil || cutMeta(t, out).Meta != 3 {
		t.Errorf("_meta has %d values, %+v", len(out.Meta), cutMeta(t, out))
	}
	if len(m) != 4 || m["a"] == nil {
		t.Error("the author's map was changed")
	}
}

// A result may pass Bound again: it does not change any more.
func TestBoundTwice(t *testing.T) {
	page := Page[string]{NextCursor: "c"}
	page.Add("a\xff")
	for name, r := range map[string]Result{
		"everything": everything(), "page": page.Result(), "text": Text(strings.Repeat("\xff\n", 50<<10)),
		"large": JSON(strings.Repeat("x", 50<<10)), "quotes": JSON(strings.Repeat(`"`, 16000)),
	} {
		once := bound(t, r, Budget{}, nil)
		twice := bound(t, once, Budget{}, nil)
		if d := cmp.Diff(encode(t, "2026-07-28", once), encode(t, "2026-07-28", twice)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}

// store keeps what is put, or fails.
type store struct {
	name, mime, text string
	err              error
}

func (s *store) Put(ctx context.Context, name, mime string, r io.Reader) (string, string, error) {
	if s.err != nil {
		return "", "", s.err
	}
	b, err := io.ReadAll(r)
	s.name, s.mime, s.text = name, mime, string(b)
	return "a7", `Read it with read_artifact {"id":"a7"}.`, err
}

// With a store the whole text is kept, and the marker says how to read it.
func TestBoundStore(t *testing.T) {
	long := strings.Repeat("line\n", 10<<10)
	var s store
	out := bound(t, Text(long), Budget{}, &s)
	if s.text != long || s.mime != "text/plain" {
		t.Errorf("kept %d bytes of %q", len(s.text), s.mime)
	}
	if got := texts(out)[0]; !strings.Contains(got, `left out here; read it with read_artifact {"id":"a7"} …]`) || encodedLen(texts(out)) > DefaultBytes {
		t.Errorf("got %.100q", got[strings.Index(got, "[…"):])
	}
	if cut := cutMeta(t, out); len(cut.Artifacts) != 1 || cut.Artifacts[0] != "a7" {
		t.Errorf("_meta %+v", cut)
	}
	s = store{}
	bound(t, Text("short"), Budget{}, &s)
	bound(t, JSON(strings.Repeat(`"`, 16000)), Budget{}, &s)
	if s.text != "" {
		t.Error("what is whole was put into the store")
	}
	out = bound(t, Text(long), Budget{}, &store{err: errors.New("full")})
	if got := texts(out)[0]; !strings.Contains(got, "left out here; to see it, narrow the arguments ") {
		t.Errorf("got %.200q", got[strings.Index(got, "[…"):])
	}
}

// A cancel ends measuring, encoding and storing, with its cause.
func TestBoundCancel(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(gone)
	long := strings.Repeat("x\n", 1<<20)
	for name, f := range map[string]func() (Result, error){
		"measure":    func() (Result, error) { return Bound(ctx, Text(long), Budget{Bytes: 4 << 20}, nil) },
		"shorten":    func() (Result, error) { return Bound(ctx, Text(long), Budget{}, nil) },
		"store":      func() (Result, error) { return Bound(ctx, Text(long), Budget{}, &store{err: io.EOF}) },
		"structured": func() (Result, error) { return Bound(ctx, JSON(make([]int, 1<<20)), Budget{Bytes: 4 << 20}, nil) },
		"meta": func() (Result, error) {
			return Bound(ctx, Result{Meta: map[string]any{"a": make([]int, 1<<20)}}, Budget{Bytes: 4 << 20}, nil)
		},
	} {
		if _, err := f(); !errors.Is(err, gone) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func BenchmarkBound(b *testing.B) {
	ctx := context.Background()
	for _, bb := range []struct {
		name   string
		r      Result
		budget Budget
	}{
		{"text128", Text(strings.Repeat("x", 128)), Budget{}},
		{"sum", JSON(&struct {
			Sum int `json:"sum"`
		}{42}), Budget{}},
		{"text1MiBcut", Text(strings.Repeat("The quick brown fox.\n", 50_000)), Budget{}},
		{"text1MiBfits", Text(strings.Repeat("x", 1<<20)), Budget{Bytes: 2 << 20}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Bound(ctx, bb.r, bb.budget, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
