// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/internal/quote"
)

// case 26: it is bytes that bound a page, and all pages together have every row
// once, in each mode.
func TestPageUnion(t *testing.T) {
	var rows []row
	for i := range 100 {
		rows = append(rows, row{i, strings.Repeat("<\"\x00é\u2028", i*137%400)})
	}
	for _, mode := range []TextMode{TextLines, TextSummary, TextJSON} {
		for _, budget := range []Budget{{}, {Bytes: 10 << 10}, {Bytes: 1 << 20, Items: 7}} {
			var got []int
			pages := 0
			for from := 0; ; pages++ {
				p := Page[row]{Budget: budget, Text: mode, Line: func(r row) string { return r.Body }}
				if mode == TextSummary {
					p.Line = nil
				}
				next := 0
				for i, r := range rows[from:] {
					if !p.Add(r) {
						next = from + i
						p.NextCursor = fmt.Sprint(next)
						break
					}
				}
				f, _ := both(t, p.Result(), budget)
				for _, raw := range f.Items {
					var r row
					if err := json.Unmarshal(raw, &r); err != nil {
						t.Fatal(err)
					}
					if r != rows[r.N] {
						t.Fatalf("row %d has changed", r.N)
					}
					got = append(got, r.N)
				}
				if f.NextCursor == nil {
					break
				}
				if next == from {
					t.Fatal("the cursor does not move on")
				}
				from = next
			}
			for i, n := range got {
				if i != n {
					t.Fatalf("mode %d: row %d is in place %d", mode, n, i)
				}
			}
			if len(got) != len(rows) || pages < 2 {
				t.Errorf("mode %d, %+v: %d rows on %d pages", mode, budget, len(got), pages)
			}
		}
	}
}

// case 25: a row larger than the whole budget is left out with its size, or
// shrunk; the reader gets past it either way.
func TestPageOversized(t *testing.T) {
	big := row{1, strings.Repeat("x", 100<<10)}
	p := Page[row]{Noun: "rows"}
	if !p.Add(row{0, "a"}) || p.Add(big) {
		t.Fatal("the row was not kept for the next page")
	}
	p = Page[row]{Noun: "rows"}
	for _, r := range []row{big, {2, "b"}, {3, "c"}} {
		if !p.Add(r) {
			t.Fatalf("row %d stopped the page", r.N)
		}
	}
	f, text := both(t, p.Result(), Budget{})
	if len(f.Items) != 2 || !*f.Truncated || *f.Omitted != 1 || f.NextCursor != nil {
		t.Errorf("%+v", f)
	}
	if want := "Returned 2 rows. Left out because too large: 1 (more than " + comma(100<<10) + " bytes). There are no more.\n"; !strings.HasPrefix(text, want) {
		t.Errorf("\n got %.150s\nwant %s", text, want)
	}

	p = Page[row]{Shrink: func(r row, max int) (row, bool) {
		r.Body = quote.Cut(r.Body, max-len(`{"n":1,"body":"…"}`)-3) + "…"
		return r, true
	}}
	if !p.Add(big) {
		t.Error("the row stopped the page")
	}
	f, text = both(t, p.Result(), Budget{})
	if len(f.Items) != 1 || !*f.Truncated || f.Omitted != nil || !strings.Contains(text, " Shortened to fit: 1.") {
		t.Errorf("%d items, %.200q", len(f.Items), text)
	}
	if n := len(f.Items[0]); n < 20<<10 {
		t.Errorf("the row was shrunk to %d bytes", n)
	}

	// Shrink may give up, give no less, or give too much; a page full of giants ends.
	for name, shrink := range map[string]func(row, int) (row, bool){
		"gives up": func(r row, _ int) (row, bool) { return r, false },
		"the same": func(r row, _ int) (row, bool) { return r, true },
	} {
		p = Page[row]{Shrink: shrink, Budget: Budget{Items: 50}}
		n := 0
		for p.Add(big) {
			n++
		}
		f, text = both(t, p.Result(), Budget{})
		if n != 50 || *f.Omitted != 50 || len(f.Items) != 0 {
			t.Errorf("%s: %d added, %+v", name, n, f)
		}
		if !strings.Contains(text, "Left out because too large: 50 (each more than 102,400 bytes). The page") {
			t.Errorf("%s: %q", name, text)
		}
	}
}

