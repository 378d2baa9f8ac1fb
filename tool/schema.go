// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"fmt"
	"io"
	"net/url"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v5"
)

// A schema is the text of one JSON Schema (2020-12) and, made when they are
// first needed, the two forms that check values: a node for accept, and the
// validator, which costs far more to make and to ask. Tools of one Go type
// share it. Its methods may be called concurrently.
type schema struct {
	text  jsontext.Value // compact
	plain bool           // its Go type is decoded without functions of ours

	node    func() (*node, error)
	flat    func() *flat // nil for a schema that was given, not made from a type
	certain func() bool  // the node decides alone
	deep    func() (*validator, error)
}

// A validator is a compiled schema and the document it was made from, which
// the texts about problems are taken from.
type validator struct {
	doc      any
	compiled *jsonschema.Schema
}

func newSchema(text jsontext.Value) *schema {
	s := &schema{
		text: text,
		node: sync.OnceValues(func() (*node, error) { return compileNode(text) }),
		deep: sync.OnceValues(func() (*validator, error) { return compileValidator(text) }),
	}
	s.certain = sync.OnceValue(func() bool {
		n, err := s.node()
		return err == nil && n.certain(map[*node]bool{})
	})
	return s
}

// flatForm is what decodes arguments while they are checked, or nil.
func (s *schema) flatForm() *flat {
	if s.flat == nil {
		return nil
	}
	return s.flat()
}

// location is where a schema is said to be from. It is absolute, lest the
// validator resolve it in the working directory and name that in its errors.
const location = "mcp:///schema"

func compileValidator(text []byte) (*validator, error) {
	doc, err := decodeDocument(text)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.Draft = jsonschema.Draft2020
	c.AssertFormat = true
	c.LoadURL = func(s string) (io.ReadCloser, error) {
		return nil, fmt.Errorf("no schema is ever loaded: %s", s)
	}
	if err := c.AddResource(location, bytes.NewReader(text)); err != nil {
		return nil, err
	}
	s, err := c.Compile(location)
	if err != nil {
		return nil, err
	}
	return &validator{doc: doc, compiled: s}, nil
}

// check asks the validator about doc, which decodeDocument made. A value that
// does not fit is a list of problems; an error means that nobody can tell.
func (v *validator) check(doc any) (problems, error) {
	err := v.compiled.Validate(doc)
	if err == nil {
		return nil, nil
	}
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return nil, err
	}
	r := reporter{schema: v.doc, doc: doc}
	r.report(invalid)
	return r.found.sorted(), nil // the validator walks over Go maps
}

// pointerOf is the JSON pointer in a location of the validator, which is
// escaped as a URL.
func pointerOf(location string) string {
	u, err := url.PathUnescape(location)
	if err != nil {
		return location
	}
	return u
}
