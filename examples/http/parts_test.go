// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
)

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
			case "short", "short of unknown": // parts that end within a character, and a whole that is not told with them
				var from int
				if _, err := fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from); err != nil {
					w.Header().Set("Content-Length", fmt.Sprint(len(text)))
					io.WriteString(count, text)
					return
				}
				end, whole := min(from+1000, len(text)), fmt.Sprint(len(text))
				if kind != "short" {
					whole = "*"
				}
				w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%s", from, end-1, whole))
				w.WriteHeader(http.StatusPartialContent)
				io.WriteString(count, text[from:end])
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
	}{{"range", true, true}, {"modified", true, true}, {"short", true, true}, {"short of unknown", true, true}, {"ignored", true, false}, {"gbk", false, false}, {"gzip", false, false}} {
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

type compressing struct {
	http.ResponseWriter
	z *gzip.Writer
}

func (c *compressing) Write(p []byte) (int, error) { return c.z.Write(p) }

// What has changed between two parts is not shown as one text.
func TestPartsOfAnother(t *testing.T) {
	for _, kind := range []string{"etag", "etag ignored", "size", "size ignored", "size compressed", "shorter"} {
		t.Run(kind, func(t *testing.T) {
			version := 1
			at := web(t, func(w http.ResponseWriter, r *http.Request) {
				text := numbered(1000)
				if version == 2 && strings.HasPrefix(kind, "size") {
					text += "more\n"
				}
				if version == 2 && kind == "shorter" {
					text = "gone\n"
				}
				if strings.HasPrefix(kind, "etag") {
					w.Header().Set("ETag", fmt.Sprintf(`"v%d"`, version))
				}
				w.Header().Set("Content-Type", "text/plain")
				if kind == "size ignored" || kind == "size compressed" && version == 1 {
					w.Header().Set("Content-Length", fmt.Sprint(len(text)))
				}
				if kind == "size compressed" && version == 2 {
					w.Header().Set("Content-Encoding", "gzip")
					z := gzip.NewWriter(w)
					defer z.Close()
					w = &compressing{w, z}
				}
				if kind != "etag" && kind != "size" && kind != "shorter" {
					io.WriteString(w, text)
					return
				}
				http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
			})
			tl := tools(t)
			f, _ := fetchPage(t, tl, at, args{"maxBytes": 4096})
			version = 2
			// What came compressed has its size at its end.
			if text := refused(t, tl, "fetch", args{"url": at, "maxBytes": 200 << 10, "cursor": f.NextCursor}); !strings.Contains(text, "has changed since") {
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

// Parts of less than a character are no way to go on.
func TestPartsTooSmall(t *testing.T) {
	tl := tools(t)
	at := web(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		text := strings.Repeat("水", 5000)
		if from := 0; r.Header.Get("Range") != "" {
			fmt.Sscanf(r.Header.Get("Range"), "bytes=%d-", &from)
			w.Header().Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, from, len(text)))
			w.WriteHeader(http.StatusPartialContent)
			text = text[from : from+1]
		}
		io.WriteString(w, text)
	})
	f, _ := fetchPage(t, tl, at, args{"maxBytes": 4096})
	if f, text := fetchPage(t, tl, at, args{"maxBytes": 4096, "cursor": f.NextCursor}); f.NextCursor != "" || !f.Truncated || !strings.Contains(text, "parts that are too small") {
		t.Errorf("%+v\n%s", f, text)
	}
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
