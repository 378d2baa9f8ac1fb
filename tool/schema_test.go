// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/hex"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"

	"github.com/weir-mcp/weir/result"
)

type (
	inner struct {
		X int `json:"x"`
	}
	twice struct {
		A inner   `json:"a"`
		B inner   `json:"b,omitempty"`
		C []inner `json:"c"`
	}
	generic[T any] struct {
		Value T `json:"value"`
	}
	tree struct {
		Name string `json:"name"`
		Kids []tree `json:"kids,omitempty"`
	}
	mutualA struct {
		B *mutualB `json:"b"`
	}
	mutualB struct {
		A *mutualA `json:"a"`
	}
	selfMap struct {
		M map[string]selfMap `json:"m,omitempty"`
	}
	list    []list
	holder  struct{ L list }
	withAny struct {
		Any   any                        `json:"any"`
		Raw   jsonv1.RawMessage          `json:"raw"`
		Raws  []jsontext.Value           `json:"raws"`
		Anys  []any                      `json:"anys"`
		Map   map[string]any             `json:"map"`
		Deep  [][]string                 `json:"deep"`
		Named any                        `json:"named" jsonschema:"description=What you like"`
		Ptr   *int                       `json:"ptr"`
		Ptrs  []*inner                   `json:"ptrs"`
		Maps  map[int]map[netip.Addr]int `json:"maps"`
	}
	uuid   [16]byte
	hooked struct{ n int }
	level  string
	bounds struct {
		I8  int8   `json:"i8"`
		U8  uint8  `json:"u8"`
		I16 int16  `json:"i16"`
		U32 uint32 `json:"u32"`
		I32 int32  `json:"i32"`
		U64 uint64 `json:"u64"`
		I64 int64  `json:"i64"`
	}
	plainForms struct {
		T    time.Time     `json:"t"`
		TP   *time.Time    `json:"tp,omitempty"`
		D    time.Duration `json:"d"`
		B    []byte        `json:"b"`
		B4   [4]byte       `json:"b4"`
		N    jsonv1.Number `json:"n"`
		Big  big.Int       `json:"big"`
		Addr netip.Addr    `json:"addr"`
		IP   net.IP        `json:"ip"`
		URL  url.URL       `json:"url"`
		U    uuid          `json:"u"`
		H    hooked        `json:"h"`
		S    int64         `json:"s,string"`
		L    level         `json:"l"`
		F    float64       `json:"f"`
		A    [2]int        `json:"a"`
	}
	embedder struct {
		inner
		*Pointed
		Own string `json:"own"`
	}
	Pointed struct {
		P int `json:"p"`
	}
	shadow struct {
		inner
		X string `json:"x"`
	}
)

// Types with the hooks of invopop/jsonschema, on values and on pointers.
type (
	aliased  struct{ N int }
	pointed  struct{ N int }
	extended map[string]int
	hooks    struct {
		A aliased
		P *pointed
		E extended
		L []extended
	}
	badHook struct{ N int }
	nilHook struct{ N int }
)

func (aliased) JSONSchemaAlias() any { return "" }
func (*pointed) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "object", AdditionalProperties: jsonschema.TrueSchema, Not: &jsonschema.Schema{Required: []string{"x"}}}
}
func (*extended) JSONSchemaExtend(s *jsonschema.Schema) { s.Title = "Extended" }
func (badHook) JSONSchema() *jsonschema.Schema          { return &jsonschema.Schema{Type: "array"} }
func (nilHook) JSONSchema() *jsonschema.Schema          { return nil }

func (u uuid) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%x", u[:]), nil }
func (u *uuid) UnmarshalText(b []byte) error {
	_, err := hex.Decode(u[:], b)
	return err
}

func (h hooked) MarshalJSON() ([]byte, error) { return fmt.Appendf(nil, `"#%d"`, h.n), nil }
func (h *hooked) UnmarshalJSON(b []byte) error {
	_, err := fmt.Sscanf(string(b), `"#%d"`, &h.n)
	return err
}
func (hooked) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^#"}
}
func (level) JSONSchemaExtend(s *jsonschema.Schema) { s.Enum = []any{"low", "high"} }

