// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"strings"
	"testing"
)

func TestReadPattern(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\r\n", i+1)
	}
	h := put(t, s, b.String())
	items, pages := readAll(t, tools, args{"handle": h, "pattern": `7$`})
	if len(items) != 2000 || pages < 2 {
		t.Fatalf("%d matches on %d pages", len(items), pages)
	}
	for i, l := range items {
		if n := int64(i*10 + 7); l.Line != n || l.Text != fmt.Sprint("line ", n) {
			t.Fatalf("match %d is %+v", i, l)
		}
	}
	page, text, _ := call(t, tools, args{"handle": h, "pattern": `^line 1500\d$`, "line": 15_005})
	if len(page.Items) != 5 || *page.TotalEstimate != 5 || !strings.Contains(text, "Returned 5 of 5 matching lines.\n15005:line 15005\n") {
		t.Errorf("%s", text)
	}
	page, text, _ = call(t, tools, args{"handle": h, "pattern": `line 2\b`, "tail": 100})
	if len(page.Items) != 0 || *page.TotalEstimate != 0 {
		t.Errorf("%s", text)
	}
}

// A line of any length is searched as one, and the part around the match is
// shown.
func TestReadPatternLong(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	long := strings.Repeat("中文", 40_000)
	for name, c := range map[string]struct {
		text, pattern string
		line          int64
	}{
		"inside":      {"a\n" + long + "needle" + long + "\nb", "needle", 2},
		"at a border": {strings.Repeat("x", step-3) + "needle" + long, "needle", 1},
		"anchored":    {long + "needle\nb", "needle$", 1},
		"windows":     {long + "needle\r\nb", "needle$", 1},
		"at the end":  {"a\n" + long + "needle", "needle$", 2},
		"wide":        {long + "needle" + long + "pin", "needle.*pin", 1},
		"short":       {strings.Repeat("x", 30_000) + "needle" + strings.Repeat("y", 30_000), "needle", 1},
		"short wide":  {strings.Repeat("中", 10_000) + "needleneedle" + strings.Repeat("文", 10_000), "needleneedle", 1},
		"empty":       {"a\n" + long, "$", 1},
	} {
		h := put(t, s, c.text)
		items, _ := readAll(t, tools, args{"handle": h, "pattern": c.pattern})
		if len(items) < 1 || items[0].Line != c.line {
			t.Errorf("%s: %d items", name, len(items))
			continue
		}
		for _, l := range items {
			if !strings.HasPrefix(c.text[l.Offset:], l.Text) && l.Offset > 0 || strings.ContainsAny(l.Text, "\ufffd\r") || len(l.Text) > 4096 {
				t.Errorf("%s: there is %.40q at %d", name, l.Text, l.Offset)
			}
		}
		if l := items[0]; strings.Contains(c.pattern, "needle") && (!strings.Contains(l.Text, "needle") || l.Cut != (name != "anchored" && name != "windows" && name != "at the end")) {
			t.Errorf("%s: %.40q…, cut %v", name, l.Text, l.Cut)
		}
	}
	// A CR is part of a line's end only where a line feed follows, at whatever
	// place the line is cut to be read.
	for n := step - 3; n < step+3; n++ {
		for end, want := range map[string]string{"\r\n": "", "\r": "\r", "\r\r\n": "\r", "\n": "", "": ""} {
			h := put(t, s, strings.Repeat("x", n)+end)
			for _, pattern := range []string{"x\r?$", "^x"} {
				items, _ := readAll(t, tools, args{"handle": h, "pattern": pattern})
				if l := items[len(items)-1]; pattern == "^x" && !l.Cut || pattern != "^x" && (l.Cut || !strings.HasSuffix(l.Text, "x"+want)) {
					t.Errorf("%d and %q, %q: …%q, cut %v", n, end, pattern, l.Text[len(l.Text)-3:], l.Cut)
				}
			}
		}
	}
	if items, _ := readAll(t, tools, args{"handle": put(t, s, "short\r"), "pattern": "t\r$"}); len(items) != 1 || items[0].Text != "short\r" {
		t.Errorf("a CR at the end: %+v", items)
	}
	h := put(t, s, long+"needle\nlast")
	if items, _ := readAll(t, tools, args{"handle": h, "pattern": "nothing|last"}); len(items) != 1 || items[0].Line != 2 {
		t.Errorf("after a long line: %+v", items)
	}
}
