// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
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
		if err := decode(req.Arguments, &in); err != nil {
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
//   - anything else is the structured content, described by an output schema
//     that follows from Out (or info.OutputSchema) and validated against it. A
//     nil pointer stands for the zero value of what it points to.
//
// It panics like Add.
func AddFunc[In, Out any](r *Registry, info Info, h func(context.Context, In) (Out, error)) {
	t := &Tool{info: info, decodes: true}
	t.base = func(ctx context.Context, req *Request) (result.Result, error) {
		var in In
		if err := decode(req.Arguments, &in); err != nil {
			return result.Result{}, err
		}
		out, err := h(ctx, in)
		return resultOf(out, err), err
	}
	var out reflect.Type
	switch o := reflect.TypeFor[Out](); {
	case o.Kind() == reflect.String && !implements(o, textMethods...), o == reflect.TypeFor[result.Result]():
	case info.OutputSchema == nil && (!isAny(o) || !info.AnyOutput):
		out = o
	}
	must(register(r, t, h == nil, reflect.TypeFor[In](), out, nil))
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
		if err != nil && v == "" {
			return result.Result{}
		}
		return result.Text(v)
	}
	v := reflect.ValueOf(&out).Elem()
	switch {
	case err != nil && v.IsZero():
		return result.Result{}
	case v.Kind() == reflect.String && !implements(v.Type(), textMethods...):
		return result.Text(v.String())
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
		if err := decode(req.Arguments, &in); err != nil {
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
	return r.add(t)
}

// must panics with an error of registration: the program is wrong.
func must(err error) {
	if err != nil {
		panic(err.Error())
	}
}

// decodeOptions are the rules for arguments: those of results, and a lone
// surrogate, which a frame may hold, becomes U+FFFD.
var decodeOptions = json.JoinOptions(result.Options(), jsontext.AllowInvalidUTF8(true))

// decode decodes validated arguments. What a schema does not say, such as the
// range of int64 or the form of an address, is found here.
func decode[In any](args jsontext.Value, in *In) error {
	err := json.Unmarshal(args, in, decodeOptions)
	if err == nil {
		return nil
	}
	return &argumentError{problems{decodeProblem(args, err)}}
}

// decodeProblem says which argument could not be decoded, and why.
func decodeProblem(args jsontext.Value, err error) problem {
	var semantic *json.SemanticError
	if !errors.As(err, &semantic) {
		return syntaxProblem(err)
	}
	place := placeOf(string(semantic.JSONPointer))
	found := "a value"
	if doc, err := decodeDocument(args); err == nil {
		if v, ok := resolve(doc, string(semantic.JSONPointer)); ok {
			found = show(v)
		}
	}
	if wanted := wantedType(semantic.GoType); wanted != "" {
		return problem{place, fmt.Sprintf("found %s, wanted %s", found, wanted)}
	}
	why := ""
	if semantic.Err != nil {
		why = ": " + clip(semantic.Err.Error(), 120)
	}
	return problem{place, fmt.Sprintf("found %s, which cannot be used%s", found, why)}
}

// wantedType says what a Go type takes, where its name would not help a model.
func wantedType(t reflect.Type) string {
	for t != nil && t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case t == nil:
		return ""
	case t == reflect.TypeFor[time.Duration]():
		return durationWord
	case t.PkgPath() != "":
		return ""
	}
	switch k := t.Kind(); {
	case k >= reflect.Int && k <= reflect.Uint64:
		return "an integer within the range of " + k.String()
	case k == reflect.Float32 || k == reflect.Float64:
		return "a number within the range of " + k.String()
	case (k == reflect.Slice || k == reflect.Array) && t.Elem().Kind() == reflect.Uint8:
		return "base64"
	}
	return ""
}
