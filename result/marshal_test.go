// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"math"
	"math/big"
	"net/url"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// method is a type whose JSON is whatever its author wrote.
type method string

func (m method) MarshalJSON() ([]byte, error) { return []byte(m), nil }

type text string

func (t text) MarshalText() ([]byte, error) { return []byte("<" + t + ">"), nil }

type node struct {
	Name string  `json:"name"`
	Kids []*node `json:"kids"`
}

type lists struct {
	Items []string         `json:"items"`
	Index map[string][]int `json:"index"`
	Inner struct {
		Rows [][]byte `json:"rows"`
	} `json:"inner"`
}

type exact struct {
	ID   int64         `json:"id"`
	Max  uint64        `json:"max"`
	Safe int64         `json:"safe,string"`
	Any  any           `json:"any"`
	Num  jsonv1.Number `json:"num"`
	Wait time.Duration `json:"wait"`
	Link *url.URL      `json:"link"`
}

func TestMarshal(t *testing.T) {
	tests := []struct {
		name string
		in   any
		want string
	}{
		// case 30: nothing that is nil is null where an array or object is due.
		{"nil slice", []int(nil), `[]`},
		{"nil map", map[string]int(nil), `{}`},
		{"nil pointer", (*lists)(nil), `{"items":[],"index":{},"inner":{"rows":[]}}`},
		{"nested nil", lists{}, `{"items":[],"index":{},"inner":{"rows":[]}}`},
		{"pointer to nested nil", &lists{}, `{"items":[],"index":{},"inner":{"rows":[]}}`},
		{"nil value of a map", map[string][]string{"a": nil}, `{"a":[]}`},
		{"nil", nil, `null`},

		// case 33: every digit stays.
		{"digits", exact{1915883588174806058, math.MaxUint64, 9007199254740993, int64(math.MinInt64), "0.1", 90 * time.Second, &url.URL{Scheme: "file", Path: "/a b"}},
			`{"id":1915883588174806058,"max":18446744073709551615,"safe":"9007199254740993","any":-9223372036854775808,"num":0.1,"wait":"1m30s","link":"file:///a%20b"}`},
		{"numbers", []any{jsonv1.Number("1e400"), jsonv1.Number(""), new(big.Int).Lsh(big.NewInt(1), 70)}, `[1e400,0,1180591620717411303424]`},

		// case 11: plain characters stay plain.
		{"html", "if a<b && c>d", `"if a<b && c>d"`},
		// case 04: what breaks readers is escaped or replaced.
		{"separators", "a\u2028b\u2029c", `"a\u2028b\u2029c"`},
		{"bad UTF-8", map[string]string{"k\xff": "\xff\xfe"}, `{"k` + "\ufffd" + `":"` + "\ufffd\ufffd" + `"}`},
		{"controls", "\x00\x1b\r\n😀", `"\u0000\u001b\r\n😀"`},

		{"sorted", map[string]int{"b": 1, "a": 2, "c": 3}, `{"a":2,"b":1,"c":3}`},
		{"bytes", []byte{0xff, 0xfe}, `"//4="`},
		{"time", time.Date(2026, 7, 28, 1, 2, 3, 4000, time.UTC), `"2026-07-28T01:02:03.000004Z"`},
		{"text", []text{"a"}, `["<a>"]`},
		{"tree", node{"a", []*node{{"b", nil}}}, `{"name":"a","kids":[{"name":"b","kids":[]}]}`},

		// JSON of an author never leaves as it was written.
		{"raw with LF and indent", jsonv1.RawMessage("{\n  \"a\": [\r\n1 ]}\n"), `{"a":[1]}`},
		{"value with LF and indent", jsontext.Value(" [\n1,\t2]"), `[1,2]`},
		{"nested raw with CRLF", struct{ R jsonv1.RawMessage }{jsonv1.RawMessage("{\r\n\"a\" : 1}")}, `{"R":{"a":1}}`},
		{"nested value", map[string]any{"v": jsontext.Value("[ 1 ]")}, `{"v":[1]}`},
		{"method with LF and indent", method("{\n\t\"a\": 1\n}"), `{"a":1}`},
		{"nested method with separators", []method{"\"\u2028\""}, `["\u2028"]`},
		{"method with bad UTF-8", method("\"\xff\""), `"` + "\ufffd" + `"`},
		{"method with a lone surrogate", method(`"\ud800"`), `"` + "\ufffd" + `"`},
		{"raw with a lone surrogate", jsontext.Value(`"\ud800"`), `"` + "\ufffd" + `"`},
		{"empty raw", []jsonv1.RawMessage{nil}, `[null]`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Marshal(t.Context(), tt.in, 0)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("\n got %s\nwant %s", got, tt.want)
			}
			if strings.ContainsAny(string(got), "\r\n") {
				t.Error("a raw line end")
			}
		})
	}
}

