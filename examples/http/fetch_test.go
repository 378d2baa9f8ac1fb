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
	"sync/atomic"
	"testing"
	"time"

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

// numbered is a text of which each byte can be told.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d 水位 \"level\"\n", i)
	}
	return b.String()
}

// all reads a text to its end by cursors.
func all(t *testing.T, url string, in args, between func()) (text string, links map[int]string, pages int) {
	t.Helper()
	tl := tools(t)
	links = make(map[int]string)
	var first Fetched
	with := args{"maxBytes": 4096}
	for k, v := range in {
		with[k] = v
	}
	for {
		f, form := fetchPage(t, tl, url, with)
		if n := encoded(form); n > with["maxBytes"].(int) {
			t.Fatalf("the text form has %d bytes", n)
		}
		if f.Truncated != (f.NextCursor != "") {
			t.Fatalf("truncated is %v, the cursor %q: %s", f.Truncated, f.NextCursor, f.Incomplete)
		}
		text += f.Text
		pages++
		if pages == 1 {
			first = f
		} else if f.MediaType != first.MediaType || f.Charset != first.Charset || f.Invalid > 0 {
			t.Errorf("part %d is %s, %s", pages, f.MediaType, f.Charset)
		}
		for _, l := range f.Links {
			if old, ok := links[l.N]; ok && old != l.URL {
				t.Errorf("[%d] is %s and %s", l.N, old, l.URL)
			}
			links[l.N] = l.URL
			if !strings.Contains(f.Text, fmt.Sprintf("[%d]", l.N)) {
				t.Errorf("[%d] is listed and not in the text", l.N)
			}
		}
		if f.NextCursor == "" {
			return text, links, pages
		}
		if !strings.Contains(form[:min(len(form), 2048)], f.NextCursor) {
			t.Fatalf("the cursor is not at the beginning:\n%s", form)
		}
		with["cursor"] = f.NextCursor
		if between != nil {
			between()
		}
	}
}

// The parts of a text together are the text, whatever the server makes of a
// Range, and each byte is sent once where it honours one. Case 26.
func TestParts(t *testing.T) {
	text := numbered(2000)
	gbk, _ := simplifiedchinese.GBK.NewEncoder().String(text)
	var sent atomic.Int64
	var ranges atomic.Int64
	serve := func(kind string) string {
		return web(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Range") != "" {
				ranges.Add(1)
			}
			w.Header().Set("Content-Type", "text/plain; charset=utf-8")
			count := &counting{ResponseWriter: w, n: &sent}
			switch kind {
			case "range":
				w.Header().Set("ETag", `"one"`)
				if r.Header.Get("Range") != "" && r.Header.Get("If-Range") != `"one"` {
					t.Errorf("a Range with If-Range %q", r.Header.Get("If-Range"))
				}
				http.ServeContent(count, r, "", time.Time{}, strings.NewReader(text))
			case "modified":
				http.ServeContent(count, r, "", time.Unix(1_700_000_000, 0), strings.NewReader(text))
			case "gbk":
				w.Header().Set("Content-Type", "text/plain; charset=gbk")
				io.WriteString(count, gbk)
			case "gzip":
				w.Header().Set("Content-Encoding", "gzip")
				z := gzip.NewWriter(count)
				io.WriteString(z, text)
				z.Close()
			default:
				io.WriteString(count, text)
			}
		})
	}
	for _, tt := range []struct {
		kind   string
		ranges bool // are asked for
		once   bool // each byte is sent about once
	}{{"range", true, true}, {"modified", true, true}, {"ignored", true, false}, {"gbk", false, false}, {"gzip", false, false}} {
		t.Run(tt.kind, func(t *testing.T) {
			sent.Store(0)
			ranges.Store(0)
			got, _, pages := all(t, serve(tt.kind), nil, nil)
			if got != text || pages < 5 {
				t.Errorf("%d bytes in %d pages, want %d", len(got), pages, len(text))
			}
			if (ranges.Load() > 0) != tt.ranges {
				t.Errorf("%d ranges were asked for", ranges.Load())
			}
			// What the pipe held when a part was full is sent, and not read.
			t.Logf("%d bytes sent for %d in %d pages", sent.Load(), len(text), pages)
		})
	}
}