// TestSchemaOf has the exact schema of each kind of Go type.
func TestSchemaOf(t *testing.T) {
	const strict = `,"additionalProperties":false}`
	tests := []struct {
		name string
		of   reflect.Type
		want string
	}{
		{"case 35: no fields", reflect.TypeFor[struct{}](), noArguments},
		{"case 37: nested and used twice", reflect.TypeFor[twice](), `{"type":"object","properties":{` +
			`"a":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},` +
			`"b":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},` +
			`"c":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}}},` +
			`"required":["a","c"]` + strict},
		{"case 37: generic", reflect.TypeFor[generic[inner]](), `{"type":"object","properties":{` +
			`"value":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}},"required":["value"]` + strict},
		{"case 37: recursive", reflect.TypeFor[tree](), `{"type":"object","properties":{"name":{"type":"string"},` +
			`"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false,"$defs":{"tree":` +
			`{"type":"object","properties":{"name":{"type":"string"},"kids":{"type":"array","items":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false}}}`},
		{"case 37: mutually recursive", reflect.TypeFor[mutualA](), `{"type":"object","properties":{"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/mutualA"}},"additionalProperties":false}},` +
			`"additionalProperties":false,"$defs":{"mutualA":{"type":"object","properties":{"b":{"type":"object","properties":{"a":{"$ref":"#/$defs/mutualA"}},"additionalProperties":false}},"additionalProperties":false}}}`},
		{"case 37: recursive through a map", reflect.TypeFor[selfMap](), `{"type":"object","properties":{"m":{"type":"object","properties":{},"additionalProperties":{"$ref":"#/$defs/selfMap"}}},"additionalProperties":false,` +
			`"$defs":{"selfMap":{"type":"object","properties":{"m":{"type":"object","properties":{},"additionalProperties":{"$ref":"#/$defs/selfMap"}}},"additionalProperties":false}}}`},
		{"case 37: recursive slice", reflect.TypeFor[holder](), `{"type":"object","properties":{"L":{"$ref":"#/$defs/list"}},"required":["L"],"additionalProperties":false,` +
			`"$defs":{"list":{"type":"array","items":{"$ref":"#/$defs/list"}}}}`},
		{"case 39 and 40: any, maps and pointers", reflect.TypeFor[withAny](), `{"type":"object","properties":{` +
			`"any":{"description":"any JSON value"},"raw":{"description":"any JSON value"},` +
			`"raws":{"type":"array","items":{"description":"any JSON value"}},"anys":{"type":"array","items":{"description":"any JSON value"}},` +
			`"map":{"type":"object","properties":{},"additionalProperties":{"description":"any JSON value"}},` +
			`"deep":{"type":"array","items":{"type":"array","items":{"type":"string"}}},"named":{"description":"What you like"},"ptr":{"type":"integer"},` +
			`"ptrs":{"type":"array","items":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false}},` +
			`"maps":{"type":"object","properties":{},"additionalProperties":{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}}},` +
			`"required":["any","raw","raws","anys","map","deep","named","ptrs","maps"]` + strict},
		{"case 42: forms of their own", reflect.TypeFor[plainForms](), `{"type":"object","properties":{` +
			`"t":{"type":"string","format":"date-time"},"tp":{"type":"string","format":"date-time"},` +
			`"d":{"type":"string","description":"a duration such as \"1m30s\""},"b":{"type":"string","contentEncoding":"base64"},"b4":{"type":"string","contentEncoding":"base64"},` +
			`"n":{"type":"number"},"big":{"type":"integer"},"addr":{"type":"string"},"ip":{"type":"string"},"url":{"type":"string","format":"uri-reference"},` +
			`"u":{"type":"string"},"h":{"type":"string","pattern":"^#"},"s":{"type":"string"},"l":{"type":"string","enum":["low","high"]},"f":{"type":"number"},` +
			`"a":{"type":"array","items":{"type":"integer"},"minItems":2,"maxItems":2}},` +
			`"required":["t","d","b","b4","n","big","addr","ip","url","u","h","s","l","f","a"]` + strict},
		{"case 45: ranges", reflect.TypeFor[bounds](), `{"type":"object","properties":{"i8":{"type":"integer","minimum":-128,"maximum":127},"u8":{"type":"integer","minimum":0,"maximum":255},` +
			`"i16":{"type":"integer","minimum":-32768,"maximum":32767},"u32":{"type":"integer","minimum":0,"maximum":4294967295},"i32":{"type":"integer","minimum":-2147483648,"maximum":2147483647},` +
			`"u64":{"type":"integer","minimum":0},"i64":{"type":"integer"}},"required":["i8","u8","i16","u32","i32","u64","i64"]` + strict},
		{"hooks", reflect.TypeFor[hooks](), `{"type":"object","properties":{"A":{"type":"string"},` +
			`"P":{"type":"object","properties":{},"additionalProperties":{"description":"any JSON value"},"not":{"required":["x"]}},` +
			`"E":{"type":"object","title":"Extended","properties":{},"additionalProperties":{"type":"integer"}},` +
			`"L":{"type":"array","items":{"type":"object","title":"Extended","properties":{},"additionalProperties":{"type":"integer"}}}},` +
			`"required":["A","E","L"]` + strict},
		{"embedded", reflect.TypeFor[embedder](), `{"type":"object","properties":{"x":{"type":"integer"},"p":{"type":"integer"},"own":{"type":"string"}},"required":["x","own"]` + strict},
		{"shadowed", reflect.TypeFor[shadow](), `{"type":"object","properties":{"x":{"type":"string"}},"required":["x"]` + strict},
		{"map", reflect.TypeFor[map[string]int](), `{"type":"object","properties":{},"additionalProperties":{"type":"integer"}}`},
		{"pointer", reflect.TypeFor[*inner](), `{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"]` + strict},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := generate(tt.of, closedInput)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			walkSchema(t, got)
			if _, err := compileValidator(got); err != nil {
				t.Errorf("the validator refuses it: %v", err)
			}
		})
	}
}

