// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// textOf joins the text blocks of a result.
func textOf(t *testing.T, r result.Result) string {
	t.Helper()
	var texts []string
	for _, c := range r.Content {
		b, ok := c.(result.TextContent)
		if !ok {
			t.Fatalf("a block is %T", c)
		}
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "|")
}

// ended returns a context that ended with the given cause.
func ended(cause error) context.Context {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	return ctx
}

// errCause stands for the cause of the context in a table.
var errCause = errors.New("the cause")

// TestServeOutcome has what becomes of everything that a handler can return,
// under each way that a call can end (design: errors, who reads them).
func TestServeOutcome(t *testing.T) {
	broken := errors.New("no such file; try another path")
	forHost := &Error{Code: -32050, Message: "for the host"}
	partial := result.Text("half")
	tests := []struct {
		name    string
		cause   error // of the context's end, while the handler runs; nil for none
		res     result.Result
		err     error
		text    string // of the result
		isError bool
		wantErr error // of Serve
	}{
		{name: "result", res: partial, text: "half"},
		{name: "own error result", res: result.Error("sorry"), text: "sorry", isError: true},
		{name: "error", err: broken, text: "no such file; try another path", isError: true},
		{name: "error with output", res: partial, err: broken, text: "no such file; try another path\nThe output so far follows.|half", isError: true},
		{name: "error without text", err: errors.New(""), text: "t failed without saying why", isError: true},
		{name: "error for the host", err: fmt.Errorf("wrapped: %w", forHost), wantErr: forHost},
		{name: "internal error", err: &InternalError{Tool: "t", Err: broken}, wantErr: broken},
		{name: "timed out", cause: &TimedOut{After: time.Minute}, err: context.Canceled, text: "timed out after 1m0s", isError: true},
		{name: "timed out with output", cause: &TimedOut{After: time.Minute}, res: partial, text: "timed out after 1m0s\nThe output so far follows.|half", isError: true},
		{name: "timed out with another error", cause: &TimedOut{After: time.Minute}, err: broken, text: "timed out after 1m0s: no such file; try another path", isError: true},
		{name: "timed out and its cause", cause: &TimedOut{After: time.Minute}, err: errCause, text: "timed out after 1m0s", isError: true},
		{name: "shutdown", cause: &Shutdown{Why: "input ended"}, res: partial, err: context.Canceled, text: "stopped: input ended\nThe output so far follows.|half", isError: true},
		{name: "host gone", cause: &HostGone{Err: broken}, err: context.Canceled, text: "stopped: the host is gone", isError: true},
		{name: "cancelled", cause: &Cancelled{Reason: "user left"}, res: partial, wantErr: &Cancelled{}},
		{name: "cancelled with an error for the host", cause: &Cancelled{}, err: forHost, wantErr: &Cancelled{}},
		{name: "a context of the caller", cause: broken, err: context.Canceled, text: "context canceled", isError: true},
		{name: "a context of the caller, and a result", cause: broken, res: partial, text: "half"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var r Registry
			if err := r.Register(Info{Name: "t"}, func(context.Context, *Request) (result.Result, error) {
				if tt.cause != nil {
					cancel(tt.cause)
				}
				if tt.err == errCause {
					tt.err = context.Cause(ctx)
				}
				return tt.res, tt.err
			}); err != nil {
				t.Fatal(err)
			}
			res, err := r.Call(ctx, "t", nil)
			switch tt.wantErr.(type) {
			case nil:
				if err != nil {
					t.Fatal(err)
				}
			case *Cancelled:
				var c *Cancelled
				if !errors.As(err, &c) {
					t.Fatalf("got error %v", err)
				}
			default:
				if !errors.Is(err, tt.wantErr) {
					t.Fatalf("got error %v, want %v", err, tt.wantErr)
				}
			}
			if got := textOf(t, res); got != tt.text || res.IsError != tt.isError {
				t.Errorf("got %q, isError %v; want %q, %v", got, res.IsError, tt.text, tt.isError)
			}
		})
	}
}

// TestServeEnded checks that a call whose context has ended does not reach its
// handler (C0).
func TestServeEnded(t *testing.T) {
	var r Registry
	r.Register(Info{Name: "t"}, func(context.Context, *Request) (result.Result, error) {
		t.Error("the handler ran")
		return result.Result{}, nil
	})
	if _, err := r.Call(ended(&Cancelled{}), "t", nil); err == nil {
		t.Error("no error")
	}
	res, err := r.Call(ended(&Shutdown{Why: "input ended"}), "t", nil)
	if err != nil || !res.IsError || textOf(t, res) != "stopped: input ended" {
		t.Errorf("got %v, %v", res, err)
	}
}

