// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

func htmlOf(source string) (string, *htmlText) {
	base, _ := url.Parse("https://example.com/dir/page")
	var out strings.Builder
	h := &htmlText{base: base, write: func(b []byte) { out.Write(b) }}
	h.read(strings.NewReader(source), func() bool { return false })
	return strings.NewReplacer("\x00", "[", "\x01", "]").Replace(out.String()), h
}

func TestHTMLText(t *testing.T) {
	for _, tt := range []struct{ in, want, urls string }{
		{"plain", "plain", ""},
		{"<title>A &amp; B</title><p>one\n two<p>three", "A & B\n\none two\n\nthree", ""},
		{"<h1>Head</h1>text<h3>Sub</h3>", "# Head\n\ntext\n\n### Sub", ""},
		{"a<script>var x = '<p>no</p>'</script>b<style>p{}</style><noscript><p>no</noscript>c", "abc", ""},
		{"<svg><text>no</text><svg></svg></svg>yes<template><p>no</template>", "yes", ""},
		{"<a href=other>See</a> and <a href=/x#y>more</a> <a href=other>again</a>", "See[1] and more[2] again[1]", "https://example.com/dir/other https://example.com/x#y"},
		{"<a href='#top'>top</a> <a href='javascript:alert(1)'>js</a> <a href='data:x'>data</a> <a>none</a> <a href='http://u:p@h/'>user</a>", "top js data none user", ""},
		{"<base href='https://other.example/'><a href=x>x</a>", "x[1]", "https://other.example/x"},
		{"<a href=1>one<a href=2>two</a>", "one[1]two[2]", "https://example.com/dir/1 https://example.com/dir/2"},
		{"<ul><li>a<li>b<ol><li>c</li><li>d</li></ol></ul>after", "- a\n- b\n  1. c\n  2. d\n\nafter", ""},
		{"<table><tr><th>A<th>B<tr><td>1<td>2</table>", "A | B\n1 | 2", ""},
		{"x<pre>  a\n\tb </pre>y", "x\n\n  a\n\tb \n\ny", ""},
		{"a<br>b<br><br>c<hr>d", "a\nb\n\nc\n\n---\n\nd", ""},
		{"<img src=x alt='a  dam'> <img src=y>", "[image: a dam]", ""},
		{"a\x01b\x00c &#0; &#1;d", "abc \uFFFD d", ""},
		{"<p>unclosed <b>bold <i>both", "unclosed bold both", ""},
		{"<", "<", ""},
		{"<!-- no --><!doctype html>yes", "yes", ""},
		{"<iframe src=x>no</iframe><textarea>kept</textarea>", "kept", ""},
	} {
		got, h := htmlOf(tt.in)
		if got != tt.want || strings.Join(h.urls, " ") != tt.urls {
			t.Errorf("%s\n%q\nwant\n%q\n%v", tt.in, got, tt.want, h.urls)
		}
	}
	// A tag without end is given up at 1 MiB.
	base, _ := url.Parse("https://example.com/")
	h := &htmlText{base: base, write: func([]byte) {}}
	if err := h.read(strings.NewReader("<p>a<b "+strings.Repeat("x", 3<<20)), func() bool { return false }); err == nil {
		t.Error("a tag of 3 MiB was read")
	}
	if _, h := htmlOf(strings.Repeat("<a href=x", 1) + ">" + strings.Repeat("<ul>", 10_000)); len(h.lists) > 20 {
		t.Errorf("%d lists", len(h.lists))
	}
}

func FuzzHTMLText(f *testing.F) {
	f.Add("<a href=x>y</a><ul><li>z<pre> q </pre><svg><p>no")
	f.Add("<a href='\x00'>\x01</a>")
	f.Fuzz(func(t *testing.T, s string) {
		base, _ := url.Parse("https://example.com/")
		p := preview{room: 1 << 20, at: 0}
		h := &htmlText{base: base, write: p.plain}
		p.links = func(n int) string { return h.url(n) } // panics for a number that is not there
		h.read(strings.NewReader(strings.ToValidUTF8(s, "\uFFFD")), func() bool { return p.full })
		p.finish()
		if !utf8.ValidString(p.text.String()) || strings.ContainsAny(p.text.String(), "\x00\x01") {
			t.Errorf("%q", p.text.String())
		}
	})
}
