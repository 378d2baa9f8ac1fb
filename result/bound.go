// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// TruncatedKey is the key of a result's _meta under which [Bound] says in
// numbers what it left out. The value is an object; members that would be zero
// are absent:
//
//	textBytes, textTotal      so many bytes of so many of text
//	artifacts                 handles under which a [Store] keeps what is left out
//	mediaBytes, mediaBlocks   media, in bytes before base64
//	structuredBytes           size of the refused structured content, as encoded
//	blocks                    content blocks that one block tells of instead
//	meta                      values of _meta
const TruncatedKey = "weir/truncated"

type truncated struct {
	TextBytes       int64    `json:"textBytes,omitzero"`
	TextTotal       int64    `json:"textTotal,omitzero"`
	Artifacts       []string `json:"artifacts,omitempty"`
	MediaBytes      int64    `json:"mediaBytes,omitzero"`
	MediaBlocks     int64    `json:"mediaBlocks,omitzero"`
	StructuredBytes int64    `json:"structuredBytes,omitzero"`
	Blocks          int64    `json:"blocks,omitzero"`
	Meta            int64    `json:"meta,omitzero"`
}

// Bound returns r encoded and fitted to b, ready for [Encoding.Append]. r itself
// is not changed. The order of blocks is kept.
//
//   - Structured becomes compact JSON. When that is over b.Bytes the result
//     becomes an error that names its size, the limit and r.Hint.
//   - A [Page] in a result with IsError set is what there was before a failure:
//     both forms say that there may be more.
//   - Text over b.Bytes becomes its head and its tail with a marker between
//     them that says how much is missing. Long blocks give way before short
//     ones. With a Store the whole text is put there, and the marker says how
//     to read it; nil means there is none.
//   - Blocks that are too many for that, as those past b.Items are, are left
//     out, and one text says how many. The first ones stay, and so does media.
//     With a Store the others are put there, as one text in their order.
//   - Media over b.Media becomes a short text, and so does a link that is over
//     b.Bytes by itself, which goes into a Store too; media does not.
//   - _meta values become compact JSON; those past b.Bytes are left out.
//
// Whatever is left out is also said in numbers in _meta, under [TruncatedKey].
//
// Bound looks at ctx at least every 64 KiB and returns its cause when it has
// ended. Any other error is an author's mistake: something in r cannot be
// encoded, or has annotations that the protocol does not know.
func Bound(ctx context.Context, r Result, b Budget, s Store) (Result, error) {
	b = b.WithDefaults(Budget{})
	f := fitter{ctx: ctx, budget: b, store: s, hint: r.Hint}
	if err := f.structured(&r); err != nil {
		return Result{}, err
	}
	if f.cut.none() && small(r, b) {
		return r, nil
	}
	if err := f.content(&r); err != nil {
		return Result{}, err
	}
	if err := f.meta(&r); err != nil {
		return Result{}, err
	}
	return r, nil
}

// small reports whether r, but for its structured content, is one short text,
// as most results are. No byte takes more than six when it is encoded.
func small(r Result, b Budget) bool {
	if len(r.Content) != 1 || r.Meta != nil {
		return false
	}
	t, ok := r.Content[0].(TextContent)
	return ok && t.Meta == nil && t.Annotations == nil && len(t.Text) <= b.Bytes/len(`\u0000`)
}

// A fitter is one use of Bound.
type fitter struct {
	ctx    context.Context
	budget Budget
	store  Store
	hint   string
	whole  bool // the text is the structured content again, which is whole
	cut    truncated
}

func (f *fitter) structured(r *Result) error {
	if r.Structured == nil {
		return nil
	}
	page, isPage := r.Structured.(pageForm)
	if isPage && r.IsError {
		page, r.Content = page.failed(r.Content)
		r.Structured = page
	}
	var v jsontext.Value
	if isPage && len(page.json) <= f.budget.Bytes {
		v = jsontext.Value(page.json)
	} else {
		var err error
		v, err = Marshal(f.ctx, r.Structured, f.budget.Bytes)
		if large := tooLarge(err); large != nil {
			f.refuse(r, large)
			return nil
		}
		if err != nil {
			return err
		}
	}
	if len(r.Content) == 0 {
		r.Content = []Content{TextContent{Text: string(v)}}
		f.whole = true
	}
	if isPage && r.IsError && page.bare { // its text has both forms now, which fit one by one
		f.budget.Bytes += inner("\n" + string(v))
	}
	r.Structured = v
	return nil
}

// refuse makes an error of r, whose structured content is too large. What the
// author gave as text stays behind the reason, unless it is one itself.
func (f *fitter) refuse(r *Result, large *TooLargeError) {
	f.cut.StructuredBytes = large.Size
	text := fmt.Sprintf("The result is too large to return: its structured content is %s, the limit is %s bytes. To get less, %s.",
		large.size(), comma(int64(large.Limit)), f.advice())
	r.Structured = nil
	reason := []Content{TextContent{Text: text}}
	if r.IsError {
		r.Content = slices.Concat(r.Content, reason)
		return
	}
	r.IsError = true
	r.Content = slices.Concat(reason, r.Content)
}

