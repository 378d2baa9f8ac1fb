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
// Add panics when r or h is nil, or info or the types cannot be served, as
// http.Handle does; [Registry.Register] returns an error instead.
func Add[In any](r *Registry, info Info, h func(context.Context, *Request, In) (result.Result, error)) {
	t := &Tool{info: info, input: reflect.TypeFor[In]()}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		in, err := decode[In](t, req)
		if err != nil {
			return result.Result{}, err
		}
		return h(ctx, req, in)
	}
	must(register(r, t, h == nil, nil, nil))
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
// Structured content is a JSON object, since revisions before 2026-07-28 know
// nothing else: Out is a struct, a pointer to one or a map. Any other Out, such
// as a slice, a number or an interface, needs info.AnyOutput (or, for what is
// an object only at run time, info.OutputSchema).
//
// AddFunc panics like Add; and when Out has no schema, or one that is no object
// without info.AnyOutput, or is a string beside an info.OutputSchema.
func AddFunc[In, Out any](r *Registry, info Info, h func(context.Context, In) (Out, error)) {
	t := &Tool{info: info, input: reflect.TypeFor[In]()}
	o := reflect.TypeFor[Out]()
	makes := o.Kind() == reflect.Interface || o.Implements(reflect.TypeFor[resulter]())
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		in, err := decode[In](t, req)
		if err != nil {
			return result.Result{}, err
		}
		out, err := h(ctx, in)
		if makes {
			if r, ok := any(out).(resulter); ok && !reflect.ValueOf(&out).Elem().IsZero() {
				return r.Result(req.Budget()), err
			}
		}
		return resultOf(out, err), err
	}
	text := o.Kind() == reflect.String && !implements(o, textMethods...)
	if text && info.OutputSchema != nil {
		panic(registerError(info.Name, errors.New("a text has no output schema")).Error())
	}
	var out reflect.Type
	if !text && o != reflect.TypeFor[result.Result]() && info.OutputSchema == nil && (!isAny(o) || !info.AnyOutput) {
		out = o
	}
	must(register(r, t, h == nil, out, nil))
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
	switch v := any(&out).(type) { // a pointer, so that nothing is copied to the heap
	case *result.Result:
		return *v
	case *string:
		return textResult(*v, err)
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
// handler adds items to the page, whose Budget and Hint are set, until Add
// reports that it is full, and then sets NextCursor. The items of a call that
// fails, or is stopped, are kept as partial output, which says that there may
// be more. In has to embed [PageInput]. The output schema is
// [PageSchema] of T, open for what Page.Extra adds, unless info.OutputSchema
// is given. AddPage panics like Add.
func AddPage[In, T any](r *Registry, info Info, h func(context.Context, *Request, In, *result.Page[T]) error) {
	t := &Tool{info: info, input: reflect.TypeFor[In]()}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		in, err := decode[In](t, req)
		if err != nil {
			return result.Result{}, err
		}
		page := result.Page[T]{Budget: req.Budget(), Hint: t.hint}
		err = h(ctx, req, in, &page)
		if err != nil && page.Len() == 0 {
			return result.Result{}, err
		}
		return page.Result(), err
	}
	var out *schema
	if info.OutputSchema == nil {
		text, err := pageSchema(reflect.TypeFor[T](), nil)
		if err != nil {
			must(registerError(info.Name, fmt.Errorf("item type %s: %w", reflect.TypeFor[T](), err)))
		}
		out = newSchema(text)
	}
	must(complete(r, t, h == nil, nil, out))
	if !t.pages {
		must(registerError(info.Name, errors.New("the input type has to embed tool.PageInput")))
	}
	must(r.add(t))
}

// register completes t and adds it to r.
func register(r *Registry, t *Tool, noHandler bool, outType reflect.Type, out *schema) error {
	if err := complete(r, t, noHandler, outType, out); err != nil {
		return err
	}
	return r.add(t)
}

// complete fills in t, which is to be added to r.
func complete(r *Registry, t *Tool, noHandler bool, outType reflect.Type, out *schema) (err error) {
	if r == nil {
		return registerError(t.info.Name, errNoRegistry)
	}
	if noHandler {
		return registerError(t.info.Name, errNoHandler)
	}
	var input *schema
	if t.info.InputSchema == nil {
		dir := closedInput
		if t.info.AllowUnknown {
			dir = openInput
		}
		if input, err = schemaOfType(t.input, dir); err != nil {
			return registerError(t.info.Name, fmt.Errorf("input type %s: %w", t.input, err))
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
	if err := t.decodeDefaults(); err != nil {
		return registerError(t.info.Name, err)
	}
	return nil
}

// must panics with an error of registration: the program is wrong.
func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}
