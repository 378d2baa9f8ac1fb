// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"context"
	jsonv1 "encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
	"github.com/weir-mcp/weir/result"
)

// arguments encodes a tool's arguments as tool.Registry.Call does. It returns
// nil, or a jsontext.Value on one line.
func arguments(ctx context.Context, args any) (any, error) {
	var raw jsontext.Value
	switch v := args.(type) {
	case string:
		raw = jsontext.Value(v)
	case []byte:
		raw = v
	case jsontext.Value:
		raw = v
	case jsonv1.RawMessage:
		raw = jsontext.Value(v)
	default:
		return encode(ctx, args)
	}
	if !utf8.Valid(raw) {
		return nil, errors.New("servertest: arguments: not valid UTF-8")
	}
	raw = raw.Clone()
	if raw.Compact() != nil { // it leaves duplicate names to the server
		return nil, errors.New("servertest: arguments: not one JSON value")
	}
	return raw, nil
}

// encode encodes params by the rules of package result; a jsontext.Value, and
// nil, it leaves as it is.
func encode(ctx context.Context, v any) (any, error) {
	switch v.(type) {
	case nil, jsontext.Value:
		return v, nil
	}
	raw, err := result.Marshal(ctx, v, host.DefaultUnsent)
	if err != nil {
		return nil, fmt.Errorf("servertest: %w", err)
	}
	return raw, nil
}
