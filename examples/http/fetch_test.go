// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/encoding/unicode/utf32"
)

// Charsets become UTF-8, and those that lie are found out. Case 29.
func TestCharsets(t *testing.T) {
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String("水位不过坝顶")
	sjis, _ := japanese.ShiftJIS.NewEncoder().String("水門")
	utf16, _ := unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String("The dam 水")
	for _, tt := range []struct {
		name, contentType, body string
		text, charset, declared string
		invalid                 int64
		binary                  bool
	}{
		{"utf-8", "text/plain; charset=utf-8", "水", "水", "utf-8", "", 0, false},
		{"none declared", "text/plain", "水位", "水位", "utf-8", "", 0, false},
		{"gbk", "text/plain; charset=gbk", gbk, "水位不过坝顶", "gbk", "", 0, false},
		{"gb2312 by meta", "text/html", `<meta charset="gb2312"><p>` + gbk, "水位不过坝顶", "gbk", "", 0, false},
		{"shift_jis", "text/plain; charset=Shift_JIS", sjis, "水門", "shift_jis", "", 0, false},
		{"utf-16 by its mark", "text/plain", utf16, "The dam 水", "utf-16be", "", 0, false},
		{"latin", "text/plain; charset=iso-8859-1", "caf\xe9", "café", "windows-1252", "iso-8859-1", 0, false},
		{"byte order mark", "text/plain", "\xef\xbb\xbfcafé", "café", "utf-8", "", 0, false},
		{"a lie: utf-8 said to be latin", "text/plain; charset=iso-8859-1", "café 水", "café 水", "utf-8", "iso-8859-1", 0, false},
		{"a lie: latin said to be utf-8", "text/plain; charset=utf-8", "caf\xe9 au lait", "caf\uFFFD au lait", "utf-8", "", 1, false},
		{"no such charset", "text/plain; charset=klingon", "qapla' 水", "qapla' 水", "utf-8", "klingon", 0, false},
		{"a lie: a picture said to be text", "text/html", "\x89PNG\r\n\x1a\n\x00\x00", "", "", "", 0, true},
		{"a text said to be nothing", "application/octet-stream", "plain", "plain", "utf-8", "", 0, false},
		{"a character that is cut off", "text/plain; charset=utf-8", "水\xe6\xb0", "水\uFFFD\uFFFD", "utf-8", "", 2, false},
		{"control characters", "text/plain", "a\x07\u2028b", "a\x07\u2028b", "utf-8", "", 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f, text := fetchPage(t, tools(t), page(t, tt.contentType, tt.body), nil)
			if f.Text != tt.text || f.Charset != tt.charset || f.Invalid != tt.invalid || f.Binary != tt.binary {
				t.Errorf("%+v", f)
			}
			if tt.declared != "" && tt.name != "latin" && (f.Declared != tt.declared || !strings.Contains(text, "declared as "+tt.declared)) {
				t.Errorf("declared as %q:\n%s", f.Declared, text)
			}
			if tt.binary && !strings.Contains(text, "Binary: not shown") {
				t.Error(text)
			}
		})
	}
}

