// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// marks are the words by which a result says that it is not all, where they
// stand beside the data.
var marks = []string{
	"truncat", "omitted", "left out", "cut off", "cursor", "more ", "limit", "too large", "too long", "too big", "exceed", "shortened", "remaining",
	"clipped", "elided", "abridged", "not shown", "full output", "full result",
	"截断", "省略", "更多", "超过", "过大", "限制",
}

// gapMarks are those that also count in the middle of a text, see gap.
var gapMarks = []string{"truncat", "omitted", "left out", "cut off", "shortened", "clipped", "elided", "abridged", "not shown", "skipped", "more ", "截断", "省略"}

// markNames are parts of the names by which a member says that the result is
// not all, in small letters, without what stands between the words.
var markNames = []string{
	"truncat", "omitted", "omission", "leftout", "cutoff", "nextcursor", "nextpage", "nexttoken", "nextoffset", "hasmore", "hasnext", "moreavailable",
	"moreresults", "remaining", "clipped", "elided", "shortened", "incomplete", "notshown",
}

// sent is the letter of which the texts are that the gate sends.
const sent = 'x'

// leastRun is how many of them in a row are taken for what was sent.
const leastRun = 32

// survey is what stands in a result, whatever its form.
type survey struct {
	field  int64  // bytes of the longest text, as decoded
	run    int64  // the most in a row of what was sent
	marked bool   // a member says that it is not all, or it links to the rest
	around string // all that is not the text itself: to compare two results
}

// surveyOf reads v. Names of members do not count as texts.
func surveyOf(v jsontext.Value) (out survey) {
	var around strings.Builder
	var total, longestList float64
	links := 0
	name := ""
	dec := jsontext.NewDecoder(strings.NewReader(string(v)), lenient...)
	for {
		in, n := dec.StackIndex(dec.StackDepth())
		kind := dec.PeekKind()
		if kind == ']' && dec.StackDepth() > 2 { // not that of the content blocks
			longestList = max(longestList, float64(n))
		}
		if kind == '"' || kind == '0' || kind == 't' || kind == 'f' || kind == 'n' {
			v, err := dec.ReadValue()
			if err != nil {
				break
			}
			if in == '{' && n%2 == 0 {
				name = plainName(textOf(v))
				around.WriteString("\n" + name)
				continue
			}
			says := true // what the member is named for
			switch kind {
			case '"':
				text := textOf(v)
				rest, run := withoutSent(text)
				out.field, out.run = max(out.field, int64(len(text))), max(out.run, run)
				if len(rest) <= 4<<10 {
					around.WriteString(" " + rest)
				}
				if name == "type" && text == "resource_link" {
					links++
				}
				says = text != "" && text != "false" && text != "0"
			case '0':
				f, err := strconv.ParseFloat(string(v), 64)
				says = err == nil && f > 0
				if strings.HasPrefix(name, "total") || strings.HasSuffix(name, "total") {
					total = max(total, f)
				}
			case 'f':
				around.WriteString(" false")
				says = false
				out.marked = out.marked || name == "complete" || name == "iscomplete"
			case 't':
				around.WriteString(" true")
			case 'n':
				says = false
			}
			out.marked = out.marked || says && isMarkName(name)
			if in == '{' {
				name = ""
			}
			continue
		}
		if _, err := dec.ReadToken(); err != nil {
			break
		}
		if kind == '{' || kind == '[' {
			next := dec.PeekKind()
			out.marked = out.marked || isMarkName(name) && next != '}' && next != ']'
			name = ""
		}
	}
	switch {
	case links == 1: // several may be the result itself
		out.marked = true
	case total > float64(max(out.field, 1)), longestList >= 10 && total > longestList:
		out.marked = true
	}
	out.around = around.String()
	return out
}

func isMarkName(name string) bool {
	for _, m := range markNames {
		if name != "" && strings.Contains(name, m) {
			return true
		}
	}
	return name == "more"
}

// plainName is a name in small letters, without what stands between the words.
func plainName(s string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-. /:", r) {
			return -1
		}
		return r
	}, strings.ToLower(s))
}

// withoutSent is a text without what the gate sent, without white space and
// with each number as 0; run is the most in a row of what was sent.
func withoutSent(text string) (rest string, run int64) {
	var b strings.Builder
	digit := false
	for i := 0; i < len(text); {
		c := text[i]
		if c == sent {
			n := len(text[i:]) - len(strings.TrimLeft(text[i:], string(sent)))
			run = max(run, int64(n))
			if n < leastRun {
				b.WriteString(text[i : i+n])
			}
			i += n
			digit = false
			continue
		}
		isDigit := '0' <= c && c <= '9'
		switch {
		case isDigit && !digit:
			b.WriteByte('0')
		case isDigit, c == ' ', c == '\n', c == '\r', c == '\t':
		case (c == ',' || c == '.') && digit && i+1 < len(text) && '0' <= text[i+1] && text[i+1] <= '9': // of the number
			i++
			continue
		default:
			b.WriteByte(c)
		}
		digit = isDigit
		i++
	}
	return b.String(), run
}

// saysCut reports whether a text says that it is not all: at its start or
// end, or in a gap in the middle.
func saysCut(text string) bool {
	lower := strings.ToLower(text)
	edge := lower[:min(len(lower), 2<<10)] + " " + lower[max(0, len(lower)-2<<10):]
	for _, w := range marks {
		if strings.Contains(edge, w) {
			return true
		}
	}
	for _, w := range gapMarks {
		for from, tries := 0, 0; tries < 1000; tries++ {
			i := strings.Index(lower[from:], w)
			if i < 0 {
				break
			}
			from += i + len(w)
			if gap(lower, from-len(w)) {
				return true
			}
		}
	}
	return false
}

// gap reports whether the word at i stands in what marks a gap: beside dots or
// in brackets, with a number, between two parts of the data; or between runs
// of what was sent.
func gap(text string, i int) bool {
	from, to := max(0, i-160), min(len(text), i+160)
	before, after := text[from:i], text[i:to]
	run := strings.Repeat(string(sent), leastRun)
	if strings.Contains(before, run) || strings.Contains(after, run) {
		return true
	}
	before = before[strings.LastIndexByte(before, '\n')+1:]
	after, _, _ = strings.Cut(after, "\n")
	if !strings.ContainsAny(before+after, "0123456789") {
		return false
	}
	dots := func(s string) bool { return strings.Contains(s, "...") || strings.Contains(s, "…") }
	open := strings.ContainsAny(before, "[<") && strings.ContainsAny(after, "]>")
	return dots(before) || open
}

// addsTo reports whether text has something that is not in whole, of which it
// is a part: then it is not merely cut.
func addsTo(text, whole string) bool {
	if strings.HasPrefix(whole, text) || strings.HasSuffix(whole, text) {
		return false
	}
	n := 0
	for n < min(len(text), len(whole)) && text[n] == whole[n] {
		n++
	}
	// What is left must be the end of the whole, else there is something between.
	return !strings.HasSuffix(whole, text[n:])
}
