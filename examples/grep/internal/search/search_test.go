// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func mustCompile(t testing.TB, expr string, o Options) *Pattern {
	t.Helper()
	p, err := Compile(expr, o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func scan(t testing.TB, p *Pattern, text string, from int) []Match {
	t.Helper()
	var out []Match
	for m, err := range p.Scan(t.Context(), strings.NewReader(text), from) {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, m)
	}
	return out
}

// naive is Scan without cleverness: all lines in memory.
func naive(expr string, o Options, text string) []Match {
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if o.IgnoreCase {
		expr = "(?i)" + expr
	}
	re := regexp.MustCompile(expr)
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	for i, l := range lines {
		if cut, ok := strings.CutSuffix(l, "\n"); ok {
			lines[i] = strings.TrimSuffix(cut, "\r")
		}
	}
	var out []Match
	shown := -1
	for i, l := range lines {
		loc := re.FindStringIndex(l)
		if loc == nil {
			continue
		}
		m := Match{Line: i + 1, EndLine: i + 1, Column: loc[0] + 1, Excerpt: l}
		if o.Context > 0 {
			var b []string
			for j := max(0, i-o.Context, shown+1); j < i; j++ {
				b = append(b, fmt.Sprintf("%d-%s", j+1, lines[j]))
			}
			b = append(b, fmt.Sprintf("%d:%s", i+1, l))
			for j := i + 1; j < min(len(lines), i+1+o.Context) && !re.MatchString(lines[j]); j++ {
				b = append(b, fmt.Sprintf("%d-%s", j+1, lines[j]))
				m.EndLine = j + 1
			}
			shown = m.EndLine - 1
			m.Excerpt = strings.Join(b, "\n")
		}
		out = append(out, m)
	}
	return out
}

var exprs = []string{
	"ab", "a", "^a", "a$", "^$", "", "b+c", "(ab|ca)", "a.c", "foo", "ab|b", "(a|b)c{2}", "x*", "[abc]{3}", `\bab\b`, "é", "[^a]b", "cab?", "(abc)+d*", "a{0,2}b", "(?i:AB)c", "(?s:a.b)", "k", "s", "ſ",
}

// Random texts from few letters: every expression, context and resumption
// against the plain implementation.
func TestScanAgainstNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	letters := []string{"a", "b", "c", "a", "b", "\n", "\n", "\r\n", "é", "K", "k", "S", "ſ", "\r", "\xff", " ", "AB", "C"}
	for range 100 {
		var b strings.Builder
		for range r.IntN(120) {
			b.WriteString(letters[r.IntN(len(letters))])
		}
		text := b.String()
		o := Options{IgnoreCase: r.IntN(2) == 0, Literal: r.IntN(4) == 0, Context: []int{0, 0, 1, 2, 5}[r.IntN(5)]}
		for _, expr := range exprs {
			p := mustCompile(t, expr, o)
			want := naive(expr, o, text)
			if got := scan(t, p, text, 1); !slices.Equal(got, want) {
				t.Fatalf("%q %+v in %q:\n got %+v\nwant %+v", expr, o, text, got, want)
			}
			for _, from := range []int{1 + r.IntN(4), 2 + r.IntN(20)} {
				tail := slices.DeleteFunc(slices.Clone(want), func(m Match) bool { return m.Line < from })
				if got := scan(t, p, text, from); !slices.Equal(got, tail) {
					t.Fatalf("%q %+v from line %d in %q:\n got %+v\nwant %+v", expr, o, from, text, got, tail)
				}
			}
		}
	}
}

// The same around the edges of the buffer, with lines longer than it.
func TestScanAcrossBuffers(t *testing.T) {
	for _, n := range []int{bufSize - 3, bufSize - 2, bufSize - 1, bufSize, bufSize + 1, bufSize + 2, 3*bufSize - 1} {
		for _, end := range []string{"\n", "\r\n", ""} {
			text := "one ab\n" + strings.Repeat("x", n) + "ab" + end
			if end != "" {
				text += "two ab\nlast\n"
			}
			for expr, contexts := range map[string]int{"ab": 2, "^x+ab$": 1, "(?i)AB": 1, "[cx]": 1} {
				for c := range contexts {
					o := Options{Context: c}
					got, want := scan(t, mustCompile(t, expr, o), text, 0), naive(expr, o, text)
					if len(got) != len(want) {
						t.Fatalf("%d x, end %q, %q, context %d: %d matches, want %d", n, end, expr, c, len(got), len(want))
					}
					for i := range got {
						g, w := got[i], want[i]
						if g.Line != w.Line || g.EndLine != w.EndLine || g.Column != w.Column || len(w.Excerpt) < DefaultMaxLine && g.Excerpt != w.Excerpt {
							t.Errorf("%d x, end %q, %q, context %d: match %d: %.80q, want %.80q", n, end, expr, c, i, fmt.Sprint(g), fmt.Sprint(w))
						}
					}
				}
			}
		}
	}
}

