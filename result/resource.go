// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import "context"

// AppendResource is [Encoding.Append] for one content of a ReadResourceResult,
// which is what answers resources/read. r must be that of an [EmbeddedContent]
// that [Bound] has returned.
func (e Encoding) AppendResource(ctx context.Context, dst []byte, r Resource) ([]byte, error) {
	return e.piece(ctx, dst, func(w *writer) { w.resource(r) })
}

// AppendListed is [Encoding.Append] for one entry of a ListResourcesResult,
// which is what answers resources/list. [Bound] must have returned l.
func (e Encoding) AppendListed(ctx context.Context, dst []byte, l LinkContent) ([]byte, error) {
	return e.piece(ctx, dst, func(w *writer) {
		w.raw(`{`)
		w.linked(l)
	})
}

// piece appends what write writes, which is called twice: the size is measured
// first.
func (e Encoding) piece(ctx context.Context, dst []byte, write func(*writer)) ([]byte, error) {
	w := writer{ctx: ctx, protocol: e.Protocol, measuring: true}
	write(&w)
	if w.err != nil {
		return dst, w.err
	}
	if e.Limit > 0 && w.n > e.Limit {
		return dst, &TooLargeError{Limit: e.Limit, Size: int64(w.n)}
	}
	w.measuring, w.dst = false, dst
	if room := cap(dst) - len(dst); room < w.n {
		w.dst = append(make([]byte, 0, max(len(dst)+w.n+tailRoom, 2*cap(dst))), dst...)
	}
	write(&w)
	if w.err != nil {
		return dst, w.err
	}
	return w.dst, nil
}
