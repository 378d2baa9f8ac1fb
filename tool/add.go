// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/result"
)

// Add registers a tool whose handler makes its own Result. In is the type of
// the arguments: a struct, a map with string keys, or anything else when
// info.InputSchema is given.
//
// Add panics when info or the types cannot be served, as http.Handle does;
// [Registry.Register] returns an error instead.
func Add[In any](r *Registry, info Info, h func(context.Context, *Request, In) (result.Result, error)) {
	t := &Tool{info: info, decodes: true}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		var in In
		if err := decode(t, req.Arguments, &in); err != nil {
			return result.Result{}, err
		}
		return h(ctx, req, in)
	}
	must(register(r, t, h == nil, reflect.TypeFor[In](), nil, nil))
}

// AddFunc registers a plain function as a tool. In is as for [Add]. What it
// returns becomes the result:
//
//   - a string is the text;
//   - a result.Result is the result;
//   - a value with a method Result(result.Budget) result.Result, such as an
//     *exec.Output, makes its result itself, for the tool's budget; its
//     structured content is described by an output schema as below;
//   - anything else is the structured content, described by an output schema
//     that follows from Out (or info.OutputSchema) and validated against it. A
//     nil pointer stands for the zero value of what it points to.
//
// It panics like Add.
func AddFunc[In, Out any](r *Registry, info Info, h func(context.Context, In) (Out, error)) {
	t := &Tool{info: info, decodes: true}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		var in In
		if err := decode(t, req.Arguments, &in); err != nil {
			return result.Result{}, err
		}
		out, err := h(ctx, in)
		if r, ok := any(out).(resulter); ok && !reflect.ValueOf(&out).Elem().IsZero() {
			return r.Result(req.Budget()), err
		}
		return resultOf(out, err), err
	}
	o := reflect.TypeFor[Out]()
	text := o.Kind() == reflect.String && !implements(o, textMethods...)
	if text && info.OutputSchema != nil {
		panic(registerError(info.Name, errors.New("a text has no output schema")).Error())
	}
	var out reflect.Type
	if !text && o != reflect.TypeFor[result.Result]() && info.OutputSchema == nil && (!isAny(o) || !info.AnyOutput) {
		out = o
	}
	must(register(r, t, h == nil, reflect.TypeFor[In](), out, nil))
}

// A resulter makes its result itself.
type resulter interface {
	Result(result.Budget) result.Result
}

// isAny tells whether a type says nothing about its JSON.
func isAny(t reflect.Type) bool {
	return t.Kind() == reflect.Interface || t == reflect.TypeFor[jsontext.Value]() || t == reflect.TypeFor[jsonv1.RawMessage]()
}

// resultOf makes a Result of what a plain function returned. Beside an error,
// a zero value is no output.
func resultOf[Out any](out Out, err error) result.Result {
	switch v := any(out).(type) {
	case result.Result:
		return v
	case string:
		return textResult(v, err)
	}
	return structured(out, err)
}

func textResult(text string, err error) result.Result {
	if err != nil && text == "" {
		return result.Result{}
	}
	return result.Text(text)
}

func structured[Out any](out Out, err error) result.Result {
	v := reflect.ValueOf(&out).Elem()
	switch {
	case v.Kind() == reflect.String && !implements(v.Type(), textMethods...):
		return textResult(v.String(), err)
	case err != nil && v.IsZero():
		return result.Result{}
	case v.Kind() == reflect.Pointer && v.IsNil():
		return result.Result{Structured: reflect.New(v.Type().Elem()).Interface()}
	}
	return result.Result{Structured: &out} // a pointer spares the encoder a copy
}

// AddPage registers a tool that answers with pages of items of type T. The
// handler adds items to the page, whose budget is set, until Add reports that
// it is full, and then sets NextCursor; what it returns beside nil is kept as
// partial output. In has to embed [PageInput]. The output schema is
// [PageSchema] of T, open for what Page.Extra adds, unless info.OutputSchema
// is given. AddPage panics like Add.
func AddPage[In, T any](r *Registry, info Info, h func(context.Context, *Request, In, *result.Page[T]) error) {
	t := &Tool{info: info, decodes: true}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		var in In
		if err := decode(t, req.Arguments, &in); err != nil {
			return result.Result{}, err
		}
		page := result.Page[T]{Budget: req.Budget()}
		err := h(ctx, req, in, &page)
		if err != nil && page.Len() == 0 {
			return result.Result{}, err
		}
		return page.Result(), err
	}
	var out *schema
	if info.OutputSchema == nil {
		text, err := pageSchema(reflect.TypeFor[T](), nil)
		must(err)
		out = newSchema(text)
	}
	err := register(r, t, h == nil, reflect.TypeFor[In](), nil, out)
	if err == nil && !t.pages {
		r.Remove(info.Name)
		err = registerError(info.Name, errors.New("the input type has to embed tool.PageInput"))
	}
	must(err)
}

// register completes t and adds it to r.
func register(r *Registry, t *Tool, noHandler bool, in, outType reflect.Type, out *schema) (err error) {
	if noHandler {
		return registerError(t.info.Name, errors.New("the handler is nil"))
	}
	var input *schema
	if t.info.InputSchema == nil {
		dir := closedInput
		if t.info.AllowUnknown {
			dir = openInput
		}
		if input, err = schemaOfType(in, dir); err != nil {
			return registerError(t.info.Name, fmt.Errorf("input type %s: %w", in, err))
		}
	}
	if outType != nil {
		if out, err = schemaOfType(outType, output); err != nil {
			return registerError(t.info.Name, fmt.Errorf("output type %s: %w", outType, err))
		}
	}
	if err := t.describe(input, out); err != nil {
		return registerError(t.info.Name, err)
	}
	if err := t.decodeDefaults(in); err != nil {
		return registerError(t.info.Name, err)
	}
	return r.add(t)
}

// must panics with an error of registration: the program is wrong.
func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}
