// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestLongLineIsShortened(t *testing.T) {
	for _, tt := range []struct {
		name, text, expr string
		want             string
	}{
		{"whole", strings.Repeat("x", DefaultMaxLine), "x", strings.Repeat("x", DefaultMaxLine)},
		{"start", "hit" + strings.Repeat("x", 997), "hit", "hit" + strings.Repeat("x", (DefaultMaxLine-lead)-3) + "[744 bytes cut]"},
		{"end", strings.Repeat("x", 997) + "hit", "hit", "[744 bytes cut]" + strings.Repeat("x", (DefaultMaxLine-lead)-3) + "hit"},
		{"middle", strings.Repeat("x", 1000) + "hit" + strings.Repeat("y", 1000), "hit",
			"[936 bytes cut]" + strings.Repeat("x", lead) + "hit" + strings.Repeat("y", (DefaultMaxLine-lead)-lead-3) + "[811 bytes cut]"},
		{"match longer than the excerpt", strings.Repeat("x", 1000) + strings.Repeat("h", 500) + "y", "h+y",
			"[1000 bytes cut]" + strings.Repeat("h", (DefaultMaxLine-lead)) + "[245 bytes cut]"},
		{"no character is cut", strings.Repeat("汉", 300) + "hit" + strings.Repeat("字", 300), "hit",
			"[837 bytes cut]" + strings.Repeat("汉", 21) + "hit" + strings.Repeat("字", 63) + "[711 bytes cut]"},
		{"nor one behind the match", strings.Repeat("x", 1000) + "hits" + strings.Repeat("字", 300), "hits",
			"[936 bytes cut]" + strings.Repeat("x", lead) + "hits" + strings.Repeat("字", 62) + "[714 bytes cut]"},
	} {
		for _, pad := range []string{"", "\n" + strings.Repeat("z", 400)} {
			m := scan(t, mustCompile(t, tt.expr, Options{}), tt.text+pad, 0)
			if len(m) != 1 || m[0].Excerpt != tt.want {
				t.Errorf("%s: got %+v\nwant %q", tt.name, m, tt.want)
			} else if !utf8.ValidString(m[0].Excerpt) {
				t.Errorf("%s: invalid UTF-8", tt.name)
			}
		}
	}
}

// A bigLine is a file of one line: filler, hit, filler, LF, and then "end hit".
type bigLine struct {
	size int64
	at   int64
	hit  string
	read int64
}

var filler = bytes.Repeat([]byte{'x'}, bufSize)

func (f *bigLine) ReadAt(p []byte, off int64) (n int, err error) {
	tail := "\nend hit\n"
	if most := f.size + int64(len(tail)) - off; int64(len(p)) > most {
		p, err = p[:max(most, 0)], io.EOF
	}
	copy(p, filler)
	place := func(text string, at int64) {
		for i := range len(text) {
			if o := at + int64(i) - off; o >= 0 && o < int64(len(p)) {
				p[o] = text[i]
			}
		}
	}
	place(f.hit, f.at)
	place(tail, f.size)
	f.read += int64(len(p))
	return len(p), err
}

// A huge line is searched whole, in the memory of one buffer.
func TestHugeLine(t *testing.T) {
	const size = 5 << 20
	for _, expr := range []string{"hit", "h[i]t", "(?i)HIT", "hit|never"} {
		f := &bigLine{size: size, at: size - 1000, hit: "hit"}
		p := mustCompile(t, expr, Options{})
		var got []Match
		for m, err := range p.Scan(t.Context(), f, 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
		}
		if len(got) != 2 || got[0].Line != 1 || int64(got[0].Column) != f.at+1 || got[1].Excerpt != "end hit" || got[1].Line != 2 {
			t.Fatalf("%q: %+v", expr, got)
		}
		if want := fmt.Sprintf("[%d bytes cut]x", f.at-lead); !strings.HasPrefix(got[0].Excerpt, want) || len(got[0].Excerpt) > DefaultMaxLine {
			t.Errorf("%q: excerpt %q", expr, got[0].Excerpt)
		}
	}
	p := mustCompile(t, "hit", Options{Context: 1})
	if n := testing.AllocsPerRun(1, func() {
		for _, err := range p.Scan(context.Background(), &bigLine{size: 5 << 20, at: 1 << 20, hit: "hit"}, 0) {
			if err != nil {
				t.Fatal(err)
			}
		}
	}); n > 100 {
		t.Errorf("%v allocations", n)
	}
}

// A cancel ends a scan with the context's cause: while the end of a huge line is
// looked for, while the line runs through the regular expression, and between
// two buffers of short lines.
func TestCancel(t *testing.T) {
	const size = 4 << 20
	for _, tt := range []struct {
		name, expr string
		after      int64 // bytes read, when the cancel comes
		short      bool
	}{
		{"measuring", "hit", 1 << 20, false},
		{"matching", "[gh]it", size + 1<<20, false},
		{"lines", "hit", 1 << 20, true},
		{"lines, nothing known", "[gh]it", 1 << 20, true},
	} {
		cause := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		f := &cancelling{bigLine: bigLine{size: size, at: size - 100, hit: "hit"}, short: tt.short, after: tt.after, cancel: func() { cancel(cause) }}
		var err error
		for _, e := range mustCompile(t, tt.expr, Options{}).Scan(ctx, f, 0) {
			err = e
		}
		cancel(nil)
		if !errors.Is(err, cause) {
			t.Errorf("%s: %v", tt.name, err)
		}
		if f.read > tt.after+1<<20 {
			t.Errorf("%s: read %d bytes after the cancel", tt.name, f.read-tt.after)
		}
	}
}

// A cancelling file cancels once so much of it has been read.
type cancelling struct {
	bigLine
	short  bool // lines of 100 bytes instead of one
	after  int64
	cancel func()
}

func (f *cancelling) ReadAt(p []byte, off int64) (int, error) {
	n, err := f.bigLine.ReadAt(p, off)
	if f.short {
		for i := range p[:n] {
			if (off+int64(i))%100 == 99 {
				p[i] = '\n'
			}
		}
	}
	if f.read > f.after {
		f.cancel()
	}
	return n, err
}
