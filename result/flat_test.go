// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
)

type flatEvery struct {
	Text  string
	Named string `json:"named,omitempty"`
	Zero  string `json:",omitzero"`
	Yes   bool   `json:"yes"`
	Maybe bool   `json:"maybe,omitempty"`
	Flag  bool   `json:"flag,omitzero"`
	I     int    `json:"i"`
	I8    int8   `json:"i8,omitempty"`
	I64   int64  `json:"i64,omitzero"`
	U8    uint8  `json:"u8"`
	U64   uint64 `json:"u64,omitzero,omitempty"`
	_     int
	Out   time.Time `json:"-"`
}

type flatMethod struct{ A string }

func (flatMethod) MarshalText() ([]byte, error) { return []byte("own"), nil }

type flatPointerMethod struct{ A string }

func (*flatPointerMethod) MarshalJSON() ([]byte, error) { return []byte(`"own"`), nil }

type flatInner struct{ A string }

// Which structs are encoded without JSON v2: those of which it is known what
// it would give.
func TestFlatFields(t *testing.T) {
	// Made by hand: vet refuses a type that says the same name twice.
	twice := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[string](), Tag: `json:"b"`},
		{Name: "B", Type: reflect.TypeFor[string](), Tag: `json:"b"`},
	})
	type recursive struct {
		A    string
		Next *recursive
	}
	for _, tt := range []struct {
		v    any
		flat bool
	}{
		{flatEvery{}, true},
		{&flatEvery{}, true},
		{struct{ A string }{}, true},
		{struct{}{}, false},
		{struct {
			A string `json:"'a b'"`
		}{}, false},
		{struct {
			A string `json:"ä"`
		}{}, false},
		{struct {
			A int `json:",string"`
		}{}, false},
		{struct {
			A string `json:"a,case:ignore"`
		}{}, false},
		{reflect.Zero(twice).Interface(), false},
		{struct{ flatInner }{}, false},
		{struct {
			string
			A int
		}{}, false},
		{struct {
			A flatInner `json:",inline"`
		}{}, false},
		{struct{ A float64 }{}, false},
		{struct{ A *string }{}, false},
		{struct{ A []string }{}, false},
		{struct{ A time.Duration }{}, false},
		{struct{ A any }{}, false},
		{flatMethod{}, false},
		{flatPointerMethod{}, false},
		{&flatPointerMethod{}, false},
		{recursive{}, false},
		{[]flatEvery{}, false},
		{ptr(&flatEvery{}), false},
	} {
		if got := shapeOf(reflect.TypeOf(tt.v)).flat != nil; got != tt.flat {
			t.Errorf("%T: flat is %v, want %v", tt.v, got, tt.flat)
		}
	}
}

// A flat struct has the bytes, or the error, that JSON v2 gives.
func FuzzFlat(f *testing.F) {
	f.Add("", "", int64(0), uint64(0), false, 1)
	f.Add("a\"\\\n\x00\u2028<&>\xff\xed\xa0\x80𝄞", "x", int64(-1<<63), uint64(1<<64-1), true, 100)
	f.Add(strings.Repeat("\x01", 600), strings.Repeat("é", 2000), int64(127), uint64(200), true, 3700)
	f.Fuzz(func(t *testing.T, a, b string, i int64, u uint64, flag bool, limit int) {
		v := flatEvery{Text: a, Named: b, Zero: a, Yes: flag, Maybe: flag, Flag: flag, I: int(i), I8: int8(i), I64: i, U8: uint8(u), U64: u}
		want, err := json.Marshal(v, plainOptions)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range []any{v, &v, ptr(&v)} { // the last is not flat
			got, err := Marshal(context.Background(), v, 1<<30)
			if err != nil || string(got) != string(want) {
				t.Errorf("%T gives %s, %v\nwant %s", v, got, err, want)
			}
			if limit = min(max(limit, 1), len(want)+1); limit < len(want) {
				var large *TooLargeError
				if got, err := Marshal(context.Background(), v, limit); got != nil || !errors.As(err, &large) ||
					large.Limit != limit || large.Size > int64(len(want)) || !large.AtLeast && large.Size != int64(len(want)) && large.Size <= int64(limit) {
					t.Errorf("%T, limit %d of %d: %s, %v", v, limit, len(want), got, err)
				}
			} else if got, err := Marshal(context.Background(), v, limit); err != nil || string(got) != string(want) {
				t.Errorf("%T, limit %d of %d: %s, %v", v, limit, len(want), got, err)
			}
		}
	})
}

// What stands before it in the buffer stays, whatever comes of it.
func TestFlatAppends(t *testing.T) {
	head := []byte("head")
	for _, limit := range []int{1, 100} {
		got, err := appendMarshal(context.Background(), head, &flatInner{"a"}, limit)
		want := `head{"A":"a"}`
		if limit == 1 {
			want = "head"
		}
		if string(got) != want || (err != nil) != (limit == 1) {
			t.Errorf("limit %d: %q, %v", limit, got, err)
		}
	}
	long := flatInner{strings.Repeat("a", maxFlatText)}
	if got, ok := appendFlat(head, shapeOf(reflect.TypeOf(long)).flat, reflect.ValueOf(long)); ok || string(got) != "head" {
		t.Errorf("a text of %d bytes was encoded at once", maxFlatText)
	}
}
