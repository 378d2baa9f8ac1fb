// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestPageFailed has what a page says when its result is an error: never that
// it is all there is (case 29).
func TestPageFailed(t *testing.T) {
	const cut = `{"truncated":true`
	tests := []struct {
		name       string
		page       Page[string]
		add        int
		total      int64 // less than zero: not known
		more       bool
		text       string
		structured string
	}{
		{"no cursor", Page[string]{}, 3, -1, false,
			"Returned 3 items before the failure; there may be more.\na\na\na", cut + `,"items":["a","a","a"]}`},
		{"one", Page[string]{Noun: "matches"}, 1, -1, false,
			"Returned 1 match before the failure; there may be more.\na", cut + `,"items":["a"]}`},
		{"none", Page[string]{}, 0, -1, false,
			"Returned 0 items before the failure; there may be more.", cut + `,"items":[]}`},
		{"total", Page[string]{Sorted: "by name"}, 2, 2, false,
			"Returned 2 of 2 items before the failure; there may be more. Results are sorted by name.\na\na",
			cut + `,"totalEstimate":2,"items":["a","a"]}`},
		{"cursor", Page[string]{NextCursor: "c"}, 1, -1, false,
			`Returned 1 item before the failure; there may be more. Use cursor "c" to continue, or narrow the arguments.` + "\na",
			cut + `,"nextCursor":"c","items":["a"]}`},
		{"end of a log", Page[string]{NextCursor: "c"}, 1, -1, true,
			`Returned 1 item before the failure; there may be more. Use cursor "c" to continue, or narrow the arguments.` + "\na",
			cut + `,"nextCursor":"c","items":["a"]}`},
		{"full", Page[string]{Budget: Budget{Items: 2}}, 3, -1, false,
			"Returned 2 items before the failure; there may be more. The page is full: narrow the arguments.\na\na",
			cut + `,"items":["a","a"]}`},
		{"summary", Page[string]{Text: TextSummary}, 1, -1, false,
			"Returned 1 item before the failure; there may be more.\n" + cut + `,"items":["a"]}`, cut + `,"items":["a"]}`},
		{"JSON", Page[string]{Text: TextJSON}, 1, -1, false, cut + `,"items":["a"]}`, cut + `,"items":["a"]}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &tt.page
			for range tt.add {
				p.Add("a")
			}
			p.Total(tt.total)
			if tt.more {
				p.More()
			}
			// The author may have put blocks before it, and words around it.
			r := p.Result()
			was := texts(r)[0]
			r.Content = []Content{TextContent{Text: "first"}, &TextContent{Text: "before " + was}}
			r.IsError = true
			out := bound(t, r, Budget{}, nil)
			if got := texts(out); !slices.Equal(got, []string{"first", "before " + tt.text}) {
				t.Errorf("\n got %q\nwant %q", got, tt.text)
			}
			if got := fmt.Sprint(out.Structured); got != tt.structured {
				t.Errorf("\n got %s\nwant %s", got, tt.structured)
			}
			if r.Content[1].(*TextContent).Text != "before "+was {
				t.Error("the author's result was changed")
			}
			if again := bound(t, p.Result(), Budget{}, nil); texts(again)[0] != was {
				t.Errorf("without a failure: %q", texts(again)[0])
			}
		})
	}
}

func TestSingular(t *testing.T) {
	for noun, want := range map[string]string{
		"items": "item", "matching records": "matching record", "lines": "line", "files": "file", "cases": "case", "sizes": "size",
		"matches": "match", "branches": "branch", "hashes": "hash", "caches": "cache", "boxes": "box", "addresses": "address",
		"entries": "entry", "process": "process", "status": "status", "analysis": "analysis", "people": "people", "目录": "目录", "s": "",
		"files and hunks": "file or hunk", "lines or parts": "line or part", "lines (5 bytes after them not kept)": "line (5 bytes after them not kept)",
	} {
		if got := singular(noun); got != want {
			t.Errorf("%q becomes %q, want %q", noun, got, want)
		}
	}
}

// An error whose structured form is too large begins with its own reason.
func TestErrorTooLarge(t *testing.T) {
	r := Error("broken")
	r.Structured = strings.Repeat("x", 2000)
	out := bound(t, r, Budget{Bytes: 1024}, nil)
	if got := texts(out); len(got) != 2 || got[0] != "broken" || !strings.Contains(got[1], "the limit is 1,024 bytes. To get less, narrow the arguments.") {
		t.Errorf("got %q", got)
	}
}
