// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"html"
	"slices"
	"strings"
	"unicode/utf8"
)

const (
	maxSkipped = 8  // line breaks or NULs between two characters
	maxWhite   = 16 // characters of white space in the place of some
)

// maxLayers is how often a character may be escaped in the same way: %2522 has
// two layers.
const maxLayers = 4

// A byteSet is a set of bytes.
type byteSet [256]bool

func (s *byteSet) has(b byte) bool { return s[b] }

// first are the bytes that a secret may begin with, but for those that escape
// another one.
func (s secrets) first() *byteSet {
	set := new(byteSet)
	for _, secret := range s {
		c := secret[0]
		set[c] = true
		if 'a' <= c && c <= 'z' {
			set[c-'a'+'A'] = true
		}
		if white(c) {
			set[' '], set['\t'], set['\n'], set['\r'], set['+'] = true, true, true, true, true
		}
	}
	return set
}

// spelled is the size of the longest spelling of a secret at the beginning of
// text, or 0, and whether more text might make one, or a longer one. What they
// begin with is first.
func (s secrets) spelled(first *byteSet, text []byte) (size int, more bool) {
	c := lower(text[0])
	begins := func(secret string) bool { return secret[0] == c }
	if escape(c) {
		var room [maxReadings]symbol
		all, unsure := readings(room[:0], text)
		if !unsure && !slices.ContainsFunc(all, func(r symbol) bool { return first.has(r.char[0]) }) {
			return 0, false
		}
		begins = func(secret string) bool {
			return unsure || slices.ContainsFunc(all, func(r symbol) bool { return strings.HasPrefix(secret, r.char) })
		}
	}
	for _, secret := range s {
		if !begins(secret) && !white(secret[0]) {
			continue
		}
		window := text[:min(len(text), 12*len(secret)+64)]
		steps := 8*len(secret) + 256
		n, unfinished := spelling(window, secret, -1, &steps)
		size = max(size, n)
		more = more || unfinished && len(window) == len(text)
	}
	return size, more
}

// spelling is how many bytes of text spell secret, or 0, and whether text ends
// before that can be told. Each character may stand for itself, in small or
// capital letters, or be escaped as in URLs, HTML, or JSON. White space is any
// white space; line breaks and NULs within a secret do not count: base64 has
// the ones, and UTF-16 read as something else the others. How many were skipped
// just before is skipped, and -1 where secret is not begun. It gives up when steps
// are used up, which only a text made for that can do.
func spelling(text []byte, secret string, skipped int, steps *int) (size int, more bool) {
	for secret != "" {
		if size == len(text) {
			return 0, true
		}
		c := lower(text[size])
		if escape(c) || white(secret[0]) || skipped >= 0 && (c == '\n' || c == '\r' || c == 0) {
			n, more := escapedSpelling(text[size:], secret, skipped, steps)
			if n == 0 {
				return 0, more
			}
			return size + n, more
		}
		if c != secret[0] {
			return 0, false
		}
		size, secret, skipped = size+1, secret[1:], 0
	}
	return size, false
}

// escapedSpelling is spelling for a text whose first character has more than one reading.
func escapedSpelling(text []byte, secret string, skipped int, steps *int) (size int, more bool) {
	if *steps--; *steps < 0 {
		return 0, false
	}
	var room [maxReadings]symbol
	all, more := readings(room[:0], text)
	for _, r := range all {
		var rests [2]string // of the secret, after this reading
		skips := 0
		switch {
		case white(secret[0]) && (strings.Trim(r.char, " \t\r\n\f\u00a0") == "" || r.char == "+"):
			rests[0] = strings.TrimLeft(secret, " \t") // the end of the white space, or not yet
			if skipped < maxWhite {
				rests[1] = secret
				skips = max(skipped, 0) + 1
			}
			if rests[0] == "" {
				return r.size, false
			}
		case strings.HasPrefix(secret, r.char):
			if rests[0] = secret[len(r.char):]; rests[0] == "" {
				return r.size, false
			}
		case skipped >= 0 && skipped < maxSkipped && (r.char == "\n" || r.char == "\r" || r.char == "\x00"):
			rests[0] = secret
			skips = skipped + 1
		}
		for i, rest := range rests {
			if rest == "" {
				continue
			}
			after := skips
			if i == 0 && rests[1] != "" {
				after = 0
			}
			n, unfinished := spelling(text[r.size:], rest, after, steps)
			if n > 0 {
				return r.size + n, more || unfinished
			}
			more = more || unfinished
		}
	}
	return 0, more
}

