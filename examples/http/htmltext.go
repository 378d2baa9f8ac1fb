// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
	"net/url"
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

const (
	maxToken = 1 << 20 // bytes of one tag, or of one run of text
	maxLinks = 10_000  // numbered links of a document
	maxHref  = 2048    // bytes of a link's URL
)

// An htmlText turns HTML into text as it is read: paragraphs, headings, lists,
// tables, and links as numbers between linkBegin and linkEnd. Its memory is that
// of one token and of the links.
type htmlText struct {
	base  *url.URL
	write func([]byte)

	urls    []string       // of the links, from number 1
	numbers map[string]int // of the URLs
	more    bool           // there were more than maxLinks

	out    []byte
	begun  bool // there is text
	breaks int  // line breaks to be written before the next text
	space  bool // a space to be written before the next text
	pre    int  // depth of <pre>
	skip   atom.Atom
	depth  int // of elements like skip within it
	anchor int // number of the link that is open
	cells  int // of the row that is open
	lists  []int
}

func (h *htmlText) url(n int) string { return h.urls[n-1] }

// Around a paragraph there is an empty line; around a division a line break.
var paragraphs = map[atom.Atom]bool{
	atom.P: true, atom.H1: true, atom.H2: true, atom.H3: true, atom.H4: true, atom.H5: true, atom.H6: true, atom.Ul: true, atom.Ol: true,
	atom.Dl: true, atom.Table: true, atom.Blockquote: true, atom.Pre: true, atom.Section: true, atom.Article: true, atom.Figure: true,
}

var divisions = map[atom.Atom]bool{
	atom.Div: true, atom.Header: true, atom.Footer: true, atom.Main: true, atom.Nav: true, atom.Aside: true, atom.Form: true, atom.Fieldset: true,
	atom.Li: true, atom.Tr: true, atom.Dt: true, atom.Dd: true, atom.Address: true, atom.Details: true, atom.Summary: true, atom.Figcaption: true,
	atom.Caption: true, atom.Option: true, atom.Body: true, atom.Head: true, atom.Title: true,
}

// Elements whose content is no text of the page.
var skipped = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Template: true, atom.Noscript: true, atom.Svg: true, atom.Math: true, atom.Iframe: true,
	atom.Noembed: true, atom.Noframes: true, atom.Object: true, atom.Canvas: true, atom.Audio: true, atom.Video: true,
}

// read reads all of r, until stop says that enough was written.
func (h *htmlText) read(r io.Reader, stop func() bool) error {
	h.numbers = make(map[string]int)
	z := html.NewTokenizer(r)
	z.SetMaxBuf(maxToken)
	for !stop() {
		switch z.Next() {
		case html.ErrorToken:
			h.flush()
			switch err := z.Err(); err {
			case io.EOF:
				return nil
			case html.ErrBufferExceeded:
				return &limitError{"a tag or a text without tags is longer than 1 MiB"}
			default:
				return err
			}
		case html.TextToken:
			if h.skip == 0 {
				h.text(z.Text())
			}
		case html.StartTagToken:
			h.start(z, false)
		case html.SelfClosingTagToken:
			h.start(z, true)
		case html.EndTagToken:
			name, _ := z.TagName()
			h.end(atom.Lookup(name))
		}
		if len(h.out) >= 4<<10 {
			h.flush()
		}
	}
	return nil
}

func (h *htmlText) flush() {
	if len(h.out) > 0 {
		h.write(h.out)
		h.out = h.out[:0]
	}
}

