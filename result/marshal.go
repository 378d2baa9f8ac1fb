// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

const (
	// step is how many bytes are handled between two looks at a context.
	step = 64 << 10

	// countLimit is where Marshal gives up counting a value that is too large.
	countLimit = 4 << 20
)

// A TooLargeError says that a value, once encoded, is larger than its limit.
// It is matched with errors.As on *TooLargeError.
type TooLargeError struct {
	Limit   int   // in bytes
	Size    int64 // in bytes as encoded; a lower bound when AtLeast is set
	AtLeast bool  // counting was given up at Size
}

func (e *TooLargeError) Error() string {
	return fmt.Sprintf("result: %s as encoded, over the limit of %s bytes", e.size(), comma(int64(e.Limit)))
}

func (e *TooLargeError) size() string {
	if e.AtLeast {
		return "more than " + comma(e.Size) + " bytes"
	}
	return comma(e.Size) + " bytes"
}

// tooLarge returns the *TooLargeError in err, or nil.
func tooLarge(err error) *TooLargeError {
	if err == nil { // at no cost
		return nil
	}
	var large *TooLargeError
	errors.As(err, &large)
	return large
}

// Marshal encodes v as compact JSON by the rules of [Options]. A nil pointer is
// encoded as the zero value it could point to, so that an object stays one.
//
// It stops when the encoding passes limit bytes and returns a *TooLargeError;
// no more than limit bytes are ever kept, and a string that is too long is not
// even begun. A limit of zero or less means DefaultBytes. When ctx ends, which
// is looked at every 64 KiB, it returns the cause. Any other error is an
// author's mistake: a type or value that has no JSON, or bad raw JSON.
func Marshal(ctx context.Context, v any, limit int) (jsontext.Value, error) {
	if limit <= 0 {
		limit = DefaultBytes
	}
	return appendMarshal(ctx, nil, v, limit)
}

// appendMarshal appends v to dst, which is returned as it was with an error.
// The limit is for v alone.
func appendMarshal(ctx context.Context, dst []byte, v any, limit int) ([]byte, error) {
	if v == nil {
		return append(dst, "null"...), nil
	}
	switch raw := v.(type) {
	case jsontext.Value:
		return appendRaw(dst, raw, limit)
	case jsonv1.RawMessage:
		return appendRaw(dst, raw, limit)
	}
	rv := reflect.ValueOf(v)
	if rv.Kind() == reflect.Pointer && rv.IsNil() {
		v = reflect.New(rv.Type().Elem()).Interface()
		rv = reflect.ValueOf(v)
	}
	s := shapeOf(rv.Type())
	if s.flat != nil {
		if out, ok := appendFlat(dst, s.flat, reflect.Indirect(rv)); ok {
			if size := len(out) - len(dst); size > limit {
				return dst, &TooLargeError{Limit: limit, Size: int64(size)}
			}
			return out, nil
		}
	}
	if s.long {
		f := search{limit: limit, left: limit}
		if n := f.long(s, rv); n > 0 {
			return dst, &TooLargeError{Limit: limit, Size: int64(n), AtLeast: true}
		}
	}
	opts := plainOptions
	if s.funcs {
		opts = fullOptions
	}
	w := limiters.Get().(*limiter)
	defer w.free()
	*w = limiter{ctx: ctx, dst: dst, limit: limit, look: step}
	err := json.MarshalWrite(w, v, opts)
	switch {
	case w.err != nil:
		return dst, w.err
	case w.size > int64(limit):
		return dst, &TooLargeError{Limit: limit, Size: w.size, AtLeast: w.gaveUp || err != nil}
	case err != nil:
		return dst, fmt.Errorf("result: %w", err)
	}
	return w.dst, nil
}

func appendRaw(dst, raw []byte, limit int) ([]byte, error) {
	if len(raw) == 0 {
		return append(dst, "null"...), nil
	}
	if len(raw)/rawFactor > limit {
		return dst, &TooLargeError{Limit: limit, Size: int64(len(raw))}
	}
	out, err := quote.Raw(slices.Grow(dst, len(raw)), raw)
	if err != nil {
		return dst, fmt.Errorf("result: raw JSON: %w", err)
	}
	if n := len(out) - len(dst); n > limit {
		return dst, &TooLargeError{Limit: limit, Size: int64(n)}
	}
	return out, nil
}

// A limiter keeps what is written to it up to a limit, then only counts.
type limiter struct {
	ctx    context.Context
	dst    []byte
	limit  int
	size   int64 // of all that was written
	look   int64 // the size at which ctx is looked at next
	gaveUp bool
	err    error // the cause of ctx
}

var limiters = sync.Pool{New: func() any { return new(limiter) }}

var errGaveUp = errors.New("result: too large")

// free makes w ready for another use, without what it was used for.
func (w *limiter) free() {
	*w = limiter{}
	limiters.Put(w)
}

func (w *limiter) Write(p []byte) (int, error) {
	w.size += int64(len(p))
	if w.size >= w.look {
		w.look = w.size + step
		if w.ctx.Err() != nil {
			w.err = context.Cause(w.ctx)
			return 0, w.err
		}
	}
	switch {
	case w.size <= int64(w.limit):
		w.dst = append(w.dst, p...)
	case w.size > countLimit:
		w.gaveUp = true
		return 0, errGaveUp
	default:
		w.dst = nil
	}
	return len(p), nil
}
