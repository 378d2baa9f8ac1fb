// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package quote

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// slow is the rule of the package, a character at a time. Everything that is
// fast is held against it.
func slow(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError:
			b.WriteString("\uFFFD") // also for the real one
		case r == '"', r == '\\':
			b.WriteString(`\` + string(r))
		case r < ' ' && strings.ContainsRune("\b\f\n\r\t", r):
			b.WriteString(`\` + string("btn_fr"[r-'\b']))
		case r < ' ', r == '\u2028', r == '\u2029':
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

// texts holds what has gone wrong elsewhere.
var texts = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"html stays: case 11", "if a<b && c>d", "if a<b && c>d"},
	{"line separators: case 04", "a\u2028b\u2029c", `a\u2028b\u2029c`},
	{"neighbours of the separators", "\u2027\u202a\u2068", "\u2027\u202a\u2068"},
	{"byte order mark bytes: case 04", "\xff\xfe", "\uFFFD\uFFFD"},
	{"CP949: case 04", "\xb0\xa1\xb3\xaa", "\uFFFD\uFFFD\uFFFD\uFFFD"},
	{"emoji: case 04", "a😀b", "a😀b"},
	{"NUL and ESC: case 04", "\x00\x1b[0m", `\u0000\u001b[0m`},
	{"short escapes", "\b\f\n\r\t\"\\", `\b\f\n\r\t\"\\`},
	{"DEL stands", "\x7f", "\x7f"},
	{"Chinese", "中文,好", "中文,好"},
	{"two bytes", "éß", "éß"},
	{"real replacement character", "\uFFFD", "\uFFFD"},
	{"character cut short", "x\xe4\xb8", "x\uFFFD\uFFFD"},
	{"surrogate in UTF-8", "\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"},
	{"overlong", "\xc0\xaf\xe0\x80\xaf\xf0\x80\x80\xaf", strings.Repeat("\uFFFD", 9)},
	{"overlong in three", "\xe0\x80\xaf", strings.Repeat("\uFFFD", 3)},
	{"beyond Unicode", "\xf4\x90\x80\x80\xf5", strings.Repeat("\uFFFD", 5)},
	{"last character of each length", "\x7f\u07ff\uffff\U0010ffff", "\x7f\u07ff\uffff\U0010ffff"},
	{"lone continuation before a character", "\x80中", "\uFFFD中"},
	{"lead before a character", "\xe4中", "\uFFFD中"},
}

func TestAppend(t *testing.T) {
	for _, tt := range texts {
		t.Run(tt.name, func(t *testing.T) {
			// The odd place moves through every position of the fast path.
			for pad := range 70 {
				in := strings.Repeat("p", pad) + tt.in + strings.Repeat("q", 70-pad)
				want := `"` + strings.Repeat("p", pad) + tt.want + strings.Repeat("q", 70-pad) + `"`
				if got := string(Append(nil, in)); got != want {
					t.Fatalf("Append(%q)\n got %q\nwant %q", in, got, want)
				}
				if got := string(Append([]byte("x"), []byte(in))); got != "x"+want {
					t.Fatalf("Append of bytes %q\n got %q\nwant %q", in, got, want)
				}
				if got := Len(in); got != len(want) {
					t.Fatalf("Len(%q) = %d, want %d", in, got, len(want))
				}
			}
		})
	}
}

func TestPlain(t *testing.T) {
	for n := range 80 {
		for c := range 256 {
			in := strings.Repeat("x", n) + string([]byte{byte(c)})
			want := n
			if c < utf8.RuneSelf && slow(in[n:]) == in[n:] {
				want++
			}
			in += "\" and what stands behind it, long enough to fill a step"
			if got := Plain(in); got != want {
				t.Fatalf("Plain(%q) = %d, want %d", in, got, want)
			}
		}
	}
}

func TestAppendEveryByte(t *testing.T) {
	for a := range 256 {
		for b := range 256 {
			in := string([]byte{byte(a), byte(b)})
			if got, want := string(Append(nil, in)), `"`+slow(in)+`"`; got != want {
				t.Fatalf("Append(%q) = %q, want %q", in, got, want)
			}
		}
	}
}

func TestAppendEveryRune(t *testing.T) {
	for r := rune(0); r <= utf8.MaxRune; r++ {
		in := string(r) + "ab"
		if got, want := string(Append(nil, in)), `"`+slow(in)+`"`; got != want {
			t.Fatalf("Append(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestAppendGrowsOnce(t *testing.T) {
	in := strings.Repeat("some text, some 中文, and then a line feed\n", 1000)
	dst := make([]byte, 0, Len(in))
	if n := testing.AllocsPerRun(100, func() { dst = Append(dst[:0], in) }); n != 0 {
		t.Errorf("Append into enough room: %v allocations", n)
	}
	// Without room made at first, each line would make some.
	if n := testing.AllocsPerRun(100, func() { Append(nil, in) }); n > 4 {
		t.Errorf("Append into nil: %v allocations", n)
	}
}

func TestAppendChunk(t *testing.T) {
	in := strings.Repeat("a中é😀\n\xff\xe4\xb8", 50)
	want := slow(in)
	for n := -1; n < 40; n++ {
		var got []byte
		for rest := in; rest != ""; {
			before := rest
			got, rest = AppendChunk(got, rest, n)
			took := before[:len(before)-len(rest)]
			if took == "" {
				t.Fatalf("n = %d: no progress at %q", n, before[:8])
			}
			if _, first := utf8.DecodeRuneInString(took); len(took) > max(n, first) {
				t.Fatalf("n = %d: took %d bytes", n, len(took))
			}
		}
		if string(got) != want {
			t.Fatalf("n = %d: chunks do not add up", n)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		name       string
		in         string
		limit      int
		head, tail string
	}{
		{"case 29 at 4", "ééé", 4, "éé", "éé"},
		{"case 29 at 3", "ééé", 3, "é", "é"},
		{"case 29 at 2", "ééé", 2, "é", "é"},
		{"case 29 at 1", "ééé", 1, "", ""},
		{"case 29 four bytes at 4", "😀", 4, "😀", "😀"},
		{"case 29 four bytes at 3", "😀", 3, "", ""},
		{"case 29 at 0", "ab", 0, "", ""},
		{"below zero", "ab", -1, "", ""},
		{"all of it", "ab", 2, "ab", "ab"},
		{"more than all", "ab", 99, "ab", "ab"},
		{"an escape is two", "a\nb", 2, "a", "b"},
		{"an escape fits", "a\nb", 3, "a\n", "\nb"},
		{"control is six", "\x00\x00", 11, "\x00", "\x00"},
		{"separator is six", "\u2028\u2029", 11, "\u2028", "\u2029"},
		{"invalid is three: case 29", "\xff\xff", 5, "\xff", "\xff"},
		{"cut short is three each", "a\xe4\xb8", 4, "a\xe4", "\xb8"},
		{"the end is not a start", "中\x80", 5, "中", "\x80"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Cut(tt.in, tt.limit); got != tt.head {
				t.Errorf("Cut = %q, want %q", got, tt.head)
			}
			if got := CutTail(tt.in, tt.limit); got != tt.tail {
				t.Errorf("CutTail = %q, want %q", got, tt.tail)
			}
		})
	}
}

func TestRaw(t *testing.T) {
	tests := []struct{ name, in, want string }{
		{"compact stays", `{"a":[1,true,null]}`, `{"a":[1,true,null]}`},
		{"indented with LF", "{\n  \"a\": [\n    1\n  ]\n}\n", `{"a":[1]}`},
		{"indented with CRLF", "{\r\n\t\"a\" : 1\r\n}\r\n", `{"a":1}`},
		{"numbers keep their text", `[9007199254740993,1.50,1e3,-0,18446744073709551615]`, `[9007199254740993,1.50,1e3,-0,18446744073709551615]`},
		{"separators: case 04", "\"a\u2028b\u2029\"", `"a\u2028b\u2029"`},
		{"html stays: case 11", `"\u003cb\u003e & <i>"`, `"<b> & <i>"`},
		{"needless escapes", `"\/\u0041\u000a"`, `"/A\n"`},
		{"lone surrogate: case 04", `"\ud800"`, `"` + "\uFFFD" + `"`},
		{"surrogate pair", `"\ud83d\ude00"`, `"😀"`},
		{"names are strings too", "{\"a\u2028\":1}", `{"a\u2028":1}`},
		{"order stays", `{"b":1,"a":2}`, `{"b":1,"a":2}`},
		{"a scalar", " 5 ", "5"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Raw([]byte("x"), []byte(tt.in))
			if err != nil || string(got) != "x"+tt.want {
				t.Errorf("Raw(%q) = %q, %v, want %q", tt.in, got, err, "x"+tt.want)
			}
		})
	}
}

func TestRawRefuses(t *testing.T) {
	tests := []struct {
		name, in string
		want     error // nil: any
	}{
		{"nothing", "", nil},
		{"blank", " \n", nil},
		{"syntax", "{bad", nil},
		{"two values", "1 2", nil},
		{"trailing comma", "[1,]", nil},
		{"the same name twice", `{"a":1,"a":2}`, jsontext.ErrDuplicateName},
		{"the same name twice, once escaped", `{"a":1,"\u0061":2}`, jsontext.ErrDuplicateName},
		{"the same name twice, deep", `[{"x":{"a":1,"b":2,"a":3}}]`, jsontext.ErrDuplicateName},
		{"bad UTF-8: case 04", "\"\xff\"", ErrUTF8},
		{"byte order mark", "\xef\xbb\xbf1", nil},
		{"LF in a string", "\"a\nb\"", nil},
		{"too deep", strings.Repeat("[", 10001) + strings.Repeat("]", 10001), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Raw([]byte("x"), []byte(tt.in))
			if err == nil || string(got) != "x" {
				t.Fatalf("Raw(%.20q) = %.20q, %v, want an error", tt.in, got, err)
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %v, want %v", err, tt.want)
			}
		})
	}
}

func FuzzAppend(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, 3)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		want := `"` + slow(s) + `"`
		if got := Append(nil, s); string(got) != want {
			t.Fatalf("Append(%q) = %q, want %q", s, got, want)
		}
		if Len(s) != len(want) {
			t.Fatalf("Len(%q) = %d, want %d", s, Len(s), len(want))
		}
		// What another JSON library reads back is the text made valid.
		back, err := jsontext.AppendUnquote(nil, want)
		if err != nil || string(back) != string([]rune(s)) {
			t.Fatalf("%q reads back as %q, %v", want, back, err)
		}
		got, rest := []byte(nil), s
		for rest != "" {
			got, rest = AppendChunk(got, rest, n)
		}
		if string(got) != want[1:len(want)-1] {
			t.Fatalf("AppendChunk of %d: %q, want %q", n, got, want)
		}
	})
}

