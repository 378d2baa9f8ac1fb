// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/quote"
)

// A text of exactly the budget passes whole, one byte more does not; escapes
// count.
func TestBoundTextAtTheLimit(t *testing.T) {
	for _, unit := range []string{"x", "\n", "\x00", "é", "\xff", "\u2028", "😀"} {
		one := quote.Len(unit) - 2
		fits := strings.Repeat(unit, 3000/one)
		b := Budget{Bytes: quote.Len(fits) - 2}
		if got := texts(bound(t, Text(fits), b, nil)); got[0] != fits {
			t.Errorf("%q: a text of %d bytes was cut", unit, b.Bytes)
		}
		r := bound(t, Text(fits+unit), b, nil)
		got := texts(r)[0]
		if n := quote.Len(got) - 2; n > b.Bytes || !strings.Contains(got, " left out here") {
			t.Errorf("%q: %d bytes of %d: %.200q", unit, n, b.Bytes, got)
		}
		if cut := cutMeta(t, r); cut.TextBytes == 0 || cut.TextTotal != int64(len(fits+unit)) {
			t.Errorf("%q: _meta %+v", unit, cut)
		}
	}
}

// case 24: ten megabytes of text become a head and a tail, and the marker says
// exactly how much is missing and how to get less.
func TestBoundText(t *testing.T) {
	var in strings.Builder
	for i := range 100_000 {
		in.WriteString(strings.Repeat("abcdefghij", 10) + comma(int64(i)) + "\n")
	}
	r := Text(in.String())
	r.Hint = `give a smaller "limit"`
	r.IsError = true
	out := bound(t, r, Budget{}, nil)
	got := texts(out)[0]
	if n := quote.Len(got) - 2; n > DefaultBytes || n < DefaultBytes*9/10 {
		t.Errorf("%d bytes", n)
	}
	head, rest, ok := strings.Cut(got, "\n[… ")
	mark, tail, ok2 := strings.Cut(rest, " …]\n")
	if !ok || !ok2 || !strings.HasPrefix(in.String(), head) || !strings.HasSuffix(in.String(), tail) {
		t.Fatalf("no head and tail: %.100q … %.300q", head, rest)
	}
	if !strings.HasSuffix(head, "\n") || in.String()[in.Len()-len(tail)-1] != '\n' {
		t.Errorf("not cut at lines: %q, %q", head[len(head)-20:], tail[:20])
	}
	missing := in.String()[len(head) : in.Len()-len(tail)]
	want := comma(int64(len(missing))) + " of " + comma(int64(in.Len())) + " bytes (" + comma(int64(strings.Count(missing, "\n"))) + ` lines) left out here; to see it, give a smaller "limit"`
	if mark != want {
		t.Errorf("\n got %s\nwant %s", mark, want)
	}
	if cut := cutMeta(t, out); cut.TextBytes != int64(len(missing)) || cut.TextTotal != int64(in.Len()) {
		t.Errorf("_meta %+v", cut)
	}
	if !out.IsError {
		t.Error("IsError was lost")
	}
}

// Long blocks give way, short ones stay.
func TestBoundBlocks(t *testing.T) {
	long := strings.Repeat("x\n", 50<<10)
	r := Result{Content: []Content{
		TextContent{Text: "first"},
		TextContent{Text: long},
		LinkContent{URI: "file:///a", Name: "a"},
		EmbeddedContent{Resource: Resource{URI: "file:///b", Text: long}},
		LinkContent{URI: "file:///" + strings.Repeat("c", 40<<10), Name: "c"},
		EmbeddedContent{Resource: Resource{URI: "file:///" + strings.Repeat("d", 40<<10), Text: "d"}},
		TextContent{Text: "stopped after 2 s"},
	}}
	before := r.Content[1]
	out := bound(t, r, Budget{}, nil)
	got := texts(out)
	if n := encodedLen(got); n > DefaultBytes || n < DefaultBytes/3 {
		t.Errorf("%d bytes", n)
	}
	if len(got) != 7 || got[0] != "first" || got[2] != "file:///aa" || got[6] != "stopped after 2 s" {
		t.Errorf("the short blocks are %q", []string{got[0], got[2], got[6]})
	}
	for _, i := range []int{1, 3, 4, 5} {
		if !strings.Contains(got[i], "left out") {
			t.Errorf("block %d does not say what is missing: %.100q", i, got[i])
		}
	}
	if !reflect.DeepEqual(r.Content[1], before) {
		t.Error("the author's blocks were changed")
	}
}