type counting struct {
	http.ResponseWriter
	n *atomic.Int64
}

func (c *counting) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.n.Add(int64(n))
	return n, err
}

// What has changed between two parts is not shown as one text.
func TestPartsOfAnother(t *testing.T) {
	for _, kind := range []string{"etag", "etag ignored", "size", "shorter"} {
		t.Run(kind, func(t *testing.T) {
			version := 1
			at := web(t, func(w http.ResponseWriter, r *http.Request) {
				text := numbered(1000)
				if version == 2 && kind == "size" {
					text += "more\n"
				}
				if version == 2 && kind == "shorter" {
					text = "gone\n"
				}
				if strings.HasPrefix(kind, "etag") {
					w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, version))
				}
				w.Header().Set("Content-Type", "text/plain")
				if kind == "etag ignored" {
					io.WriteString(w, text)
					return
				}
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
			})
			tl := tools(t)
			f, _ := fetchPage(t, tl, at, args{"maxBytes": 4096})
			version = 2
			if text := refused(t, tl, "fetch", args{"url": at, "maxBytes": 4096, "cursor": f.NextCursor}); !strings.Contains(text, "has changed since") {
				t.Error(text)
			}
		})
	}
	t.Run("another part", func(t *testing.T) {
		at := web(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", "bytes 7-20/40000")
				w.WriteHeader(206)
			}
			io.WriteString(w, numbered(1000))
		})
		tl := tools(t)
		f, _ := fetchPage(t, tl, at, args{"maxBytes": 4096})
		if text := refused(t, tl, "fetch", args{"url": at, "maxBytes": 4096, "cursor": f.NextCursor}); !strings.Contains(text, "another part") {
			t.Error(text)
		}
	})
}

// HTML comes in parts too, and a link has one number on all of them.
func TestHTMLParts(t *testing.T) {
	var b strings.Builder
	for i := range 600 {
		fmt.Fprintf(&b, "<p>Paragraph %d of 水: <a href='/page/%d?q=\"'>to %d</a> and <a href=/home>home</a></p>\n", i, i%50, i%50)
	}
	at := page(t, "text/html; charset=utf-8", b.String())
	whole, _, one := all(t, at, args{"maxBytes": 200 << 10}, nil)
	got, links, pages := all(t, at, nil, nil)
	if one != 1 || pages < 5 || got != whole {
		t.Errorf("%d and %d pages; %d bytes, want %d", one, pages, len(got), len(whole))
	}
	if len(links) != 51 || !strings.HasSuffix(links[2], "/home") {
		t.Errorf("%d links, %q", len(links), links[2])
	}
}

// A body that is not all shown is kept, as UTF-8.
func TestArtifact(t *testing.T) {
	store := newStore(t)
	tl := newTools(ready(t, &Policy{MaxBody: 300_000}, store))
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
	f, form = fetchPage(t, tl, page(t, "text/plain", strings.Repeat("x", 400_000)), nil)
	if f.Kept != "its first 300,000 bytes" || !strings.Contains(form, "for its first 300,000 bytes") {
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
	if len(f.Headers) != 2 || !strings.Contains(text, "x-one: 1") || !strings.Contains(text, "set-cookie: session=[hidden]") || strings.Contains(text, "abcdef") {
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

// A part that nobody asked for is not taken for the whole.
func TestPartUnasked(t *testing.T) {
	tl := tools(t)
	f, text := fetchPage(t, tl, web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("Content-Range", "bytes 0-4/5000")
		w.WriteHeader(206)
		io.WriteString(w, "begin")
	}), nil)
	if f.Text != "begin" || !f.Truncated || *f.Size != 5000 || !strings.Contains(text, "Incomplete: the server sent a part of it") || !strings.Contains(text, "content-range: bytes 0-4/5000") {
		t.Error(text)
	}
	if text := refused(t, tl, "fetch", args{"url": "http://127.0.0.1/", "accept": "a\r\nX: y"}); !strings.Contains(text, "accept: ") {
		t.Error(text)
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