func (h *htmlText) start(z *html.Tokenizer, closed bool) {
	name, has := z.TagName()
	tag := atom.Lookup(name)
	if h.skip != 0 {
		if tag == h.skip && !closed {
			h.depth++
		}
		return
	}
	if skipped[tag] {
		if !closed {
			h.skip, h.depth = tag, 1
		}
		return
	}
	var href, alt string
	for has {
		var key, value []byte
		key, value, has = z.TagAttr()
		switch string(key) {
		case "href":
			href = string(value)
		case "alt":
			alt = string(value)
		}
	}
	h.around(tag)
	switch tag {
	case atom.Base:
		if u, err := url.Parse(strings.TrimSpace(href)); err == nil && href != "" {
			h.base = h.base.ResolveReference(u)
		}
	case atom.A:
		h.closeLink()
		h.anchor = h.number(href)
	case atom.Br:
		h.breaks = min(h.breaks+1, 2)
	case atom.Hr:
		h.breaks = 2
		h.word("---")
		h.breaks = 2
	case atom.Img:
		if alt = strings.Join(strings.Fields(alt), " "); alt != "" {
			h.word("[image: " + clean(alt) + "]")
		}
	case atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6:
		h.word(strings.Repeat("#", int(name[1]-'0')))
		h.space = true
	case atom.Ul, atom.Ol:
		if len(h.lists) < 20 {
			h.lists = append(h.lists, map[atom.Atom]int{atom.Ul: -1}[tag])
		}
	case atom.Li:
		bullet := "-"
		indent := ""
		if n := len(h.lists); n > 0 {
			indent = strings.Repeat("  ", n-1)
			if h.lists[n-1] >= 0 {
				h.lists[n-1]++
				bullet = strconv.Itoa(h.lists[n-1]) + "."
			}
		}
		h.word(indent + bullet)
		h.space = true
	case atom.Tr:
		h.cells = 0
	case atom.Td, atom.Th:
		if h.cells++; h.cells > 1 {
			h.word(" |")
			h.space = true
		}
	case atom.Pre:
		h.pre++
	}
}

// around breaks the line before and after an element that stands by itself.
func (h *htmlText) around(tag atom.Atom) {
	switch {
	case paragraphs[tag] && (len(h.lists) == 0 || tag != atom.Ul && tag != atom.Ol && tag != atom.P):
		h.breaks = 2
	case paragraphs[tag], divisions[tag]:
		h.breaks = max(h.breaks, 1)
	}
}

func (h *htmlText) end(tag atom.Atom) {
	if h.skip != 0 {
		if tag == h.skip {
			if h.depth--; h.depth == 0 {
				h.skip = 0
			}
		}
		return
	}
	switch tag {
	case atom.A:
		h.closeLink()
	case atom.Ul, atom.Ol:
		if n := len(h.lists); n > 0 {
			h.lists = h.lists[:n-1]
		}
	case atom.Pre:
		h.pre = max(h.pre-1, 0)
	case atom.Title:
		h.breaks = 2
	}
	h.around(tag)
}

// number is that of the link to href, or 0 for one that leads nowhere else.
func (h *htmlText) number(href string) int {
	href = strings.TrimSpace(href)
	if href == "" || href[0] == '#' {
		return 0
	}
	u, err := url.Parse(href)
	if err != nil {
		return 0
	}
	u = h.base.ResolveReference(u)
	if u.User != nil || u.Scheme != "http" && u.Scheme != "https" && u.Scheme != "mailto" {
		return 0
	}
	s := u.String()
	n, ok := h.numbers[s]
	switch {
	case ok:
	case len(s) > maxHref:
		return 0
	case len(h.urls) >= maxLinks:
		h.more = true
		return 0
	default:
		h.urls = append(h.urls, s)
		n = len(h.urls)
		h.numbers[s] = n
	}
	return n
}

func (h *htmlText) closeLink() {
	if h.anchor > 0 {
		h.out = append(h.out, linkBegin)
		h.out = strconv.AppendInt(h.out, int64(h.anchor), 10)
		h.out = append(h.out, linkEnd)
		h.begun = true
	}
	h.anchor = 0
}

// text takes a run of text, and makes one space of what is white in it.
func (h *htmlText) text(b []byte) {
	if h.pre > 0 {
		if b = bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")); len(b) > 0 {
			h.before()
			for _, c := range b {
				if c >= ' ' && c != 0x7f || c == '\n' || c == '\t' {
					h.out = append(h.out, c)
				}
			}
		}
		return
	}
	for i := 0; i < len(b); {
		switch c := b[i]; {
		case c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f':
			h.space = true
			i++
		default:
			end := i
			for end < len(b) && b[end] != ' ' && b[end] != '\n' && b[end] != '\r' && b[end] != '\t' && b[end] != '\f' {
				end++
			}
			h.word(clean(string(b[i:end])))
			i = end
		}
		if len(h.out) >= 4<<10 {
			h.flush()
		}
	}
}

// word writes s after the line breaks or the space that are due.
func (h *htmlText) word(s string) {
	if s == "" {
		return
	}
	h.before()
	h.out = append(h.out, s...)
}

func (h *htmlText) before() {
	switch {
	case !h.begun:
	case h.breaks > 0:
		h.out = append(h.out, "\n\n"[:h.breaks]...)
	case h.space:
		h.out = append(h.out, ' ')
	}
	h.begun, h.breaks, h.space = true, 0, false
}

// clean takes control characters out of a word.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
}