// walkSchema checks what every schema from a Go type keeps (case 39, case 40):
// no type unions, no booleans but additionalProperties:false, items in every
// array, properties in every object, and no $id.
func walkSchema(t *testing.T, text []byte) {
	t.Helper()
	doc, err := decodeDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	list := `{"tools":[{"name":"n","description":"d","inputSchema":` + string(text) + `}]}`
	refs := strings.Contains(string(text), `"$ref"`)
	for _, f := range Lint([]byte(list)) {
		if strings.Contains(f.Text, "no description") || strings.Contains(f.Text, "combinators") || refs && strings.Contains(f.Text, "references") {
			continue
		}
		t.Errorf("lint: %s", f)
	}
	if s, ok := doc.(object); ok && (s["$schema"] != nil || s["$id"] != nil) {
		t.Error("case 38: the schema has a label or an id")
	}
}

type (
	ownJSON  struct{ N int }
	onlyFrom struct{ N int }
	badTag   struct {
		A int `jsonschema:"descriptoin=x"`
	}
	caseFolded struct {
		A int `json:"a,case:ignore"`
	}
	hidden    struct{ a int }
	embedsTwo struct {
		time.Time
		big.Int
	}
	selfEmbed struct{ *selfEmbed }
	textOut   struct{ N int }
)

func (ownJSON) MarshalJSON() ([]byte, error) { return nil, errors.New("unused") }
func (*onlyFrom) UnmarshalJSON([]byte) error { return nil }
func (textOut) MarshalText() ([]byte, error) { return nil, nil }