// Charsets that are declared nowhere, or in odd places, and what a model is told.
func TestCharsetsUndeclared(t *testing.T) {
	const dam = "水位不过坝顶，水门关着"
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String(dam)
	sjis, _ := japanese.ShiftJIS.NewEncoder().String("水門の水位")
	utf16le, _ := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM).NewEncoder().String("<p>The dam 水")
	utf32le, _ := utf32.UTF32(utf32.LittleEndian, utf32.UseBOM).NewEncoder().String("The dam 水")
	utf32be, _ := utf32.UTF32(utf32.BigEndian, utf32.UseBOM).NewEncoder().String("The dam 水")
	comment := "<!--" + strings.Repeat(" no", 1000) + "-->"
	for _, tt := range []struct {
		name, contentType, body, chosen string
		text, charset                   string // "*": any
		guess                           bool
		invalid                         int64 // -1: some
	}{
		{"gbk, chosen", "text/html", "<p>" + gbk, "gb2312", dam, "gbk", false, 0},
		{"gbk in a text, chosen", "application/octet-stream", gbk, "gbk", dam, "gbk", false, 0},
		{"gbk", "text/html", "<p>" + gbk, "", "*", "windows-1252", true, 0},
		{"shift_jis", "text/html", "<p>" + sjis, "", "*", "windows-1252", true, -1},
		{"shift_jis, chosen", "text/html; charset=utf-8", "<p>" + sjis, "shift_jis", "水門の水位", "shift_jis", false, 0},
		{"declared too late", "text/html", comment + "<meta charset=gb2312><p>" + gbk, "", "*", "utf-8", true, -1},
		{"declared too late, chosen", "text/html", comment + "<meta charset=gb2312><p>" + gbk, "gbk", dam, "gbk", false, 0},
		{"utf-8 that is declared nowhere", "text/html", "<p>" + dam, "", dam, "utf-8", false, 0},
		{"ASCII", "text/plain", "a dam", "", "a dam", "utf-8", false, 0},
		{"utf-8 said to be gb18030", "text/html; charset=gb18030", "<p>é中 ok", "", "é中 ok", "utf-8", false, 0},
		{"latin by meta, behind ASCII", "text/html", "<meta charset=iso-8859-1>" + comment + "<p>caf\xe9", "", "café", "windows-1252", false, 0},
		{"utf-8 by meta, behind ASCII", "text/html", "<meta charset=utf-8>" + comment + "<p>caf\xe9", "", "caf\uFFFD", "utf-8", false, 1},
		{"U+FFFD of the page itself", "text/html; charset=utf-8", "<p>a \uFFFD &#xfffd; b", "", "a \uFFFD \uFFFD b", "utf-8", false, 0},
		{"utf-16 said to be utf-8", "text/html; charset=utf-8", utf16le, "", "The dam 水", "utf-16le", false, 0},
		{"utf-32le", "text/plain", utf32le, "", "The dam 水", "utf-32le", false, 0},
		{"utf-32be", "text/plain", utf32be, "", "The dam 水", "utf-32be", false, 0},
		{"xml", "application/xml", `<?xml version="1.0" encoding="gb2312"?><a>` + gbk + "</a>", "", `<?xml version="1.0" encoding="gb2312"?><a>` + dam + "</a>", "gbk", false, 0},
		{"xml in latin", "application/atom+xml", `<?xml version='1.0' encoding='iso-8859-1'?><a>` + strings.Repeat(" ", 2000) + "\xe9</a>", "", "*", "windows-1252", false, 0},
		{"gbk with what is none", "text/plain; charset=gbk", gbk + "\xff\xff!", "", "*", "gbk", false, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := args{}
			if tt.chosen != "" {
				in["charset"] = tt.chosen
			}
			f, text := fetchPage(t, tools(t), page(t, tt.contentType, tt.body), in)
			if tt.text != "*" && f.Text != tt.text || f.Charset != tt.charset || f.Guess != tt.guess || tt.invalid >= 0 && f.Invalid != tt.invalid || tt.invalid < 0 && f.Invalid == 0 {
				t.Errorf("%+v", f)
			}
			if strings.Contains(text, "by guess (charset sets another one)") != tt.guess || strings.Contains(text, "characters are not of that charset") != (tt.invalid != 0) {
				t.Error(text)
			}
		})
	}
	if text := refused(t, tools(t), "fetch", args{"url": "http://127.0.0.1/", "charset": "klingon"}); !strings.Contains(text, "charset: there is no charset") {
		t.Error(text)
	}
}

// A body that is not all shown is kept, as UTF-8.
func TestArtifact(t *testing.T) {
	store := newStore(t)
	tl := newTools(ready(t, &Policy{MaxBody: 1_300_000}, store))
	text := numbered(2000)
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String(text)
	f, form := fetchPage(t, tl, page(t, "text/plain; charset=gbk", gbk), nil)
	if f.Artifact == "" || !strings.HasPrefix(f.Kept, "all of it") || !strings.Contains(form, `read_artifact {"handle":"`+f.Artifact+`"} for all of it`) {
		t.Fatalf("%+v\n%s", f, form)
	}
	r, err := store.Open(f.Artifact)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := io.ReadAll(r)
	r.Close()
	if string(got) != text || r.Info.MIMEType != "text/plain; charset=utf-8" {
		t.Errorf("%d bytes of %s, want %d", len(got), r.Info.MIMEType, len(text))
	}
	// What is shown whole is not kept; binary content is.
	if f, _ := fetchPage(t, tl, page(t, "text/plain", "short"), nil); f.Artifact != "" {
		t.Errorf("%+v", f)
	}
	picture := "\x89PNG\r\n\x1a\n" + strings.Repeat("\x00", 1000)
	f, form = fetchPage(t, tl, page(t, "image/png", picture), nil)
	if !f.Binary || f.Artifact == "" || *f.Size != int64(len(picture)) || f.Text != "" || !strings.Contains(form, "image/png, 1,008 bytes. Binary: not shown.") {
		t.Errorf("%+v\n%s", f, form)
	}
	// What is larger than may be read is kept as far as it was, and says so.
	f, form = fetchPage(t, tl, page(t, "text/plain", strings.Repeat("x", 1_400_000)), nil)
	if f.Kept != "its first 1,300,000 bytes" || !strings.Contains(form, "for its first 1,300,000 bytes") {
		t.Errorf("%+v\n%s", f, form)
	}
	// Of a page that cannot be shown to its end, all is kept.
	f, form = fetchPage(t, tl, page(t, "text/html", "<p>before<img src='data:"+strings.Repeat("A", maxToken+10_000)+"'><p>after"), nil)
	if f.Text != "before" || !strings.Contains(form, "longer than 1 MiB. Kept: read_artifact") {
		t.Errorf("%+v\n%s", f, form)
	}
	// A store without room changes nothing else.
	store.Close()
	f, form = fetchPage(t, tl, page(t, "text/plain", text), nil)
	if f.Artifact != "" || f.NextCursor == "" || !strings.Contains(form, "Not kept") {
		t.Errorf("%+v\n%s", f, form)
	}
}

