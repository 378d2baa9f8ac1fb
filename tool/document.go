// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "github.com/weir-mcp/weir/internal/document"

// These are the names that this package has for the decoded documents of
// internal/document.
type (
	object      = document.Object
	decodeError = document.Error
)

var errNumber = document.ErrNumber

func decodeDocument(text []byte) (any, error)       { return document.Decode(text) }
func encodeDocument(dst []byte, v any) []byte       { return document.Append(dst, v) }
func sortedNames(o object) []string                 { return document.Names(o) }
func escapePointer(name string) string              { return document.Escape(name) }
func resolve(doc any, pointer string) (any, bool)   { return document.Resolve(doc, pointer) }
func tokens(pointer string) func(func(string) bool) { return document.Tokens(pointer) }
func show(v any) string                             { return document.Show(v) }
