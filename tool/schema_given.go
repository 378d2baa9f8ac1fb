// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"

	"github.com/weir-mcp/weir/internal/lint"
	"github.com/weir-mcp/weir/internal/quote"
)

// noArguments is the schema of a tool without arguments. Hosts refuse shorter
// ones.
const noArguments = `{"type":"object","properties":{},"additionalProperties":false}`

// rootCombinators are the keywords that make hosts refuse a schema when they
// stand at its root: some then drop the tool, some the server.
var rootCombinators = lint.RootCombinators

// givenInput checks a schema for arguments that an author wrote, and brings it
// into the form that hosts take.
func givenInput(text []byte, combinators bool) (jsontext.Value, error) {
	compact, err := quote.Raw(nil, text)
	if len(text) > 0 && err != nil {
		return nil, err
	}
	switch string(compact) {
	case "", "{}", "null":
		return jsontext.Value(noArguments), nil
	}
	return checkGiven(compact, true, combinators)
}

// givenOutput is givenInput for structured content; with anyRoot its root may
// be something else than an object.
func givenOutput(text []byte, anyRoot, combinators bool) (jsontext.Value, error) {
	compact, err := quote.Raw(nil, text)
	if err != nil {
		return nil, err
	}
	return checkGiven(compact, !anyRoot, combinators || anyRoot)
}

// checkSchema checks a schema that hooks of a Go type had a hand in.
func checkSchema(text []byte) (jsontext.Value, error) {
	compact, err := quote.Raw(nil, text)
	if err != nil {
		return nil, err
	}
	return checkGiven(compact, false, true)
}

func checkGiven(compact []byte, objectRoot, combinators bool) (jsontext.Value, error) {
	doc, err := decodeDocument(compact)
	if err != nil {
		return nil, err
	}
	root, ok := doc.(object)
	if !ok {
		return nil, errors.New("a schema has to be an object")
	}
	c := &given{doc: doc, objectRoot: objectRoot}
	if !combinators {
		for _, k := range rootCombinators {
			if _, has := root[k]; has {
				return nil, fmt.Errorf("%s at the root of a schema makes hosts refuse the tool or the whole server", k)
			}
		}
	}
	out := c.schema(nil, compact, "")
	if c.err != nil {
		return nil, c.err
	}
	if _, err := compileNode(out); err != nil {
		return nil, err
	}
	if c.deep {
		if _, err := compileValidator(out); err != nil {
			return nil, schemaFault(err)
		}
	}
	return out, nil
}

// schemaFault says what the validator has against a schema: where, and why.
func schemaFault(err error) error {
	var invalid *jsonschema.ValidationError
	if errors.As(err, &invalid) {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return fmt.Errorf("%s: %s", orRoot(pointerOf(invalid.InstanceLocation)), invalid.Message)
	}
	var loop jsonschema.InfiniteLoopError
	if errors.As(err, &loop) {
		return fmt.Errorf("a $ref leads back to itself: %s", strings.ReplaceAll(strings.TrimPrefix(loop.Error(), "jsonschema: infinite loop "), location, ""))
	}
	return errors.New(strings.TrimPrefix(err.Error(), "jsonschema: "))
}

// A given is the check of one schema that an author wrote.
type given struct {
	doc        any
	objectRoot bool
	deep       bool  // it has keywords whose values are not checked here
	err        error // the first one
}

func (c *given) fail(place, format string, a ...any) {
	if c.err == nil {
		c.err = fmt.Errorf("%s: %s", orRoot(place), fmt.Sprintf(format, a...))
	}
}

func orRoot(place string) string {
	if place == "" {
		return "root"
	}
	return place
}

// schema appends the schema text, which stands at the pointer place, in the
// form that hosts take.
func (c *given) schema(dst, text []byte, place string) []byte {
	switch text[0] {
	case 't':
		return append(append(dst, `{"description":"`+anyValue+`"`...), '}')
	case '{':
	default:
		c.fail(place, "a schema has to be an object (only additionalProperties may be false)")
		return dst
	}
	types := c.types(text, place)
	dst = append(dst, '{')
	start := len(dst)
	if types == nil && place == "" && c.objectRoot {
		types = []string{"object"}
		dst = append(dst, `"type":"object"`...)
	}
	members(text, func(m member) bool {
		name := string(m.name)
		if name == "$schema" {
			c.label(m.value, place)
			return true
		}
		if name == "definitions" {
			name = "$defs"
		}
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(quote.Append(dst, name), ':')
		dst = c.keyword(dst, name, m.value, place)
		return c.err == nil
	})
	if place == "" && c.objectRoot && !slices.Equal(types, []string{"object"}) {
		c.fail(place, "the type has to be object")
	}
	if slices.Contains(types, "array") && lookup(text, "items") == nil {
		c.fail(place, "an array needs items")
	}
	if slices.Contains(types, "object") && lookup(text, "properties") == nil {
		dst = append(dst, `,"properties":{}`...)
	}
	return append(dst, '}')
}

func (c *given) types(text []byte, place string) []string {
	v := lookup(text, "type")
	if v == nil {
		return nil
	}
	doc, _ := decodeDocument(v)
	if _, ok := kindsOf(doc); !ok {
		c.fail(place, "type %s is unknown", v)
	}
	types := typesOf(doc)
	if slices.Sort(types); len(slices.Compact(slices.Clone(types))) < len(types) {
		c.fail(place, "type %s has one twice", v)
	}
	return types
}

