// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"encoding"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/invopop/jsonschema"
)

// background is the context of work that has no caller.
var background = context.Background()

// A direction says what a schema of a Go type describes.
type direction uint8

const (
	closedInput direction = iota // arguments; no other properties
	openInput                    // arguments; other properties are let through
	output                       // structured content
)

// schemaOfType returns the schema of t. It is made once for each type.
func schemaOfType(t reflect.Type, dir direction) (*schema, error) {
	type key struct {
		t   reflect.Type
		dir direction
	}
	if s, ok := typeSchemas.Load(key{t, dir}); ok {
		return s.(*schema), nil
	}
	g := newGenerator(dir)
	text, err := g.finish(g.root(t))
	if err != nil {
		return nil, err
	}
	made, plain := newSchema(text), !g.special
	made.plain = plain
	made.flat = sync.OnceValue(func() *flat {
		n, err := made.node()
		if err != nil || !plain {
			return nil
		}
		return newFlat(t, n)
	})
	s, _ := typeSchemas.LoadOrStore(key{t, dir}, made)
	return s.(*schema), nil
}

var typeSchemas sync.Map // of *schema, by type and direction; types are few and stay

// A generator makes the schema of one Go type. The reflector walks over it,
// and knows the hooks JSONSchema, JSONSchemaExtend and JSONSchemaAlias of
// package github.com/invopop/jsonschema; structs, maps and the types with a
// JSON form of their own are made here, since they follow JSON v2 and the tags
// of this package.
type generator struct {
	reflector jsonschema.Reflector
	dir       direction

	recursive map[reflect.Type]bool   // types that hold themselves; known before the walk
	names     map[reflect.Type]string // of those with a definition
	defs      map[string]*jsonschema.Schema
	expand    reflect.Type // the recursive type to be written out, not referred to

	hooked  bool     // a part came from a hook and has to be checked
	special bool     // some part is decoded by functions of result.Options
	steps   int      // types visited
	path    []string // of the fields that lead to the current type
	err     error    // the first one
}

func newGenerator(dir direction) *generator {
	g := &generator{dir: dir}
	g.reflector = jsonschema.Reflector{
		Anonymous: true, ExpandedStruct: true, DoNotReference: true, Mapper: g.build,
	}
	return g
}

// root makes the schema of t; a recursive t is written out at the root too.
func (g *generator) root(t reflect.Type) *jsonschema.Schema {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	g.findRecursion(t)
	g.expand = t
	return g.schema(t)
}

// finish writes s and its definitions.
func (g *generator) finish(s *jsonschema.Schema) (jsontext.Value, error) {
	if g.err != nil {
		return nil, g.err
	}
	if len(g.defs) > 0 {
		copied := *s
		copied.Definitions = g.defs
		s = &copied
	}
	text, err := appendSchema(nil, s)
	if err != nil || !g.hooked {
		return text, err
	}
	return checkSchema(text)
}

func (g *generator) fail(format string, a ...any) *jsonschema.Schema {
	if g.err == nil {
		err := fmt.Errorf(format, a...)
		if len(g.path) > 0 {
			err = fmt.Errorf("%s: %w", strings.Join(g.path, "."), err)
		}
		g.err = err
	}
	return &jsonschema.Schema{}
}

func (g *generator) schema(t reflect.Type) *jsonschema.Schema {
	s := g.reflector.ReflectFromType(t)
	g.expand = nil
	s.Version = ""
	return s
}

// maxSteps ends the walk over a type that a hook makes endless.
const maxSteps = 10_000

