// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"sort"
	"strings"
)

// leastText is how much of a text stands around the marker where it is cut, as
// encoded: with less, a block is better left out.
const leastText = 64

// storeSays is how much room is kept for the sentence of a [Store].
const storeSays = 192

// blocks fits what a model reads of blocks into the byte budget. Where not all
// of them are taken, or where there is a rest, one block more says so.
func (f *fitter) blocks(blocks, rest []Content) ([]Content, error) {
	spans, total, err := f.measure(blocks)
	if err != nil {
		return nil, err
	}
	limit := f.budget.Bytes
	if len(rest) == 0 && total <= limit {
		return blocks, nil
	}
	noted := limit - f.noteRoom()
	if err := f.least(spans, blocks, noted); err != nil {
		return nil, err
	}
	if len(rest) > 0 {
		limit = noted
	}
	n := len(blocks)
	share, ok := fits(spans, limit, 0)
	if !ok { // the first ones stay, and of those only the longest are cut
		limit = noted
		n = sort.Search(n, func(n int) bool {
			_, ok := fits(spans[:n+1], limit, limit/4)
			return !ok
		})
		share, _ = fits(spans[:n], limit, limit/4)
	}
	out := blocks[:n:n]
	for i, c := range out {
		if spans[i].text <= share {
			continue
		}
		if out[i], err = f.cutText(c, share); err != nil {
			return nil, err
		}
	}
	if n == len(blocks) && len(rest) == 0 {
		return out, nil
	}
	// What takes no text, such as an image, has a budget of its own.
	at := len(out)
	var without []Content
	for i, c := range blocks[n:] {
		if spans[n+i] == (span{}) {
			out = append(out, c)
		} else {
			without = append(without, c)
		}
	}
	note, err := f.leaveOut(slices.Concat(without, rest))
	if err != nil {
		return nil, err
	}
	return slices.Insert(out, at, note), nil
}

// A span is what a block takes of the text budget, as encoded.
type span struct {
	whole int // what cannot be cut
	text  int // what can be cut
	least int // the least of text to be left when it is cut
}

// fits tells how much of each text is left, at most, so that the blocks take no
// more than limit together, and whether that is at least what each text needs,
// and least.
func fits(spans []span, limit, least int) (share int, ok bool) {
	texts := make([]int, len(spans))
	for i, s := range spans {
		texts[i] = s.text
		limit -= s.whole
	}
	if limit < 0 {
		return 0, false
	}
	share = level(texts, limit)
	for _, s := range spans {
		if s.text > share && share < max(s.least, least) {
			return 0, false
		}
	}
	return share, true
}

// level is the size to which the larger texts have to come down, so that all
// together take no more than limit: as water finds its level. There is none
// where all of them fit.
func level(sizes []int, limit int) int {
	sorted := slices.Sorted(slices.Values(sizes))
	for i, n := range sorted {
		if share := limit / (len(sorted) - i); n > share {
			return share
		}
		limit -= n
	}
	return math.MaxInt
}

// parts returns what a model reads of a block: what has to stay whole, and what
// can be cut.
func parts(c Content) (whole [5]string, text string) {
	switch c := c.(type) {
	case TextContent:
		text = c.Text
	case LinkContent:
		whole = [...]string{c.URI, c.Name, c.Title, c.Description, c.MIMEType}
	case EmbeddedContent:
		whole = [5]string{c.Resource.URI, c.Resource.MIMEType}
		if c.Resource.Blob == nil {
			text = c.Resource.Text
		}
	}
	return whole, text
}

// measure returns what each block takes, and all together.
func (f *fitter) measure(blocks []Content) (spans []span, total int, err error) {
	spans = make([]span, len(blocks))
	for i, c := range blocks {
		whole, text := parts(c)
		for _, part := range whole {
			spans[i].whole += inner(part)
		}
		if spans[i].text, err = measure(f.ctx, text, f.budget.Bytes); err != nil {
			return nil, 0, err
		}
		total += spans[i].whole + spans[i].text
	}
	return spans, total, nil
}

// least sets the least of the texts. A block that would not fit a result of its
// own becomes a text that says so.
func (f *fitter) least(spans []span, blocks []Content, limit int) error {
	how := f.how()
	if f.store != nil {
		how += strings.Repeat("x", max(0, storeSays-len(how)))
	}
	for i, c := range blocks {
		s := &spans[i]
		s.least = s.text
		if s.text > leastText {
			_, text := parts(c)
			size := int64(len(text))
			s.least = inner(marker(size, size, size, how)) + leastText
		}
		if s.whole > 0 && s.whole+min(s.text, max(s.least, limit/4)) > limit {
			text, err := f.drop(c, s.whole+s.text)
			if err != nil {
				return err
			}
			blocks[i] = text
			n := inner(text.Text)
			*s = span{text: n, least: n}
		}
	}
	return nil
}

