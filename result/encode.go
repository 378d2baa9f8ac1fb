// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"
)

// The revisions of the protocol at which results changed. Revisions are dates
// and compare as strings.
const (
	revisionMarch2025 = "2025-03-26" // annotations, audio
	revisionJune2025  = "2025-06-18" // structuredContent, resource_link, title, _meta of blocks
	revisionJuly2026  = "2026-07-28" // resultType, serverInfo, structured content of any kind
)

const serverInfoKey = "io.modelcontextprotocol/serverInfo"

// tailRoom is kept free behind what Append appends, so that the frame around it
// can be closed without moving it.
const tailRoom = 16

// An Encoding writes results as one protocol revision wants them, after
// CallToolResult of that revision's schema. It may be used by many goroutines
// at once.
type Encoding struct {
	// Protocol is the revision, such as "2025-11-25". Empty means the oldest.
	Protocol string

	// Limit bounds the encoded result in bytes. Zero or less means no limit
	// here.
	Limit int

	// ServerInfo is the compact JSON object that revisions from 2026-07-28 on
	// carry in each result's _meta. Nil means none.
	ServerInfo jsontext.Value
}

// Append appends the result object for r, which [Bound] must have returned, to
// dst. What the revision does not know is left out, or becomes text.
//
// The size is measured first: dst grows at most once, to what is needed and a
// few bytes to close a frame with, and not at all when the result is larger
// than Limit, which gives a *TooLargeError. When ctx ends, which is looked at
// every 64 KiB, Append returns the cause. With an error, dst is returned as it
// was.
func (e Encoding) Append(ctx context.Context, dst []byte, r Result) ([]byte, error) {
	w := writer{ctx: ctx, protocol: e.Protocol, measuring: true}
	w.result(e, r)
	if w.err != nil {
		return dst, w.err
	}
	if e.Limit > 0 && w.n > e.Limit {
		return dst, &TooLargeError{Limit: e.Limit, Size: int64(w.n)}
	}
	w.dst = dst
	if room := cap(dst) - len(dst); room < w.n+tailRoom {
		w.dst = append(make([]byte, 0, len(dst)+w.n+tailRoom), dst...)
	}
	w.measuring = false
	w.result(e, r)
	if w.err != nil {
		return dst, w.err
	}
	return w.dst, nil
}

func (w *writer) result(e Encoding, r Result) {
	w.raw(`{`)
	if w.protocol >= revisionJuly2026 {
		w.raw(`"resultType":"complete",`)
	}
	w.raw(`"content":[`)
	for i, c := range r.Content {
		if i > 0 {
			w.raw(`,`)
		}
		w.block(c)
	}
	w.raw(`]`)
	w.structured(r.Structured)
	if r.IsError {
		w.raw(`,"isError":true`)
	}
	var info jsontext.Value
	if w.protocol >= revisionJuly2026 {
		info = e.ServerInfo
	}
	w.meta(r.Meta, info)
	w.raw(`}`)
}

// structured writes v where the revision knows it.
func (w *writer) structured(v any) {
	if v == nil || w.protocol < revisionJune2025 {
		return
	}
	raw, ok := v.(jsontext.Value)
	if !ok {
		w.fail("structured content")
		return
	}
	if raw.Kind() != '{' && w.protocol < revisionJuly2026 {
		return
	}
	w.raw(`,"structuredContent":`)
	w.long(raw)
}

// meta writes a _meta member, if there is anything to write.
func (w *writer) meta(m map[string]any, info jsontext.Value) {
	if _, own := m[serverInfoKey]; own {
		info = nil
	}
	if len(m) == 0 && len(info) == 0 {
		return
	}
	w.raw(`,"_meta":{`)
	sep := ""
	if len(info) > 0 {
		w.raw(`"` + serverInfoKey + `":`)
		w.long(info)
		sep = ","
	}
	if len(m) > 0 {
		for _, key := range slices.Sorted(maps.Keys(m)) {
			raw, ok := m[key].(jsontext.Value)
			if !ok {
				w.fail("_meta")
				return
			}
			w.raw(sep)
			w.str(key)
			w.raw(`:`)
			w.long(raw)
			sep = ","
		}
	}
	w.raw(`}`)
}

// fail ends the encoding: what is only there before Bound was found.
func (w *writer) fail(what string) {
	if w.err == nil {
		w.err = fmt.Errorf("result: %s that did not pass Bound", what)
	}
}
