// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// Resources lists the artifacts as resources, the newest first, so that whatever
// goes between two pages of a list goes from its end. Read answers their URIs.
// There are at most MaxCount.
func (s *Store) Resources() ([]result.LinkContent, error) {
	all, err := s.List()
	if err != nil {
		return nil, err
	}
	links := make([]result.LinkContent, len(all))
	for i, info := range all {
		links[i] = info.Link()
	}
	return links, nil
}

// Read returns an artifact as the content of the resource "artifact:HANDLE",
// within the limits of a result: text of at most b.Bytes as encoded, binary
// content of at most b.Media in base64. Text that is longer ends with a line
// that says so and names the URI of what comes next, "artifact:HANDLE?offset=N",
// which stands in the resource's _meta under [result.TruncatedKey] too. Binary
// content that is larger is only returned in such parts; without an offset a
// short text stands for it.
//
// The errors are those of [Store.Open], which match fs.ErrNotExist, and the
// cause of ctx when that has ended.
func (s *Store) Read(ctx context.Context, uri string, b result.Budget) (result.Resource, error) {
	if ctx.Err() != nil {
		return result.Resource{}, context.Cause(ctx)
	}
	if !strings.HasPrefix(uri, scheme) {
		return result.Resource{}, fmt.Errorf("%w, in a URI such as artifact:HANDLE, where %q was given", ErrMalformed, quote.Cut(uri, 64))
	}
	_, offset, err := parseHandle(uri)
	if err != nil {
		return result.Resource{}, err
	}
	r, err := s.Open(uri)
	if err != nil {
		return result.Resource{}, err
	}
	defer r.Close()
	b = b.WithDefaults(result.Budget{})
	out := result.Resource{URI: uri, MIMEType: r.Info.MIMEType}
	if r.Info.Binary {
		err = binary(&out, r, max(offset, 0), offset >= 0, b.Media)
	} else {
		err = text(&out, r, max(offset, 0), b.Bytes)
	}
	if err != nil {
		return result.Resource{}, err
	}
	return out, nil
}

// binary fills in a part of binary content.
func binary(out *result.Resource, r *Reader, offset int64, asked bool, limit int) error {
	rest := r.Info.Size - offset
	most := int64(max(limit/4*3, 3)) // else the parts would lead nowhere
	if rest > most && !asked {
		out.Text = fmt.Sprintf("[binary content of %s left out: %s bytes in base64, and the limit is %s; in parts it can be read from %s on]",
			count(r.Info.Size, "byte"), comma(int64(base64.StdEncoding.EncodedLen(int(r.Info.Size)))), comma(int64(limit)), r.Info.part(0))
		out.MIMEType = "text/plain"
		out.Meta = missing(r.Info.Size, r.Info.Size, r.Info.part(0))
		return nil
	}
	out.Blob = make([]byte, min(rest, most))
	if k, err := r.ReadAt(out.Blob, offset); k < len(out.Blob) {
		return failure("reading", err)
	}
	if rest > most {
		out.Meta = missing(rest-most, r.Info.Size, r.Info.part(offset+most))
	} else if r.Info.Dropped > 0 {
		out.Meta = missing(r.Info.Dropped, r.Info.Size+r.Info.Dropped, "")
	}
	return nil
}

// missing is the _meta of a resource that is not whole.
func missing(n, total int64, next string) map[string]any {
	m := map[string]any{"textBytes": n, "textTotal": total}
	if next != "" {
		m["next"] = next
	}
	return map[string]any{result.TruncatedKey: m}
}

// text fills in a part of a text.
func text(out *result.Resource, r *Reader, offset int64, limit int) error {
	offset = runeStart(r, offset) // a part does not read what is before it
	rest := r.Info.Size - offset
	b := make([]byte, min(rest, int64(limit)))
	if k, err := r.ReadAt(b, offset); k < len(b) && err != io.EOF {
		return failure("reading", err)
	}
	s := string(b)
	if rest == int64(len(b)) && r.Info.Dropped == 0 && quote.Len(s)-len(`""`) <= limit {
		out.Text = s
		return nil
	}
	longest := r.Info.leftOut(r.Info.Size, r.Info.Size) // as long as its numbers get
	s = quote.Cut(s, limit-quote.Len(longest))
	next := offset + int64(len(s))
	if left := r.Info.Size - next; left > 0 {
		out.Text = s + r.Info.leftOut(left, next)
		out.Meta = missing(left, r.Info.Size, r.Info.part(next))
		return nil
	}
	out.Text = s + fmt.Sprintf("\n[… the artifact ends here; %s more came and were not kept …]", count(r.Info.Dropped, "byte"))
	out.Meta = missing(r.Info.Dropped, r.Info.Size+r.Info.Dropped, "")
	return nil
}

// part is the URI of what begins at an offset.
func (i Info) part(offset int64) string { return fmt.Sprintf("%s?offset=%d", i.URI(), offset) }

// leftOut says in a text that it is not whole.
func (i Info) leftOut(left, next int64) string {
	return fmt.Sprintf("\n[… %s of %s bytes left out here; they begin at %s, or %s …]", comma(left), comma(i.Size), i.part(next), i.how())
}