// A page filled to the last byte has room for all that Result can add.
func TestPageBrim(t *testing.T) {
	giant := strings.Repeat("b", 8<<20)
	for _, mode := range []TextMode{TextLines, TextSummary, TextJSON} {
		for _, hint := range []string{"x", strings.Repeat("h", 200)} {
			for _, more := range []bool{false, true} {
				for _, big := range []int{0, 5} {
					fill := func(small, last int) (*Page[string], bool) {
						p := &Page[string]{Budget: Budget{Bytes: 4 << 10, Items: 9999}, Text: mode, Hint: hint,
							NextCursor: strings.Repeat("c", MaxCursor), Noun: strings.Repeat("n", 64), Sorted: strings.Repeat("s", 64)}
						if more {
							p.More()
						}
						p.Total(math.MaxInt64)
						for range big { // left out, and then one shortened
							p.Add(giant)
							p.Shrink = func(string, int) (string, bool) { return "", p.s.omitted == 4 }
						}
						for range small {
							if !p.Add("x") {
								return p, false
							}
						}
						return p, last < 0 || p.Add(strings.Repeat("y", last))
					}
					small := 0
					for n := 1024; n > 0; n /= 2 {
						if _, ok := fill(small+n, -1); ok {
							small += n
						}
					}
					small -= 20
					last := 0
					for n := 64; n > 0; n /= 2 {
						if _, ok := fill(small, last+n); ok {
							last += n
						}
					}
					p, _ := fill(small, last)
					f, text := both(t, p.Result(), p.Budget)
					if len(f.Items) != small+1+big/5 || last < 20 {
						t.Errorf("%d items, %d, the last %d", len(f.Items), small, last)
					}
					if n := max(quote.Len(text)-2, len(fmt.Sprint(p.Result().Structured))); n < 4<<10-160 {
						t.Errorf("mode %d, hint %.2q, more %v, big %d: %d bytes of %d", mode, hint, more, big, n, 4<<10)
					}
				}
			}
		}
	}
}

func TestLongestSummary(t *testing.T) {
	size := (&TooLargeError{Size: 1 << 40, AtLeast: true}).size()
	for _, hint := range []string{"x", strings.Repeat("h", 128)} {
		for n := range 8 {
			more, failed := n&1 != 0, n&2 != 0
			b := Budget{Items: 999, Bytes: DefaultBytes}
			sizes := []string{size, size, size}
			if n&4 != 0 {
				b.Bytes, sizes = MinBytes, sizes[:1]
			}
			s := pageState{
				failed: failed,
				noun:   "n", sorted: "s", hint: hint, budget: b, more: more, hasTotal: true, total: math.MaxInt64,
				taken: 999, omitted: 999, shrunk: 999, sizes: sizes, otherSizes: true,
			}
			if got, longest := quote.Len(s.appendSummary(nil, strings.Repeat("c", MaxCursor))), s.longestSummary(); got > longest {
				t.Errorf("hint %.2q, more %v, failed %v: %d bytes, reserved are %d", hint, more, failed, got, longest)
			}
		}
	}
}

// A budget that the caller made too small is his to mend, not a mistake. What he
// can do is said, and no more than that: maxBytes makes no budget larger.
func TestPageNoRoom(t *testing.T) {
	extra := map[string]string{"query": strings.Repeat("q", 2000)}
	for hint, advice := range map[string]string{
		"":                               "leave out maxBytes if you gave it, or narrow the arguments",
		"use a shorter query":            "leave out maxBytes if you gave it, or use a shorter query",
		"set maxBytes for a smaller one": "leave out maxBytes if you gave it",
	} {
		p := Page[row]{Budget: Budget{Bytes: 1 << 10}, Extra: extra, Hint: hint}
		if p.Add(row{}) {
			t.Error("there is no room for an item")
		}
		r := p.Result()
		if p.Err() != nil || !r.IsError {
			t.Fatalf("%+v, %v", r, p.Err())
		}
		needs := p.s.needs
		want := "A budget of 1,024 bytes has no room for this result, which needs " + comma(int64(needs)) + ": " + advice + "."
		if got := texts(r)[0]; got != want {
			t.Errorf("\n got %s\nwant %s", got, want)
		}
		p = Page[row]{Budget: Budget{Bytes: needs - 1}, Extra: extra, Hint: hint}
		if p.Add(row{}); !p.Result().IsError {
			t.Errorf("with %d there is room", needs-1)
		}
		p = Page[row]{Budget: Budget{Bytes: needs}, Extra: extra, Hint: hint}
		if !p.Add(row{}) || p.Result().IsError {
			t.Errorf("with %d there is no room", needs)
		}
	}
}

