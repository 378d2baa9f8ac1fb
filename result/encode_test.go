// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

var protocols = []string{"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

func ptr[T any](v T) *T { return &v }

// everything has each kind of block with each of its members.
func everything() Result {
	a := &Annotations{Audience: []string{"user", "assistant"}, Priority: ptr(0.25), LastModified: "2025-01-12T15:00:58Z"}
	m := map[string]any{"example.com/b": 2, "example.com/a": map[string]any{"x": nil}}
	return Result{
		Content: []Content{
			TextContent{Text: "a\nb", Annotations: a, Meta: m},
			ImageContent{Data: []byte{1, 2, 3, 4}, MIMEType: "image/png", Annotations: a, Meta: m},
			AudioContent{Data: []byte{5, 6}, MIMEType: "audio/wav", Annotations: a, Meta: m},
			LinkContent{URI: "file:///a", Name: "a", Title: "A", Description: "the file a", MIMEType: "text/plain", Size: ptr[int64](0), Annotations: a, Meta: m},
			EmbeddedContent{Resource: Resource{URI: "file:///b", MIMEType: "text/plain", Text: "b", Meta: m}, Annotations: a, Meta: m},
			EmbeddedContent{Resource: Resource{URI: "file:///c", Blob: []byte{}}},
			&TextContent{Text: "", Annotations: &Annotations{}},
			LinkContent{URI: "file:///d", Name: "d"},
		},
		Structured: map[string]any{"id": int64(9007199254740993)},
		Meta:       m,
		IsError:    true,
	}
}

func encode(t *testing.T, protocol string, r Result) string {
	t.Helper()
	r, err := Bound(t.Context(), r, Budget{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	e := Encoding{Protocol: protocol, ServerInfo: jsontext.Value(`{"name":"s","version":"1"}`)}
	b, err := e.Append(t.Context(), nil, r)
	if err != nil {
		t.Fatal(err)
	}
	if !jsontext.Value(b).IsValid() || !utf8.Valid(b) || strings.ContainsAny(string(b), "\r\n\u2028\u2029") {
		t.Fatalf("not fit for a frame: %q", b)
	}
	return string(b)
}

// What each revision does not know is left out, or becomes text.
func TestEncodeRevisions(t *testing.T) {
	const (
		ann  = `,"annotations":{"audience":["user","assistant"],"priority":0.25}`
		annT = `,"annotations":{"audience":["user","assistant"],"priority":0.25,"lastModified":"2025-01-12T15:00:58Z"}`
		meta = `,"_meta":{"example.com/a":{"x":null},"example.com/b":2}`
	)
	modern := `"content":[{"type":"text","text":"a\nb"` + annT + meta + `},` +
		`{"type":"image","data":"AQIDBA==","mimeType":"image/png"` + annT + meta + `},` +
		`{"type":"audio","data":"BQY=","mimeType":"audio/wav"` + annT + meta + `},` +
		`{"type":"resource_link","uri":"file:///a","name":"a","title":"A","description":"the file a","mimeType":"text/plain","size":0` + annT + meta + `},` +
		`{"type":"resource","resource":{"uri":"file:///b","mimeType":"text/plain","text":"b"` + meta + `}` + annT + meta + `},` +
		`{"type":"resource","resource":{"uri":"file:///c","blob":""}},` +
		`{"type":"text","text":""},` +
		`{"type":"resource_link","uri":"file:///d","name":"d"}],` +
		`"structuredContent":{"id":9007199254740993},"isError":true`
	want := map[string]string{
		"2024-11-05": `{"content":[{"type":"text","text":"a\nb"},` +
			`{"type":"image","data":"AQIDBA==","mimeType":"image/png"},` +
			`{"type":"text","text":"[audio audio/wav of 2 bytes left out: the host's protocol revision does not know audio]"},` +
			`{"type":"text","text":"file:///a"},` +
			`{"type":"resource","resource":{"uri":"file:///b","mimeType":"text/plain","text":"b"}},` +
			`{"type":"resource","resource":{"uri":"file:///c","blob":""}},` +
			`{"type":"text","text":""},` +
			`{"type":"text","text":"file:///d"}],"isError":true` + meta + `}`,
		"2025-03-26": `{"content":[{"type":"text","text":"a\nb"` + ann + `},` +
			`{"type":"image","data":"AQIDBA==","mimeType":"image/png"` + ann + `},` +
			`{"type":"audio","data":"BQY=","mimeType":"audio/wav"` + ann + `},` +
			`{"type":"text","text":"file:///a"` + ann + `},` +
			`{"type":"resource","resource":{"uri":"file:///b","mimeType":"text/plain","text":"b"}` + ann + `},` +
			`{"type":"resource","resource":{"uri":"file:///c","blob":""}},` +
			`{"type":"text","text":""},` +
			`{"type":"text","text":"file:///d"}],"isError":true` + meta + `}`,
		"2025-06-18": `{` + modern + meta + `}`,
		"2025-11-25": `{` + modern + meta + `}`,
		"2026-07-28": `{"resultType":"complete",` + modern +
			`,"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"},"example.com/a":{"x":null},"example.com/b":2}}`,
	}
	for _, protocol := range protocols {
		if got := encode(t, protocol, everything()); got != want[protocol] {
			t.Errorf("%s:\n got %s\nwant %s", protocol, got, want[protocol])
		}
	}
}

// Structured content that is not an object is for 2026-07-28 alone; its text is
// for all.
func TestEncodeStructuredRoots(t *testing.T) {
	for _, tt := range []struct {
		in   any
		want string
	}{
		{[]int(nil), `[]`},
		{"x", `"x"`},
		{7, `7`},
		{jsontext.Value("null"), `null`},
		{map[string]int(nil), `{}`},
	} {
		for _, protocol := range protocols {
			var got struct {
				Content           []struct{ Text string }
				StructuredContent jsontext.Value `json:"structuredContent"`
			}
			if err := json.Unmarshal([]byte(encode(t, protocol, JSON(tt.in))), &got, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			want := tt.want
			if protocol < "2025-06-18" || protocol < "2026-07-28" && want[0] != '{' {
				want = ""
			}
			if string(got.StructuredContent) != want {
				t.Errorf("%s: structured %s, want %s", protocol, got.StructuredContent, want)
			}
			if len(got.Content) != 1 || got.Content[0].Text != tt.want {
				t.Errorf("%s: content %v, want %s", protocol, got.Content, tt.want)
			}
		}
	}
}

func TestEncodeZero(t *testing.T) {
	if got := encode(t, "2025-11-25", Result{}); got != `{"content":[]}` {
		t.Errorf("got %s", got)
	}
	own := Result{Meta: map[string]any{serverInfoKey: "own"}}
	if got := encode(t, "2026-07-28", own); got != `{"resultType":"complete","content":[],"_meta":{"`+serverInfoKey+`":"own"}}` {
		t.Errorf("got %s", got)
	}
}

// cases 04 and 11: a text is escaped where it has to be and nowhere else.
func TestEncodeText(t *testing.T) {
	for in, want := range map[string]string{
		"a\u2028b\u2029c":            `a\u2028b\u2029c`,
		"\xff\xfe":                   "\ufffd\ufffd",
		"\xbe\xc8\xb3\xe7":           "\ufffd\u0233\ufffd", // CP949, of which two bytes are UTF-8 by chance
		"😀":                          "😀",
		"\x00\x1b":                   `\u0000\u001b`,
		"if a<b && c>d":              "if a<b && c>d",
		"\r\n\"\\":                   `\r\n\"\\`,
		"\xed\xa0\x80":               "\ufffd\ufffd\ufffd", // a surrogate
		strings.Repeat("é", step):    strings.Repeat("é", step),
		strings.Repeat("\xff", step): strings.Repeat("\ufffd", step),
	} {
		if got := encode(t, "2025-11-25", Result{Content: []Content{TextContent{Text: in}, TextContent{Text: ""}}}); len(in) < 100 {
			if got != `{"content":[{"type":"text","text":"`+want+`"},{"type":"text","text":""}]}` {
				t.Errorf("%q: got %s", in, got)
			}
		}
		e := Encoding{}
		got, err := e.Append(t.Context(), nil, Text(in))
		if string(got) != `{"content":[{"type":"text","text":"`+want+`"}]}` || err != nil {
			t.Errorf("%.20q: got %.100s, %v", in, got, err)
		}
	}
}

// No piece of a long text or of media is lost, doubled or split in a character.
func TestEncodeLong(t *testing.T) {
	for _, n := range []int{step - 1, step, step + 1, 2*step + 1, 3*step - 2} {
		for _, unit := range []string{"x", "é", "你", "😀", "a😀\n", "\xff", "\u2028"} {
			in := "ab"[:n%3] + strings.Repeat(unit, n/len(unit)+1)
			b, err := Encoding{}.Append(t.Context(), nil, Text(in))
			if err != nil {
				t.Fatal(err)
			}
			var got struct {
				Content []struct {
					Type, Text string
				} `json:"content"`
			}
			if err := json.Unmarshal(b, &got, json.MatchCaseInsensitiveNames(true)); err != nil {
				t.Fatal(err)
			}
			if want := strings.ToValidUTF8(in, "\ufffd"); unit != "\xff" && got.Content[0].Text != want {
				t.Errorf("%d bytes of %q came out different", n, unit)
			} else if unit == "\xff" && got.Content[0].Text != "ab"[:n%3]+strings.Repeat("\ufffd", n+1) {
				t.Errorf("%d bytes of %q came out different", n, unit)
			}
		}
		data := []byte(strings.Repeat("\x00\x01\xfe", n))[:n]
		b, err := Encoding{}.Append(t.Context(), nil, Image("image/png", data))
		if want := `{"content":[{"type":"image","data":"` + base64.StdEncoding.EncodeToString(data) + `","mimeType":"image/png"}]}`; string(b) != want || err != nil {
			t.Errorf("%d bytes of media came out different: %v", n, err)
		}
	}
}

// dst grows once, to what is needed, and keeps what stood in it.
func TestEncodeGrows(t *testing.T) {
	r := everything()
	r, err := Bound(t.Context(), r, Budget{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	const prefix = `{"jsonrpc":"2.0","id":1,"result":`
	e := Encoding{Protocol: "2026-07-28"}
	b, err := e.Append(t.Context(), []byte(prefix), r)
	if err != nil {
		t.Fatal(err)
	}
	alone, err := e.Append(t.Context(), nil, r)
	if err != nil || string(b) != prefix+string(alone) {
		t.Errorf("got %s, %v", b, err)
	}
	if len(alone)+tailRoom > cap(alone) || cap(alone) > len(alone)+tailRoom+512 {
		t.Errorf("%d bytes in %d", len(alone), cap(alone))
	}
	e.Limit = len(alone)
	if _, err := e.Append(t.Context(), nil, r); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	e.Limit--
	b, err = e.Append(t.Context(), []byte(prefix), r)
	var large *TooLargeError
	if !errors.As(err, &large) || large.Size != int64(len(alone)) || large.Limit != len(alone)-1 || string(b) != prefix {
		t.Errorf("over the limit: %s, %v", b, err)
	}
}

func TestEncodeUnbounded(t *testing.T) {
	for _, r := range []Result{
		JSON(1),
		{Content: []Content{&TextContent{}}},
		{Content: []Content{nil}},
		{Meta: map[string]any{"a": 1}},
	} {
		if _, err := (Encoding{Protocol: "2026-07-28"}).Append(t.Context(), nil, r); err == nil {
			t.Errorf("%+v was encoded", r)
		}
	}
}

// countdown is a context that ends after it was looked at n times.
type countdown struct {
	context.Context
	n int
}

func (c *countdown) Err() error {
	if c.n--; c.n < 0 {
		return context.Canceled
	}
	return nil
}

// A cancel while a 64 MiB result is encoded ends it: in the measuring pass
// before anything is built, in the appending pass with what was built given up.
func TestEncodeCancel(t *testing.T) {
	const size = 64 << 20
	r := Text(strings.Repeat("x", size))
	looks := &countdown{Context: t.Context(), n: 1 << 30}
	b, err := Encoding{}.Append(looks, nil, r)
	if err != nil || len(b) < size {
		t.Fatalf("%d bytes, %v", len(b), err)
	}
	b = nil
	if n := 1<<30 - looks.n; n < 2*size/step {
		t.Errorf("ctx was looked at %d times in 2 passes over %d steps", n, size/step)
	}
	before := allocated()
	if b, err := (Encoding{}).Append(&countdown{Context: t.Context(), n: 5}, nil, r); err == nil || b != nil {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	if got := allocated() - before; got > 1<<20 {
		t.Errorf("%d bytes were allocated for a cancelled result", got)
	}
	if b, err := (Encoding{}).Append(&countdown{Context: t.Context(), n: size/step + 5}, nil, r); err == nil || b != nil {
		t.Errorf("second pass: %d bytes, %v", len(b), err)
	}
}

// A 64 MiB text is built once, at its size.
func TestEncodeAllocatesOnce(t *testing.T) {
	const size = 64 << 20
	r := Text(strings.Repeat("x", size))
	before := allocated()
	b, err := Encoding{Protocol: "2025-11-25", Limit: 65 << 20}.Append(t.Context(), make([]byte, 0, 64), r)
	if err != nil {
		t.Fatal(err)
	}
	b = append(b, "}\n"...)
	if got := allocated() - before; got > size+1<<20 {
		t.Errorf("%d bytes were allocated for %d", got, len(b))
	}
}

func TestEncodeSmallDoesNotAllocate(t *testing.T) {
	r := Text(strings.Repeat("x", 128))
	e := Encoding{Protocol: "2025-11-25", Limit: 4 << 20}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		if _, err := e.Append(context.Background(), dst, r); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkEncode(b *testing.B) {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sum, err := Bound(ctx, JSON(map[string]int{"sum": 42}), Budget{}, nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, bb := range []struct {
		name string
		r    Result
	}{
		{"text128", Text(strings.Repeat("x", 128))},
		{"sum", sum},
		{"text64KiB", Text(strings.Repeat("The quick brown fox.\n", 64<<10/21))},
		{"text1MiB", Text(strings.Repeat("x", 1<<20))},
	} {
		b.Run(bb.name, func(b *testing.B) {
			e := Encoding{Protocol: "2025-11-25", Limit: 4 << 20}
			dst, err := e.Append(ctx, nil, bb.r)
			if err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(len(dst)))
			b.ReportAllocs()
			for b.Loop() {
				if dst, err = e.Append(ctx, dst[:0], bb.r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkBoundAndEncode(b *testing.B) {
	ctx := context.Background()
	text := strings.Repeat("x", 128)
	e := Encoding{Protocol: "2025-11-25", Limit: 4 << 20}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		r, err := Bound(ctx, Text(text), Budget{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		if dst, err = e.Append(ctx, dst[:0], r); err != nil {
			b.Fatal(err)
		}
	}
}
