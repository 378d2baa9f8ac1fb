// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"fmt"

	"github.com/weir-mcp/weir/internal/quote"
)

// MaxCursor is the length of the longest [Page.NextCursor], in bytes as
// encoded. A page keeps room for it.
const MaxCursor = 512

// shrinkTries is how often Shrink is asked, each time for a quarter less.
const shrinkTries = 6

var errCursor = fmt.Errorf("page: NextCursor is longer than %d bytes", MaxCursor)

// TextMode says what the text form of a page holds.
type TextMode uint8

// The modes. All but TextJSON begin with the summary, because some hosts show
// only the first 2 KB.
const (
	TextLines   TextMode = iota // the summary, then each item on a line
	TextSummary                 // the summary alone
	TextJSON                    // the structured form again, as compact JSON
)

// A Page is a bounded run of items, in a text form and a structured form that
// each fit the budget. The zero Page is ready to use:
//
//	page := result.Page[Match]{Budget: req.Budget()}
//	for m := range matches {
//		if !page.Add(m) { // full: the loop ends, and with it the search
//			page.NextCursor = … // m's position: m was not taken
//			break
//		}
//	}
//	return page.Result(), nil
//
// The fields are set before the first Add; of later changes only those to
// NextCursor and Extra count. A Page is used by one goroutine at a time and
// must not be copied after the first Add.
type Page[T any] struct {
	// Budget bounds the page: Bytes each form by itself, Items the items taken
	// and left out together. In a handler it is always req.Budget(), which knows
	// what the tool and the caller ask for. Zero fields mean the defaults.
	Budget Budget

	// NextCursor is where to read on, at most MaxCursor bytes. Empty means that
	// there is nothing to read on, and it is then left out.
	NextCursor string

	// Noun names the items in the summary, in the English plural, such as
	// "matching records"; for a single item its ending is taken off. Empty means
	// "items". At most 64 bytes are used.
	Noun string

	// Sorted tells the order of the items, such as "by update time". Empty
	// means that the summary does not mention it. At most 64 bytes are used.
	Sorted string

	// Hint tells what else to do about a page that is full, such as "use a
	// narrower path". Empty means "narrow the arguments". At most 128 bytes are
	// used.
	Hint string

	// Line returns an item's line in the text form, without a line break at its
	// end. Nil means the item's compact JSON, or the item itself if it is a
	// string, with \n and \r for its line breaks.
	Line func(item T) string

	// Shrink returns a smaller item to stand for one that would not fit an
	// empty page, or false if there is none. The result should say that it was
	// shortened, and be at most limit bytes of JSON. It is asked again for less,
	// a few times, when that is still too much, as it can be in the text form.
	// Nil means that such items are left out.
	Shrink func(item T, limit int) (T, bool)

	// Extra is an object, such as the query, whose members stand beside those
	// of the page in the structured form. Its size at the first Add is kept
	// free; it may change until Result, as long as it fits. Nil means none.
	Extra any

	// Text says what the text form holds. Zero means TextLines.
	Text TextMode

	s    pageState
	item T // under way in Add; here, so that it need not be moved to the heap
}

// Add takes item and returns true, or returns false when the page is full: the
// item was not kept, and neither will any later one be. The producer should
// stop then.
//
// An item that does not fit an empty page is shrunk with Shrink, or left out
// and counted, with its size named in the text; Add returns true, so that a
// reader who comes back with the next cursor gets past it.
//
// Add also returns false when the item cannot be encoded; Err tells.
func (p *Page[T]) Add(item T) bool {
	if !p.begin() || p.s.full {
		return false
	}
	s := &p.s
	if s.taken+s.omitted >= int64(s.budget.Items) {
		s.full = true
		return false
	}
	defer p.forget()
	size, fits, err := p.try(item)
	switch {
	case err != nil:
		s.err = err
		return false
	case fits:
		return true
	case s.taken > 0:
		s.full = true
		return false
	}
	if p.Shrink != nil {
		limit := min(s.room, s.textRoom)
		for range shrinkTries {
			smaller, ok := p.Shrink(item, limit)
			if !ok {
				break
			}
			_, fits, err := p.try(smaller)
			if err != nil {
				s.err = err
				return false
			}
			if fits {
				s.shrunk++
				return true
			}
			limit -= limit / 4
		}
	}
	s.omit(size)
	return true
}

