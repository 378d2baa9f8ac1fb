// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package glob matches file names against the patterns of gitignore(5): a *
// stays within one directory, a ** spans directories, a pattern with a slash is
// a path below its base and one without a slash is a name at any depth.
//
// Matching is linear in the name for each * of a pattern, never exponential, so
// a hostile .gitignore costs no more than its length.
package glob

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"unicode/utf8"
)

// A Pattern is one compiled pattern. It is immutable and safe for concurrent use.
type Pattern struct {
	tokens  []token
	literal string // the whole pattern when it has no wildcard
	suffix  string // what follows a leading *, when nothing else is special
	name    bool   // no slash: matched against the base name alone
	dir     bool   // a trailing slash: directories only
	bytes   bool   // ? and [ ] take one byte, as git does, not one character
	never   bool   // malformed in a way that git lets match nothing
}

type kind uint8

const (
	char      kind = iota // exactly lo
	one                   // ?: any one but a slash
	class                 // [ ]: one of ranges
	star                  // *: any run without a slash
	tail                  // ** at the end: anything
	dirs                  // **/: zero or more whole directories
	unordered             // ** before an escaped slash: any run
)

type token struct {
	kind   kind
	lo     byte
	not    bool
	ranges []span
}

type span struct{ lo, hi rune }

// Match reports whether p matches name, a slash-separated path relative to the
// pattern's base, which is a directory when isDir is true.
func (p *Pattern) Match(name string, isDir bool) bool {
	if p.never || p.dir && !isDir {
		return false
	}
	if p.name {
		name = name[strings.LastIndexByte(name, '/')+1:]
	}
	switch {
	case p.literal != "":
		return name == p.literal
	case p.suffix != "":
		return strings.HasSuffix(name, p.suffix) && !strings.Contains(name[:len(name)-len(p.suffix)], "/")
	}
	return p.run(name)
}

// run matches s with one point of return for the last * and one for the last **:
// what an earlier one of a kind could still take, the later one can take too.
func (p *Pattern) run(s string) bool {
	i, j := 0, 0
	starTok, starPos := -1, 0
	deepTok, deepPos := -1, 0
	for {
		if j == len(p.tokens) {
			if i == len(s) {
				return true
			}
		} else {
			t := &p.tokens[j]
			switch t.kind {
			case star:
				starTok, starPos = j, i
				j++
				continue
			case tail:
				return true
			case dirs, unordered:
				deepTok, deepPos, starTok = j, i, -1
				j++
				continue
			}
			if n := p.step(t, s[i:]); n > 0 {
				i += n
				j++
				continue
			}
		}
		switch {
		case starTok >= 0 && starPos < len(s) && s[starPos] != '/':
			starPos++
			i, j = starPos, starTok+1
		case deepTok >= 0 && deepPos < len(s):
			if p.tokens[deepTok].kind == dirs {
				n := strings.IndexByte(s[deepPos:], '/')
				if n < 0 {
					return false
				}
				deepPos += n
			}
			deepPos++
			i, j, starTok = deepPos, deepTok+1, -1
		default:
			return false
		}
	}
}

// step returns how many bytes of s the token takes; 0 means no match.
func (p *Pattern) step(t *token, s string) int {
	if s == "" {
		return 0
	}
	if t.kind == char {
		if s[0] == t.lo {
			return 1
		}
		return 0
	}
	if s[0] == '/' {
		return 0
	}
	r, n := p.decode(s)
	if t.kind == one {
		return n
	}
	for _, sp := range t.ranges {
		if sp.lo <= r && r <= sp.hi {
			if t.not {
				return 0
			}
			return n
		}
	}
	if t.not {
		return n
	}
	return 0
}

func (p *Pattern) decode(s string) (rune, int) {
	if p.bytes {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// A List is the globs of one search, as people and models write them.
// A nil List matches nothing.
type List []*Pattern

// maxBraces bounds how many patterns one brace expression may stand for.
const maxBraces = 64

// Parse compiles globs. Beside gitignore's syntax it knows {a,b}, and ? and [ ]
// take a whole character. A leading ./ or / is dropped: both mean the base.
// Errors name the glob and what is wrong with it.
func Parse(globs []string) (List, error) {
	var list List
	for _, g := range globs {
		all, err := braces(g)
		if err != nil {
			return nil, fmt.Errorf("glob %q: %w", g, err)
		}
		for _, s := range all {
			s = strings.TrimPrefix(s, "./")
			p := compile(s, false)
			switch {
			case p.never:
				return nil, fmt.Errorf("glob %q: unclosed [ or a \\ at the end", g)
			case len(p.tokens) == 0 && p.literal == "" && p.suffix == "":
				return nil, fmt.Errorf("glob %q: empty", g)
			}
			list = append(list, p)
		}
	}
	return list, nil
}

// Match reports whether any pattern of l matches name.
func (l List) Match(name string, isDir bool) bool {
	for _, p := range l {
		if p.Match(name, isDir) {
			return true
		}
	}
	return false
}

// MatchDir reports whether a pattern of l that ends in a slash matches the
// directory at name.
func (l List) MatchDir(name string) bool {
	for _, p := range l {
		if p.dir && p.Match(name, true) {
			return true
		}
	}
	return false
}

// braces expands {a,b} in s, also nested; a brace without its other half stands
// for itself, as in a shell.
func braces(s string) ([]string, error) {
	done, todo := []string(nil), []string{s}
	for len(todo) > 0 {
		g := todo[0]
		todo = todo[1:]
		open, parts, after, ok := firstBrace(g)
		if !ok {
			done = append(done, g)
			continue
		}
		for i := range parts {
			parts[i] = g[:open] + parts[i] + after
		}
		todo = append(parts, todo...)
		if len(todo)+len(done) > maxBraces {
			return nil, errors.New("braces stand for more than 64 patterns")
		}
	}
	return done, nil
}

func firstBrace(s string) (open int, parts []string, after string, ok bool) {
	for open = 0; open < len(s); open++ {
		switch s[open] {
		case '\\':
			open++
		case '{':
			if parts, after, ok = alternatives(s[open+1:]); ok {
				return open, parts, after, true
			}
		}
	}
	return 0, nil, "", false
}

// alternatives splits what follows an open brace at the commas of its own level.
func alternatives(s string) (parts []string, after string, ok bool) {
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '{':
			depth++
		case ',':
			if depth == 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		case '}':
			if depth == 0 {
				return append(parts, s[from:i]), s[i+1:], len(parts) > 0
			}
			depth--
		}
	}
	return nil, "", false
}

// Clean returns name as a path relative to the root, "." for the root itself.
// It refuses what cannot be below it.
func Clean(name string) (string, error) {
	if name == "" {
		return ".", nil
	}
	if strings.HasPrefix(name, "/") {
		return "", fmt.Errorf("path %q is absolute: give it relative to the root, %q for the root itself", name, ".")
	}
	clean := path.Clean(name)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", fmt.Errorf("path %q leads out of the root", name)
	}
	return clean, nil
}