// TestServePartial checks that long output of a call whose context has ended is
// kept within the budget, and the error before it short, whatever its size.
func TestServePartial(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	long := strings.Repeat("line of output\n", 20_000)
	var r Registry
	r.Register(Info{Name: "t"}, func(context.Context, *Request) (result.Result, error) {
		cancel(&TimedOut{After: time.Second})
		return result.Text(long), errors.New(strings.Repeat("é\x01", 5000))
	})
	res, err := r.Call(ctx, "t", nil)
	if err != nil || !res.IsError {
		t.Fatal(res.IsError, err)
	}
	text := textOf(t, res)
	if !strings.HasPrefix(text, "timed out after 1s: é") || !strings.HasSuffix(text, "line of output\n") {
		t.Errorf("got %.100s … %s", text, text[len(text)-50:])
	}
	if n := quote.Len(text); n > result.DefaultBytes+maxErrorText+100 {
		t.Errorf("%d bytes", n)
	}
}

// TestErrorCode checks that no error of the host goes out with code 0 (case 14
// in spirit), and that a foreign type in the chain is found.
func TestErrorCode(t *testing.T) {
	var r Registry
	r.Register(Info{Name: "t"}, func(context.Context, *Request) (result.Result, error) {
		return result.Result{}, fmt.Errorf("a: %w", errors.Join(errors.New("b"), &Error{Message: "m", Data: 1}))
	})
	_, err := r.Call(t.Context(), "t", nil)
	var e *Error
	if !errors.As(err, &e) || e.Code != -32603 || e.Message != "m" || e.Data != 1 {
		t.Errorf("got %#v", err)
	}
	_, err = r.Call(t.Context(), "other", nil)
	if !errors.As(err, &e) || e.Code != -32602 {
		t.Errorf("case 47: an unknown tool gives %v", err)
	}
}

// TestArgumentsNotRun checks that a handler is not called with arguments that
// do not fit, nor middleware (case 47).
func TestArgumentsNotRun(t *testing.T) {
	var r Registry
	r.Use(func(next Handler) Handler {
		return func(ctx context.Context, req *Request) (result.Result, error) {
			t.Error("middleware ran")
			return next(ctx, req)
		}
	})
	AddFunc(&r, Info{Name: "add"}, func(context.Context, addInput) (string, error) {
		t.Error("the handler ran")
		return "", nil
	})
	for _, args := range []string{`{"a":"x","b":1}`, `{"a":1}`, `{"a":1,"b":2,"c":3}`, `{"a":1.5,"b":2}`} {
		res, err := r.Call(t.Context(), "add", args)
		if err != nil || !res.IsError {
			t.Errorf("%s: got %v, %v", args, res, err)
		}
		if text := textOf(t, res); !strings.HasPrefix(text, "Invalid arguments; add was not run.\n- ") {
			t.Errorf("%s: got %q", args, text)
		}
	}
}

// TestCallInput has the forms of input that Registry.Call takes.
func TestCallInput(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "add"}, addNumbers)
	for _, in := range []any{
		`{"a":1,"b":2}`, []byte(`{"a":1,"b":2}`), jsontext.Value(`{"a":1,"b":2}`), addInput{1, 2}, &addInput{1, 2}, map[string]any{"a": 1, "b": 2},
	} {
		res, err := r.Call(t.Context(), "add", in)
		if err != nil || textOf(t, res) != `{"sum":3}` {
			t.Errorf("%T: got %v, %v", in, res, err)
		}
	}
	for _, in := range []any{`{"a":`, "{} {}", "\"\xff\"", []byte{}, make(chan int), `[1]`, 5, "x"} {
		_, err := r.Call(t.Context(), "add", in)
		var e *Error
		if !errors.As(err, &e) || e.Code != -32602 {
			t.Errorf("%v: got %v", in, err)
		}
	}
}

// TestDeepArguments checks that no depth of nesting harms: what is too deep is
// refused as an argument, and so is a wrong value at the bottom; TestWrongCost has
// what that takes.
func TestDeepArguments(t *testing.T) {
	r := argumentTools()
	deep := func(n int) string {
		return strings.Repeat(`{"name":"x","kids":[`, n) + strings.Repeat(`]}`, n)
	}
	tool, _ := r.Lookup("tree")
	maps := func(n int) string { return strings.Repeat(`{"m":{"x":`, n) + `{}` + strings.Repeat(`}}`, n) }
	addEcho[selfMap](r, Info{Name: "maps"})
	byMap, _ := r.Lookup("maps")
	for _, n := range []int{10, 4000, 100_000} {
		res, err := byMap.Serve(t.Context(), &Request{Arguments: []byte(maps(n))})
		if err != nil || res.IsError != (n > 5000) {
			t.Errorf("%d levels of maps: isError is %v, %v", n, res.IsError, err)
		}
		node, err := byMap.in.node()
		if err != nil {
			t.Fatal(err)
		}
		// No recursion of ours follows it further than the reader of frames.
		if a := (acceptor{text: []byte(maps(n))}); a.accept(node) != (n < 5000) {
			t.Errorf("%d levels of maps: accept says %v", n, n > 5000)
		}
		res, err = tool.Serve(t.Context(), &Request{Arguments: []byte(deep(n))})
		if err != nil {
			t.Fatal(err)
		}
		wrong, err := tool.Serve(t.Context(), &Request{Arguments: []byte(strings.Replace(deep(n), "[]", `["x"]`, 1))})
		if want := `found "x" (string), wanted object`; err != nil || !wrong.IsError || n < 5000 && !strings.HasSuffix(textOf(t, wrong), want) {
			t.Errorf("%d levels and a wrong leaf: got %v, %v", n, wrong, err)
		}
		if res.IsError != (n > 5000) {
			t.Errorf("%d levels: isError is %v: %.200s", n, res.IsError, textOf(t, res))
		}
	}
}