// build makes the schema of t, or returns nil to leave it to the reflector.
func (g *generator) build(t reflect.Type) *jsonschema.Schema {
	if g.steps++; g.steps > maxSteps {
		return g.fail("type %s has no end", t)
	}
	if g.err != nil {
		return &jsonschema.Schema{}
	}
	if g.recursive[t] && g.expand != t {
		return g.reference(t)
	}
	g.expand = nil
	s := g.leaf(t)
	if s != nil {
		return s
	}
	switch t.Kind() {
	case reflect.Struct:
		s = g.structure(t)
	case reflect.Map:
		s = g.mapping(t)
	case reflect.Interface:
		if t.NumMethod() > 0 {
			return g.fail("interface %s cannot be decoded: use any, or a type with a JSONSchema method", t)
		}
		g.special = true
		return &jsonschema.Schema{Description: anyValue}
	case reflect.Int8, reflect.Int16, reflect.Int32:
		bits := t.Bits() - 1
		s = &jsonschema.Schema{Type: "integer", Minimum: power(-1, bits, 0), Maximum: power(1, bits, -1)}
	case reflect.Uint8, reflect.Uint16, reflect.Uint32:
		s = &jsonschema.Schema{Type: "integer", Minimum: "0", Maximum: power(1, t.Bits(), -1)}
	case reflect.Uint, reflect.Uint64:
		s = &jsonschema.Schema{Type: "integer", Minimum: "0"}
	case reflect.Slice, reflect.Array:
		g.hooked = g.hooked || implements(t, extendHook)
		if t.Elem() == reflect.TypeFor[byte]() { // and no other type of that kind
			return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
		}
		return nil
	case reflect.Bool, reflect.String, reflect.Int, reflect.Int64, reflect.Float32, reflect.Float64:
		g.hooked = g.hooked || implements(t, extendHook)
		return nil
	default:
		return g.fail("type %s has no JSON form", t)
	}
	return g.extend(t, s)
}

// power is sign × 2^bits + add.
func power(sign int64, bits int, add int64) jsonv1.Number {
	return jsonv1.Number(strconv.FormatInt(sign<<bits+add, 10))
}

// reference returns a reference to the definition of the recursive type t,
// and makes the definition the first time.
func (g *generator) reference(t reflect.Type) *jsonschema.Schema {
	name, ok := g.names[t]
	if !ok {
		if g.defs == nil {
			g.defs = map[string]*jsonschema.Schema{}
			g.names = map[reflect.Type]string{}
		}
		name = definitionName(t)
		for n := 2; g.defs[name] != nil; n++ {
			name = definitionName(t) + strconv.Itoa(n)
		}
		g.names[t] = name
		g.defs[name] = &jsonschema.Schema{} // taken
		g.expand = t
		g.defs[name] = g.schema(t)
	}
	return &jsonschema.Schema{Ref: "#/$defs/" + name}
}

// definitionName is the name of t without what a reference would have to
// escape, as the names of generic types have.
func definitionName(t reflect.Type) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' {
			return r
		}
		return '_'
	}, t.Name())
}

func (g *generator) mapping(t reflect.Type) *jsonschema.Schema {
	key := t.Key()
	switch {
	case key.Kind() == reflect.String, implements(key, textMethods...):
	case key.Kind() >= reflect.Int && key.Kind() <= reflect.Uint64:
	default:
		return g.fail("map key %s has no JSON form", key)
	}
	return &jsonschema.Schema{Type: "object", AdditionalProperties: g.schema(t.Elem())}
}

