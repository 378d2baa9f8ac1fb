// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package search finds the lines of one file that match a pattern, in memory
// that does not depend on the file or on its longest line.
//
// A line ends at LF or CRLF, which are not part of it. Lines are matched one at
// a time, as grep does, and each that matches is one [Match], however often.
package search

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"
)

// MaxContext is the most lines of context that a Pattern may be asked for.
const MaxContext = 20

// A Pattern is compiled once and may be used by several goroutines at once.
type Pattern struct {
	re      *regexp.Regexp
	needs   []need // every match holds one of them; none means nothing is known
	whole   bool   // needs[0] is the whole pattern: where it stands, it matches
	context int
	maxLine int64
}

// Options say how a pattern is read. The zero Options are a case-sensitive
// regular expression without context.
type Options struct {
	// Literal takes the pattern as plain text instead of a regular expression.
	Literal bool

	// IgnoreCase folds case by Unicode's simple rules.
	IgnoreCase bool

	// Context is how many lines around a match its excerpt holds, at most
	// MaxContext on each side. Zero means none.
	Context int

	// MaxLine is the most bytes of a line that an excerpt holds whole. Of a
	// longer one it holds a little less, from around the match, and says how
	// many bytes were cut on each side. Zero means DefaultMaxLine; at least 128
	// and at most 64 KiB are used.
	MaxLine int
}

// errBreak is the error of a pattern that can never match.
var errBreak = errors.New("it needs a line break, but lines are matched one at a time: search for a part that stands on one line")

// Compile reads expr as RE2 syntax (https://golang.org/s/re2syntax). Its errors
// are written for a model: they name the fault and the way out.
func Compile(expr string, o Options) (*Pattern, error) {
	if !utf8.ValidString(expr) {
		return nil, errors.New("pattern: not UTF-8")
	}
	if o.Literal {
		expr = regexp.QuoteMeta(expr)
	}
	if o.IgnoreCase {
		expr = "(?i)" + expr
	}
	re, err := regexp.Compile(expr)
	if err != nil {
		var se *syntax.Error
		if errors.As(err, &se) {
			return nil, fmt.Errorf("pattern: %s: `%s` (the syntax is RE2, without look-around and back-references; set literal to search for plain text)", se.Code, se.Expr)
		}
		return nil, fmt.Errorf("pattern: %w", err)
	}
	p := &Pattern{
		re:      re,
		context: min(max(o.Context, 0), MaxContext),
		maxLine: int64(min(max(cmp.Or(o.MaxLine, DefaultMaxLine), 2*lead), 64<<10)),
	}
	tree, err := syntax.Parse(expr, syntax.Perl)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	p.needs = required(tree)
	for _, n := range p.needs {
		if strings.Contains(n.text, "\n") {
			return nil, fmt.Errorf("pattern: %w", errBreak)
		}
	}
	lit, complete := re.LiteralPrefix()
	p.whole = complete && len(p.needs) == 1 && p.needs[0].text == lit && !p.needs[0].fold
	return p, nil
}

// longest is the length of the longest text of p.needs.
func (p *Pattern) longest() int {
	n := 0
	for _, nd := range p.needs {
		n = max(n, len(nd.text))
	}
	return n
}
