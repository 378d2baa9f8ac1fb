// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package glob

import "strings"

// compile turns pattern, without its ! but with its slashes, into a Pattern.
// bytes selects git's reading of ? and [ ], one byte each.
func compile(pattern string, bytes bool) *Pattern {
	p := &Pattern{bytes: bytes}
	if strings.HasSuffix(pattern, "/") {
		p.dir = true
		pattern = pattern[:len(pattern)-1]
	}
	p.name = !strings.Contains(pattern, "/")
	pattern = strings.TrimPrefix(pattern, "/")
	if !strings.ContainsAny(pattern, `*?[\`) {
		p.literal = pattern
		p.never = pattern == ""
		return p
	}
	if strings.HasPrefix(pattern, "*") && !strings.ContainsAny(pattern[1:], `*?[\`) && len(pattern) > 1 {
		p.suffix = pattern[1:]
		return p
	}
	for i := 0; i < len(pattern); {
		switch c := pattern[i]; c {
		case '\\':
			if i+1 == len(pattern) {
				p.never = true
				return p
			}
			p.add(token{kind: char, lo: pattern[i+1]})
			i += 2
		case '?':
			p.add(token{kind: one})
			i++
		case '*':
			i += p.stars(pattern, i)
		case '[':
			t, n := p.class(pattern[i+1:])
			if n == 0 {
				p.never = true
				return p
			}
			p.add(t)
			i += 1 + n
		default:
			p.add(token{kind: char, lo: c})
			i++
		}
	}
	return p
}

func (p *Pattern) add(t token) {
	if t.kind == star && len(p.tokens) > 0 && p.tokens[len(p.tokens)-1].kind == star {
		return
	}
	p.tokens = append(p.tokens, t)
}

// stars adds the token for the run of asterisks at pattern[i] and returns how
// much of the pattern it took. Two or more span directories only when they
// stand alone between slashes or at an end.
func (p *Pattern) stars(pattern string, i int) int {
	n := 1
	for i+n < len(pattern) && pattern[i+n] == '*' {
		n++
	}
	rest := pattern[i+n:]
	if n < 2 || i > 0 && pattern[i-1] != '/' {
		p.add(token{kind: star})
		return n
	}
	switch {
	case rest == "":
		p.add(token{kind: tail})
	case rest[0] == '/':
		p.add(token{kind: dirs})
		n++
	case strings.HasPrefix(rest, `\/`):
		p.add(token{kind: unordered})
	default:
		p.add(token{kind: star})
	}
	return n
}

// class parses a bracket expression after its [ and returns how many bytes it
// took, 0 when it is never closed or names an unknown [:class:].
func (p *Pattern) class(s string) (token, int) {
	t := token{kind: class}
	i := 0
	if i < len(s) && (s[i] == '!' || s[i] == '^') {
		t.not = true
		i++
	}
	prev := rune(-1) // the last single, which a - may turn into a range
	for first := true; ; first = false {
		if i >= len(s) {
			return t, 0
		}
		switch {
		case s[i] == ']' && !first:
			return t, i + 1
		case s[i] == '-' && prev >= 0 && i+1 < len(s) && s[i+1] != ']':
			i++
			if s[i] == '\\' {
				if i++; i >= len(s) {
					return t, 0
				}
			}
			hi, n := p.decode(s[i:])
			t.ranges = append(t.ranges, span{prev, hi})
			i += n
			prev = -1
		case strings.HasPrefix(s[i:], "[:"):
			end := strings.IndexByte(s[i+2:], ']')
			if end < 0 {
				return t, 0
			}
			if end == 0 || s[i+2+end-1] != ':' { // not a class after all: a plain [
				t.ranges = append(t.ranges, span{'[', '['})
				prev = '['
				i++
				break
			}
			r, ok := posix[s[i+2:i+2+end-1]]
			if !ok {
				return t, 0
			}
			t.ranges = append(t.ranges, r...)
			i += 2 + end + 1
			prev = -1
		default:
			if s[i] == '\\' {
				if i++; i >= len(s) {
					return t, 0
				}
			}
			r, n := p.decode(s[i:])
			t.ranges = append(t.ranges, span{r, r})
			prev = r
			i += n
		}
	}
}

var posix = map[string][]span{
	"alnum":  {{'0', '9'}, {'A', 'Z'}, {'a', 'z'}},
	"alpha":  {{'A', 'Z'}, {'a', 'z'}},
	"blank":  {{' ', ' '}, {'\t', '\t'}},
	"cntrl":  {{0, 0x1f}, {0x7f, 0x7f}},
	"digit":  {{'0', '9'}},
	"graph":  {{0x21, 0x7e}},
	"lower":  {{'a', 'z'}},
	"print":  {{0x20, 0x7e}},
	"punct":  {{0x21, 0x2f}, {0x3a, 0x40}, {0x5b, 0x60}, {0x7b, 0x7e}},
	"space":  {{'\t', '\r'}, {' ', ' '}},
	"upper":  {{'A', 'Z'}},
	"xdigit": {{'0', '9'}, {'A', 'F'}, {'a', 'f'}},
}
