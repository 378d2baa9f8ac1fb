// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// kinds is a set of JSON types.
type kinds uint8

const (
	kindNull kinds = 1 << iota
	kindBool
	kindInteger
	kindNumber // every number, integers too
	kindString
	kindArray
	kindObject

	kindAny = kindNull | kindBool | kindInteger | kindNumber | kindString | kindArray | kindObject
)

var kindNames = map[string]kinds{
	"null": kindNull, "boolean": kindBool, "integer": kindInteger, "number": kindNumber,
	"string": kindString, "array": kindArray, "object": kindObject,
}

// maxProperties is how many properties an object may declare for accept to
// keep track of; it asks the validator about larger ones.
const maxProperties = 256

// A node is a schema in the form that accept walks. It knows the keywords that
// most schemas are made of; where a schema has another one, the node has ask
// set, and the validator decides.
type node struct {
	ref   *node  // when set, the schema is this one and nothing else
	at    string // JSON pointer to it in its document
	kinds kinds
	typed bool // the schema has the keyword type
	any   bool // every value is valid
	ask   bool // only the validator knows

	props    []property
	byName   map[string]int // index in props; nil when props is short
	required [maxProperties / 64]uint64
	defaults bool  // some of props have one
	closed   bool  // no properties but props
	extra    *node // schema of other properties; nil for any

	items              *node // nil for any
	minItems, maxItems int   // maxItems is -1 for no limit

	minLength, maxLength int // in characters; maxLength is -1 for no limit
	pattern              *regexp.Regexp
	format               func(any) bool

	min, max                   bound
	exclusiveMin, exclusiveMax bool

	enum    []string // the allowed values as compact JSON; nil for all
	enumAsk bool     // enum holds more than strings and short integers
}

// A property is one named member that a schema declares.
type property struct {
	name     string
	node     *node
	required bool
	def      jsontext.Value // compact; nil for none
}

// asking is the node of a schema that only the validator understands.
var asking = &node{ask: true}

// deref follows references. A circle of them asks.
func (n *node) deref() *node {
	for range 16 {
		if n.ref == nil {
			return n
		}
		n = n.ref
	}
	return asking
}

// dropsNull tells whether a null for p counts as absent: p is optional, and its
// schema names types without null among them.
func (p *property) dropsNull() bool {
	n := p.node.deref()
	return !p.required && n.typed && n.kinds&kindNull == 0
}

// compileNode makes the node of the schema text, which was checked at
// registration.
func compileNode(text []byte) (*node, error) {
	doc, err := decodeDocument(text)
	if err != nil {
		return nil, err
	}
	c := nodeCompiler{doc: doc, made: map[string]*node{}}
	return c.compile("", doc)
}

type nodeCompiler struct {
	doc  any
	made map[string]*node // by JSON pointer; being filled while it is compiled
}

// compile returns the node of the schema that stands at the pointer.
func (c *nodeCompiler) compile(pointer string, schema any) (*node, error) {
	if n, ok := c.made[pointer]; ok {
		return n, nil
	}
	n := &node{at: pointer, kinds: kindAny, maxItems: -1, maxLength: -1}
	c.made[pointer] = n
	switch s := schema.(type) {
	case bool:
		n.any, n.ask = s, !s
		return n, nil
	case object:
		return n, c.fill(n, pointer, s)
	}
	return nil, fmt.Errorf("%s: a schema has to be an object", pointer)
}

func (c *nodeCompiler) fill(n *node, pointer string, s object) error {
	if ref, ok := s["$ref"].(string); ok {
		target, err := c.ref(ref)
		if err != nil {
			return err
		}
		n.ref = target
		for name := range s {
			if name != "$ref" && !annotates(name) {
				*n = *asking
			}
		}
		return nil
	}
	n.any = true
	for name, v := range s {
		if annotates(name) {
			continue
		}
		n.any = false
		ok, err := c.keyword(n, pointer, name, v, s)
		if err != nil {
			return err
		}
		if !ok {
			n.ask = true
		}
	}
	return nil
}

func annotates(keyword string) bool {
	return annotation[keyword] || strings.HasPrefix(keyword, "x-")
}

// annotation has the keywords that never refuse a value.
var annotation = map[string]bool{
	"title": true, "description": true, "default": true, "examples": true, "deprecated": true,
	"readOnly": true, "writeOnly": true, "$comment": true, "$schema": true, "$defs": true,
	"contentEncoding": true, "contentMediaType": true, "contentSchema": true,
}

func (c *nodeCompiler) ref(ref string) (*node, error) {
	frag, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("$ref %q leads outside the schema", ref)
	}
	pointer, err := url.PathUnescape(frag)
	if err != nil {
		return nil, err
	}
	target, ok := resolve(c.doc, pointer)
	if !ok {
		return nil, fmt.Errorf("$ref %q leads nowhere", ref)
	}
	return c.compile(pointer, target)
}