// TestSchemaRefused has the types that registration refuses, and the words in
// the error that say why.
func TestSchemaRefused(t *testing.T) {
	_ = hidden{}.a
	// Types that go vet would refuse are made here.
	conflict := reflect.StructOf([]reflect.StructField{
		{Name: "A", Type: reflect.TypeFor[int](), Tag: `json:"x"`}, {Name: "B", Type: reflect.TypeFor[int](), Tag: `json:"x"`},
	})
	hiddenTag := reflect.StructOf([]reflect.StructField{
		{Name: "a", PkgPath: "x", Type: reflect.TypeFor[int](), Tag: `json:"a"`},
	})
	oddOption := reflect.StructOf([]reflect.StructField{{Name: "S", Type: reflect.TypeFor[string](), Tag: `json:"s,omitEmpty"`}})
	tests := []struct {
		name string
		of   reflect.Type
		dir  direction
		want string
	}{
		{"case 42: own MarshalJSON", reflect.TypeFor[struct{ A ownJSON }](), closedInput, "A: type tool.ownJSON makes its own JSON"},
		{"case 42: own UnmarshalJSON", reflect.TypeFor[struct{ A []onlyFrom }](), closedInput, "A: type tool.onlyFrom makes its own JSON"},
		{"case 42: text one way", reflect.TypeFor[struct{ A textOut }](), closedInput, "A: type tool.textOut has no method UnmarshalText"},
		{"case 43: unknown key", reflect.TypeFor[struct{ In badTag }](), closedInput, `In.A: unknown keyword "descriptoin" in the jsonschema tag; did you mean "description"?`},
		{"case 51: case folding", reflect.TypeFor[caseFolded](), closedInput, `the json option "case:ignore" is not supported`},
		{"two fields of one name", conflict, closedInput, `fields A and B have the same JSON name "x"`},
		{"nothing exported", reflect.TypeFor[struct{ H hidden }](), closedInput, "H: type tool.hidden has no exported fields"},
		{"tag on a hidden field", hiddenTag, closedInput, "field a has a json tag but is not exported"},
		{"embedded time", reflect.TypeFor[embedsTwo](), closedInput, "embedded field Time has a JSON form of its own"},
		{"embeds itself", reflect.TypeFor[selfEmbed](), closedInput, "pointer to an unexported type"},
		{"channel", reflect.TypeFor[struct{ C chan int }](), closedInput, "C: type chan int has no JSON form"},
		{"function", reflect.TypeFor[struct{ F []func() }](), output, "F: type func() has no JSON form"},
		{"interface", reflect.TypeFor[struct{ E error }](), closedInput, "E: interface error cannot be decoded"},
		{"map key", reflect.TypeFor[map[float64]int](), closedInput, "map key float64 has no JSON form"},
		{"string option", reflect.TypeFor[struct {
			S string `json:",string"`
		}](), closedInput, "the json option string is for numbers"},
		{"quoted name", reflect.TypeFor[struct {
			S string `json:"'a'"`
		}](), closedInput, "quotes or backslashes"},
		{"unknown option", oddOption, closedInput, `the json option "omitEmpty" is not supported`},
		{"case 39: hook without items", reflect.TypeFor[struct{ A badHook }](), closedInput, "/properties/A: an array needs items"},
		{"hook without a schema", reflect.TypeFor[struct{ A []nilHook }](), closedInput, "A: tool.nilHook.JSONSchema returned nil"},
		{"extras", reflect.TypeFor[struct {
			S string `jsonschema_extras:"a=b"`
		}](), closedInput, "jsonschema_extras"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := generate(tt.of, tt.dir)
			if err == nil {
				t.Fatalf("got %s", got)
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, want %q", err, tt.want)
			}
		})
	}
}

// TestSchemaRoundTrip marshals a sample of each type and checks it against its
// own schema, and decodes it again (case 42).
func TestSchemaRoundTrip(t *testing.T) {
	u, _ := url.Parse("https://example.org/a?b=c")
	when := time.Date(2026, 7, 28, 12, 30, 0, 5000, time.UTC)
	n, _ := new(big.Int).SetString("123456789012345678901234567890", 10)
	samples := []any{
		plainForms{T: when, TP: &when, D: 90 * time.Second, B: []byte("hello"), B4: [4]byte{1, 2, 3, 4}, N: "0.1", Big: *n,
			Addr: netip.MustParseAddr("10.0.0.1"), IP: net.IPv4(1, 2, 3, 4), URL: *u, U: uuid{1, 2}, H: hooked{7}, S: 1 << 60, L: "low", F: 1e300},
		plainForms{N: "9007199254740993", L: "high"},
		withAny{Any: map[string]any{"a": jsonv1.Number("9007199254740993")}, Raw: jsonv1.RawMessage(`{"b":[1]}`)},
		twice{}, tree{Name: "root", Kids: []tree{{Name: "leaf"}}}, mutualA{}, selfMap{}, holder{L: list{nil, list{}}},
		bounds{-128, 255, -32768, 1<<32 - 1, -1 << 31, 1<<64 - 1, -1 << 63}, embedder{}, shadow{},
	}
	for _, sample := range samples {
		typ := reflect.TypeOf(sample)
		t.Run(typ.Name(), func(t *testing.T) {
			s, err := schemaOfType(typ, output)
			if err != nil {
				t.Fatal(err)
			}
			text, err := result.Marshal(t.Context(), sample, 1<<20)
			if err != nil {
				t.Fatal(err)
			}
			tool := Tool{out: s}
			normal, err := tool.checkOutput(text)
			if err != nil {
				t.Fatalf("%s\nagainst %s: %v", text, s.text, err)
			}
			if found, err := s.problems(normal); err != nil || len(found) > 0 {
				t.Errorf("the validator refuses %s: %v %v", normal, found, err)
			}
			back := reflect.New(typ)
			if err := jsonUnmarshal(normal, back.Interface()); err != nil {
				t.Fatalf("%s: %v", normal, err)
			}
			again, err := result.Marshal(t.Context(), back.Interface(), 1<<20)
			if err != nil || string(again) != string(text) {
				t.Errorf("got\n%s %v\nwant\n%s", again, err, text)
			}
		})
	}
}
