// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

var _ io.Writer = (*Preview)(nil)

func preview(head, tail int, chunks ...string) Snapshot {
	p := Preview{Head: head, Tail: tail}
	for _, c := range chunks {
		if n, err := p.Write([]byte(c)); n != len(c) || err != nil {
			panic(fmt.Sprint(n, err))
		}
	}
	return p.Snapshot()
}

func TestPreview(t *testing.T) {
	tests := []struct {
		name       string
		head, tail int
		in         string
		want       Snapshot
	}{
		{"nothing", 4, 4, "", Snapshot{}},
		{"all", 4, 4, "abcdefgh", Snapshot{Head: "abcdefgh", Bytes: 8, Lines: 1}},
		{"one more", 4, 4, "abcdefghi", Snapshot{Head: "abcd", Tail: "fghi", Bytes: 9, Lines: 1, Dropped: 1, Truncated: true}},
		{"lines", 4, 4, "a\nb\nc\n", Snapshot{Head: "a\nb\nc\n", Bytes: 6, Lines: 3}},
		{"last line open", 4, 4, "a\nb", Snapshot{Head: "a\nb", Bytes: 3, Lines: 2}},
		{"no tail", 4, -1, "abcdefgh", Snapshot{Head: "abcd", Bytes: 8, Lines: 1, Dropped: 4, Truncated: true}},
		{"no head", -1, 4, "abcdefgh", Snapshot{Tail: "efgh", Bytes: 8, Lines: 1, Dropped: 4, Truncated: true}},
		{"neither", -1, -1, "ab\n", Snapshot{Bytes: 3, Lines: 1, Dropped: 3, Truncated: true, dropped: 1}},
		// case 29: both cuts fall between runes.
		{"runes", 4, 4, "aééééééa", Snapshot{Head: "aé", Tail: "éa", Bytes: 14, Lines: 1, Dropped: 8, Truncated: true}},
		{"wide runes", 5, 5, "😀😀😀😀", Snapshot{Head: "😀", Tail: "😀", Bytes: 16, Lines: 1, Dropped: 8, Truncated: true}},
		{"no whole rune", 3, 3, "😀😀😀😀", Snapshot{Bytes: 16, Lines: 1, Dropped: 16, Truncated: true}},
		{"invalid", 9, 9, "a\xff\xfeb", Snapshot{Head: "a\ufffd\ufffdb", Bytes: 4, Lines: 1, Invalid: true}},
		{"invalid and too long", 4, 4, "a\xff\xff\xff\xffb", Snapshot{Head: "a\ufffd", Tail: "\ufffdb", Bytes: 6, Lines: 1, Dropped: 2, Truncated: true, Invalid: true}},
		{"invalid and all in the head", 6, 6, "\xff\xff\xff\xff\xff", Snapshot{Head: "\ufffd\ufffd", Tail: "\ufffd\ufffd", Bytes: 5, Lines: 1, Dropped: 1, Truncated: true, Invalid: true}},
		{"invalid but dropped", 2, 2, "ab\xff\xffcd", Snapshot{Head: "ab", Tail: "cd", Bytes: 6, Lines: 1, Dropped: 2, Truncated: true}},
		{"half a rune at the end", 9, 9, "a\xf0\x9f", Snapshot{Head: "a\ufffd\ufffd", Bytes: 3, Lines: 1, Invalid: true}},
		// A line border that is near is taken.
		{"line borders", 16, 16, strings.Repeat("1234567890123\n", 9), Snapshot{
			Head: "1234567890123\n", Tail: "1234567890123\n", Bytes: 126, Lines: 9, Dropped: 98, Truncated: true, dropped: 7}},
		{"line borders too far", 16, 16, "12345678\n" + strings.Repeat("x", 90) + "\n12345678", Snapshot{
			Head: "12345678\nxxxxxxx", Tail: "xxxxxxx\n12345678", Bytes: 108, Lines: 3, Dropped: 76, Truncated: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := preview(tt.head, tt.tail, tt.in); got != tt.want {
				t.Errorf("\n got %+v\nwant %+v", got, tt.want)
			}
			if got := preview(tt.head, tt.tail, strings.Split(tt.in, "")...); utf8.ValidString(tt.in) && got != tt.want {
				t.Errorf("rune by rune:\n got %+v\nwant %+v", got, tt.want)
			}
			bytewise := make([]string, len(tt.in))
			for i := range bytewise {
				bytewise[i] = tt.in[i : i+1]
			}
			if got := preview(tt.head, tt.tail, bytewise...); got != tt.want {
				t.Errorf("byte by byte:\n got %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestPreviewDefaults(t *testing.T) {
	in := strings.Repeat("x", 100<<10)
	got := preview(0, 0, in)
	if len(got.Head) != DefaultHead || len(got.Tail) != DefaultTail || got.Dropped != 68<<10 {
		t.Errorf("head %d, tail %d, dropped %d", len(got.Head), len(got.Tail), got.Dropped)
	}
}

func TestPreviewText(t *testing.T) {
	if got := preview(4, 4, "abcd").Text(); got != "abcd" {
		t.Errorf("got %q", got)
	}
	const want = "1234567890123\n\n[… 98 of 126 bytes (7 lines) left out here …]\n1234567890123\n"
	if got := preview(16, 16, strings.Repeat("1234567890123\n", 9)).Text(); got != want {
		t.Errorf("got %q", got)
	}
}

// The memory is that of the preview, whatever passes.
func TestPreviewMemory(t *testing.T) {
	var p Preview
	chunk := []byte(strings.Repeat("0123456\n", 4<<10))
	p.Write(chunk)
	p.Write(chunk)
	if n := testing.AllocsPerRun(1000, func() { p.Write(chunk) }); n != 0 {
		t.Errorf("%v allocations a write", n)
	}
	if cap(p.head)+cap(p.ring) > 2*(DefaultHead+DefaultTail) {
		t.Errorf("%d bytes are held", cap(p.head)+cap(p.ring))
	}
	if s := p.Snapshot(); s.Bytes != 1003*32<<10 || s.Lines != 1003*4<<10 {
		t.Errorf("%d bytes, %d lines", s.Bytes, s.Lines)
	}
}

// Snapshots are taken while others write; each is whole in itself.
func TestPreviewConcurrent(t *testing.T) {
	p := Preview{Head: 100, Tail: 100}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for range 500 {
				p.Write([]byte("0123456789\n"))
			}
		})
	}
	for range 200 {
		s := p.Snapshot()
		if s.Bytes != 11*s.Lines || s.Dropped != s.Bytes-int64(len(s.Head)+len(s.Tail)) {
			t.Errorf("%+v", s)
		}
	}
	wg.Wait()
	if s := p.Snapshot(); s.Lines != 2000 || s.Head != strings.Repeat("0123456789\n", 9) || s.Tail != s.Head {
		t.Errorf("%+v", s)
	}
}

// naive is a Preview that keeps everything.
func naive(all string, head, tail int) (s Snapshot, ok func(got Snapshot) string) {
	runes := func(s string) string { // each bad byte by itself, unlike strings.ToValidUTF8
		var b strings.Builder
		for _, r := range s {
			b.WriteRune(r)
		}
		return b.String()
	}
	valid := runes(all)
	s = Snapshot{Bytes: int64(len(all)), Lines: int64(strings.Count(all, "\n"))}
	if all != "" && !strings.HasSuffix(all, "\n") {
		s.Lines++
	}
	return s, func(got Snapshot) string {
		switch {
		case got.Bytes != s.Bytes || got.Lines != s.Lines:
			return "the counts"
		case !utf8.ValidString(got.Head) || !utf8.ValidString(got.Tail):
			return "valid UTF-8"
		case !strings.HasPrefix(valid, got.Head) || !strings.HasSuffix(valid, got.Tail):
			return "the start and the end of what passed"
		case got.Truncated != (got.Dropped > 0) || got.Truncated == (got.Head == valid && got.Tail == ""):
			return "what is missing"
		case !got.Truncated:
			if len(got.Head) > head+tail || got.Invalid != !utf8.ValidString(all) {
				return "everything"
			}
			return ""
		case len(got.Head) > head || len(got.Tail) > tail:
			return "the sizes"
		case len(all) <= head+tail && len(valid) <= head+tail:
			return "that nothing need be missing"
		case utf8.ValidString(all):
			if got.Invalid || got.Dropped != s.Bytes-int64(len(got.Head)+len(got.Tail)) {
				return "the number of missing bytes"
			}
			near := func(n int) int { return min(nearLine, n/4) }
			if len(got.Head) < head-3-near(head) || len(got.Tail) < tail-3-near(tail) {
				return "as much as fits"
			}
		}
		return ""
	}
}

func FuzzPreview(f *testing.F) {
	f.Add("abc\ndef\n", uint16(40), uint8(10), uint8(20), uint64(1))
	f.Add("é😀\n", uint16(9), uint8(7), uint8(5), uint64(2))
	f.Add("\xff\xe4\xbd", uint16(30), uint8(0), uint8(9), uint64(3))
	f.Add("a\xf0\x9f\x98", uint16(3), uint8(9), uint8(9), uint64(4))
	f.Fuzz(func(t *testing.T, unit string, repeat uint16, head, tail uint8, seed uint64) {
		if len(unit) > 200 {
			return
		}
		all := strings.Repeat(unit, int(repeat)%50)
		h, l := int(head), int(tail)
		p := Preview{Head: h, Tail: l}
		if h == 0 && l == 0 {
			p.Head, p.Tail = -1, -1
		}
		rng := rand.New(rand.NewPCG(seed, 0))
		for rest := all; rest != ""; {
			n := 1 + rng.IntN(min(len(rest), 300))
			p.Write([]byte(rest[:n]))
			rest = rest[n:]
			if rng.IntN(4) == 0 {
				p.Snapshot()
			}
		}
		_, check := naive(all, h, l)
		got := p.Snapshot()
		if bad := check(got); bad != "" {
			t.Errorf("not %s: %q with %d and %d gives %+v", bad, all, h, l, got)
		}
	})
}

func BenchmarkPreview(b *testing.B) {
	var p Preview
	chunk := []byte(strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 700))
	b.SetBytes(int64(len(chunk)))
	b.ReportAllocs()
	for b.Loop() {
		p.Write(chunk)
	}
}
