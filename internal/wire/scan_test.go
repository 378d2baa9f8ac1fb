// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// valid is what the skip functions make of a whole text.
func valid(b []byte) bool {
	return syntax(b, skipValue(b, skipSpace(b, 0), 0)) == nil
}

// validElsewhere is what jsontext makes of it. A lone surrogate is allowed, and
// so are names that stand there twice.
func validElsewhere(b []byte) bool {
	return utf8.Valid(b) && jsontext.Value(b).IsValid(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))
}

// jsonTexts are near the edges of the grammar, on both sides.
var jsonTexts = []string{
	`{}`, `[]`, `""`, `0`, `true`, `false`, `null`, ` { "a" : [ 1 , 2 ] } `, "\t\r\n1\t\r\n",
	``, ` `, `{`, `}`, `[`, `]`, `"`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`, `{1:2}`, `{"a" 1}`, `{"a":1 "b":2}`,
	`{"a":1]`, `[1}`, `[{"a":1]]`, `{"a":[1}}`, `[1,]`, `[,1]`, `[1 2]`, `[[]`, `[]]`, `[[],{}]`, `[{"a":[{}]}]`, `{"a":{"b":{"c":[[[]]]}}}`,
	`-`, `-0`, `-1`, `+1`, `01`, `00`, `1.`, `.1`, `1.0`, `1.e1`, `1e`, `1e+`, `1e+1`, `1E-01`, `1e1.5`, `0x1`, `1_000`, `NaN`, `Infinity`, `-Infinity`, `- 1`,
	`tru`, `truee`, `True`, `nul`, `nulll`, `falsy`, `'a'`, `undefined`,
	`"\"`, `"\\"`, `"\x"`, `"\u"`, `"\u12"`, `"\u12g4"`, `"\u1234"`, `"\uABCD\uabcd"`, `"\ud800"`, `"\udc00\ud800"`, `"\ud83d\ude00"`, `"\ud83d\n"`, `"\b\f\n\r\t\/"`, `"\U0041"`,
	"\"a\nb\"", "\"a\tb\"", "\"\x00\"", "\"\x1f\"", "\"\x20\x7f\"", "\"\u2028\u2029\"", "\"中文\"", "\"é😀\"", "\"\xff\"", "\"\xe4\xb8\"", "\"\xed\xa0\x80\"", "\"\xc0\x80\"", "\"\xf4\x90\x80\x80\"",
	"\xef\xbb\xbf{}", "{}\xef\xbb\xbf", "{}\x00", "{}{}", "1 2", "\u00a01", "\u20281", "{\v}", "\f1", "// a\n1", "/* a */1",
	"\"01234567890123456789012345678901\x01\"", "\"0123456789012345678901234567890123456789\\q\"",
	strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
	strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
	strings.Repeat(`{"a":[`, 5_000) + strings.Repeat("]}", 5_000),
	"[" + strings.Repeat("[],{},", 10_001) + "[]]", // wide is not deep
	"[" + strings.Repeat(`[1],{"a":[1]},`, 10_001) + "[]]",
	strings.Repeat(`{"a":[`, 5_000) + "0" + strings.Repeat("]}", 5_000),
	strings.Repeat(`{"a":[`, 5_000) + "[]" + strings.Repeat("]}", 5_000),
	strings.Repeat(`{"a":[`, 40) + strings.Repeat("]}", 39) + "}]",
	strings.Repeat(`[{"a":`, 64) + "1" + strings.Repeat("}]", 64),
	strings.Repeat(`[{"a":`, 64) + "1" + strings.Repeat("]}", 64),
	strings.Repeat("[", 64) + `{"a":1}` + strings.Repeat("]", 64),
	strings.Repeat("[", 63) + `{"a":1}` + strings.Repeat("]", 63),
	strings.Repeat("[", 65) + `,` + strings.Repeat("]", 65),
}

func TestSyntax(t *testing.T) {
	for _, text := range jsonTexts {
		if got, want := valid([]byte(text)), validElsewhere([]byte(text)); got != want {
			t.Errorf("%.60q: valid is %v, want %v", text, got, want)
		}
		// The same inside an object, as a params that is walked by member.
		text = `{"params":{"x":` + text + `}}`
		_, err := Parse([]byte(text))
		got := err == nil || err.Code != CodeParse
		if want := validElsewhere([]byte(text)); got != want {
			t.Errorf("%.60q: Parse says valid: %v, want %v", text, got, want)
		}
	}
}

func TestSyntaxNamesThePlace(t *testing.T) {
	tests := []struct{ frame, want string }{
		{`{bad`, "Parse error: not valid JSON at byte 1"},
		{`{"jsonrpc":"2.0","id":1,`, "Parse error: not valid JSON at byte 24"},
		{`{"jsonrpc":"2.0","id":2,"method":"ping"},`, "Parse error: not valid JSON at byte 40"},
		{"{\"a\":\"\xff\"}", "Parse error: not valid UTF-8"},
		{"[1,2,x]", "Parse error: not valid JSON at byte 5"},
		{"\xef\xbb\xbf{}", "Parse error: not valid JSON at byte 0"},
	}
	for _, tt := range tests {
		_, err := Parse([]byte(tt.frame))
		if err == nil || err.Code != CodeParse || err.Message != tt.want {
			t.Errorf("Parse(%q): %v, want %q", tt.frame, err, tt.want)
		}
	}
}

// FuzzSyntax holds the scanner against jsontext: neither may take what the
// other refuses.
func FuzzSyntax(f *testing.F) {
	for _, text := range jsonTexts {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		if got, want := valid(b), validElsewhere(b); got != want {
			t.Fatalf("%q: valid is %v, want %v", b, got, want)
		}
		wrapped := append(append([]byte(`{"params":{"x":`), b...), `}}`...)
		_, err := Parse(wrapped)
		got := err == nil || err.Code != CodeParse
		if want := validElsewhere(wrapped); got != want {
			t.Fatalf("%q: Parse says valid: %v, want %v", wrapped, got, want)
		}
	})
}

func TestObjectStaysInside(t *testing.T) {
	// A walk over a part must not read what follows it in the frame.
	b := []byte(`{"a":{"b":1},"c":2}`)
	o := openObject(b[5:12:12], 0, 0)
	var names []string
	for name, more := o.next(); more; name, more = o.next() {
		names = append(names, string(name))
		if v := o.value(); !bytes.Equal(v, []byte("1")) || cap(v) != len(v) {
			t.Errorf("value %q of capacity %d", v, cap(v))
		}
	}
	if len(names) != 1 || names[0] != "b" || o.i != 7 {
		t.Errorf("names %q, ended at %d", names, o.i)
	}
}