func FuzzCut(f *testing.F) {
	for _, tt := range texts {
		f.Add(tt.in, 4)
	}
	f.Fuzz(func(t *testing.T, s string, limit int) {
		head, tail := Cut(s, limit), CutTail(s, limit)
		if !strings.HasPrefix(s, head) || !strings.HasSuffix(s, tail) {
			t.Fatalf("Cut(%q, %d): %q and %q are not its ends", s, limit, head, tail)
		}
		// Together with the rest nothing changes: no character was split.
		if rest := s[len(head):]; slow(head)+slow(rest) != slow(s) {
			t.Fatalf("Cut(%q, %d) splits a character", s, limit)
		} else if _, n := utf8.DecodeRuneInString(rest); n > 0 && Len(head+rest[:n])-2 <= limit {
			t.Fatalf("Cut(%q, %d) is one character short", s, limit)
		}
		if rest := s[:len(s)-len(tail)]; slow(rest)+slow(tail) != slow(s) {
			t.Fatalf("CutTail(%q, %d) splits a character", s, limit)
		} else if _, n := utf8.DecodeLastRuneInString(rest); n > 0 && Len(rest[len(rest)-n:]+tail)-2 <= limit {
			t.Fatalf("CutTail(%q, %d) is one character short", s, limit)
		}
		if max(Len(head), Len(tail))-2 > max(limit, 0) {
			t.Fatalf("Cut(%q, %d): %q or %q is too long", s, limit, head, tail)
		}
	})
}