// What grep -n -C prints is the excerpts one after the other: nothing twice.
func TestContextLikeGrep(t *testing.T) {
	if _, err := exec.LookPath("grep"); err != nil {
		t.Skip("grep is not installed")
	}
	r := rand.New(rand.NewPCG(5, 6))
	file := filepath.Join(t.TempDir(), "f")
	for range 30 {
		var b strings.Builder
		for i := range 60 {
			if r.IntN(6) == 0 {
				fmt.Fprintf(&b, "hit %d\n", i)
			} else {
				fmt.Fprintf(&b, "line %d\n", i)
			}
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		c := 1 + r.IntN(4)
		out, err := exec.Command("grep", "-nE", "-C", strconv.Itoa(c), "hit", file).Output()
		var exit *exec.ExitError
		if err != nil && !(errors.As(err, &exit) && exit.ExitCode() == 1) {
			t.Fatal(err)
		}
		var want []string
		for l := range strings.Lines(string(out)) {
			if l != "--\n" {
				want = append(want, strings.TrimSuffix(l, "\n"))
			}
		}
		var got []string
		for _, m := range scan(t, mustCompile(t, "hit", Options{Context: c}), b.String(), 0) {
			lines := strings.Split(m.Excerpt, "\n")
			if last := fmt.Sprint(m.EndLine); !strings.HasPrefix(lines[len(lines)-1], last) {
				t.Errorf("endLine %d, excerpt ends in %q", m.EndLine, lines[len(lines)-1])
			}
			got = append(got, lines...)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("context %d:\n got %q\nwant %q", c, got, want)
		}
	}
}

func TestBinary(t *testing.T) {
	for _, tt := range []struct {
		text string
		want error
	}{
		{"", nil}, {"hit", nil}, {"hit\x00", ErrBinary}, {strings.Repeat("x", sniff-1) + "\x00hit", ErrBinary},
		{strings.Repeat("x", sniff) + "\x00 hit", nil},
	} {
		var err error
		n := 0
		for _, e := range mustCompile(t, "hit", Options{}).Scan(t.Context(), strings.NewReader(tt.text), 0) {
			err = e
			n++
		}
		if !errors.Is(err, tt.want) || err == nil && n != strings.Count(tt.text, "hit") {
			t.Errorf("%.20q: %d, %v, want %v", tt.text, n, err, tt.want)
		}
	}
}

func TestScanStops(t *testing.T) {
	n := 0
	for range mustCompile(t, "a", Options{Context: 1}).Scan(t.Context(), strings.NewReader(strings.Repeat("a\nb\n", 100)), 0) {
		if n++; n == 3 {
			break
		}
	}
	if n != 3 {
		t.Error(n)
	}
}

func TestCompileErrors(t *testing.T) {
	for _, tt := range []struct {
		expr string
		o    Options
		want string
	}{
		{"a(b", Options{}, "missing closing )"},
		{"(?=x)", Options{}, "look-around"},
		{"(?=x)", Options{Literal: true}, ""},
		{"a\nb", Options{}, "line break"},
		{`foo\nbar`, Options{}, "line break"},
		{"\xff", Options{}, "UTF-8"},
		{"[z-a]", Options{IgnoreCase: true}, "`z-a`"},
	} {
		_, err := Compile(tt.expr, tt.o)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("Compile(%q): %v, want %q", tt.expr, err, tt.want)
		}
	}
}

func TestRequired(t *testing.T) {
	for _, tt := range []struct {
		expr string
		fold bool
		want []string
	}{
		{"func (Foo|Bar)x", false, []string{"func "}},
		{`\bTODO\b|FIXME`, false, []string{"TODO", "FIXME"}},
		{"a?b*", false, nil},
		{"(abc)+", false, []string{"abc"}},
		{"(abc){0,3}", false, nil},
		{"(abc){2,3}x", false, []string{"abc"}},
		{"[a-z]+", false, nil},
		{"Basket", true, []string{"ba"}},
		{"straße", true, []string{"tra"}},
		{"a|b|c|d|e|f|g|h|i", false, nil},
		{"a\ufffdbc", false, []string{"bc"}},
		{"(?:a|.)x", false, []string{"x"}},
	} {
		p := mustCompile(t, tt.expr, Options{IgnoreCase: tt.fold})
		var got []string
		for _, n := range p.needs {
			got = append(got, n.text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%q: needs %q, want %q", tt.expr, got, tt.want)
		}
	}
}

// FuzzScan holds Scan against the plain implementation and the needs against
// the regular expression they come from.
func FuzzScan(f *testing.F) {
	f.Add("a(b|c)", "xab\nac\r\n", uint8(1))
	f.Add("(?i)sk|K", "SK\nſk\nK\n", uint8(0))
	f.Add("\ufffd", "a\xffb\n", uint8(7))
	f.Fuzz(func(t *testing.T, expr, text string, bits uint8) {
		o := Options{Literal: bits&1 != 0, IgnoreCase: bits&2 != 0, Context: int(bits >> 2 & 3)}
		p, err := Compile(expr, o)
		if err != nil || strings.Contains(text, "\x00") || len(text) > 4096 {
			return
		}
		var got []Match
		for m, err := range p.Scan(t.Context(), strings.NewReader(text), 0) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, m)
		}
		for _, l := range strings.Split(text, "\n") {
			if len(l) > DefaultMaxLine {
				return
			}
		}
		if want := naive(expr, o, text); !slices.Equal(got, want) {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
	})
}

func BenchmarkScan(b *testing.B) {
	var buf bytes.Buffer
	for i := range 20000 {
		fmt.Fprintf(&buf, "\tfor i := range %d { if x.Next() != nil { return nil, fmt.Errorf(\"no\") } }\n", i)
	}
	buf.WriteString("the needle_ in it\n")
	for _, bb := range []struct {
		name, expr string
		o          Options
	}{
		{"literal", "needle_", Options{}},
		{"fold", "NEEDLE_", Options{IgnoreCase: true}},
		{"inner", `the\s+needle_\w*`, Options{}},
		{"alternatives", "needle_|thread_", Options{}},
		{"nothing known", `[xyz]{3}\d`, Options{}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			p := mustCompile(b, bb.expr, bb.o)
			b.SetBytes(int64(buf.Len()))
			b.ReportAllocs()
			r := bytes.NewReader(buf.Bytes())
			for b.Loop() {
				for range p.Scan(context.Background(), r, 0) {
				}
			}
		})
	}
}
