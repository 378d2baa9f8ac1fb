// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"maps"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// The revisions in which the definition of a tool gained something. They
// compare as text.
const (
	withAnnotations = "2025-03-26"
	withOutput      = "2025-06-18" // title, outputSchema, _meta
	withIcons       = "2025-11-25"
	withAnyOutput   = "2026-07-28" // an output schema whose root is no object
)

// form is the index of the revision's form of a definition.
func form(protocol string) int {
	n := 0
	for _, since := range []string{withAnnotations, withOutput, withIcons, withAnyOutput} {
		if protocol >= since {
			n++
		}
	}
	return n
}

const forms = 5

// Definition returns t as tools/list of the given protocol revision shows it:
// one compact JSON object, without what that revision does not know. It is made
// once; the caller must not change it. An empty protocol means the first
// revision.
func (t *Tool) Definition(protocol string) jsontext.Value {
	p := &t.definitions[form(protocol)]
	if d := p.Load(); d != nil {
		return *d
	}
	d := t.define(protocol)
	p.Store(&d)
	return d
}

func (t *Tool) define(protocol string) jsontext.Value {
	i := &t.info
	d := make([]byte, 0, 256+len(i.Description)+len(t.in.text))
	d = quote.Append(append(d, `{"name":`...), i.Name)
	if i.Title != "" && protocol >= withOutput {
		d = quote.Append(append(d, `,"title":`...), i.Title)
	}
	if i.Description != "" {
		d = quote.Append(append(d, `,"description":`...), i.Description)
	}
	if len(i.Icons) > 0 && protocol >= withIcons {
		d = appendIcons(append(d, `,"icons":`...), i.Icons)
	}
	d = append(append(d, `,"inputSchema":`...), t.in.text...)
	if t.out != nil && protocol >= withOutput && (t.objectOut || protocol >= withAnyOutput) {
		d = append(append(d, `,"outputSchema":`...), t.out.text...)
	}
	if protocol >= withAnnotations {
		d = i.appendAnnotations(d, protocol)
	}
	if len(t.meta) > 0 && protocol >= withOutput {
		d = append(append(d, `,"_meta":`...), t.meta...)
	}
	return append(d, '}')
}

// appendAnnotations appends the hints that are set. The title stood among them
// before it had a place of its own.
func (i *Info) appendAnnotations(d []byte, protocol string) []byte {
	start := len(d)
	d = append(d, `,"annotations":{`...)
	empty := len(d)
	if i.Title != "" && protocol < withOutput {
		d = quote.Append(append(d, `"title":`...), i.Title)
	}
	for _, h := range []struct {
		name string
		hint Hint
	}{
		{"readOnlyHint", i.ReadOnly},
		{"destructiveHint", i.Destructive},
		{"idempotentHint", i.Idempotent},
		{"openWorldHint", i.OpenWorld},
	} {
		if h.hint == 0 {
			continue
		}
		if len(d) > empty {
			d = append(d, ',')
		}
		d = append(quote.Append(d, h.name), ':')
		d = strconv.AppendBool(d, h.hint == Yes)
	}
	if len(d) == empty {
		return d[:start]
	}
	return append(d, '}')
}

func appendIcons(d []byte, icons []Icon) []byte {
	d = append(d, '[')
	for n, icon := range icons {
		if n > 0 {
			d = append(d, ',')
		}
		d = quote.Append(append(d, `{"src":`...), icon.Src)
		if icon.MIMEType != "" {
			d = quote.Append(append(d, `,"mimeType":`...), icon.MIMEType)
		}
		for m, size := range icon.Sizes {
			if m == 0 {
				d = append(d, `,"sizes":[`...)
			} else {
				d = append(d, ',')
			}
			d = quote.Append(d, size)
		}
		if len(icon.Sizes) > 0 {
			d = append(d, ']')
		}
		if icon.Theme != "" {
			d = quote.Append(append(d, `,"theme":`...), icon.Theme)
		}
		d = append(d, '}')
	}
	return append(d, ']')
}

// maxMeta bounds the _meta of a definition.
const maxMeta = 64 << 10

// encodeMeta encodes Meta and what stands beside it.
func (i *Info) encodeMeta() (jsontext.Value, error) {
	if len(i.Meta) == 0 && i.MaxResultSizeChars == 0 {
		return nil, nil
	}
	meta := maps.Clone(i.Meta)
	if i.MaxResultSizeChars > 0 {
		if meta == nil {
			meta = map[string]any{}
		}
		meta[metaResultSize] = i.MaxResultSizeChars
	}
	return result.Marshal(background, meta, maxMeta)
}
