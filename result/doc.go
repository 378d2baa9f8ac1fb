// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package result holds what a tool call hands back: content blocks, structured
// content, and the budget that both must fit.
//
// A result is bounded before it is encoded (invariant I6 of the design). Bytes
// are counted as they will stand on the wire, escapes included, and for the
// text form and the structured form separately, because some hosts show a model
// only the one and some only the other. What is left out is always said, with a
// way to go on: in the text, and in the structured content where it is a
// [Page], else in the result's _meta under [TruncatedKey].
//
//   - [Text], [JSON], [Image] and the other builders make a [Result].
//   - [Page] is a run of items that stops its producer when it is full.
//   - [Preview] keeps the head and the tail of a stream and counts the rest.
//   - [Bound] makes any Result fit a [Budget]; [Encoding] writes the fitted one
//     as a protocol revision wants it.
//
// Nothing here needs the rest of Weir: a Page or a Preview is as useful with
// another MCP library.
package result