// try adds item if both of its forms fit, and tells its size as encoded if not.
func (p *Page[T]) try(item T) (size *TooLargeError, fits bool, err error) {
	s := &p.s
	p.item = item
	before := len(s.items)
	if before > 0 {
		s.items = append(s.items, ',')
	}
	start := len(s.items)
	// A page that holds items need not know how large one is that does not fit.
	s.items, err = appendMarshal(context.Background(), s.items, &p.item, max(s.room-start, 1))
	if err != nil {
		s.items = s.items[:before]
		if large := tooLarge(err); large != nil {
			return large, false, nil
		}
		return nil, false, fmt.Errorf("page item %d: %w", s.taken, err)
	}
	if !p.addLine(item, s.items[start:]) {
		size = &TooLargeError{Limit: s.room, Size: int64(len(s.items) - start)}
		s.items = s.items[:before]
		return size, false, nil
	}
	s.taken++
	return nil, true, nil
}

// forget drops the last item, which may be large.
func (p *Page[T]) forget() {
	var zero T
	p.item = zero
}

// addLine adds the item to the text form if it fits.
func (p *Page[T]) addLine(item T, encoded []byte) bool {
	s := &p.s
	switch s.mode {
	case TextSummary:
		return true
	case TextJSON:
		n := s.textUsed + quote.Len(encoded) - len(`""`) + len(`,`)
		if n > s.textRoom {
			return false
		}
		s.textUsed = n
		return true
	}
	var line string
	if p.Line != nil {
		line = p.Line(item)
	} else if text, ok := any(item).(string); ok {
		line = oneLine(text)
	} else {
		return addLine(s, encoded)
	}
	return addLine(s, line)
}

// Total tells how many items there are in all, known or honestly estimated.
// Zero is a total like any other; less than zero takes it back.
func (p *Page[T]) Total(n int64) { p.s.total, p.s.hasTotal = n, n >= 0 }

// More says that NextCursor, if set, is for what will come later, because the
// page has reached the current end of something that grows. Such a cursor alone
// does not make the page truncated.
func (p *Page[T]) More() { p.s.more = true }

// Len returns the number of items taken.
func (p *Page[T]) Len() int { return int(p.s.taken) }

// Err returns the first mistake met: an item or an Extra that cannot be
// encoded, a cursor that is too long. The structured form of such a page's
// Result cannot be encoded, for the same reason: Bound returns the error.
func (p *Page[T]) Err() error {
	if p.s.err != nil {
		return p.s.err
	}
	if inner(p.NextCursor) > MaxCursor {
		return errCursor
	}
	return nil
}

// Result returns the page as it stands; it may be called again. Neither form is
// larger than the budget. The structured form is there as JSON already.
//
// In a result with IsError set, as Weir makes of one that a handler returns
// beside an error, the page is the output before a failure: [Bound] then has
// both forms say that there may be more.
func (p *Page[T]) Result() Result {
	p.begin()
	if err := p.Err(); err != nil {
		return JSON(failed{err})
	}
	r, err := p.s.result(p.NextCursor, p.Extra)
	if err != nil {
		p.s.err = err
		return JSON(failed{err})
	}
	return r
}

// begin sets the page up at its first use. It returns false when the page
// cannot take anything because of an error.
func (p *Page[T]) begin() bool {
	if !p.s.begun {
		p.s.begin(p.Budget, p.Noun, p.Sorted, p.Hint, p.Text, p.Extra)
	}
	return p.s.err == nil
}
