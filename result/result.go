// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import "fmt"

// A Result is the outcome of one tools/call. The zero Result is valid: it is
// sent with empty content.
//
// A Result is a value: the server never changes the slices and maps in it.
type Result struct {
	// Content is what a model reads, in order. When it is empty and Structured
	// is set, [Bound] makes one text block of the compact JSON, since many hosts
	// show only the text.
	Content []Content

	// Structured is the machine-readable form, encoded by the rules of
	// [Options]. Revisions before 2026-07-28 know only objects here, those
	// before 2025-06-18 know none: [Encoding.Append] leaves it out for them.
	// Nil means there is none.
	Structured any

	// Meta becomes the result's _meta; the values are encoded like Structured.
	// Nil means none.
	Meta map[string]any

	// IsError says that the tool failed and that Content tells the model why.
	// False means that it succeeded.
	IsError bool

	// Hint says how a caller gets less, such as "use a narrower path". It goes
	// into the text when Bound has to leave something out or to refuse it. Empty
	// means "narrow the arguments"; package tool fills in their names. At most
	// 256 bytes are used.
	Hint string
}

// Text returns a Result of one text block.
func Text(s string) Result {
	return Result{Content: []Content{TextContent{Text: s}}}
}

// Textf is [Text] with the format rules of package fmt.
func Textf(format string, a ...any) Result {
	return Text(fmt.Sprintf(format, a...))
}

// JSON returns a Result whose structured form is v; its text will be the same
// in compact JSON. See [Result.Structured].
func JSON(v any) Result {
	return Result{Structured: v}
}

// Image returns a Result of one image block. The data is raw, not base64.
func Image(mimeType string, data []byte) Result {
	return Result{Content: []Content{ImageContent{MIMEType: mimeType, Data: data}}}
}

// Audio returns a Result of one audio block. The data is raw, not base64.
func Audio(mimeType string, data []byte) Result {
	return Result{Content: []Content{AudioContent{MIMEType: mimeType, Data: data}}}
}

// Link returns a Result of one resource link.
func Link(l LinkContent) Result {
	return Result{Content: []Content{l}}
}

// Embed returns a Result of one embedded resource.
func Embed(e EmbeddedContent) Result {
	return Result{Content: []Content{e}}
}

// Error returns a Result with IsError set and text as its only block. A model
// reads it, so it should say what to do next.
func Error(text string) Result {
	r := Text(text)
	r.IsError = true
	return r
}

// Errorf is [Error] with the format rules of package fmt.
func Errorf(format string, a ...any) Result {
	return Error(fmt.Sprintf(format, a...))
}
