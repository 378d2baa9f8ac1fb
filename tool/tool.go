// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

// A Tool is one tool of a [Registry]. It does not change once registered; its
// methods may be called concurrently.
type Tool struct {
	info Info
	base Handler                 // without middleware
	run  atomic.Pointer[Handler] // with it

	in        *schema
	out       *schema        // nil when structured content is not described
	objectOut bool           // the root of out is an object
	meta      jsontext.Value // encoded; nil for none
	pages     bool           // the input has cursor and maxBytes
	decodes   bool           // base refuses duplicate names when it decodes

	definitions [forms]atomic.Pointer[jsontext.Value]
}

// Info returns what t was registered with. The caller must not change what it
// points to.
func (t *Tool) Info() Info { return t.info }

// describe checks t.info and sets the fields that follow from it. The schemas
// are those of the handler's types, nil where it has none.
func (t *Tool) describe(in, out *schema) (err error) {
	if err := t.info.check(); err != nil {
		return err
	}
	if t.in, err = t.inputSchema(in); err != nil {
		return fmt.Errorf("input schema: %w", err)
	}
	if t.out, err = t.outputSchema(out); err != nil {
		return fmt.Errorf("output schema: %w", err)
	}
	t.objectOut = t.out != nil && string(lookup(t.out.text, "type")) == `"object"`
	if t.meta, err = t.info.encodeMeta(); err != nil {
		return fmt.Errorf("field Meta: %w", err)
	}
	properties := lookup(t.in.text, "properties")
	t.pages = lookup(properties, "cursor") != nil && lookup(properties, "maxBytes") != nil
	return nil
}

func (t *Tool) inputSchema(in *schema) (*schema, error) {
	if in == nil || t.info.InputSchema != nil {
		text, err := givenInput(t.info.InputSchema, t.info.AllowCombinators)
		if err != nil {
			return nil, err
		}
		in = newSchema(text)
	}
	if string(lookup(in.text, "type")) != `"object"` {
		return nil, errors.New("arguments are an object: use a struct or a map, or give InputSchema")
	}
	if bytes.Contains(in.text, []byte(`"default":`)) {
		n, err := in.node()
		if err != nil {
			return nil, err
		}
		if err := n.checkDefaults("", map[*node]bool{}); err != nil {
			return nil, err
		}
	}
	return in, nil
}

func (t *Tool) outputSchema(out *schema) (*schema, error) {
	if t.info.OutputSchema != nil {
		text, err := givenOutput(t.info.OutputSchema, t.info.AnyOutput, t.info.AllowCombinators)
		if err != nil {
			return nil, err
		}
		out = newSchema(text)
	}
	if out == nil {
		return nil, nil
	}
	if string(lookup(out.text, "type")) != `"object"` && !t.info.AnyOutput {
		return nil, errors.New("the root is no object, which only revision 2026-07-28 knows: return a struct, or set AnyOutput")
	}
	return out, nil
}

// checkDefaults refuses a default that does not fit its own schema, as far as
// accept can tell.
func (n *node) checkDefaults(place string, seen map[*node]bool) error {
	n = n.deref()
	if seen[n] {
		return nil
	}
	seen[n] = true
	for i := range n.props {
		p := &n.props[i]
		below := join(place, p.name)
		a := acceptor{text: p.def}
		if p.def != nil && p.node.certain(map[*node]bool{}) && !a.accept(p.node) {
			return fmt.Errorf("%s: the default %s does not fit the schema", below, clip(string(p.def), 60))
		}
		if err := p.node.checkDefaults(below, seen); err != nil {
			return err
		}
	}
	if n.items != nil {
		return n.items.checkDefaults(place+"[]", seen)
	}
	return nil
}

// certain tells whether accept decides about all of n.
func (n *node) certain(seen map[*node]bool) bool {
	n = n.deref()
	if seen[n] {
		return true
	}
	seen[n] = true
	if n.ask || n.enumAsk {
		return false
	}
	for _, p := range n.props {
		if !p.node.certain(seen) {
			return false
		}
	}
	return (n.items == nil || n.items.certain(seen)) && (n.extra == nil || n.extra.certain(seen))
}

