// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// texts fits what a model reads of the blocks into the byte budget.
func (f *fitter) texts(blocks []Content) error {
	sizes := make([]int, len(blocks))
	total := 0
	for i, c := range blocks {
		n, err := f.size(c)
		if err != nil {
			return err
		}
		sizes[i] = n
		total += n
	}
	if total <= f.budget.Bytes {
		return nil
	}
	share := level(sizes, f.budget.Bytes)
	for i, c := range blocks {
		if sizes[i] <= share {
			continue
		}
		switch c := c.(type) {
		case TextContent:
			text, err := f.shorten(c.Text, "text/plain", share)
			if err != nil {
				return err
			}
			c.Text = text
			blocks[i] = c
		case EmbeddedContent:
			room := share - urlSize(c.Resource)
			if room < 0 {
				blocks[i] = f.drop("resource", sizes[i], share)
				continue
			}
			text, err := f.shorten(c.Resource.Text, c.Resource.MIMEType, room)
			if err != nil {
				return err
			}
			c.Resource.Text = text
			blocks[i] = c
		case LinkContent:
			blocks[i] = f.drop("link", sizes[i], share)
		}
	}
	return nil
}

// drop returns the text that stands for a block that cannot be cut.
func (f *fitter) drop(kind string, size, limit int) Content {
	f.cut.TextBytes += int64(size)
	f.cut.TextTotal += int64(size)
	text := fmt.Sprintf("[%s left out: it takes %s, its share of the limit is %s]",
		kind, count(int64(size), "byte"), comma(int64(limit)))
	return TextContent{Text: quote.Cut(text, limit)}
}

// size is how much of the text budget a block takes, as encoded.
func (f *fitter) size(c Content) (int, error) {
	switch c := c.(type) {
	case TextContent:
		return measure(f.ctx, c.Text, f.budget.Bytes)
	case LinkContent:
		return inner(c.URI) + inner(c.Name) + inner(c.Title) + inner(c.Description) + inner(c.MIMEType), nil
	case EmbeddedContent:
		if c.Resource.Blob != nil {
			return urlSize(c.Resource), nil
		}
		n, err := measure(f.ctx, c.Resource.Text, f.budget.Bytes)
		return urlSize(c.Resource) + n, err
	}
	return 0, nil
}

func urlSize(r Resource) int { return inner(r.URI) + inner(r.MIMEType) }

// inner is the length of s inside a JSON string.
func inner(s string) int { return quote.Len(s) - len(`""`) }

// measure is inner for a text of any size. It stops once it knows that the text
// is over limit: its result is then only a lower bound.
func measure(ctx context.Context, s string, limit int) (int, error) {
	if len(s) > limit {
		return len(s), nil // no byte becomes less than one
	}
	n := 0
	for s != "" {
		k := runeStart(s, step)
		n += inner(s[:k])
		s = s[k:]
		if k >= step-3 && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return n, nil
}

// level is the size to which the larger blocks have to come down, so that all
// together take no more than limit: as water finds its level.
func level(sizes []int, limit int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		if share := limit / (len(sorted) - i); n > share {
			return share
		}
		limit -= n
	}
	return limit
}

// shorten returns the head and the tail of a text that takes more than limit
// bytes encoded, with a marker between them, all within limit.
func (f *fitter) shorten(s, mimeType string, limit int) (string, error) {
	how := "to see it, " + f.advice()
	switch {
	case f.whole:
		how = "the structured content is whole"
	case f.store != nil:
		handle, read, err := f.store.Put(f.ctx, "text", mimeType, strings.NewReader(s))
		if f.ctx.Err() != nil {
			return "", context.Cause(f.ctx)
		}
		if err == nil { // else the text is cut as without a store
			f.cut.Artifacts = append(f.cut.Artifacts, handle)
			how = strings.TrimSuffix(read, ".")
		}
	}
	size := int64(len(s))
	room := limit - inner(marker(size, size, size, how))
	if room < 0 { // not even the marker fits: the text just ends, and _meta says so
		head := quote.Cut(s, limit)
		f.cut.TextBytes += size - int64(len(head))
		f.cut.TextTotal += size
		return head, nil
	}
	head := toLine(quote.Cut(s, room/4*3))
	tail := fromLine(quote.CutTail(s[len(head):], room-inner(head)))
	missing := s[len(head) : len(s)-len(tail)]
	f.cut.TextBytes += int64(len(missing))
	f.cut.TextTotal += size
	lines, err := countLines(f.ctx, missing)
	if err != nil {
		return "", err
	}
	return head + marker(int64(len(missing)), size, lines, how) + tail, nil
}

// marker stands where text is missing. Its length grows with its numbers.
func marker(missing, total, lines int64, how string) string {
	in := ""
	if lines > 0 {
		in = " (" + count(lines, "line") + ")"
	}
	if how != "" {
		how = "; " + how
	}
	return fmt.Sprintf("\n[… %s of %s bytes%s left out here%s …]\n", comma(missing), comma(total), in, how)
}

// countLines counts the line feeds of s.
func countLines(ctx context.Context, s string) (int64, error) {
	var n int64
	for s != "" {
		k := min(len(s), step)
		n += int64(strings.Count(s[:k], "\n"))
		s = s[k:]
		if k == step && ctx.Err() != nil {
			return 0, context.Cause(ctx)
		}
	}
	return n, nil
}

// nearLine is how far a line border may be from where a cut would fall to be
// taken instead: at most this, and at most a quarter of what is cut.
const nearLine = 1 << 10

// toLine shortens the head of a text to its last line border, if that is near.
func toLine[S string | []byte](head S) S {
	for n := len(head); n > len(head)-min(nearLine, len(head)/4); n-- {
		if head[n-1] == '\n' {
			return head[:n]
		}
	}
	return head
}

// fromLine shortens the tail of a text to begin at its first line border, if
// that is near.
func fromLine[S string | []byte](tail S) S {
	for n := range min(nearLine, len(tail)/4) {
		if tail[n] == '\n' {
			return tail[n+1:]
		}
	}
	return tail
}
