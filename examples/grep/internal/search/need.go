// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package search

import (
	"bytes"
	"regexp/syntax"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A need is a text that a match must contain. Looking for it is many times
// faster than running the regular expression, which then sees few lines.
type need struct {
	text string
	fold bool // ASCII letters of text are lower case and stand for both cases
	rare int  // the index of the byte of text that is rarest in prose and code
}

// maxNeeds bounds how many texts are looked for at once.
const maxNeeds = 8

// required returns texts of which every match of re holds at least one, or nil
// when nothing is known. Of the parts of a concatenation the one whose shortest
// text is longest wins.
func required(re *syntax.Regexp) []need {
	switch re.Op {
	case syntax.OpLiteral:
		return literal(re.Rune, re.Flags&syntax.FoldCase != 0)
	case syntax.OpCapture, syntax.OpPlus:
		return required(re.Sub[0])
	case syntax.OpRepeat:
		if re.Min > 0 {
			return required(re.Sub[0])
		}
	case syntax.OpConcat:
		var best []need
		for _, sub := range re.Sub {
			if n := required(sub); shortest(n) > shortest(best) {
				best = n
			}
		}
		return best
	case syntax.OpAlternate:
		var all []need
		for _, sub := range re.Sub {
			n := required(sub)
			if n == nil || len(all)+len(n) > maxNeeds {
				return nil
			}
			all = append(all, n...)
		}
		return all
	}
	return nil
}

func shortest(ns []need) int {
	if len(ns) == 0 {
		return 0
	}
	n := len(ns[0].text)
	for _, nd := range ns[1:] {
		n = min(n, len(nd.text))
	}
	return n
}

// literal turns the runes of one literal into a need. With folding only the
// longest run of bytes is kept whose case variants are ASCII: k and s are not
// among them (U+212A folds to k, U+017F to s), nor is any non-ASCII letter.
// U+FFFD ends a run too, since the regexp package lets it match any bad byte.
func literal(rs []rune, fold bool) []need {
	best, run := "", strings.Builder{}
	flush := func() {
		if run.Len() > len(best) {
			best = run.String()
		}
		run.Reset()
	}
	for _, r := range rs {
		switch {
		case r == utf8.RuneError, fold && (r >= utf8.RuneSelf || strings.ContainsRune("kKsS", r)):
			flush()
		case fold:
			run.WriteRune(unicode.ToLower(r))
		default:
			run.WriteRune(r)
		}
	}
	flush()
	if best == "" {
		return nil
	}
	n := need{text: best, fold: fold}
	for i := range len(best) {
		if rank(best[i]) > rank(best[n.rare]) {
			n.rare = i
		}
	}
	return []need{n}
}

// common lists bytes from the most to the less frequent ones in source text.
const common = " etaoinsrlcdpumfhgb.(),\"vyw_=kx*zj0123456789q"

func rank(c byte) int {
	if i := strings.IndexByte(common, c); i >= 0 {
		return i
	}
	return len(common)
}

// A finder walks through the places where a need stands in a block of text.
type finder struct {
	needs []need
	block []byte
	next  []int // for each need, its first place at or after the last question
}

func newFinder(p *Pattern) finder {
	return finder{needs: p.needs, next: make([]int, len(p.needs))}
}

// reset starts on another block.
func (f *finder) reset(block []byte) {
	f.block = block
	for i := range f.next {
		f.next[i] = -1
	}
}

// at returns the first place at or after from where a need begins, len(block)
// when there is none. The questions about one block must not go backwards.
func (f *finder) at(from int) int {
	first := len(f.block)
	for i := range f.needs {
		if f.next[i] < from {
			f.next[i] = f.index(&f.needs[i], from)
		}
		first = min(first, f.next[i])
	}
	return first
}

func (f *finder) index(n *need, from int) int {
	if i := n.index(f.block[from:]); i >= 0 {
		return from + i
	}
	return len(f.block)
}

// index returns the first place of n in b, -1 when there is none. It looks for the
// rarest byte and compares around it, which with prose and code is several times
// as fast as bytes.Index, and also finds both cases.
func (n *need) index(b []byte) int {
	lower := n.text[n.rare]
	upper := lower
	if n.fold && 'a' <= lower && lower <= 'z' {
		upper -= 'a' - 'A'
	}
	nextLower, nextUpper := -1, -1
	for from := n.rare; from < len(b); from++ {
		nextLower = after(b, lower, from, nextLower)
		if upper == lower {
			nextUpper = nextLower
		} else {
			nextUpper = after(b, upper, from, nextUpper)
		}
		from = min(nextLower, nextUpper)
		start := from - n.rare
		if start+len(n.text) > len(b) {
			return -1
		}
		if n.at(b[start : start+len(n.text)]) {
			return start
		}
	}
	return -1
}

// at reports whether b, which is as long as n, is n.
func (n *need) at(b []byte) bool {
	if !n.fold {
		return string(b) == n.text
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != n.text[i] {
			return false
		}
	}
	return true
}

// after returns the first place of c in b at or after from, len(b) when there is
// none; known is an earlier answer that is still right if it is not before from.
func after(b []byte, c byte, from, known int) int {
	if known >= from {
		return known
	}
	if i := bytes.IndexByte(b[from:], c); i >= 0 {
		return from + i
	}
	return len(b)
}