// TestPanic checks that Serve leaves a panic of a handler to its caller, with
// nothing locked, and makes an error of one in Request.Go (case 67).
func TestPanic(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "panics"}, func(context.Context, struct{}) (string, error) { panic("boom") })
	AddFunc(&r, Info{Name: "marshal"}, func(context.Context, struct{}) (panicking, error) { return panicking{}, nil })
	Add(&r, Info{Name: "goes"}, func(_ context.Context, req *Request, _ struct{}) (result.Result, error) {
		req.Go(func() { panic("boom") })
		return result.Text("done"), nil
	})
	for _, name := range []string{"panics", "marshal"} {
		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("%s: recovered %v", name, v)
				}
			}()
			r.Call(t.Context(), name, nil)
		}()
	}
	_, err := r.Call(t.Context(), "goes", nil)
	var internal *InternalError
	if !errors.As(err, &internal) || !strings.Contains(internal.Error(), "boom") {
		t.Errorf("got %v", err)
	}
}

type panicking struct{ N fails }
type fails int

func (fails) MarshalText() ([]byte, error) { panic("boom") }
func (*fails) UnmarshalText([]byte) error  { return nil }

// TestRequestAlone has what a Request does without a server.
func TestRequestAlone(t *testing.T) {
	var r Registry
	done := false
	Add(&r, Info{Name: "t"}, func(ctx context.Context, req *Request, _ struct{}) (result.Result, error) {
		req.Progress(1, 2, "half")
		if req.Log() == nil {
			t.Error("no logger")
		}
		req.Go(func() {
			time.Sleep(time.Millisecond)
			done = true
		})
		return result.Text(req.Tool), nil
	})
	res, err := r.Call(t.Context(), "t", nil)
	if err != nil || !done || textOf(t, res) != "t" {
		t.Errorf("got %v, %v; the goroutine was waited for: %v", res, err, done)
	}
	var zero Request
	if b := zero.Budget(); b.Bytes != result.DefaultBytes {
		t.Errorf("the budget of a zero Request is %v", b)
	}
}

// TestBudget checks whose budget counts, and that maxBytes can only lower it
// (case 71: maxBytes is free to change).
func TestBudget(t *testing.T) {
	var r Registry
	var got result.Budget
	keep := func(_ context.Context, req *Request, _ searchInput) (result.Result, error) {
		got = req.Budget()
		return result.Text("x"), nil
	}
	Add(&r, Info{Name: "own", Budget: result.Budget{Bytes: 8 << 10}}, keep)
	Add(&r, Info{Name: "server"}, keep)
	AddFunc(&r, Info{Name: "other"}, func(_ context.Context, in struct {
		MaxBytes int `json:"maxBytes"`
	}) (string, error) {
		return strings.Repeat("x", in.MaxBytes), nil
	})
	for _, tt := range []struct {
		tool, args string
		want       int
	}{
		{"own", `{"pattern":"x"}`, 8 << 10},
		{"own", `{"pattern":"x","maxBytes":2048}`, 2048},
		{"own", `{"pattern":"x","maxBytes":2.048e3}`, 2048},
		{"own", `{"pattern":"x","maxBytes":65536}`, 8 << 10},
		{"server", `{"pattern":"x"}`, 16 << 10},
		{"server", `{"pattern":"x","maxBytes":1024}`, 1024},
	} {
		tool, _ := r.Lookup(tt.tool)
		req := Request{Arguments: []byte(tt.args), DefaultBudget: result.Budget{Bytes: 16 << 10, Items: 7}}
		if _, err := tool.Serve(t.Context(), &req); err != nil {
			t.Fatal(err)
		}
		if got.Bytes != tt.want || got.Items != 7 {
			t.Errorf("%s %s: got %v, want %d bytes", tt.tool, tt.args, got, tt.want)
		}
	}
	res, err := r.Call(t.Context(), "other", `{"maxBytes":5000}`)
	if err != nil || len(textOf(t, res)) != 5000 {
		t.Error("maxBytes of a tool without pages lowered its budget")
	}
}