// Author's mistakes are errors, each of them, and never a *TooLargeError.
func TestMarshalRefuses(t *testing.T) {
	loop := &node{}
	loop.Kids = []*node{loop}
	tests := []struct {
		name string
		in   any
	}{
		{"raw with duplicate names", jsonv1.RawMessage(`{"a":1,"a":2}`)},
		{"raw with bad UTF-8", jsonv1.RawMessage("\"\xff\"")},
		{"raw with two values", jsontext.Value(`1 2`)},
		{"raw cut short", jsontext.Value(`{"a":`)},
		{"nested raw with duplicate names", []any{jsontext.Value(`{"a":1,"a":2}`)}},
		{"nested raw with bad UTF-8", struct{ R jsonv1.RawMessage }{jsonv1.RawMessage("\"\xff\"")}},
		{"method with duplicate names", method(`{"a":1,"a":2}`)},
		{"method with a syntax error", []method{"{"}},
		{"number that is none", jsonv1.Number("x")},
		{"channel", make(chan int)},
		{"not a number", math.NaN()},
		{"loop", loop},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Marshal(t.Context(), tt.in, 0)
			var large *TooLargeError
			if err == nil || errors.As(err, &large) {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

func TestMarshalPanicPasses(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("the panic of a MarshalJSON was swallowed")
		}
		if got, err := Marshal(t.Context(), 1, 0); string(got) != "1" || err != nil {
			t.Errorf("afterwards: %s, %v", got, err)
		}
	}()
	Marshal(t.Context(), panics{}, 0)
}

type panics struct{}

func (panics) MarshalJSON() ([]byte, error) { panic("author") }

// The limit holds to the byte.
func TestMarshalLimit(t *testing.T) {
	for _, v := range []any{
		strings.Repeat("x", 5000), strings.Repeat("\x00", 5000), make([]int, 5000), make([]byte, 5000),
		map[string]any{"a": strings.Repeat("é", 5000)}, jsontext.Value("[ " + strings.Repeat("1 , ", 5000) + "1]"),
	} {
		whole, err := Marshal(t.Context(), v, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := Marshal(t.Context(), v, len(whole)); err != nil || string(got) != string(whole) {
			t.Errorf("%T at its size: %v", v, err)
		}
		var large *TooLargeError
		if _, err := Marshal(t.Context(), v, len(whole)-1); !errors.As(err, &large) {
			t.Errorf("%T one byte over: %v", v, err)
		} else if large.AtLeast != true && large.Size != int64(len(whole)) || large.Limit != len(whole)-1 {
			t.Errorf("%T one byte over: %+v, size is %d", v, large, len(whole))
		}
	}
}

// endless would go on for ever; it counts what was asked of it.
type endless struct{ items *int }

func (e endless) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for {
		*e.items++
		if err := enc.WriteToken(jsontext.String(strings.Repeat("x", 100))); err != nil {
			return err
		}
	}
}

// case 24: the encoding of a giant stops; it is not built and thrown away.
func TestMarshalStops(t *testing.T) {
	n := 0
	_, err := Marshal(t.Context(), endless{&n}, 32<<10)
	var large *TooLargeError
	if !errors.As(err, &large) || !large.AtLeast || large.Size < countLimit {
		t.Fatalf("error %v", err)
	}
	if n > 2*countLimit/100 {
		t.Errorf("%d items were encoded", n)
	}

	type page struct {
		Name string
		Body any
	}
	long := strings.Repeat("x", 32<<20)
	for _, v := range []any{
		long, &long, []string{"a", long}, page{Body: long}, map[string]string{long: ""}, []any{page{}, &page{long, nil}},
		[]byte(long), jsontext.Value(`"` + long + `"`), text2(long), map[string]any{"a": []any{1, jsonv1.RawMessage(`"` + long + `"`)}},
	} {
		before := allocated()
		_, err := Marshal(t.Context(), v, 32<<10)
		if !errors.As(err, &large) {
			t.Fatalf("%T: error %v", v, err)
		}
		if got := allocated() - before; got > 1<<20 {
			t.Errorf("%T: %d bytes were allocated for nothing", v, got)
		}
	}
}

type text2 string

func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// What is not encoded is not counted as too long.
func TestMarshalHiddenFields(t *testing.T) {
	long := strings.Repeat("x", 5000)
	type inner struct {
		Shown  string
		hidden string
	}
	v := struct {
		inner
		Skip string `json:"-"`
		own  string
	}{inner{"a", long}, long, long}
	_ = v.own
	got, err := Marshal(t.Context(), v, 100)
	if string(got) != `{"Shown":"a"}` || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}

// A cancel ends the encoding.
func TestMarshalCancel(t *testing.T) {
	gone := errors.New("gone")
	ctx, cancel := context.WithCancelCause(t.Context())
	n := 0
	_, err := Marshal(ctx, canceller{&n, func() { cancel(gone) }}, 1<<30)
	if !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
	if n > 1000+2*step/100 {
		t.Errorf("%d items were encoded", n)
	}
}

type canceller struct {
	n      *int
	cancel func()
}

func (c canceller) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginArray); err != nil {
		return err
	}
	for {
		if *c.n++; *c.n == 1000 {
			c.cancel()
		}
		if err := enc.WriteToken(jsontext.String(strings.Repeat("x", 100))); err != nil {
			return err
		}
	}
}