// keyword fills what one keyword says into n. It reports false for a keyword
// that accept does not know.
func (c *nodeCompiler) keyword(n *node, pointer, name string, v any, s object) (ok bool, err error) {
	switch name {
	case "type":
		n.typed = true
		n.kinds, ok = kindsOf(v)
		return ok, nil
	case "properties":
		return c.properties(n, pointer, v, s)
	case "required":
		_, ok = s["properties"]
		return ok, nil // read there
	case "additionalProperties":
		if open, isBool := v.(bool); isBool {
			n.closed = !open
			return true, nil
		}
		n.extra, err = c.compile(pointer+"/additionalProperties", v)
		return true, err
	case "items":
		n.items, err = c.compile(pointer+"/items", v)
		return true, err
	case "minItems":
		n.minItems, ok = count(v)
	case "maxItems":
		n.maxItems, ok = count(v)
	case "minLength":
		n.minLength, ok = count(v)
	case "maxLength":
		n.maxLength, ok = count(v)
	case "pattern":
		text, _ := v.(string)
		n.pattern, err = regexp.Compile(text)
		return true, err
	case "format":
		text, _ := v.(string)
		n.format = jsonschema.Formats[text]
		return true, nil
	case "minimum":
		return n.limit(&n.min, &n.exclusiveMin, v, false), nil
	case "exclusiveMinimum":
		return n.limit(&n.min, &n.exclusiveMin, v, true), nil
	case "maximum":
		return n.limit(&n.max, &n.exclusiveMax, v, false), nil
	case "exclusiveMaximum":
		return n.limit(&n.max, &n.exclusiveMax, v, true), nil
	case "enum":
		list, isList := v.([]any)
		n.enum = []string{}
		for _, e := range list {
			n.allow(e)
		}
		return isList, nil
	case "const":
		if _, both := s["enum"]; both {
			return false, nil
		}
		n.allow(v)
		return true, nil
	}
	return ok, nil
}

// properties fills in properties and required.
func (c *nodeCompiler) properties(n *node, pointer string, v any, s object) (bool, error) {
	props, ok := v.(object)
	if !ok || len(props) > maxProperties {
		return false, nil
	}
	required := map[string]bool{}
	if list, ok := s["required"].([]any); ok {
		for _, e := range list {
			name, _ := e.(string)
			required[name] = true
		}
	}
	for name, schema := range props {
		child, err := c.compile(pointer+"/properties/"+escapePointer(name), schema)
		if err != nil {
			return false, err
		}
		p := property{name: name, node: child, required: required[name]}
		if o, ok := schema.(object); ok {
			if def, ok := o["default"]; ok {
				p.def = (&normalizer{defaults: true}).normalize(nil, encodeDocument(nil, def), child)
				n.defaults = true
			}
		}
		delete(required, name)
		n.props = append(n.props, p)
	}
	slices.SortFunc(n.props, func(a, b property) int { return strings.Compare(a.name, b.name) })
	for i, p := range n.props {
		if p.required {
			n.required[i/64] |= 1 << (i % 64)
		}
	}
	if len(n.props) > 8 {
		n.byName = make(map[string]int, len(n.props))
		for i, p := range n.props {
			n.byName[p.name] = i
		}
	}
	return len(required) == 0, nil // required and not declared: ask
}

func kindsOf(v any) (kinds, bool) {
	switch v := v.(type) {
	case string:
		k, ok := kindNames[v]
		return k, ok
	case []any:
		var all kinds
		for _, e := range v {
			s, _ := e.(string)
			k, ok := kindNames[s]
			if !ok {
				return 0, false
			}
			all |= k
		}
		return all, all != 0
	}
	return 0, false
}

func count(v any) (int, bool) {
	num, _ := v.(json.Number)
	n, err := strconv.Atoi(num.String())
	return n, err == nil && n >= 0
}

// limit sets one side of the range of n; a second one for the same side is
// more than accept knows.
func (n *node) limit(b *bound, exclusive *bool, v any, isExclusive bool) bool {
	num, ok := v.(json.Number)
	if !ok || b.set {
		return false
	}
	*b = newBound(num.String())
	*exclusive = isExclusive
	return true
}

// allow adds one value of enum or const.
func (n *node) allow(v any) {
	text := string(encodeDocument(nil, v))
	switch v := v.(type) {
	case string, bool, nil:
	case json.Number:
		if m, ok := smallInteger([]byte(v)); !ok || strconv.FormatInt(m, 10) != text {
			n.enumAsk = true
		}
	default:
		n.enumAsk = true
	}
	n.enum = append(n.enum, text)
}
