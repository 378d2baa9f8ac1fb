// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// finish makes what a handler returned into what Serve returns.
func (t *Tool) finish(ctx context.Context, req *Request, res result.Result, err error) (result.Result, error) {
	if ctx.Err() == nil && err == nil {
		return t.ready(ctx, req, res)
	}
	var cause error
	if ctx.Err() != nil {
		cause = context.Cause(ctx)
	}
	var cancelled *Cancelled
	if errors.As(cause, &cancelled) {
		return result.Result{}, cause
	}
	var forHost *Error
	if errors.As(err, &forHost) {
		if forHost.Code == 0 {
			forHost = &Error{Code: codeInternal, Message: forHost.Message, Data: forHost.Data}
		}
		return result.Result{}, forHost
	}
	var internal *InternalError
	if errors.As(err, &internal) {
		return result.Result{}, internal
	}
	if line := stopLine(cause); line != "" {
		if err != nil && !errors.Is(err, ctx.Err()) && !errors.Is(err, cause) {
			line += ": " + err.Error()
		}
		// What the handler returned is bounded although its context has ended.
		return t.failed(context.WithoutCancel(ctx), req, res, line), nil
	}
	if err == nil { // a context that was not ended by a server
		return t.ready(ctx, req, res)
	}
	var bad *argumentError
	if errors.As(err, &bad) {
		return t.failed(ctx, req, result.Result{}, "Invalid arguments; "+t.info.Name+" was not run.\n"+bad.found.String()), nil
	}
	text := err.Error()
	if text == "" {
		text = fmt.Sprintf("%s failed without saying why", t.info.Name)
	}
	return t.failed(context.WithoutCancel(ctx), req, res, text), nil
}

// stopLine says why a call was ended by its server, and "" when it was not.
func stopLine(cause error) string {
	var timedOut *TimedOut
	var shutdown *Shutdown
	var gone *HostGone
	switch {
	case errors.As(cause, &timedOut):
		return timedOut.Error()
	case errors.As(cause, &shutdown):
		return shutdown.Error()
	case errors.As(cause, &gone):
		return "stopped: the host is gone"
	}
	return ""
}

// maxErrorText bounds, in bytes as encoded, the text of an error that stands
// before partial output, so that the summary of a page and its cursor are still
// in the first 2 KB.
const maxErrorText = 1 << 10

// failed is the result of a call that failed for the reason in text: the
// reason, then what there is of output. The reason is not taken off the budget:
// output that fits without it stays whole.
func (t *Tool) failed(ctx context.Context, req *Request, partial result.Result, text string) result.Result {
	b := req.Budget()
	if len(partial.Content) == 0 && partial.Structured == nil {
		return t.bare(ctx, req, b, text)
	}
	if quote.Len(text) > maxErrorText+2 {
		text = quote.Cut(text, maxErrorText-3) + "…"
	}
	if len(partial.Content) == 0 { // as Bound has it
		if v, err := result.Marshal(ctx, partial.Structured, b.Bytes); err == nil {
			partial.Content, partial.Structured = result.Text(string(v)).Content, v
		}
	}
	partial.IsError = true // so that a page does not say that it is complete
	r, err := t.bound(ctx, req, partial, b)
	if err != nil {
		return t.bare(ctx, req, b, text)
	}
	reason := result.TextContent{Text: text + "\nThe output so far follows."}
	r.Content = slices.Concat([]result.Content{reason}, r.Content)
	if t.out != nil {
		r.Structured = nil
	}
	return r
}

// bare is failed without output.
func (t *Tool) bare(ctx context.Context, req *Request, b result.Budget, text string) result.Result {
	r, err := t.bound(ctx, req, result.Error(text), b)
	if err != nil { // the context ended meanwhile, or the store failed
		return result.Error(quote.Cut(text, min(b.Bytes, maxErrorText)))
	}
	return r
}

// bound is result.Bound with the tool's own hint where the author gave none.
func (t *Tool) bound(ctx context.Context, req *Request, res result.Result, b result.Budget) (result.Result, error) {
	own := res.Hint
	res.Hint = cmp.Or(own, t.hint)
	r, err := result.Bound(ctx, res, b, req.Store)
	r.Hint = own
	return r, err
}

// ready bounds and checks the result of a call that did not fail.
func (t *Tool) ready(ctx context.Context, req *Request, res result.Result) (result.Result, error) {
	ownText := len(res.Content) > 0
	r, err := t.bound(ctx, req, res, req.Budget())
	if err != nil {
		if ctx.Err() != nil {
			return t.finish(ctx, req, result.Result{}, context.Cause(ctx))
		}
		return result.Result{}, &InternalError{Tool: t.info.Name, Err: err}
	}
	if t.out == nil {
		return r, nil
	}
	if r.IsError {
		r.Structured = nil
		return r, nil
	}
	text, _ := r.Structured.(jsontext.Value)
	normal, err := t.checkOutput(text)
	if err != nil {
		return result.Result{}, &InternalError{Tool: t.info.Name, Err: err}
	}
	if !bytes.Equal(normal, text) { // such as a null that was left out
		r.Structured = normal
		if !ownText && len(r.Content) == 1 {
			r.Content = []result.Content{result.TextContent{Text: string(normal)}}
		}
	}
	return r, nil
}

// checkOutput validates structured content, which is compact, and leaves out
// nulls for optional properties.
func (t *Tool) checkOutput(text jsontext.Value) (jsontext.Value, error) {
	if text == nil {
		return nil, errors.New("the tool has an output schema, and its result no structured content")
	}
	n, err := t.out.node()
	if err != nil {
		return nil, err
	}
	a := acceptor{text: text}
	fits := a.accept(n)
	if fits && !a.rewrite {
		return text, nil
	}
	normal := jsontext.Value(new(normalizer).normalize(nil, text, n))
	if fits {
		return normal, nil
	}
	found, err := t.out.problems(normal)
	switch {
	case err != nil:
		return nil, err
	case len(found) > 0:
		return nil, fmt.Errorf("the structured content does not fit the output schema:\n%s", found.text("result"))
	}
	return normal, nil
}