func FuzzRaw(f *testing.F) {
	f.Add([]byte(" {\"a\\u2028\": [1, \"\\ud800\u2029\"]}\r\n"))
	f.Fuzz(func(t *testing.T, src []byte) {
		out, err := Raw(nil, src)
		if err != nil {
			return
		}
		if !utf8.Valid(out) || bytes.ContainsAny(out, "\r\n\u2028\u2029") {
			t.Fatalf("Raw(%q) = %q", src, out)
		}
		again, err := Raw(nil, out)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("Raw(%q) = %q, %v", out, again, err)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	for _, bb := range samples {
		b.Run(bb.name, func(b *testing.B) {
			dst := make([]byte, 0, Len(bb.text))
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				dst = Append(dst[:0], bb.text)
			}
		})
	}
}

func BenchmarkLen(b *testing.B) {
	for _, bb := range samples {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			for b.Loop() {
				Len(bb.text)
			}
		})
	}
}

func BenchmarkCut(b *testing.B) {
	for _, bb := range samples {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)) / 2)
			for b.Loop() {
				Cut(bb.text, len(bb.text)/2)
			}
		})
	}
}

func BenchmarkRaw(b *testing.B) {
	src := bytes.Repeat([]byte(`{"path":"src/net/http/server.go","line":1234,"excerpt":"func (srv *Server) Serve(l net.Listener) error {"},`), 1<<10)
	src = append(append([]byte{'['}, src[:len(src)-1]...), ']')
	dst := make([]byte, 0, 2*len(src))
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = Raw(dst[:0], src)
	}
}

var samples = []struct{ name, text string }{
	{"128B", strings.Repeat("x", 128)},
	{"ASCII", strings.Repeat("plain text without escapes, ", 1<<20/28)},
	{"code", strings.Repeat("\tif err != nil {\n\t\treturn fmt.Errorf(\"%s: %w\", name, err)\n\t}\n", 1<<20/62)},
	{"Chinese", strings.Repeat("流永不停歇,水位不越堰顶。", 1<<20/36)},
	{"invalid", strings.Repeat("\xff\xfe", 1<<19)},
}
