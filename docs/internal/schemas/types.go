// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"encoding/json"
	"fmt"
	"math/big"
	"net/netip"
	"net/url"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"

	"github.com/weir-mcp/weir/tool"
)

// kinds has a field of each kind of type.
type kinds struct {
	Text     string
	Flag     bool
	Int      int
	Int64    int64
	Int8     int8
	Int16    int16
	Int32    int32
	Uint     uint
	Uint64   uint64
	Uint8    uint8
	Uint16   uint16
	Uint32   uint32
	Float64  float64
	Float32  float32
	Words    []string
	Pair     [2]int
	Grid     [][]float64
	Counts   map[string]int
	ByNumber map[int]string
	Object   map[string]any
	Nested   Range
	Many     []Range
	Pointer  *int
	Any      any
	Anys     []any
}

// Range is nested in others.
type Range struct {
	From int `json:"from"`
	To   int `json:"to,omitempty"`
}

// forms has types with a JSON form of their own.
type forms struct {
	When     time.Time
	Wait     time.Duration
	Bytes    []byte
	Sum      [4]byte
	Number   json.Number
	Big      big.Int
	Link     url.URL
	Raw      json.RawMessage
	Value    jsontext.Value
	Addr     netip.Addr
	Level    Level
	Color    Color
	Distance Distance
}

// Level has a fixed set of values, which its method adds to the schema.
type Level string

// JSONSchemaExtend changes the schema that follows from the kind.
func (Level) JSONSchemaExtend(s *jsonschema.Schema) { s.Enum = []any{"low", "high"} }

// Color has a JSON form of its own, and so has to say what that is.
type Color struct{ R, G, B uint8 }

// MarshalJSON writes #rrggbb.
func (c Color) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, `"#%02x%02x%02x"`, c.R, c.G, c.B), nil
}

// UnmarshalJSON reads #rrggbb.
func (c *Color) UnmarshalJSON(text []byte) error {
	_, err := fmt.Sscanf(string(text), `"#%02x%02x%02x"`, &c.R, &c.G, &c.B)
	return err
}

// JSONSchema is the whole schema.
func (Color) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{Type: "string", Pattern: "^#[0-9a-f]{6}$"}
}

// Distance is text in JSON.
type Distance struct{ Metres float64 }

// MarshalText writes metres.
func (d Distance) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%gm", d.Metres), nil }

// UnmarshalText reads metres.
func (d *Distance) UnmarshalText(text []byte) error {
	_, err := fmt.Sscanf(string(text), "%gm", &d.Metres)
	return err
}

// presence has what decides whether a property is required, and its name.
type presence struct {
	Plain    string
	Named    string  `json:"named"`
	Empty    string  `json:"empty,omitempty"`
	Zero     int     `json:"zero,omitzero"`
	Pointer  *string `json:"pointer"`
	Default  string  `json:"default" jsonschema:"default=."`
	Insisted *string `json:"insisted" jsonschema:"required"`
	Digits   int64   `json:"digits,string"`
	Left     string  `json:"-"`
}

// keywords has a field for each keyword of the jsonschema tag.
type keywords struct {
	Title            string   `json:"title" jsonschema:"title=The pattern"`
	Description      string   `json:"description" jsonschema:"description=What to look for, as RE2"`
	Default          int      `json:"default" jsonschema:"default=20"`
	Enum             string   `json:"enum" jsonschema:"enum=asc,enum=desc"`
	Example          string   `json:"example" jsonschema:"example=*.go,example=**/*.md"`
	Minimum          int      `json:"minimum" jsonschema:"minimum=1"`
	Maximum          int      `json:"maximum" jsonschema:"maximum=100"`
	ExclusiveMinimum float64  `json:"exclusiveMinimum" jsonschema:"exclusiveMinimum=0"`
	ExclusiveMaximum float64  `json:"exclusiveMaximum" jsonschema:"exclusiveMaximum=1"`
	MultipleOf       float64  `json:"multipleOf" jsonschema:"multipleOf=0.25"`
	MinLength        string   `json:"minLength" jsonschema:"minLength=1"`
	MaxLength        string   `json:"maxLength" jsonschema:"maxLength=200"`
	Pattern          string   `json:"pattern" jsonschema:"pattern=^[a-z]+$"`
	Format           string   `json:"format" jsonschema:"format=email"`
	MinItems         []string `json:"minItems" jsonschema:"minItems=1"`
	MaxItems         []string `json:"maxItems" jsonschema:"maxItems=10"`
	UniqueItems      []string `json:"uniqueItems" jsonschema:"uniqueItems"`
	Deprecated       string   `json:"deprecated" jsonschema:"deprecated"`
	Required         []Range  `json:"required,omitempty" jsonschema:"required"`
}

// syntax has what is easily got wrong in a tag.
type syntax struct {
	Sentence string   `json:"sentence" jsonschema:"A sentence without keywords is the description, commas and all"`
	Commas   string   `json:"commas" jsonschema:"description=Of several, the first,minLength=1"`
	Escaped  string   `json:"escaped" jsonschema:"enum=a\\,b,enum=c"`
	Equals   string   `json:"equals" jsonschema:"description=Such as a=b, or x=1"`
	Regexp   string   `json:"regexp" jsonschema:"pattern=^a{2\\,3}=$"`
	Blanks   string   `json:"blanks" jsonschema:"enum=a, enum=b"`
	Items    []string `json:"items" jsonschema:"enum=a,enum=b,maxItems=2"`
	Defaults []string `json:"defaults" jsonschema:"default=a,default=b"`
	List     []int    `json:"list" jsonschema:"default=[1\\,2]"`
	Object   Range    `json:"object" jsonschema:"default={\"from\":1}"`
	Wait     string   `json:"wait" jsonschema:"default=1m30s,example=5s"`
}

// noFields is for a tool without arguments.
type noFields struct{}

// searchInput has an embedded struct, whose fields are its own, and pages.
type searchInput struct {
	Query string `json:"query" jsonschema:"description=What to look for,minLength=1"`
	Range
	tool.PageInput
}

// node holds itself.
type node struct {
	Name string `json:"name"`
	Kids []node `json:"kids,omitempty"`
}

// match is an item of a page.
type match struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// sum is what a handler returns.
type sum struct {
	Sum   int64    `json:"sum"`
	Notes []string `json:"notes,omitempty"`
}

// json64 has every digit, and is a number in JSON.
type json64 = json.Number

// secret makes its own JSON, and does not say which.
type secret struct{ n int }

// MarshalJSON writes n.
func (s secret) MarshalJSON() ([]byte, error) { return fmt.Append(nil, s.n), nil }
