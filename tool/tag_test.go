// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"reflect"
	"strings"
	"testing"
)

type (
	colour  string
	colours []colour
	ints    []int
	base    struct {
		P string `json:"p,omitempty" jsonschema:"enum=a,enum=b"`
	}
)

// TestTag has what each form of the jsonschema tag makes of a property
// (case 43).
func TestTag(t *testing.T) {
	tests := []struct {
		name string
		of   reflect.Type
		want string // the properties; or, after "error ", words of the error
	}{
		{"enum first", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"enum=a,enum=b,description=The mode"`
		}](), `{"m":{"type":"string","description":"The mode","enum":["a","b"]}}`},
		{"blanks after commas", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"enum=a, enum=b, description=The mode"`
		}](), `{"m":{"type":"string","description":"The mode","enum":["a","b"]}}`},
		{"comma in a description", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"description=One, two, or none,minLength=1"`
		}](), `{"m":{"type":"string","description":"One, two, or none","minLength":1}}`},
		{"equals in a description", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"description=Where a=b, x=1 holds"`
		}](), `{"m":{"type":"string","description":"Where a=b, x=1 holds"}}`},
		{"escaped comma", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"description=one\\,enum=x is text,enum=a\\,b"`
		}](), `{"m":{"type":"string","description":"one,enum=x is text","enum":["a,b"]}}`},
		{"a sentence", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"The mode, as a word"`
		}](), `{"m":{"type":"string","description":"The mode, as a word"}}`},
		{"description tag", reflect.TypeFor[struct {
			M string `json:"m" jsonschema_description:"enum=a, as it stands"`
		}](), `{"m":{"type":"string","description":"enum=a, as it stands"}}`},
		{"enum of a slice", reflect.TypeFor[struct {
			M []string `json:"m" jsonschema:"enum=a,enum=b,minItems=1,uniqueItems"`
		}](), `{"m":{"type":"array","items":{"type":"string","enum":["a","b"]},"minItems":1,"uniqueItems":true}}`},
		{"enum of an int", reflect.TypeFor[struct {
			M int `json:"m" jsonschema:"enum=1,enum=2"`
		}](), `{"m":{"type":"integer","enum":[1,2]}}`},
		{"default with enum", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"enum=a,enum=b,default=b"`
		}](), `{"m":{"type":"string","enum":["a","b"],"default":"b"}}`},
		{"default of a named slice", reflect.TypeFor[struct {
			M colours `json:"m" jsonschema:"default=red,default=blue"`
			N ints    `json:"n" jsonschema:"default=[1,2]"`
		}](), `{"m":{"type":"array","default":["red","blue"],"items":{"type":"string"}},"n":{"type":"array","default":[1,2],"items":{"type":"integer"}}}`},
		{"pointer", reflect.TypeFor[struct {
			M *int `json:"m" jsonschema:"minimum=1,maximum=5,default=2"`
		}](), `{"m":{"type":"integer","default":2,"minimum":1,"maximum":5}}`},
		{"embedded", reflect.TypeFor[struct{ base }](), `{"p":{"type":"string","enum":["a","b"]}}`},
		{"booleans and numbers", reflect.TypeFor[struct {
			B bool    `json:"b" jsonschema:"default=true,deprecated"`
			F float64 `json:"f" jsonschema:"default=1.5,exclusiveMinimum=0,multipleOf=0.5,example=2"`
		}](), `{"b":{"type":"boolean","default":true,"deprecated":true},"f":{"type":"number","default":1.5,"examples":[2],"multipleOf":0.5,"exclusiveMinimum":0}}`},
		{"pattern with commas", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"pattern=^a{1,3}$,maxLength=9,format=email,title=T"`
		}](), `{"m":{"type":"string","title":"T","maxLength":9,"pattern":"^a{1,3}$","format":"email"}}`},

		{"any", reflect.TypeFor[struct {
			A any `json:"a,omitempty" jsonschema:"required"`
			B any `json:"b" jsonschema:"default={\"x\":[1]}"`
		}](), `{"a":{"description":"any JSON value"},"b":{"default":{"x":[1]}}}`},
		{"unknown key", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"description=x,defalt=a"`
		}](), `error m: unknown keyword "defalt" in the jsonschema tag; did you mean "default"?`},
		{"unknown word", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"requird"`
		}](), `error m: unknown word "requird" in the jsonschema tag; did you mean "required"?`},
		{"enum as a list", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"enum=a,b"`
		}](), `error m: "b" after enum in the jsonschema tag: write enum=a,enum=b`},
		{"wrong type of default", reflect.TypeFor[struct {
			M int `json:"m" jsonschema:"default=x"`
		}](), `error m: default=x in the jsonschema tag: want an integer`},
		{"keyword of another type", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"minimum=1"`
		}](), `error m: minimum=1 in the jsonschema tag: the keyword does not apply to this type`},
		{"bad pattern", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"pattern=("`
		}](), `error m: pattern=( in the jsonschema tag`},
		{"required with a default", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"required,default=a"`
		}](), `error m: required, and has a default`},
		{"two defaults", reflect.TypeFor[struct {
			M string `json:"m" jsonschema:"default=a,default=b"`
		}](), `error given twice`},
		{"multipleOf zero", reflect.TypeFor[struct {
			M int `json:"m" jsonschema:"multipleOf=0"`
		}](), `error m: multipleOf=0 in the jsonschema tag: want a number above zero`},
		{"multipleOf below zero", reflect.TypeFor[struct {
			M []float64 `json:"m" jsonschema:"multipleOf=-0.5"`
		}](), `error m: multipleOf=-0.5 in the jsonschema tag: want a number above zero`},
		{"bad number", reflect.TypeFor[struct {
			M float64 `json:"m" jsonschema:"minimum=1 000"`
		}](), `error want a number`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			text, err := generate(tt.of, closedInput)
			if want, isError := strings.CutPrefix(tt.want, "error "); isError {
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Fatalf("got %s, error %v; want error %q", text, err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := lookup(text, "properties"); string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestRequired has which properties are required.
func TestRequired(t *testing.T) {
	text, err := SchemaOf[struct {
		A string  `json:"a"`
		B string  `json:"b,omitempty"`
		C string  `json:"c,omitzero"`
		D *string `json:"d"`
		E string  `json:"e" jsonschema:"default=x"`
		F string  `json:"f,omitempty" jsonschema:"required"`
		G string  `json:"-"`
	}]()
	if err != nil {
		t.Fatal(err)
	}
	if got, want := string(lookup(text, "required")), `["a","f"]`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// FuzzTag checks that no tag makes a panic, and that one which is accepted
// makes a schema that the validator takes.
func FuzzTag(f *testing.F) {
	for _, seed := range []string{
		"", "description=a, b=c", "enum=a,enum=b,default=a", "minLength=1,maxLength=2", "pattern=^[a,b]$", `a\,b c`, "required", ",,,", "=",
		"example=1,title=x", "format=date", "default=[1]", "uniqueItems=true", "example=00",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, tag string) {
		fields := []reflect.StructField{
			{Name: "S", Type: reflect.TypeFor[string]()}, {Name: "I", Type: reflect.TypeFor[int]()}, {Name: "L", Type: reflect.TypeFor[[]string]()},
		}
		for _, sf := range fields {
			g := newGenerator(closedInput)
			items, err := parseTag(tag)
			if err != nil {
				return
			}
			s := *g.schema(sf.Type)
			if apply(&s, items) != nil {
				continue
			}
			text, err := appendSchema(nil, &s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := compileNode(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			if _, err := compileValidator(text); err != nil {
				t.Fatalf("%s: %v", text, err)
			}
		}
	})
}
