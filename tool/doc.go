// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package tool makes Go functions into the tools of an MCP server.
//
// A tool is an [Info] and a handler, put into a [Registry] by [Add], [AddFunc]
// or [AddPage]; the schema of its arguments follows from the handler's input
// type. What a handler gets was validated against that schema, with exact
// integers and defaults filled in, so it checks only what a schema cannot say.
// An error that it returns is read by the model, which should learn from it
// what to do next.
//
// Struct fields are named by their json tags; a field is required unless it
// has omitempty or omitzero, is a pointer, or has a default. The jsonschema tag
// adds keywords between commas:
//
//	Path string `json:"path,omitempty" jsonschema:"description=Where to look, as a path,default=."`
//
// The keywords are title, description, default, enum (repeated, once a value),
// example, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
// minLength, maxLength, pattern, format, minItems, maxItems, uniqueItems,
// deprecated and required. A comma that no keyword follows belongs to the
// value. Anything else is refused when the tool is registered, as is whatever
// known hosts choke on: see [Registry.Lint] for the rest of that.
//
// A type with a JSON form of its own needs a method JSONSchema() or
// JSONSchemaExtend(), as package github.com/invopop/jsonschema defines them.
// Known without are time.Time (date-time), time.Duration ("1m30s"), []byte and
// byte arrays (base64), json.Number, big.Int, url.URL, raw JSON and any (every
// value), and whatever has MarshalText and UnmarshalText (a string).
//
// # Arguments
//
// The rules are the same for schemas from Go types and for those that authors
// write:
//
//   - Absent and null arguments are {}.
//   - Null for an optional property whose type does not name null counts as
//     absent. A required one refuses it.
//   - What is absent and has a default gets it, at any depth.
//   - 1.0 and 1e3 are integers, and written as 1 and 1000 before a handler sees
//     them, if that takes at most 40 zeros. No digit is lost; a number that the
//     Go type cannot hold is refused.
//   - Names match exactly, case included; one that is given twice is refused.
//     So are unknown ones, unless Info.AllowUnknown or the schema says else.
//   - Formats such as date-time and email are checked.
//   - A time.Duration is a string such as "1m30s" (see time.ParseDuration), a
//     time.Time one such as "2026-07-28T12:00:00Z"; numbers are refused.
//   - An escaped lone surrogate becomes U+FFFD when it is decoded.
//
// [Registry.Call] encodes the Go values that it is given in the same forms.
// Whatever is wrong is said at once, what a schema cannot say (a bad duration)
// beside what it can.
//
// A Go type and the validator (github.com/santhosh-tekuri/jsonschema) never
// disagree about these, since the arguments are brought into that form first.
// Most calls never reach the validator: a check made from the schema accepts
// what plainly fits, in one pass over the bytes, and another says what is wrong
// where the schema has common keywords only. The validator is asked about other
// schemas, with arguments of at most 20,000 values and 64 levels.
package tool

import (
	"context"

	"github.com/weir-mcp/weir/result"
)

// A Handler is the one erased form of a tool: every typed handler becomes one
// when it is registered, and middleware sees nothing else.
//
// A handler must return soon after ctx is done. context.Cause(ctx) then tells
// why: *Cancelled, *TimedOut, *Shutdown or *HostGone. What it returns beside an
// error is kept as partial output. It is called from many goroutines at once.
type Handler func(ctx context.Context, req *Request) (result.Result, error)

// A Middleware wraps a Handler in another one. See [Registry.Use].
type Middleware func(next Handler) Handler
