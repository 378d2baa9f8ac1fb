// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// A readPageOut is the structured form of a page.
type readPageOut struct {
	Items         []line `json:"items"`
	Truncated     bool   `json:"truncated"`
	NextCursor    string `json:"nextCursor"`
	TotalEstimate *int64 `json:"totalEstimate"`
	Omitted       int64  `json:"omitted"`
	readExtra     `json:",inline"`
}

// args are the arguments of a call.
type args map[string]any

func registry(t *testing.T, s *Store) *tool.Registry {
	t.Helper()
	var tools tool.Registry
	if err := tools.Register(ReadTool(s)); err != nil {
		t.Fatal(err)
	}
	return &tools
}

// call calls the tool and holds that both forms are within the budget.
func call(t *testing.T, tools *tool.Registry, in args) (readPageOut, string, bool) {
	t.Helper()
	res, err := tools.Call(t.Context(), ToolName, map[string]any(in))
	if err != nil {
		t.Fatal(err)
	}
	limit := result.DefaultBytes
	if n, ok := in["maxBytes"].(int); ok {
		limit = n
	}
	text := res.Content[0].(result.TextContent).Text
	if n := quote.Len(text) - 2; n > limit {
		t.Errorf("%v: the text takes %d bytes", in, n)
	}
	var page readPageOut
	if v, ok := res.Structured.(jsontext.Value); ok {
		if len(v) > limit {
			t.Errorf("%v: the structured form takes %d bytes", in, len(v))
		}
		if err := json.Unmarshal(v, &page, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
	}
	return page, text, res.IsError
}

// readAll follows the cursors to the end.
func readAll(t *testing.T, tools *tool.Registry, in args) (items []line, pages int) {
	t.Helper()
	for {
		page, text, isError := call(t, tools, in)
		if isError {
			t.Fatalf("%v: %s", in, text)
		}
		items = append(items, page.Items...)
		pages++
		if page.Truncated != (page.NextCursor != "") || page.Omitted > 0 {
			t.Fatalf("%v: truncated %v, cursor %q, omitted %d", in, page.Truncated, page.NextCursor, page.Omitted)
		}
		if page.NextCursor == "" {
			if in["pattern"] != nil && *page.TotalEstimate != int64(len(items)) {
				t.Errorf("%v: the last of %d items says there are %d", in, len(items), *page.TotalEstimate)
			}
			return items, pages
		}
		if len(page.Items) == 0 {
			t.Fatalf("%v: an empty page with a cursor", in)
		}
		in["cursor"] = page.NextCursor
	}
}

// join puts lines together again.
func join(items []line) string {
	var b strings.Builder
	for i, l := range items {
		if i > 0 && !items[i-1].Cut {
			b.WriteByte('\n')
		}
		b.WriteString(l.Text)
	}
	return b.String()
}

// Reading to the end gives everything, whatever it is and however small the
// pages are.
func TestReadAll(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	rng := rand.New(rand.NewPCG(1, 2))
	var mixed strings.Builder
	for range 300 {
		mixed.WriteString(strings.Repeat([]string{"x", "中", "é", "\x01", "\"", "\u2028", "😀", " "}[rng.IntN(8)], rng.IntN(60)))
		mixed.WriteString([]string{"\n", "", "\n\n"}[rng.IntN(3)])
	}
	for name, text := range map[string]string{
		"empty":       "",
		"a line":      "one",
		"lines":       strings.Repeat("a line of text\n", 3000),
		"empty lines": strings.Repeat("\n", 3000),
		"one long":    strings.Repeat("0123456789", 20_000),
		"long":        strings.Repeat("中", 30_000) + "\n" + strings.Repeat("😀", 20_000) + "\nend",
		"escapes":     strings.Repeat("\x01\x02\x1b[0m", 2000) + "\n\n" + strings.Repeat("\u2028", 3000),
		"at a part":   strings.Repeat("x", 24) + "\n" + strings.Repeat("y", 25) + "\n" + strings.Repeat("z", 23) + "中\n",
		"mixed":       mixed.String(),
	} {
		h := put(t, s, text)
		for _, size := range []int{0, 1024, 1500, 5000} {
			in := args{"handle": h}
			if size > 0 {
				in["maxBytes"] = size
			}
			items, pages := readAll(t, tools, in)
			if got := join(items); got != strings.TrimSuffix(text, "\n") {
				t.Errorf("%s, pages of %d: read %d bytes of %d (%.60q)", name, size, len(got), len(text), got)
			}
			var at int64
			for _, l := range items {
				at++
				if l.Offset > 0 {
					at--
					if !strings.HasPrefix(text[l.Offset:], l.Text) {
						t.Fatalf("%s: at %d there is not %.20q", name, l.Offset, l.Text)
					}
				}
				if l.Line != at {
					t.Fatalf("%s: line %d is called %d", name, at, l.Line)
				}
			}
			if size == 0 && pages > 1+len(text)/8000+len(items)/1000 {
				t.Errorf("%s: %d pages for %d bytes", name, pages, len(text))
			}
		}
	}
}

// Invalid UTF-8 is shown as U+FFFD, and line ends of Windows as line ends.
func TestReadOdd(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	h := put(t, s, "caf\xe9 au lait\r\nr\rest\r\nGr\xfc\xdfe, und noch etwas Text\r")
	page, _, _ := call(t, tools, args{"handle": h})
	if got := join(page.Items); got != "caf\ufffd au lait\nr\rest\nGr\ufffd\ufffde, und noch etwas Text\r" {
		t.Errorf("read %q", got)
	}
}

func TestReadWhere(t *testing.T) {
	s := testStore(t, &Store{})
	tools := registry(t, s)
	var b strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	all := b.String()
	h := put(t, s, all)
	bare := put(t, s, strings.TrimSuffix(all, "\n"))
	multi := put(t, s, "a中b\ncd")
	for _, c := range []struct {
		in          args
		first, last string
		line, total int64
	}{
		{args{"handle": h}, "line 1", "", 1, 20_000},
		{args{"handle": h, "line": 1}, "line 1", "", 1, 20_000},
		{args{"handle": h, "line": 15_000}, "line 15000", "", 15_000, 5001},
		{args{"handle": h, "line": 20_000}, "line 20000", "line 20000", 20_000, 1},
		{args{"handle": h, "tail": 1}, "line 20000", "line 20000", 20_000, 1},
		{args{"handle": bare, "tail": 1}, "line 20000", "line 20000", 20_000, 1},
		{args{"handle": h, "tail": 3}, "line 19998", "line 20000", 19_998, 3},
		{args{"handle": h, "tail": 15_000}, "line 5001", "", 5001, 15_000},
		{args{"handle": h, "tail": 1 << 40}, "line 1", "", 1, 20_000},
		{args{"handle": h, "offset": 0}, "line 1", "", 1, 20_000},
		{args{"handle": h, "offset": 7}, "line 2", "", 2, 19_999},
		{args{"handle": h, "offset": 9}, "ne 2", "", 2, 19_999},
		{args{"handle": h, "offset": len(all) - 4}, "000", "000", 20_000, 1},
		{args{"handle": h, "offset": len(all)}, "", "", 0, 0},
		{args{"handle": bare, "offset": len(all) - 1}, "", "", 0, 0},
		{args{"handle": multi, "offset": 1}, "中b", "cd", 1, 2},
		{args{"handle": multi, "offset": 2}, "中b", "cd", 1, 2},
		{args{"handle": multi, "offset": 3}, "中b", "cd", 1, 2},
		{args{"handle": multi, "offset": 4}, "b", "cd", 1, 2},
	} {
		page, text, isError := call(t, tools, c.in)
		if isError || page.TotalEstimate == nil || *page.TotalEstimate != c.total {
			t.Errorf("%v: total is not %d: %.100s", c.in, c.total, text)
			continue
		}
		if c.first == "" {
			if len(page.Items) > 0 {
				t.Errorf("%v: there is %v", c.in, page.Items)
			}
			continue
		}
		if page.Items[0].Text != c.first || page.Items[0].Line != c.line {
			t.Errorf("%v: begins with %+v", c.in, page.Items[0])
		}
		if last := page.Items[len(page.Items)-1].Text; c.last != "" && last != c.last || c.last == "" && page.NextCursor == "" {
			t.Errorf("%v: ends with %q, cursor %q", c.in, last, page.NextCursor)
		}
	}
	if page, _, _ := call(t, tools, args{"handle": h, "offset": 9}); page.Items[0].Offset != 9 || page.Items[1].Offset != 0 {
		t.Errorf("from inside a line: %+v", page.Items[:2])
	}
	// Nobody knows in how many parts long lines come.
	page, text, _ := call(t, tools, args{"handle": put(t, s, strings.Repeat("x", 50_000))})
	if page.TotalEstimate != nil || !strings.HasPrefix(text, "Returned 7 lines or parts.") {
		t.Errorf("a long line: %.100s", text)
	}
	// Pages that follow keep the total and the end.
	items, _ := readAll(t, tools, args{"handle": h, "tail": 5000})
	if len(items) != 5000 || items[4999].Text != "line 20000" || items[0].Line != 15_001 {
		t.Errorf("the tail has %d lines, from %+v", len(items), items[0])
	}
}

func TestReadRefuses(t *testing.T) {
	s := testStore(t, &Store{MaxCount: 3})
	tools := registry(t, s)
	gone := put(t, s, "gone")
	picture := commit(t, s, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	put(t, s, "x")
	put(t, s, "x")
	other := put(t, testStore(t, &Store{}), "x")
	page, _, _ := call(t, tools, args{"handle": put(t, s, strings.Repeat("x\n", 2000)), "maxBytes": 1024})
	text := put(t, s, "one\ntwo\nthree")
	binary := commit(t, s, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR")
	for _, c := range []struct {
		in   args
		want string
	}{
		{args{"handle": gone}, "expired"},
		{args{"handle": picture.Handle}, "expired"},
		{args{"handle": other}, "another process"},
		{args{"handle": "x"}, "not a handle"},
		{args{}, "handle"},
		{args{"handle": text, "line": 4}, "has 3 lines"},
		{args{"handle": text, "line": 0}, "line"},
		{args{"handle": text, "tail": 0}, "tail"},
		{args{"handle": text, "offset": 14}, "has 13 bytes"},
		{args{"handle": text, "offset": 1, "line": 1}, "one of"},
		{args{"handle": text, "offset": 1, "tail": 1}, "one of"},
		{args{"handle": text, "pattern": "("}, "pattern"},
		{args{"handle": text, "cursor": page.NextCursor}, "cursor"},
		{args{"handle": text, "cursor": "x"}, "cursor"},
		{args{"handle": binary.Handle}, "binary (application/octet-stream, 16 bytes)"},
		{args{"handle": binary.Handle, "pattern": "PNG"}, "resource artifact:" + binary.Handle},
	} {
		if _, text, isError := call(t, tools, c.in); !isError || !strings.Contains(text, c.want) {
			t.Errorf("%v: error %v, %s", c.in, isError, text)
		}
	}
	s.Close()
	if _, text, isError := call(t, tools, args{"handle": text}); !isError || !strings.Contains(text, "closed") {
		t.Errorf("a closed store: %s", text)
	}
}

// What was not kept is said on every page, and the pages are whole beside it.
func TestReadDropped(t *testing.T) {
	s := testStore(t, &Store{MaxBytes: 4000})
	tools := registry(t, s)
	lines := commit(t, s, strings.Repeat("some text\n", 1400))
	long := commit(t, s, strings.Repeat("x", 10_000))
	for _, in := range []args{{"handle": lines.Handle}, {"handle": long.Handle}, {"handle": lines.Handle, "pattern": "text"}} {
		for in["maxBytes"] = 1024; in["cursor"] != ""; {
			page, text, isError := call(t, tools, in)
			in["cursor"] = page.NextCursor
			if isError || page.Dropped < 6000 || !strings.Contains(text, ",000 bytes after them not kept)") || strings.Contains(text, "left out") {
				t.Errorf("dropped %d: %s", page.Dropped, text)
			}
		}
	}
}

func TestReadCancelled(t *testing.T) {
	s := testStore(t, &Store{})
	h := put(t, s, strings.Repeat("x\n", 1<<20)+strings.Repeat("long", 1<<18))
	tools := registry(t, s)
	tl, _ := tools.Lookup(ToolName)
	cause := &tool.Cancelled{Reason: "enough"}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(cause)
	for _, in := range []string{`"pattern":"y"`, `"tail":9000000`, `"line":1000000`, `"offset":2100000`, `"tail":700000`, `"line":1048577,"pattern":"y"`} {
		_, err := tl.Serve(ctx, &tool.Request{Tool: ToolName, Arguments: jsontext.Value(fmt.Sprintf(`{"handle":%q,%s}`, h, in))})
		if !errors.As(err, &cause) {
			t.Errorf("%s: %v", in, err)
		}
	}
	// The scans themselves stop, and not only what comes after them.
	r, err := s.Open(h)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	stream := &runes{ctx: ctx, src: bufio.NewReader(endless{})}
	for n := 0; stream.err == nil; n++ {
		if stream.ReadRune(); n > step {
			t.Fatal("a match in a long line does not look at its context")
		}
	}
	only := put(t, s, strings.Repeat("x\n", 1<<17))
	short, err := s.Open(only)
	if err != nil {
		t.Fatal(err)
	}
	defer short.Close()
	for name, fn := range map[string]func() error{
		"line":   func() error { _, err := atLine(ctx, r, 1<<20); return err },
		"tail":   func() error { _, err := atTail(ctx, r, 1<<19); return err },
		"offset": func() error { _, err := atOffset(ctx, r, 1<<20); return err },
		"search": func() error {
			re := regexp.MustCompile("y")
			_, err := newLineReader(ctx, short, place{Line: 1}, 100).nextMatch(short, re)
			return err
		},
		"search in a long line": func() error {
			re := regexp.MustCompile("y")
			_, err := newLineReader(ctx, r, place{Line: 1<<20 + 1, Offset: 2 << 20}, 100).nextMatch(r, re)
			return err
		},
	} {
		if err := fn(); err != cause {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Known hosts have nothing against the tool.
func TestLint(t *testing.T) {
	for _, f := range registry(t, &Store{}).Lint() {
		t.Error(f)
	}
}

// A text over its budget goes into the store, and what its marker says works.
func TestBound(t *testing.T) {
	s := testStore(t, &Store{})
	long := strings.Repeat("one line of many\n", 10_000)
	r, err := result.Bound(t.Context(), result.Text(long), result.Budget{}, s)
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].(result.TextContent).Text
	_, rest, ok := strings.Cut(text, `read_artifact {"handle":"`)
	if !ok || len(rest) < handleSize {
		t.Fatalf("there is no marker in %.3000s", text)
	}
	page, _, _ := call(t, registry(t, s), args{"handle": rest[:handleSize], "tail": 1})
	if len(page.Items) != 1 || page.Items[0].Line != 10_000 || page.Bytes != int64(len(long)) {
		t.Errorf("page %+v", page)
	}
}