func TestHeaders(t *testing.T) {
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-One", "1")
		w.Header().Set("ETag", `"e"`)
		w.Header().Set("Set-Cookie", "session=abcdef; Path=/")
		w.Header().Add("Set-Cookie", "abcdef; Path=/") // one without a name
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Long", strings.Repeat("y", 5000))
		w.WriteHeader(404)
		io.WriteString(w, r.Header.Get("Accept"))
	})
	tl := tools(t)
	f, text := fetchPage(t, tl, at, args{"accept": "text/markdown"})
	if f.Status.Status != 404 || f.StatusText != "Not Found" || f.Text != "text/markdown" || !strings.Contains(text, `etag: "e"`) || strings.Contains(text, "x-one") {
		t.Errorf("%+v\n%s", f, text)
	}
	f, text = fetchPage(t, tl, at, args{"headers": []string{"x-one", "SET-COOKIE"}})
	if len(f.Headers) != 3 || !strings.Contains(text, "x-one: 1") || !strings.Contains(text, "set-cookie: [hidden]\n") || !strings.Contains(text, "set-cookie: session=[hidden]") || strings.Contains(text, "abcdef") {
		t.Error(text)
	}
	h, text := call[Head](t, tl, "head", args{"url": at})
	if h.Status.Status != 404 || !strings.Contains(text, "x-long: yyy") || len(text) > 3000 || strings.Contains(text, "abcdef") {
		t.Error(text)
	}
}

// The smallest budget holds, with all that may stand around a text.
func TestSmallBudget(t *testing.T) {
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		for i := range 50 {
			w.Header().Add("Link", fmt.Sprintf("</%d>; rel=\"x\"", i))
		}
		io.WriteString(w, numbered(3000))
	})
	tl := newTools(ready(t, new(Policy), newStore(t)))
	r, err := tl.Call(t.Context(), "fetch", args{"url": at + "/" + strings.Repeat("long/", 300), "maxBytes": 1024})
	if err != nil || r.IsError || encoded(textOf(r)) > 1024 || !strings.Contains(textOf(r), "0 水位") {
		t.Errorf("%v, %s", err, textOf(r))
	}
}

// Compressed bodies are shown decompressed; what is compressed in another way
// is not taken for text.
func TestEncodings(t *testing.T) {
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	io.WriteString(z, "in gzip")
	z.Close()
	for _, tt := range []struct{ encoding, body, text string }{
		{"gzip", zipped.String(), "in gzip"}, {"x-gzip", zipped.String(), "in gzip"}, {"identity", "plain", "plain"}, {"br", "\x0b\x02\x80", ""}, {"gzip, gzip", zipped.String(), ""},
	} {
		f, text := fetchPage(t, tools(t), web(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Encoding", tt.encoding)
			w.Header().Set("Content-Type", "text/plain")
			io.WriteString(w, tt.body)
		}), nil)
		unreadable := strings.Contains(text, "compressed with "+tt.encoding+", which was not asked for and cannot be read here")
		if f.Text != tt.text || f.Binary != (tt.text == "") || unreadable != f.Binary {
			t.Errorf("%s: %s", tt.encoding, text)
		}
	}
}

// Links without number are told of.
func TestManyLinks(t *testing.T) {
	var b strings.Builder
	for i := range maxLinks + 100 {
		fmt.Fprintf(&b, "<a href=%d>.</a>", i)
	}
	tl := tools(t)
	at, in := page(t, "text/html", b.String()), args{}
	for {
		f, text := fetchPage(t, tl, at, in)
		if f.NextCursor == "" {
			if !f.NoNumber || !strings.Contains(text, "Only the first 10,000 links have a number.") {
				t.Errorf("%.500s", text)
			}
			break
		}
		in["cursor"] = f.NextCursor
	}
}
