// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync/atomic"

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
	hint      string         // how to get less of it; empty when that is not known
	input     reflect.Type   // what base decodes the arguments into, refusing duplicate names; nil if it does not

	hasDefaults bool // somewhere in the input schema

	definitions [forms]atomic.Pointer[jsontext.Value]
}

// Name returns the name of t: Info().Name without a copy of the rest.
func (t *Tool) Name() string { return t.info.Name }

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
	t.hint = hintOf(t.in.text, t.pages)
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
	t.hasDefaults = bytes.Contains(in.text, []byte(`"default":`))
	if t.hasDefaults {
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
