// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"slices"
	"strings"
)

// How the structured form of a page begins.
const (
	beginsWhole = `{"truncated":false`
	beginsCut   = `{"truncated":true`
)

// A pageForm is the structured form of a page: compact JSON that this package
// has made, so that Bound need not check it again.
type pageForm struct {
	json []byte

	// How the text form begins, and how it begins where the page is what a call
	// had found before it failed.
	whole, partial string

	bare bool // the text form is without the items
}

func (p pageForm) MarshalJSON() ([]byte, error) { return p.json, nil }
func (p pageForm) String() string               { return string(p.json) }

// failed returns the page and the content that it stands beside as they are
// when the call has failed: neither says that there are no more items, and the
// text has the items, since an error may have to go without the other form.
func (p pageForm) failed(content []Content) (pageForm, []Content) {
	if rest, ok := bytes.CutPrefix(p.json, []byte(beginsWhole)); ok {
		p.json = slices.Concat([]byte(beginsCut), rest)
	}
	content = slices.Clone(content)
	for i, c := range content {
		if t, ok := c.(*TextContent); ok && t != nil {
			c = *t
		}
		if t, ok := c.(TextContent); ok && strings.Contains(t.Text, p.whole) {
			t.Text = strings.Replace(t.Text, p.whole, p.partial, 1)
			if p.bare {
				t.Text += "\n" + string(p.json)
			}
			content[i] = t
			break
		}
	}
	return p, content
}