func (g *generator) structure(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties()}
	if g.dir != openInput {
		s.AdditionalProperties = jsonschema.FalseSchema
	}
	fields, err := structFields(t)
	if err != nil {
		return g.fail("%w", err)
	}
	for _, f := range fields {
		g.path = append(g.path, f.name)
		property, required, err := g.property(f)
		if err != nil {
			return g.fail("%w", err)
		}
		if g.err != nil {
			return s
		}
		g.path = g.path[:len(g.path)-1]
		s.Properties.Set(f.name, property)
		if required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

func (g *generator) property(f field) (s *jsonschema.Schema, required bool, err error) {
	items, err := parseTag(f.tag.Get("jsonschema"))
	if err != nil {
		return nil, false, err
	}
	if d, ok := f.tag.Lookup("jsonschema_description"); ok {
		items = append(items, tagItem{"description", d})
	}
	if _, ok := f.tag.Lookup("jsonschema_extras"); ok {
		return nil, false, errors.New("the tag jsonschema_extras is not supported")
	}
	copied := *g.schema(f.typ) // a hook may return the same schema each time
	if f.quoted {
		copied = jsonschema.Schema{Type: "string"}
	}
	if copied.Description == anyValue && len(items) > 0 {
		copied.Description = ""
	}
	if err := apply(&copied, items); err != nil {
		return nil, false, err
	}
	for _, it := range items {
		required = required || it.key == "required"
	}
	switch {
	case required && copied.Default != nil:
		return nil, false, errors.New("required, and has a default")
	case copied.Ref != "" && (copied.Default != nil || copied.Enum != nil):
		return nil, false, errors.New("a recursive type cannot have a default or enum in its tag")
	case copied.Default == nil && !f.optional:
		required = true
	}
	return &copied, required, nil
}

// extend calls the hook that may change a schema.
func (g *generator) extend(t reflect.Type, s *jsonschema.Schema) *jsonschema.Schema {
	if implements(t, extendHook) {
		reflect.New(t).Interface().(interface{ JSONSchemaExtend(*jsonschema.Schema) }).JSONSchemaExtend(s)
		g.hooked = true
	}
	return s
}

var (
	jsonMethods = []reflect.Type{
		reflect.TypeFor[json.Marshaler](), reflect.TypeFor[json.MarshalerTo](),
		reflect.TypeFor[json.Unmarshaler](), reflect.TypeFor[json.UnmarshalerFrom](),
	}
	textMethods = []reflect.Type{reflect.TypeFor[encoding.TextMarshaler](), reflect.TypeFor[encoding.TextUnmarshaler]()}
	schemaHook  = reflect.TypeFor[interface{ JSONSchema() *jsonschema.Schema }]()
	extendHook  = reflect.TypeFor[interface{ JSONSchemaExtend(*jsonschema.Schema) }]()
	aliasHook   = reflect.TypeFor[interface{ JSONSchemaAlias() any }]()
)

// implements tells whether t or *t has the methods of one of the interfaces.
func implements(t reflect.Type, interfaces ...reflect.Type) bool {
	p := reflect.PointerTo(t)
	for _, i := range interfaces {
		if p.Implements(i) || t.Implements(i) {
			return true
		}
	}
	return false
}

// leaf returns the schema of a type whose JSON form does not follow from its
// kind, or nil.
func (g *generator) leaf(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[time.Duration]():
		g.special = true
		return &jsonschema.Schema{Type: "string", Description: durationWord}
	case reflect.TypeFor[jsonv1.Number]():
		g.special = true
		return &jsonschema.Schema{Type: "number"}
	case reflect.TypeFor[big.Int]():
		return &jsonschema.Schema{Type: "integer"}
	case reflect.TypeFor[url.URL]():
		g.special = true
		return &jsonschema.Schema{Type: "string", Format: "uri-reference"}
	case reflect.TypeFor[jsonv1.RawMessage](), reflect.TypeFor[jsontext.Value]():
		return &jsonschema.Schema{Description: anyValue}
	}
	if implements(t, schemaHook) {
		g.hooked, g.special = true, true
		h := reflect.New(t).Interface().(interface{ JSONSchema() *jsonschema.Schema })
		if s := h.JSONSchema(); s != nil {
			return s
		}
		return g.fail("%s.JSONSchema returned nil", t)
	}
	if t.Implements(aliasHook) {
		g.special = true
		return nil // the reflector
	}
	if implements(t, jsonMethods...) {
		return g.fail("type %s makes its own JSON: give it a method JSONSchema() *jsonschema.Schema, or the tool a raw schema", t)
	}
	if !implements(t, textMethods...) {
		return nil
	}
	need, name := textMethods[1], "UnmarshalText"
	if g.dir == output {
		need, name = textMethods[0], "MarshalText"
	}
	if !implements(t, need) {
		return g.fail("type %s has no method %s", t, name)
	}
	return &jsonschema.Schema{Type: "string"}
}