// wrap puts base into the middleware.
func (t *Tool) wrap(mw []Middleware) {
	h := t.base
	for i := len(mw) - 1; i >= 0; i-- {
		h = mw[i](h)
	}
	t.run.Store(&h)
}

// Serve runs one call: it validates req.Arguments, which have to be JSON in
// UTF-8, calls the handler through the middleware, and makes the result ready
// to be encoded: within req.Budget, checked against the output schema.
//
// Whatever a model should read comes as a Result, with IsError set for a
// failure: wrong arguments, an error of the handler (with what it returned
// beside it), a time-out or a shutdown with the output so far. The error is
// only ever an *Error, which the host should read; an *InternalError, for the
// log; or, when ctx ended with a *Cancelled as its cause, that cause: then
// nothing is to be sent.
//
// A panic of the handler is not recovered. Serve must not be called twice with
// one Request.
func (t *Tool) Serve(ctx context.Context, req *Request) (result.Result, error) {
	req.tool = t
	req.Tool = t.info.Name
	if ctx.Err() != nil {
		return t.finish(ctx, req, result.Result{}, context.Cause(ctx))
	}
	if err := t.prepare(req); err != nil {
		return t.finish(ctx, req, result.Result{}, err)
	}
	res, err := (*t.run.Load())(ctx, req)
	if req.Peer == nil {
		if p := req.group.wait(); p != nil {
			return result.Result{}, &InternalError{Tool: t.info.Name, Err: p}
		}
	}
	return t.finish(ctx, req, res, err)
}

// prepare validates req.Arguments and brings them into normal form.
func (t *Tool) prepare(req *Request) error {
	text := bytes.TrimSpace(req.Arguments)
	if len(text) == 0 || string(text) == "null" {
		text = []byte("{}")
	}
	n, err := t.in.node()
	if err != nil {
		return &InternalError{Tool: t.info.Name, Err: err}
	}
	a := acceptor{text: text}
	if a.accept(n) && !a.rewrite && (t.decodes || !a.unread) {
		req.Arguments = text
		return nil
	}
	z := normalizer{defaults: true, unwrap: t.info.AcceptText}
	normal := z.normalize(nil, text, n)
	if len(normal) == 0 || normal[0] != '{' {
		return &Error{Code: codeInvalidParams, Message: "arguments have to be an object"}
	}
	req.Arguments = normal
	a = acceptor{text: normal}
	if a.accept(n) && !a.rewrite && (t.decodes || !a.unread) {
		return nil
	}
	found, err := t.in.problems(normal)
	switch {
	case err != nil:
		return &InternalError{Tool: t.info.Name, Err: err}
	case len(found) > 0:
		return &argumentError{found}
	}
	return nil
}

// problems asks the validator what is wrong with text. An error means that the
// schema itself is at fault.
func (s *schema) problems(text []byte) (problems, error) {
	doc, err := decodeDocument(text)
	if err != nil {
		return problems{syntaxProblem(err)}, nil
	}
	v, err := s.deep()
	if err != nil {
		return nil, err
	}
	return v.check(doc)
}

// syntaxProblem says why JSON could not be read.
func syntaxProblem(err error) problem {
	var odd *decodeError
	var syntax *jsontext.SyntacticError
	switch {
	case errors.As(err, &odd):
		return problem{placeOf(string(odd.place)), odd.err.Error()}
	case errors.Is(err, jsontext.ErrDuplicateName) && errors.As(err, &syntax):
		return problem{placeOf(string(syntax.JSONPointer)), "given twice"}
	case errors.As(err, &syntax):
		return problem{placeOf(string(syntax.JSONPointer)), clip(syntax.Err.Error(), 120)}
	}
	return problem{"", clip(err.Error(), 120)}
}

func validUTF8(b []byte) bool { return utf8.Valid(b) }