// case 33: what goes out comes back.
func TestOptionsRoundTrip(t *testing.T) {
	want := exact{math.MinInt64, math.MaxUint64, math.MaxInt64, jsonv1.Number("9007199254740993"), "1e-7", time.Millisecond, &url.URL{Scheme: "https", Host: "example.com", Path: "/"}}
	b, err := Marshal(t.Context(), want, 0)
	if err != nil {
		t.Fatal(err)
	}
	var got exact
	if err := json.Unmarshal(b, &got, Options()); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n got %+v\nwant %+v", got, want)
	}
	var deep map[string]any
	if err := json.Unmarshal([]byte(`{"a":[{"b":18446744073709551615}],"s":"\ud800"}`), &deep, Options()); err != nil {
		t.Fatal(err)
	}
	b, err = Marshal(t.Context(), deep, 0)
	if string(b) != `{"a":[{"b":18446744073709551615}],"s":"`+"\ufffd"+`"}` || err != nil {
		t.Errorf("%s, %v", b, err)
	}
	for _, bad := range []string{`{"num":"1"}`, `{"wait":5}`, `{"wait":"soon"}`, `{"id":1.5}`, `{"id":9223372036854775808}`, `{"id":1,"id":2}`, `{"ID":1}`, `{"link":{}}`, `{"link":"%"}`} {
		if err := json.Unmarshal([]byte(bad), new(exact), Options(), json.RejectUnknownMembers(true)); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
	got = exact{}
	if err := json.Unmarshal([]byte(`{"num":null,"wait":null,"any":null,"link":null}`), &got, Options()); err != nil || got != (exact{}) {
		t.Errorf("nulls: %+v, %v", got, err)
	}
}

func TestComma(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 4382: "4,382", 12345: "12,345", 999999: "999,999", 1000000: "1,000,000",
		-1: "-1", -1000: "-1,000", math.MaxInt64: "9,223,372,036,854,775,807", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := comma(n); got != want {
			t.Errorf("comma(%d) = %s, want %s", n, got, want)
		}
	}
}

func BenchmarkMarshal(b *testing.B) {
	sum := struct {
		Sum int64 `json:"sum"`
	}{42}
	match := struct {
		Path    string `json:"path"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Excerpt string `json:"excerpt"`
	}{"net/http/server.go", 1234, 5, "func (srv *Server) ListenAndServe() error {"}
	for _, bb := range []struct {
		name string
		v    any
	}{{"sum", &sum}, {"match", &match}, {"any", map[string]any{"a": "b", "c": 1}}} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Marshal(context.Background(), bb.v, 32<<10); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
