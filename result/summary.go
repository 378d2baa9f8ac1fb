// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"bytes"
	"iter"
	"math"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// appendSummary says in plain words what the page is and how to go on:
//
//	Returned 50 of 4,382 matching records. Results are sorted by update time.
//	Use cursor "…" to continue, or narrow the arguments.
//
// A page of a call that failed never says that it is all there is. No number and no cursor makes it longer than longestSummary.
func (s *pageState) appendSummary(b []byte, next string) []byte {
	b = append(b, "Returned "...)
	b = appendComma(b, s.taken)
	if s.hasTotal {
		b = append(b, " of "...)
		b = appendComma(b, s.total)
	}
	b = append(b, ' ')
	if s.taken == 1 && !s.hasTotal || s.hasTotal && s.total == 1 {
		b = append(b, singular(s.noun)...)
	} else {
		b = append(b, s.noun...)
	}
	if s.failed {
		b = append(b, " before the failure; there may be more"...)
	}
	b = append(b, '.')
	if s.sorted != "" {
		b = append(b, " Results are sorted "...)
		b = append(b, s.sorted...)
		b = append(b, '.')
	}
	b = s.appendOmitted(b)
	if s.shrunk > 0 {
		b = append(b, " Shortened to fit: "...)
		b = appendComma(b, s.shrunk)
		b = append(b, '.')
	}
	if s.small() && s.omitted+s.shrunk > 0 {
		b = append(b, " If you gave maxBytes, a larger one may show more of them."...)
	}
	switch {
	case next != "" && s.more && !s.full && !s.failed:
		b = append(b, ` This is the current end. Use cursor "`...)
		b = append(b, next...)
		b = append(b, `" to read what comes later.`...)
	case next != "":
		b = append(b, ` Use cursor "`...)
		b = append(b, next...)
		b = append(b, `" to continue, or `...)
		b = append(b, s.hint...)
		b = append(b, '.')
	case s.full:
		b = append(b, " The page is full: "...)
		b = append(b, s.hint...)
		b = append(b, '.')
	case !s.hasTotal && !s.failed:
		b = append(b, " There are no more."...)
	}
	return b
}

// appendOmitted names how many items were left out, and the first of their
// sizes.
func (s *pageState) appendOmitted(b []byte) []byte {
	if s.omitted == 0 {
		return b
	}
	b = append(b, " Left out because too large: "...)
	b = appendComma(b, s.omitted)
	b = append(b, " ("...)
	if s.omitted > 1 && len(s.sizes) == 1 && !s.otherSizes {
		b = append(b, "each "...)
	}
	for i, size := range s.sizes {
		if i > 0 {
			b = append(b, "; "...)
		}
		b = append(b, size...)
	}
	if s.otherSizes {
		b = append(b, "; …"...)
	}
	return append(b, ")."...)
}

// longestSummary is the most that appendSummary appends, as encoded: every sentence
// there, every number as long as it gets, and the longer of the endings.
func (s *pageState) longestSummary() int {
	size := (&TooLargeError{Size: 1 << 40, AtLeast: true}).size()
	l := pageState{
		budget: s.budget,
		noun:   s.noun, sorted: s.sorted, hint: s.hint,
		taken: int64(s.budget.Items), total: math.MaxInt64, hasTotal: true,
		omitted: int64(s.budget.Items), shrunk: int64(s.budget.Items),
		sizes: slices.Repeat([]string{size}, s.namedSizes()), otherSizes: true,
	}
	next := strings.Repeat("x", MaxCursor)
	l.more = true
	n := quote.Len(l.appendSummary(nil, next))
	l.failed = true
	return max(n, quote.Len(l.appendSummary(nil, next)))
}

// singular takes the ending of the plural off a noun, as English mostly does; of
// several, one is one or the other. What stands in parentheses stays.
func singular(noun string) string {
	if i := strings.Index(noun, " ("); i > 0 {
		return singular(noun[:i]) + noun[i:]
	}
	for _, and := range []string{" and ", " or "} {
		if a, b, ok := strings.Cut(noun, and); ok {
			return singular(a) + " or " + singular(b)
		}
	}
	cut := func(ending string) bool { return strings.HasSuffix(noun, ending) }
	switch {
	case cut("ies"):
		return noun[:len(noun)-len("ies")] + "y"
	case cut("ches") && !cut("aches"), cut("shes"), cut("sses"), cut("xes"):
		return noun[:len(noun)-len("es")]
	case cut("s") && !cut("ss") && !cut("us") && !cut("is"):
		return noun[:len(noun)-len("s")]
	}
	return noun
}

// members yields the names of the members of a valid object.
func members(object jsontext.Value) iter.Seq[string] {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(object), jsontext.AllowInvalidUTF8(true))
		if _, err := d.ReadToken(); err != nil {
			return
		}
		for d.PeekKind() == '"' {
			name, err := d.ReadToken()
			if err != nil || !yield(name.String()) || d.SkipValue() != nil {
				return
			}
		}
	}
}