// Whatever the items and the fields, neither form is ever over the budget, and
// every item is taken, left out or kept for the next page.
func FuzzPage(f *testing.F) {
	f.Add("abc", uint16(300), uint16(1024), uint8(0), "c", "n", "s", "h", true)
	f.Add("\xff\x00", uint16(40), uint16(1500), uint8(1), "\"\"", "n\u2028", "", "", false)
	f.Add("é\n\"", uint16(4000), uint16(5000), uint8(2), strings.Repeat("c", 512), "", "s", strings.Repeat("h", 300), true)
	f.Fuzz(func(t *testing.T, unit string, repeat, bytes uint16, mode uint8, cursor, noun, sorted, hint string, shrink bool) {
		if len(unit) > 50 || len(noun) > 500 || len(sorted) > 500 || len(hint) > 500 {
			return
		}
		p := Page[row]{
			Budget: Budget{Bytes: int(bytes), Items: 30}, Text: TextMode(mode % 3),
			Noun: noun, Sorted: sorted, Hint: hint, Extra: map[string]string{"query": unit},
		}
		if mode%2 == 0 {
			p.Line = func(r row) string { return r.Body }
		}
		if shrink {
			p.Shrink = func(r row, max int) (row, bool) { r.Body = quote.Cut(r.Body, max/2); return r, true }
		}
		added := 0
		for i := range 40 {
			if !p.Add(row{i, strings.Repeat(unit, int(repeat)*i%2000)}) {
				p.NextCursor = cursor
				break
			}
			added++
		}
		p.Total(int64(repeat) << (mode % 40))
		r := p.Result()
		if p.Err() != nil {
			if quote.Len(cursor)-2 <= MaxCursor && quote.Len(p.NextCursor)-2 <= MaxCursor {
				t.Fatal(p.Err())
			}
			return
		}
		if r.IsError {
			if int(bytes) > 3000 {
				t.Fatalf("no room in %d bytes: %q", bytes, texts(r))
			}
			return
		}
		var got struct {
			form
			Query string `json:"query"`
		}
		raw := r.Structured.(pageForm).json
		if err := json.Unmarshal(raw, &got, json.RejectUnknownMembers(true)); err != nil {
			t.Fatalf("%v in %s", err, raw)
		}
		budget := p.Budget.WithDefaults(Budget{})
		if n := quote.Len(texts(r)[0]) - 2; len(raw) > budget.Bytes || n > budget.Bytes {
			t.Fatalf("structured %d, text %d of %d bytes", len(raw), n, budget.Bytes)
		}
		omitted := 0
		if got.Omitted != nil {
			omitted = int(*got.Omitted)
		}
		if len(got.Items)+omitted != added || len(got.Items) != p.Len() {
			t.Fatalf("%d added: %d items, %d omitted", added, len(got.Items), omitted)
		}
		if added == 0 {
			t.Fatal("the page does not move on")
		}
		if utf8.ValidString(strings.Join([]string{unit, noun, sorted, hint, cursor}, " ")) && !utf8.ValidString(texts(r)[0]) {
			t.Fatal("a character was cut")
		}
	})
}

func BenchmarkPage(b *testing.B) {
	type match struct {
		Path    string `json:"path"`
		Line    int    `json:"line"`
		Column  int    `json:"column"`
		Excerpt string `json:"excerpt"`
	}
	m := match{"net/http/server.go", 1234, 5, "func (srv *Server) ListenAndServe() error {"}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		p := Page[match]{Line: func(m match) string { return m.Path + ":" + m.Excerpt }}
		for p.Add(m) {
		}
		p.NextCursor = "abc"
		p.Result()
		n = p.Len()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/item")
}

// TestPageOmittedText holds what the summary says of items that are too large:
// their sizes, none twice, and for a page that may have been made small by its
// caller, that it need not be.
func TestPageOmittedText(t *testing.T) {
	const larger = " If you gave maxBytes, a larger one may show more of them."
	for _, tt := range []struct {
		name  string
		bytes int
		sizes []int
		want  string
	}{
		{"one", 0, []int{40}, " 1 (more than 40,000 bytes)."},
		{"two alike", 0, []int{40, 40}, " 2 (each more than 40,000 bytes)."},
		{"some alike", 0, []int{40, 50, 40}, " 3 (more than 40,000 bytes; more than 50,000 bytes)."},
		{"many", 0, []int{40, 50, 60, 70}, " 4 (more than 40,000 bytes; more than 50,000 bytes; more than 60,000 bytes; …)."},
		{"small", MinBytes, []int{2}, " 1 (more than 2,000 bytes)." + larger},
		{"small, two alike", MinBytes, []int{2, 2}, " 2 (each more than 2,000 bytes)." + larger},
		{"small, two", MinBytes, []int{2, 3}, " 2 (more than 2,000 bytes; …)." + larger},
		{"nearly as usual", DefaultBytes - 1, []int{40, 50}, " 2 (more than 40,000 bytes; …)." + larger},
	} {
		p := Page[string]{Budget: Budget{Bytes: tt.bytes}}
		for _, n := range tt.sizes {
			if !p.Add(strings.Repeat("x", n*1000)) {
				t.Fatalf("%s: not added", tt.name)
			}
		}
		_, text := both(t, p.Result(), p.Budget)
		_, got, _ := strings.Cut(text, "too large:")
		if !strings.HasPrefix(got, tt.want) || strings.Contains(got, larger) != strings.Contains(tt.want, larger) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	p := Page[string]{Budget: Budget{Bytes: MinBytes}, Shrink: func(s string, limit int) (string, bool) { return quote.Cut(s, limit-2), true }}
	p.Add(strings.Repeat("x", 5000))
	if _, text := both(t, p.Result(), p.Budget); !strings.Contains(text, " Shortened to fit: 1."+larger) {
		t.Errorf("shortened: %q", text)
	}
}