// cutText returns the block with its text cut to limit bytes, as encoded.
func (f *fitter) cutText(c Content, limit int) (Content, error) {
	switch b := c.(type) {
	case TextContent:
		text, err := f.shorten(b.Text, "text/plain", limit)
		b.Text = text
		return b, err
	case EmbeddedContent:
		text, err := f.shorten(b.Resource.Text, b.Resource.MIMEType, limit)
		b.Resource.Text = text
		return b, err
	}
	return c, nil
}

// drop returns the text that stands for a block that cannot be cut to fit.
func (f *fitter) drop(c Content, size int) (TextContent, error) {
	_, read := rawLen(c)
	f.cut.TextBytes += read
	f.cut.TextTotal += read
	kind := "link"
	if _, ok := c.(EmbeddedContent); ok {
		kind = "resource"
	}
	how, err := f.keep([]Content{c})
	if err != nil {
		return TextContent{}, err
	}
	return TextContent{Text: fmt.Sprintf("[%s left out: it takes %s, the limit is %s; %s]",
		kind, count(int64(size), "byte"), comma(int64(f.budget.Bytes)), cmp.Or(how, "to see it, "+f.advice()))}, nil
}

// leaveOut counts the blocks and returns the one that stands for them. With a
// store what a model reads of them is kept there.
func (f *fitter) leaveOut(blocks []Content) (Content, error) {
	var size, media int64
	for _, c := range blocks {
		all, read := rawLen(c)
		size += all
		if all > read {
			media++
		}
		f.cut.TextBytes += read
		f.cut.TextTotal += read
	}
	f.cut.Blocks = int64(len(blocks))
	how, err := f.keep(blocks)
	return f.note(f.cut.Blocks, size, media, how), err
}

// note stands for blocks that are left out. how tells how to read what was kept
// of them: all but so many that hold media.
func (f *fitter) note(blocks, size, media int64, how string) TextContent {
	kept := ""
	switch {
	case how == "" && blocks == 1:
		how = "to see it, " + f.advice()
	case how == "":
		how = "to see them, " + f.advice()
	case media > 0:
		kept = " (" + comma(media) + " of them with media, which is not kept)"
	}
	return TextContent{Text: fmt.Sprintf("[%s, %s, left out%s; %s]", count(blocks, "more content block"), count(size, "byte"), kept, how)}
}

// noteRoom is the most that a note takes, as encoded.
func (f *fitter) noteRoom() int {
	const most = 1 << 50
	n := inner(f.note(most, most, most, "").Text)
	if f.store != nil {
		n = max(n, inner(f.note(most, most, most, strings.Repeat("x", storeSays)).Text))
	}
	return n
}

// keep puts what a model reads of blocks into the store, as one text in their
// order, and returns how to read it; "" where that cannot be said: _meta has the
// handle then, if there is one.
func (f *fitter) keep(blocks []Content) (how string, err error) {
	if f.store == nil {
		return "", nil
	}
	var pieces []io.Reader
	line := func(s string) {
		pieces = append(pieces, strings.NewReader(s))
		if !strings.HasSuffix(s, "\n") {
			pieces = append(pieces, strings.NewReader("\n"))
		}
	}
	media := func(kind, mimeType string, data []byte) {
		line(leftOut(kind, mimeType, len(data), "media is not kept"))
	}
	for _, c := range blocks {
		switch c := c.(type) {
		case TextContent:
			line(c.Text)
		case ImageContent:
			media("image", c.MIMEType, c.Data)
		case AudioContent:
			media("audio", c.MIMEType, c.Data)
		case LinkContent:
			line(strings.Join(slices.DeleteFunc([]string{c.URI, c.Name, c.Title, c.Description, c.MIMEType}, func(s string) bool { return s == "" }), " | "))
		case EmbeddedContent:
			line(c.Resource.URI)
			if c.Resource.Blob != nil {
				media("resource", c.Resource.MIMEType, c.Resource.Blob)
			} else {
				line(c.Resource.Text)
			}
		}
	}
	how, err = f.put("blocks", "text/plain", io.MultiReader(pieces...))
	if inner(how) > storeSays {
		how = ""
	}
	return how, err
}

// rawLen is how large a block is, before it is encoded, and how much of that a
// model reads.
func rawLen(c Content) (all, read int64) {
	whole, text := parts(c)
	for _, part := range whole {
		read += int64(len(part))
	}
	read += int64(len(text))
	switch c := c.(type) {
	case ImageContent:
		return int64(len(c.Data)), 0
	case AudioContent:
		return int64(len(c.Data)), 0
	case EmbeddedContent:
		return read + int64(len(c.Resource.Blob)), read
	}
	return read, read
}
