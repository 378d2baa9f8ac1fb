// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// A pageState is what a Page holds, whatever its items are.
//
// The invariant of both forms: what is used, and the room kept for all that
// Result adds, are within the budget together.
type pageState struct {
	begun              bool
	budget             Budget
	mode               TextMode
	noun, sorted, hint string
	err                error

	items []byte // encoded, with commas between them
	room  int    // of items

	lines    []byte // of TextLines, each with its line break
	textUsed int    // by the items, as encoded
	textRoom int    // of the items

	taken, omitted, shrunk int64
	sizes                  []string // of the first items left out, none twice
	otherSizes             bool     // and of others
	full, more             bool
	failed                 bool // the summary is that of a page before a failure
	needs                  int  // a budget that has room, if this one has not
	total                  int64
	hasTotal               bool
}

// small reports whether the caller may have asked for a page smaller than usual.
func (s *pageState) small() bool { return s.budget.Bytes < DefaultBytes }

// namedSizes is how many sizes of items left out are named.
func (s *pageState) namedSizes() int {
	if s.small() { // the room is the items'
		return 1
	}
	return 3
}

func (s *pageState) begin(b Budget, noun, sorted, hint string, mode TextMode, extra any) {
	s.begun = true
	s.budget = b.WithDefaults(Budget{})
	s.mode = mode
	s.noun = quote.Cut(cmp.Or(noun, "items"), 64)
	s.sorted = quote.Cut(sorted, 64)
	s.hint = quote.Cut(cmp.Or(hint, generalHint), 128)

	members, err := encodeExtra(extra, max(s.budget.Bytes, DefaultBytes))
	if err != nil {
		s.err = err
		return
	}
	largest := pageEnds{
		truncated: true, next: strings.Repeat("x", MaxCursor),
		total: math.MaxInt64, hasTotal: true, omitted: math.MaxInt64, extra: members,
	}
	ends := largest.append(nil, nil)
	s.room = s.budget.Bytes - len(ends)
	if mode == TextJSON {
		s.textRoom = s.budget.Bytes - inner(string(ends))
	} else {
		s.textRoom = s.budget.Bytes - s.longestSummary() - len(`\n`)
	}
	if short := max(-s.room, -s.textRoom); short > 0 {
		s.needs = s.budget.Bytes + short
		s.full = true
	}
}

var lineBreaks = strings.NewReplacer("\n", `\n`, "\r", `\r`)

// oneLine keeps an item from looking like several, or like the summary.
func oneLine(s string) string { return lineBreaks.Replace(s) }

// addLine adds a line to the text form if it fits.
func addLine[S string | []byte](s *pageState, line S) bool {
	left := s.textRoom - s.textUsed - len(`\n`)
	if len(line) > left {
		return false
	}
	n := quote.Len(line) - len(`""`)
	if n > left {
		return false
	}
	s.textUsed += n + len(`\n`)
	s.lines = append(append(s.lines, line...), '\n')
	return true
}

func (s *pageState) omit(size *TooLargeError) {
	s.omitted++
	switch text := size.size(); {
	case slices.Contains(s.sizes, text):
	case len(s.sizes) == s.namedSizes():
		s.otherSizes = true
	default:
		s.sizes = append(s.sizes, text)
	}
}

// truncated reports whether the page is less than what was asked for.
func (s *pageState) truncated(next string) bool {
	return s.full || s.omitted > 0 || s.shrunk > 0 || next != "" && !s.more
}

func (s *pageState) result(next string, extra any) (Result, error) {
	if s.needs > 0 {
		how := "leave out maxBytes if you gave it"
		if !strings.Contains(s.hint, "maxBytes") {
			how += ", or " + s.hint
		}
		return Errorf("A budget of %s bytes has no room for this result, which needs %s: %s.",
			comma(int64(s.budget.Bytes)), comma(int64(s.needs)), how), nil
	}
	members, err := encodeExtra(extra, max(s.budget.Bytes, DefaultBytes))
	if err != nil {
		return Result{}, err
	}
	ends := pageEnds{
		truncated: s.truncated(next), next: next,
		total: s.total, hasTotal: s.hasTotal, omitted: s.omitted, extra: members,
	}
	structured := pageForm{json: ends.append(nil, s.items)}
	if len(structured.json) > s.budget.Bytes {
		return Result{}, errors.New("page: Extra has grown out of the room that was kept for it")
	}
	var text string
	switch s.mode {
	case TextJSON:
		text = string(structured.json)
		structured.whole, structured.partial = beginsWhole, beginsCut
		if inner(text) > s.budget.Bytes {
			return Result{}, errors.New("page: Extra has grown out of the room that was kept for it")
		}
	case TextSummary:
		text = string(s.appendSummary(nil, next))
		structured.whole, structured.partial = text, s.partial(next)
		structured.bare = true
	default:
		summary := s.appendSummary(make([]byte, 0, 512+len(next)), next)
		var b strings.Builder
		b.Grow(len(summary) + len(s.lines))
		b.Write(summary)
		if len(s.lines) > 0 {
			b.WriteByte('\n')
			b.Write(s.lines[:len(s.lines)-1])
		}
		text = b.String()
		structured.whole, structured.partial = text[:len(summary)], s.partial(next)
	}
	return Result{Content: []Content{TextContent{Text: text}}, Structured: structured}, nil
}

// partial is the summary for when the call turns out to have failed.
func (s *pageState) partial(next string) string {
	failed := *s
	failed.failed = true
	return string(failed.appendSummary(nil, next))
}

// pageEnds is the structured form of a page but for its items. What says how to
// go on stands first, because some hosts show only the beginning.
type pageEnds struct {
	truncated bool
	next      string
	total     int64
	hasTotal  bool
	omitted   int64
	extra     []byte // members of an object, or nothing
}

func (e pageEnds) append(dst, items []byte) []byte {
	if dst == nil {
		dst = make([]byte, 0, len(items)+len(e.next)+len(e.extra)+128)
	}
	if e.truncated {
		dst = append(dst, beginsCut...)
	} else {
		dst = append(dst, beginsWhole...)
	}
	if e.next != "" {
		dst = append(dst, `,"nextCursor":`...)
		dst = quote.Append(dst, e.next)
	}
	if e.hasTotal {
		dst = append(dst, `,"totalEstimate":`...)
		dst = strconv.AppendInt(dst, e.total, 10)
	}
	if e.omitted > 0 {
		dst = append(dst, `,"omitted":`...)
		dst = strconv.AppendInt(dst, e.omitted, 10)
	}
	if len(e.extra) > 0 {
		dst = append(dst, ',')
		dst = append(dst, e.extra...)
	}
	dst = append(dst, `,"items":[`...)
	dst = append(dst, items...)
	return append(dst, `]}`...)
}

// encodeExtra returns the members of v, an object, without its braces.
func encodeExtra(v any, limit int) ([]byte, error) {
	if v == nil {
		return nil, nil
	}
	raw, err := Marshal(context.Background(), v, limit)
	if err != nil {
		return nil, fmt.Errorf("page Extra: %w", err)
	}
	if raw.Kind() != '{' {
		return nil, errors.New("page: Extra is not an object")
	}
	for name := range members(raw) {
		switch name {
		case "items", "truncated", "nextCursor", "totalEstimate", "omitted":
			return nil, fmt.Errorf("page: Extra has a member %q, which is the page's own", name)
		}
	}
	return raw[1 : len(raw)-1], nil
}

// failed is what stands for the structured form of a page with a mistake.
type failed struct{ err error }

func (f failed) MarshalJSON() ([]byte, error) { return nil, f.err }
