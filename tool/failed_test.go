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

	"github.com/weir-mcp/weir/result"
)

// TestPageFailed checks that a page of a call that did not end well, in any of
// the ways to make one, does not say that it is complete (case 29).
func TestPageFailed(t *testing.T) {
	type input struct {
		Pattern string `json:"pattern,omitempty"`
		PageInput
	}
	broken := errors.New("broken")
	ends := []struct {
		name  string
		cause error // of the context's end
		err   error
		line  string
	}{
		{"error", nil, broken, "broken"},
		{"time-out", &TimedOut{After: 100 * time.Millisecond}, context.Canceled, "timed out after 100ms"},
		{"time-out unnoticed", &TimedOut{After: 100 * time.Millisecond}, nil, "timed out after 100ms"},
		{"shutdown", &Shutdown{Why: "input ended"}, nil, "stopped: input ended"},
		{"host gone", &HostGone{Err: broken}, nil, "stopped: the host is gone"},
	}
	var end func() error
	fill := func(p *result.Page[item]) error {
		for id := range int64(3) {
			p.Add(item{ID: id})
		}
		return end()
	}
	closed := PageSchema[item, struct{}]()
	var r Registry
	AddPage(&r, Info{Name: "page"}, func(_ context.Context, _ *Request, _ input, p *result.Page[item]) error { return fill(p) })
	Add(&r, Info{Name: "loop", OutputSchema: closed}, func(context.Context, *Request, input) (result.Result, error) {
		var p result.Page[item]
		err := fill(&p)
		return p.Result(), err
	})
	Add(&r, Info{Name: "undescribed"}, func(context.Context, *Request, input) (result.Result, error) {
		var p result.Page[item]
		err := fill(&p)
		return p.Result(), err
	})
	AddPage(&r, Info{Name: "summary"}, func(_ context.Context, _ *Request, _ input, p *result.Page[item]) error {
		p.Text = result.TextSummary
		return fill(p)
	})
	AddFunc(&r, Info{Name: "plain"}, func(context.Context, input) (result.Result, error) {
		var p result.Page[item]
		err := fill(&p)
		return p.Result(), err
	})
	const items = `{"id":0},{"id":1},{"id":2}`
	for _, tool := range r.Tools() {
		for _, e := range ends {
			name := tool.Info().Name
			t.Run(name+"/"+e.name, func(t *testing.T) {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				end = func() error {
					if e.cause != nil {
						cancel(e.cause)
					}
					return e.err
				}
				res, err := r.Call(ctx, name, nil)
				if err != nil || !res.IsError {
					t.Fatal(res, err)
				}
				text := textOf(t, res)
				want := e.line + "\nThe output so far follows.|Returned 3 items before the failure; there may be more.\n"
				if rest, ok := strings.CutPrefix(text, want); !ok || !strings.Contains(strings.ReplaceAll(rest, "\n", ","), items) {
					t.Errorf("got %q", text)
				}
				structured := ""
				if name == "undescribed" || name == "plain" {
					structured = `{"truncated":true,"items":[` + items + `]}`
				}
				if got := fmt.Sprint(res.Structured); got != structured && !(structured == "" && res.Structured == nil) {
					t.Errorf("structured is %s", got)
				}
			})
		}
	}
}

// A page that is full to the brim, beside an error however long, keeps all its
// items in both forms, and its summary and cursor near the beginning.
func TestPageFailedFull(t *testing.T) {
	cursor := strings.Repeat("c", result.MaxCursor)
	for _, mode := range []result.TextMode{result.TextLines, result.TextSummary, result.TextJSON} {
		for _, schema := range []jsontext.Value{nil, PageSchema[string, struct{}]()} {
			for _, why := range []string{"broken", strings.Repeat("broken \x01", 1000)} {
				for _, arguments := range []string{`{}`, `{"maxBytes":2048}`} {
					n := 0
					var r Registry
					Add(&r, Info{Name: "t", OutputSchema: schema}, func(_ context.Context, req *Request, _ PageInput) (result.Result, error) {
						p := result.Page[string]{Budget: req.Budget(), NextCursor: cursor, Text: mode}
						p.Budget.Items = 1 << 30
						for p.Add(fmt.Sprintf("n%d\"", n)) {
							n++
						}
						return p.Result(), errors.New(why)
					})
					res, err := r.Call(t.Context(), "t", arguments)
					if err != nil || !res.IsError || n < 10 {
						t.Fatal(n, res, err)
					}
					text := textOf(t, res)
					name := fmt.Sprintf("mode %d, schema %t, %d bytes of error, %s", mode, schema != nil, len(why), arguments)
					for i := range n {
						if !strings.Contains(text, fmt.Sprintf("n%d", i)) {
							t.Fatalf("%s: item %d of %d is missing in %.300s", name, i, n, text)
						}
					}
					if strings.Contains(text, "too large") || strings.Contains(text, "left out") || res.Meta != nil || !strings.HasPrefix(text, "broken") {
						t.Errorf("%s: got %.300s, _meta %s", name, text, res.Meta)
					}
					if at := strings.Index(text, cursor); at < 0 || at+len(cursor) > 2000 {
						t.Errorf("%s: the cursor is at %d", name, at)
					}
					if (res.Structured == nil) != (schema != nil) {
						t.Errorf("%s: structured is %.100s", name, res.Structured)
					}
				}
			}
		}
	}
	h := func(_ context.Context, req *Request, _ PageInput) (result.Result, error) {
		p := result.Page[string]{Budget: req.Budget()}
		for p.Add("x") {
		}
		return p.Result(), errors.New("broken")
	}
	var r Registry
	// Nor is the reason lost to the smallest of limits.
	Add(&r, Info{Name: "one", Budget: result.Budget{Items: 1}}, h)
	res, err := r.Call(t.Context(), "one", nil)
	if text := textOf(t, res); err != nil || !strings.HasPrefix(text, "broken\n") || !strings.Contains(text, "Returned 1 item before the failure") {
		t.Errorf("got %s, %v", text, err)
	}
}

// Output that cannot be encoded is not announced.
func TestFailedBadOutput(t *testing.T) {
	var r Registry
	AddFunc(&r, Info{Name: "t", OutputSchema: []byte(noArguments)}, func(context.Context, struct{}) (func(), error) {
		return func() {}, errors.New("broken")
	})
	res, err := r.Call(t.Context(), "t", nil)
	if text := textOf(t, res); err != nil || text != "broken" || !res.IsError {
		t.Errorf("got %q, %v", text, err)
	}
}
