// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

// A Link is what a [n] in a text stands for.
type Link struct {
	N   int    `json:"n"`
	URL string `json:"url"`
}

// The marks around a link's number in a text that is made from HTML, which has
// no such characters of its own.
const (
	linkBegin = 0x00
	linkEnd   = 0x01
)

// A preview is the part of a text that one result shows: from an offset on, as
// much as has room. It is a sink; the offsets are those of the text before
// secrets were taken out of it.
type preview struct {
	from  int64 // the text before it is not shown
	room  int   // that is left, in bytes as encoded
	links func(n int) string

	at      int64 // offset of what comes next
	end     int64 // offset after what is shown, once full
	full    bool
	invalid int64 // bytes that are not UTF-8, of what is shown
	odd     int64 // U+FFFD of the text itself, of what is shown
	text    strings.Builder
	shown   []Link
	seen    map[int]bool
	part    []byte // of a character, or of a link's mark
}

func (p *preview) plain(b []byte) {
	if len(p.part) > 0 {
		b = append(p.part, b...)
		p.part = nil
	}
	for len(b) > 0 && !p.full {
		switch {
		case p.links != nil && b[0] == linkBegin:
			n := strings.IndexByte(string(b[:min(len(b), 12)]), linkEnd)
			if n < 0 {
				p.part = append([]byte(nil), b...)
				return
			}
			number, _ := strconv.Atoi(string(b[1:n]))
			p.link(number, n+1)
			b = b[n+1:]
		case !utf8.FullRune(b):
			p.part = append([]byte(nil), b...)
			return
		default:
			r, n := utf8.DecodeRune(b)
			p.add(string(r), n, r == utf8.RuneError && n == 1)
			b = b[n:]
		}
	}
}

// hidden takes a secret of n bytes.
func (p *preview) hidden(n int) {
	p.finish()
	p.add(hidden, n, false)
}

// finish takes an incomplete character at the end as it is.
func (p *preview) finish() {
	for range p.part {
		p.add("\uFFFD", 1, true)
	}
	p.part = nil
}

// add shows s, which stands for n bytes, whole or not at all.
func (p *preview) add(s string, n int, invalid bool) {
	switch {
	case p.full:
		return
	case p.at < p.from:
		p.at += int64(n)
		return
	}
	size := encoded(s)
	if size > p.room {
		p.full, p.end = true, p.at
		return
	}
	p.room -= size
	p.text.WriteString(s)
	p.at += int64(n)
	if invalid {
		p.invalid++
	} else if s == "\uFFFD" {
		p.odd++
	}
}

// link shows the mark of a link, and keeps room for its URL.
func (p *preview) link(n, size int) {
	mark := "[" + strconv.Itoa(n) + "]"
	if p.at < p.from || p.full || p.seen[n] {
		p.add(mark, size, false)
		return
	}
	url := p.links(n)
	// A line of the text, and an object of the structured form.
	need := encoded(url) + len(`,{"n":,"url":""}`) + len(mark)
	if need+len(mark) > p.room {
		p.full, p.end = true, p.at
		return
	}
	p.room -= need
	p.add(mark, size, false)
	if p.seen == nil {
		p.seen = make(map[int]bool)
	}
	p.seen[n] = true
	p.shown = append(p.shown, Link{n, url})
}

// encoded is the size of s within a JSON string.
func encoded(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case r == '"' || r == '\\' || r == '\n' || r == '\r' || r == '\t' || r == '\b' || r == '\f':
			n += 2
		case r < ' ' || r == '\u2028' || r == '\u2029':
			n += 6
		default:
			n += utf8.RuneLen(r)
		}
	}
	return n
}

// cut shortens s to at most limit bytes and says so.
func cut(s string, limit int) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	if len(s) <= limit {
		return s
	}
	limit = max(limit-len("…"), 0)
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
