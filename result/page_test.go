// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

type row struct {
	N    int    `json:"n"`
	Body string `json:"body"`
}

// form is the structured form of a page, strictly.
type form struct {
	Items         []jsontext.Value `json:"items"`
	Truncated     *bool            `json:"truncated"`
	NextCursor    *string          `json:"nextCursor"`
	TotalEstimate *int64           `json:"totalEstimate"`
	Omitted       *int64           `json:"omitted"`
}

// both returns the two forms of a page after it passed Bound, which must not
// have changed it, with their sizes as encoded.
func both(t *testing.T, r Result, b Budget) (form, string) {
	t.Helper()
	out, err := Bound(context.Background(), r, b, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out.IsError || out.Meta != nil || len(out.Content) != 1 {
		t.Fatalf("Bound had to change the page: %.300q %v", texts(out), out.Meta)
	}
	raw := out.Structured.(jsontext.Value)
	text := texts(out)[0]
	if string(raw) != fmt.Sprint(r.Structured) || text != texts(r)[0] {
		t.Fatal("Bound changed the page")
	}
	b = b.WithDefaults(Budget{})
	if len(raw) > b.Bytes || quote.Len(text)-2 > b.Bytes {
		t.Fatalf("structured %d, text %d of %d bytes", len(raw), quote.Len(text)-2, b.Bytes)
	}
	var f form
	if err := json.Unmarshal(raw, &f, json.RejectUnknownMembers(true)); err != nil {
		t.Fatalf("%v in %.200s", err, raw)
	}
	if f.Items == nil || f.Truncated == nil || f.NextCursor != nil && *f.NextCursor == "" {
		t.Fatalf("%.200s", raw)
	}
	return f, text
}

func TestPageSummary(t *testing.T) {
	tests := []struct {
		name       string
		page       Page[string]
		add        int
		total      int64 // less than zero: not known
		more       bool
		text       string // the first line
		structured string
	}{
		{"design", Page[string]{Noun: "matching records", Sorted: "by update time", NextCursor: "abc"}, 2, 4382, false,
			`Returned 2 of 4,382 matching records. Results are sorted by update time. Use cursor "abc" to continue, or narrow the arguments.`,
			`{"truncated":true,"nextCursor":"abc","totalEstimate":4382,"items":["a","a"]}`},
		{"all", Page[string]{}, 2, 2, false,
			`Returned 2 of 2 items.`,
			`{"truncated":false,"totalEstimate":2,"items":["a","a"]}`},
		{"no total", Page[string]{}, 1, -1, false,
			`Returned 1 item. There are no more.`,
			`{"truncated":false,"items":["a"]}`},
		{"none", Page[string]{Noun: "matches"}, 0, -1, false,
			`Returned 0 matches. There are no more.`,
			`{"truncated":false,"items":[]}`},
		{"total of zero", Page[string]{Noun: "matches"}, 0, 0, false,
			`Returned 0 of 0 matches.`,
			`{"truncated":false,"totalEstimate":0,"items":[]}`},
		{"hint", Page[string]{NextCursor: "abc", Hint: "name a file"}, 1, -1, false,
			`Returned 1 item. Use cursor "abc" to continue, or name a file.`,
			`{"truncated":true,"nextCursor":"abc","items":["a"]}`},
		{"end of a log", Page[string]{NextCursor: "abc", Noun: "lines"}, 1, -1, true,
			`Returned 1 line. This is the current end. Use cursor "abc" to read what comes later.`,
			`{"truncated":false,"nextCursor":"abc","items":["a"]}`},
		{"full", Page[string]{NextCursor: "abc", Budget: Budget{Items: 3}}, 9, -1, false,
			`Returned 3 items. Use cursor "abc" to continue, or narrow the arguments.`,
			`{"truncated":true,"nextCursor":"abc","items":["a","a","a"]}`},
		{"full, not the end of a log", Page[string]{NextCursor: "abc", Budget: Budget{Items: 1}}, 9, -1, true,
			`Returned 1 item. Use cursor "abc" to continue, or narrow the arguments.`,
			`{"truncated":true,"nextCursor":"abc","items":["a"]}`},
		{"full without a cursor", Page[string]{Budget: Budget{Items: 1}}, 9, -1, false,
			`Returned 1 item. The page is full: narrow the arguments.`,
			`{"truncated":true,"items":["a"]}`},
		{"exactly full", Page[string]{Budget: Budget{Items: 3}}, 3, 3, false,
			`Returned 3 of 3 items.`,
			`{"truncated":false,"totalEstimate":3,"items":["a","a","a"]}`},
		{"extra", Page[string]{Extra: struct {
			Query string   `json:"query"`
			Globs []string `json:"globs"`
		}{Query: "x"}}, 1, 1, false,
			`Returned 1 of 1 item.`,
			`{"truncated":false,"totalEstimate":1,"query":"x","globs":[],"items":["a"]}`},
		{"empty extra", Page[string]{Extra: struct{}{}}, 1, 1, false,
			`Returned 1 of 1 item.`,
			`{"truncated":false,"totalEstimate":1,"items":["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &tt.page
			for range tt.add {
				if !p.Add("a") {
					break
				}
			}
			p.Total(tt.total)
			if tt.more {
				p.More()
			}
			r := p.Result()
			if err := p.Err(); err != nil {
				t.Fatal(err)
			}
			line, rest, _ := strings.Cut(texts(r)[0], "\n")
			if line != tt.text {
				t.Errorf("\n got %s\nwant %s", line, tt.text)
			}
			if want := strings.TrimSuffix(strings.Repeat("a\n", p.Len()), "\n"); rest != want {
				t.Errorf("the items are %q", rest)
			}
			if got := fmt.Sprint(r.Structured); got != tt.structured {
				t.Errorf("\n got %s\nwant %s", got, tt.structured)
			}
		})
	}
}

// case 24: a hundred thousand rows give one page under the budget, and the
// producer stops at the first row that does not fit.
func TestPageStopsTheProducer(t *testing.T) {
	produced := 0
	p := Page[row]{Noun: "rows"}
	for i := range 100_000 {
		produced++
		if !p.Add(row{i, strings.Repeat("x", 90)}) {
			p.NextCursor = fmt.Sprint(i)
			break
		}
	}
	p.Total(100_000)
	f, text := both(t, p.Result(), Budget{})
	if produced != p.Len()+1 || p.Len() != len(f.Items) || !*f.Truncated || *f.NextCursor != fmt.Sprint(p.Len()) || *f.TotalEstimate != 100_000 {
		t.Errorf("%d produced, %d taken, %+v", produced, p.Len(), f)
	}
	if !strings.HasPrefix(text, fmt.Sprintf(`Returned %d of 100,000 rows. Use cursor "%d" to continue, or `, p.Len(), p.Len())) {
		t.Errorf("text %.200q", text)
	}
	if len(texts(p.Result())[0]) < 25<<10 {
		t.Errorf("only %d bytes were used", len(text))
	}
	if p.Add(row{}) {
		t.Error("a full page took another item")
	}
}

// case 27: the first 2 KB of either form hold the summary and the cursor, in
// all but the text that is a copy.
func TestPageFirst2KB(t *testing.T) {
	cursor := strings.Repeat("c", MaxCursor)
	p := Page[row]{Noun: strings.Repeat("n", 999), Sorted: strings.Repeat("s", 999), Hint: strings.Repeat("h", 999), Budget: Budget{Bytes: 256 << 10}}
	for range 3 {
		p.Add(row{0, strings.Repeat("x", 512<<10)})
	}
	for p.Add(row{1, strings.Repeat("x", 1000)}) {
	}
	p.NextCursor = cursor
	p.Total(math.MaxInt64)
	_, text := both(t, p.Result(), p.Budget)
	summary, _, _ := strings.Cut(text, "\n")
	if len(summary) > 2000 || !strings.Contains(summary, cursor) {
		t.Errorf("the summary takes %d bytes", len(summary))
	}
	if raw := fmt.Sprint(p.Result().Structured); !strings.Contains(raw[:2000], cursor) {
		t.Errorf("the structured form begins with %.200s", raw)
	}
	p = Page[row]{Text: TextJSON, NextCursor: cursor}
	for p.Add(row{1, "x"}) {
	}
	if _, text = both(t, p.Result(), Budget{}); !strings.Contains(text[:2000], cursor) {
		t.Errorf("the text begins with %.200s", text)
	}
}

// A string that is an item cannot forge items, or a summary.
func TestPageLineBreaks(t *testing.T) {
	var p Page[string]
	for _, item := range []string{"a\nReturned 0 items. There are no more.", "b\r\nc", "d"} {
		p.Add(item)
	}
	f, text := both(t, p.Result(), Budget{})
	if want := "Returned 3 items. There are no more.\n" + `a\nReturned 0 items. There are no more.` + "\n" + `b\r\nc` + "\nd"; text != want {
		t.Errorf("\n got %q\nwant %q", text, want)
	}
	if string(f.Items[1]) != `"b\r\nc"` {
		t.Errorf("the item itself became %s", f.Items[1])
	}
	p = Page[string]{Line: func(s string) string { return s }}
	p.Add("a\nb")
	if _, text := both(t, p.Result(), Budget{}); !strings.HasSuffix(text, "\na\nb") {
		t.Errorf("the author's line became %q", text)
	}
}

// case 32: TextJSON restores the copy; a summary may stand alone.
func TestPageModes(t *testing.T) {
	for mode, want := range map[TextMode]string{
		TextJSON:    `{"truncated":true,"nextCursor":"c","items":[{"n":1,"body":"b"}]}`,
		TextSummary: `Returned 1 item. Use cursor "c" to continue, or narrow the arguments.`,
		TextLines:   "Returned 1 item. Use cursor \"c\" to continue, or narrow the arguments.\n" + `{"n":1,"body":"b"}`,
	} {
		p := Page[row]{Text: mode, NextCursor: "c"}
		p.Add(row{1, "b"})
		if _, text := both(t, p.Result(), Budget{}); text != want {
			t.Errorf("mode %d:\n got %s\nwant %s", mode, text, want)
		}
	}
}

// case 30: an item's nil slices are arrays; case 33: its digits stay.
func TestPageItems(t *testing.T) {
	type item struct {
		ID   int64    `json:"id"`
		Tags []string `json:"tags"`
	}
	var p Page[*item]
	p.Add(&item{ID: 1915883588174806058})
	p.Add(nil)
	f, text := both(t, p.Result(), Budget{})
	const want = `{"id":1915883588174806058,"tags":[]}`
	if string(f.Items[0]) != want || !strings.Contains(text, want) {
		t.Errorf("got %s, %q", f.Items, text)
	}
}

// Mistakes of the author come out of Err, and out of Bound.
func TestPageMistakes(t *testing.T) {
	check := func(name string, err error, r Result) {
		t.Helper()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if _, bound := Bound(t.Context(), r, Budget{}, nil); !errors.Is(bound, err) {
			t.Errorf("%s: Bound returns %v", name, bound)
		}
	}
	items := Page[any]{}
	if !items.Add(1) || items.Add(make(chan int)) || items.Add(1) {
		t.Error("a bad item does not end the page")
	}
	check("item", items.Err(), items.Result())

	long := Page[int]{NextCursor: strings.Repeat("c", MaxCursor+1)}
	check("cursor", long.Err(), long.Result())
	escaped := Page[int]{NextCursor: strings.Repeat(`"`, MaxCursor/2+1)}
	check("cursor with escapes", escaped.Err(), escaped.Result())

	for name, extra := range map[string]any{
		"array": []int{}, "channel": make(chan int), "own member": map[string]int{"items": 1},
	} {
		p := Page[int]{Extra: extra}
		p.Add(1)
		r := p.Result()
		check("extra: "+name, p.Err(), r)
	}
	huge := Page[int]{Extra: map[string]string{"a": strings.Repeat("x", 50<<10)}}
	if huge.Add(1) || huge.Err() == nil {
		t.Error("an Extra over every budget was taken")
	}
	if out := bound(t, huge.Result(), Budget{}, nil); !out.IsError || out.Structured != nil {
		t.Errorf("an Extra over every budget: %q", texts(out))
	}
	grows := Page[string]{Extra: map[string]string{"a": ""}, NextCursor: strings.Repeat("c", MaxCursor)}
	for grows.Add(strings.Repeat("x", 30)) {
	}
	grows.Extra = map[string]string{"a": strings.Repeat("y", 1000)}
	r := grows.Result()
	check("extra that grows", grows.Err(), r)
}

// Extra may still change, as long as it fits.
func TestPageExtraChanges(t *testing.T) {
	scanned := 0
	p := Page[int]{Extra: struct {
		Scanned *int `json:"scanned"`
	}{&scanned}}
	for range 5 {
		scanned += 1000
		p.Add(1)
	}
	if got := fmt.Sprint(p.Result().Structured); !strings.Contains(got, `"scanned":5000,`) {
		t.Errorf("got %s", got)
	}
	if !reflect.DeepEqual(p.Result(), p.Result()) {
		t.Error("Result changes the page")
	}
}