// Whatever the blocks, the budget holds and the text is whole characters.
func FuzzBoundText(f *testing.F) {
	f.Add("short", uint16(1), "ééé\n", uint16(3000), uint16(1024), uint8(29))
	f.Add("\xff\xfe", uint16(9), "\x00", uint16(3000), uint16(2000), uint8(39))
	f.Add("😀", uint16(0), "a\u2028\xff", uint16(700), uint16(5000), uint8(1))
	f.Fuzz(func(t *testing.T, a string, ra uint16, b string, rb uint16, bytes uint16, blocks uint8) {
		if len(a) > 100 || len(b) > 100 {
			return
		}
		n := int(blocks) % 40
		a, b = strings.Repeat(a, int(ra)%400), strings.Repeat(b, int(rb)%4000)
		var r Result
		for i := range n {
			switch i % 4 {
			case 0:
				r.Content = append(r.Content, TextContent{Text: a})
			case 1:
				r.Content = append(r.Content, TextContent{Text: b})
			case 2:
				r.Content = append(r.Content, EmbeddedContent{Resource: Resource{URI: a, Text: b}})
			case 3:
				r.Content = append(r.Content, LinkContent{URI: a, Name: b})
			}
		}
		budget := Budget{Bytes: int(bytes), Items: 30}.WithDefaults(Budget{})
		out, err := Bound(context.Background(), r, budget, nil)
		if err != nil {
			t.Fatal(err)
		}
		got := texts(out)
		if n := encodedLen(got); n > budget.Bytes || len(out.Content) > budget.Items {
			t.Fatalf("%d bytes of %d, %d blocks", n, budget.Bytes, len(out.Content))
		}
		if utf8.ValidString(a) && utf8.ValidString(b) && !utf8.ValidString(strings.Join(got, "")) {
			t.Fatal("a character was cut")
		}
		if whole := encodedLen(texts(r)); whole <= budget.Bytes && n <= budget.Items {
			if out.Meta != nil || strings.Join(got, "\n") != strings.Join(texts(r), "\n") {
				t.Fatalf("%d bytes fit in %d and were cut", whole, budget.Bytes)
			}
		} else if out.Meta[TruncatedKey] == nil || !strings.Contains(strings.Join(got, "\n"), "left out") {
			t.Fatal("something was left out in silence")
		}
		for i, c := range out.Content { // each one whole, or with a word on what is missing
			if i < len(r.Content) && got[i] != "" && !reflect.DeepEqual(c, r.Content[i]) && !strings.Contains(got[i], "left out") {
				t.Fatalf("block %d is %.300q", i, got[i])
			}
		}
	})
}

// case 29: cuts at every limit, against the plainest way to say it.
func TestCutExamples(t *testing.T) {
	for _, tt := range []struct {
		in    string
		limit int
		want  string
	}{
		{"ééé", 4, "éé"}, {"ééé", 3, "é"}, {"ééé", 2, "é"}, {"ééé", 1, ""}, {"ééé", 0, ""},
		{"😀", 4, "😀"}, {"😀", 3, ""}, {"a\xff", 4, "a\ufffd"}, {"a\xff", 3, "a"}, {"\xff", 3, "\ufffd"},
	} {
		if got, _ := validPrefix([]byte(tt.in), tt.limit); got != tt.want {
			t.Errorf("validPrefix(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
		if got := strings.ToValidUTF8(quote.Cut(tt.in, tt.limit), "\ufffd"); got != tt.want {
			t.Errorf("quote.Cut(%q, %d) = %q, want %q", tt.in, tt.limit, got, tt.want)
		}
	}
}

func TestRuneStart(t *testing.T) {
	for _, s := range []string{"aé你😀", "é", "😀", "\x80\x80\x80\x80\x80\x80", "a\xf0\x9f\x98", ""} {
		for limit := range len(s) + 2 {
			n := runeStart(s, limit)
			if n > limit || n > len(s) || n < min(limit, len(s))-3 {
				t.Errorf("runeStart(%q, %d) = %d", s, limit, n)
			}
			if encodedLen([]string{s[:n], s[n:]}) != encodedLen([]string{s}) {
				t.Errorf("runeStart(%q, %d) = %d splits a rune", s, limit, n)
			}
		}
	}
}