// label checks the dialect; the label itself is left out, for 2020-12 is what
// the protocol assumes and hosts refuse others.
func (c *given) label(v jsontext.Value, place string) {
	dialect := strings.TrimSuffix(string(unquote(v)), "#")
	switch {
	case place != "":
		c.fail(place, "$schema below the root")
	case dialect == "https://json-schema.org/draft/2020-12/schema":
	case strings.HasSuffix(dialect, "json-schema.org/draft-07/schema"), strings.HasSuffix(dialect, "json-schema.org/draft-06/schema"):
		// what differs in them is refused keyword by keyword
	default:
		c.fail(place, "the dialect %s is not supported: write JSON Schema 2020-12", v)
	}
}

// keyword appends the value of one keyword.
func (c *given) keyword(dst []byte, name string, v jsontext.Value, place string) []byte {
	below := place + "/" + escapePointer(name)
	switch name {
	case "$id", "id", "$anchor", "$dynamicAnchor", "$dynamicRef", "$recursiveRef", "$vocabulary":
		if name != "id" || v[0] == '"' {
			c.fail(place, "%s is not supported: refer to #/$defs/… only", name)
		}
	case "additionalItems", "dependencies":
		c.fail(place, "%s is not in JSON Schema 2020-12: use prefixItems, dependentRequired or dependentSchemas", name)
	case "$ref":
		c.deep = true // a circle
		return c.ref(dst, v, place)
	case "patternProperties", "dependentSchemas":
		c.deep = true
		return c.schemas(dst, v, below)
	case "properties", "$defs":
		return c.schemas(dst, v, below)
	case "allOf", "anyOf", "oneOf", "prefixItems":
		return c.list(dst, v, below)
	case "additionalProperties", "unevaluatedProperties", "unevaluatedItems":
		if v[0] == 't' || v[0] == 'f' {
			return append(dst, v...)
		}
		return c.schema(dst, v, below)
	case "items":
		if v[0] == '[' {
			c.fail(place, "items as a list is not in JSON Schema 2020-12: use prefixItems")
			return dst
		}
		return c.schema(dst, v, below)
	case "not", "if", "then", "else", "contains", "propertyNames", "contentSchema":
		return c.schema(dst, v, below)
	case "required":
		c.names(v, below)
	case "enum":
		if v[0] != '[' || string(v) == "[]" {
			c.fail(place, "enum has to be a list of values")
		}
	case "pattern":
		if _, err := regexp.Compile(string(unquote(v))); v[0] != '"' || err != nil {
			c.fail(place, "pattern %s is no RE2 expression", v)
		}
	case "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum":
		if v.Kind() != '0' {
			c.fail(place, "%s has to be a number", name)
		}
	case "multipleOf":
		if v.Kind() != '0' || !positive(v) {
			c.fail(place, "multipleOf has to be a number above zero")
		}
	case "examples":
		if v[0] != '[' {
			c.fail(place, "examples has to be a list of values")
		}
	case "minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties", "minContains", "maxContains":
		if n, ok := smallInteger(v); !ok || n < 0 {
			c.fail(place, "%s has to be a count", name)
		}
	case "title", "description", "format", "$comment", "contentEncoding", "contentMediaType":
		if v[0] != '"' {
			c.fail(place, "%s has to be a string", name)
		}
	case "uniqueItems", "deprecated", "readOnly", "writeOnly":
		if v[0] != 't' && v[0] != 'f' {
			c.fail(place, "%s has to be true or false", name)
		}
	case "type", "const", "default":
	default:
		c.deep = c.deep || !annotates(name)
	}
	return append(dst, v...)
}

func (c *given) ref(dst []byte, v jsontext.Value, place string) []byte {
	ref := string(unquote(v))
	frag, ok := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(frag)
	if _, found := resolve(c.doc, pointer); !ok || v[0] != '"' || err != nil || !found {
		c.fail(place, "$ref %s does not lead to a place in this schema; no other is ever loaded", v)
		return dst
	}
	if rest, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
		ref = "#/$defs/" + rest
	}
	return quote.Append(dst, ref)
}

func (c *given) schemas(dst []byte, v jsontext.Value, place string) []byte {
	if v[0] != '{' {
		c.fail(place, "has to be an object of schemas")
		return dst
	}
	dst = append(dst, '{')
	start := len(dst)
	members(v, func(m member) bool {
		if len(dst) > start {
			dst = append(dst, ',')
		}
		dst = append(quote.Append(dst, m.name), ':')
		dst = c.schema(dst, m.value, place+"/"+escapePointer(string(m.name)))
		return c.err == nil
	})
	return append(dst, '}')
}

func (c *given) list(dst []byte, v jsontext.Value, place string) []byte {
	if v[0] != '[' {
		c.fail(place, "has to be a list of schemas")
		return dst
	}
	dst = append(dst, '[')
	n := 0
	elements(v, func(e []byte) bool {
		if n > 0 {
			dst = append(dst, ',')
		}
		dst = c.schema(dst, e, fmt.Sprintf("%s/%d", place, n))
		n++
		return c.err == nil
	})
	if n == 0 {
		c.fail(place, "is empty")
	}
	return append(dst, ']')
}

func (c *given) names(v jsontext.Value, place string) {
	doc, _ := decodeDocument(v)
	list, ok := doc.([]any)
	seen := map[string]bool{}
	for _, e := range list {
		name, isString := e.(string)
		ok = ok && isString && !seen[name]
		seen[name] = true
	}
	if !ok {
		c.fail(place, "has to be a list of different names")
	}
}
