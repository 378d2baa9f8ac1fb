// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// within runs fn with the time limit of one answer, to what is asked for.
func within[T any](ctx context.Context, s *session, what string, fn func(context.Context) (T, error)) (T, error) {
	if s.timeout <= 0 {
		return fn(ctx)
	}
	limited, cancel := context.WithTimeoutCause(ctx, s.timeout, errTimeout)
	defer cancel()
	v, err := fn(limited)
	if err != nil && ctx.Err() == nil && context.Cause(limited) == errTimeout {
		err = s.late(what, err)
	}
	return v, err
}

// lateError says what was not answered in time. It is errTimeout.
type lateError struct{ text string }

func (e *lateError) Error() string { return e.text }
func (e *lateError) Unwrap() error { return errTimeout }

// late tells what did not come, and which side is stuck: err is of the wait.
func (s *session) late(what string, err error) error {
	diagnosis := s.h.Diagnose()
	var waited *host.NoResponseError
	if errors.As(err, &waited) {
		diagnosis = waited.Diagnosis // of before the cancel
	}
	switch what {
	case "initialize", "server/discover", "tools/list":
		return &lateError{fmt.Sprintf("the server did not answer %s within %s (%s)", what, s.timeout, diagnosis)}
	}
	return &lateError{fmt.Sprintf("%s did not answer within %s and was cancelled (%s)", what, s.timeout, diagnosis)}
}

// short is d without the digits that nobody reads.
func short(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}

// lookUp bounds the search for the names of tools after a failure.
const lookUp = 5 * time.Second

// unknown says what the tools are called, when there is no such tool as the
// one called: "" when there is, or when that cannot be found out.
func (c *call) unknown(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, lookUp)
	defer cancel()
	var names []string
	for page, err := range c.h.Pages(ctx, "tools/list") {
		if err != nil {
			return ""
		}
		tools, err := readTools(page)
		if err != nil {
			return ""
		}
		for _, t := range tools {
			if t.Name == c.tool {
				return ""
			}
			names = append(names, t.Name)
		}
	}
	switch near := nearest(c.tool, names); {
	case len(names) == 0:
		return "the server has no tools"
	case len(near) == 1:
		return fmt.Sprintf("the nearest name is %q; run without TOOL to list them", near[0])
	case len(near) > 1:
		return fmt.Sprintf("the nearest names are %q and %q; run without TOOL to list them", near[0], near[1])
	}
	return "run without TOOL to list them"
}

// failed is err, the error of the call, with what may help.
func (c *call) failed(ctx context.Context, err error) error {
	var rpc *host.Error
	if errors.As(err, &rpc) {
		if names := c.unknown(ctx); names != "" {
			return fmt.Errorf("%w; %s", err, names)
		}
	}
	return err
}

// Parts of what a Weir server says of a cursor that another process has made.
const (
	anotherKey = "another key"
	startAgain = "start again without cursor"
)

// hints tells what may help about a result that is an error.
func (c *call) hints(ctx context.Context, r *host.Result) {
	text := r.Text()
	if hasCursor(c.args) && strings.Contains(text, anotherKey) && strings.Contains(text, startAgain) {
		c.say("each call starts a new server, which has a key of its own: use -all, or set WEIR_CURSOR_KEY to the same text for both calls")
	}
	if strings.Contains(text, c.tool) { // some servers answer so when they do not know the tool
		if names := c.unknown(ctx); names != "" {
			c.say("the server has no tool %q; %s", c.tool, names)
		}
	}
}

// hasCursor reports whether args have a member "cursor".
func hasCursor(args jsontext.Value) bool {
	var v struct {
		Cursor jsontext.Value `json:"cursor"`
	}
	return args != nil && json.Unmarshal(args, &v, jsontext.AllowDuplicateNames(true)) == nil && v.Cursor != nil
}