// advice is what the author, or else this package, tells a caller who wants
// less.
func (f *fitter) advice() string {
	return cmp.Or(quote.Cut(f.hint, maxHint), generalHint)
}

// generalHint tells how to get less of any tool.
const generalHint = "narrow the arguments"

// maxHint is the most of Result.Hint that is used, so that there is room for it.
const maxHint = 256

// content fits the blocks: their number, then their media, then their text.
func (f *fitter) content(r *Result) error {
	blocks, err := values(r.Content)
	if err != nil {
		return err
	}
	var rest []Content
	if len(blocks) > f.budget.Items { // the last one tells of the rest
		blocks, rest = blocks[:f.budget.Items-1], blocks[f.budget.Items-1:]
	}
	f.media(blocks)
	r.Content, err = f.blocks(blocks, rest)
	return err
}

// values copies the blocks, with pointers followed, and checks what a host
// would not take.
func values(in []Content) ([]Content, error) {
	out := slices.Clone(in)
	for i, c := range out {
		switch c := c.(type) {
		case nil:
			return nil, errors.New("result: a nil content block")
		case *TextContent:
			out[i] = *c
		case *ImageContent:
			out[i] = *c
		case *AudioContent:
			out[i] = *c
		case *LinkContent:
			out[i] = *c
		case *EmbeddedContent:
			out[i] = *c
		}
		if err := annotations(out[i]).check(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// media replaces the media blocks that do not fit.
func (f *fitter) media(blocks []Content) {
	left := f.budget.Media
	fit := func(i int, kind, mimeType string, data []byte) {
		n := base64.StdEncoding.EncodedLen(len(data))
		if n <= left {
			left -= n
			return
		}
		f.cut.MediaBlocks++
		f.cut.MediaBytes += int64(len(data))
		why := fmt.Sprintf("%s bytes in base64, and the limit for the media of a result is %s", comma(int64(n)), comma(int64(f.budget.Media)))
		blocks[i] = TextContent{Text: leftOut(kind, mimeType, len(data), why)}
	}
	for i, c := range blocks {
		switch c := c.(type) {
		case ImageContent:
			fit(i, "image", c.MIMEType, c.Data)
		case AudioContent:
			fit(i, "audio", c.MIMEType, c.Data)
		case EmbeddedContent:
			if c.Resource.Blob != nil {
				fit(i, "resource", c.Resource.MIMEType, c.Resource.Blob)
			}
		}
	}
}

// meta encodes all _meta values, those of blocks first.
func (f *fitter) meta(r *Result) error {
	left := f.budget.Bytes
	for i, c := range r.Content {
		var err error
		switch c := c.(type) {
		case TextContent:
			if c.Meta != nil { // else it is not put into the interface anew
				c.Meta, err = f.encodeMeta(c.Meta, &left)
				r.Content[i] = c
			}
		case ImageContent:
			c.Meta, err = f.encodeMeta(c.Meta, &left)
			r.Content[i] = c
		case AudioContent:
			c.Meta, err = f.encodeMeta(c.Meta, &left)
			r.Content[i] = c
		case LinkContent:
			c.Meta, err = f.encodeMeta(c.Meta, &left)
			r.Content[i] = c
		case EmbeddedContent:
			c.Resource.Meta, err = f.encodeMeta(c.Resource.Meta, &left)
			if err == nil {
				c.Meta, err = f.encodeMeta(c.Meta, &left)
			}
			r.Content[i] = c
		}
		if err != nil {
			return err
		}
	}
	m, err := f.encodeMeta(r.Meta, &left)
	if err != nil {
		return err
	}
	if !f.cut.none() {
		v, err := Marshal(f.ctx, f.cut, f.budget.Bytes)
		if err != nil {
			return err
		}
		if m == nil { // else it is encodeMeta's, not the author's
			m = make(map[string]any, 1)
		}
		m[TruncatedKey] = v
	}
	r.Meta = m
	return nil
}

// encodeMeta returns m with its values encoded, as long as there are bytes left
// for them.
func (f *fitter) encodeMeta(m map[string]any, left *int) (map[string]any, error) {
	if len(m) == 0 {
		return nil, nil
	}
	out := make(map[string]any, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		room := *left - len(key)
		if room <= 0 {
			f.cut.Meta++
			continue
		}
		v, err := Marshal(f.ctx, m[key], room)
		switch {
		case tooLarge(err) != nil:
			f.cut.Meta++
		case err != nil:
			return nil, fmt.Errorf("_meta %q: %w", key, err)
		default:
			out[key] = v
			*left = room - len(v)
		}
	}
	return out, nil
}

func (t truncated) none() bool {
	return t.TextBytes == 0 && len(t.Artifacts) == 0 && t.MediaBlocks == 0 &&
		t.StructuredBytes == 0 && t.Blocks == 0 && t.Meta == 0
}

// leftOut is the text that stands for a media block.
func leftOut(kind, mimeType string, size int, why string) string {
	if mimeType != "" {
		kind += " " + quote.Cut(mimeType, 100)
	}
	return fmt.Sprintf("[%s of %s bytes left out: %s]", kind, comma(int64(size)), why)
}