// A symbol is a character that a text may begin with, in small letters, and
// how many bytes stand for it.
type symbol struct {
	char string
	size int
}

// maxReadings is how many there are of one character, at most.
const maxReadings = 2*maxLayers + 2

// readings appends to all the symbols that text may begin with, and tells
// whether more text might give another one.
func readings(all []symbol, text []byte) (_ []symbol, more bool) {
	all = append(all, symbol{string([]byte{lower(text[0])}), 1})
	switch text[0] {
	case '%':
		return percents(all, text)
	case '&':
		return entities(all, text)
	case '\\':
		return backslashes(all, text)
	}
	return all, false
}

// percents reads %22, %2522 and so on.
func percents(all []symbol, text []byte) (_ []symbol, more bool) {
	for i := 1; i < 1+2*maxLayers; i += 2 {
		if len(text) < i+2 {
			_, ok := hexadecimal(text[i:])
			return all, ok
		}
		n, ok := hexadecimal(text[i : i+2])
		if !ok {
			break
		}
		all = append(all, symbol{string([]byte{lower(byte(n))}), i + 2})
		if n != '%' {
			break
		}
	}
	return all, false
}

// maxEntity bounds what stands between & and ;.
const maxEntity = 10

// entities reads &quot;, &#34;, &#x22;, &amp;quot; and so on.
func entities(all []symbol, text []byte) (_ []symbol, more bool) {
	i := 1
	for range maxLayers {
		end := i
		for end < len(text) && end-i < maxEntity && (text[end] == '#' && end == i || letterOrDigit(text[end])) {
			end++
		}
		if end == len(text) && end-i < maxEntity {
			return all, true
		}
		size := end
		if end < len(text) && text[end] == ';' {
			size++
		} else if end == i || text[i] != '#' {
			break // a name needs its ;
		}
		name := "&" + string(text[i:end]) + ";"
		char := html.UnescapeString(name)
		if char == name {
			break
		}
		all = append(all, symbol{strings.ToLower(char), size})
		if char != "&" {
			break
		}
		i = size
	}
	return all, false
}

// backslashes reads \", \/, \u0022, \x22, and those of a text that was quoted
// more than once.
func backslashes(all []symbol, text []byte) (_ []symbol, more bool) {
	i := 1
	for i < len(text) && text[i] == '\\' && i < 2*maxLayers {
		i++
		all = append(all, symbol{`\`, i})
	}
	if i == len(text) {
		return all, true
	}
	digits := map[byte]int{'u': 4, 'x': 2}[text[i]]
	switch c := text[i]; {
	case digits > 0:
		end := i + 1 + digits
		if len(text) < end {
			return all, true
		}
		n, ok := hexadecimal(text[i+1 : end])
		if !ok {
			break
		}
		char := strings.ToLower(string(rune(n)))
		if c == 'x' { // a byte
			char = string([]byte{lower(byte(n))})
		}
		all = append(all, symbol{char, end})
	case c == 'n' || c == 'r' || c == 't':
		all = append(all, symbol{map[byte]string{'n': "\n", 'r': "\r", 't': "\t"}[c], i + 1})
	case c < utf8.RuneSelf && !letterOrDigit(c):
		all = append(all, symbol{string(rune(c)), i + 1})
	}
	return all, false
}

func escape(c byte) bool { return c == '%' || c == '&' || c == '\\' }

func white(c byte) bool { return c == ' ' || c == '\t' }

func letterOrDigit(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= lower(c) && lower(c) <= 'z'
}

// hexadecimal is the number that b is; that of no digits is 0.
func hexadecimal(b []byte) (n int, ok bool) {
	for _, c := range b {
		switch c = lower(c); {
		case '0' <= c && c <= '9':
			n = 16*n + int(c-'0')
		case 'a' <= c && c <= 'f':
			n = 16*n + int(c-'a') + 10
		default:
			return 0, false
		}
	}
	return n, true
}

// lower makes a small letter of a capital one in ASCII.
func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}
