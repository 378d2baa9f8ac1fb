// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// report is text for a person about tools: a paragraph for each tool, with a
// line for each thing said of it, and what that means below.
type report struct {
	b    strings.Builder
	tool string
	any  bool
}

// verdictWidth is the column of the places.
const verdictWidth = len("breaks callers") + 2

// add adds a thing. Things of one tool come one after the other; "" is the list
// as a whole.
func (r *report) add(tool, verdict, place, text, note string) {
	if !r.any || tool != r.tool {
		if r.any {
			r.b.WriteByte('\n')
		}
		heading := tool
		if tool == "" {
			heading = "the list as a whole"
		}
		fmt.Fprintln(&r.b, oneLine(heading, 0))
		r.tool, r.any = tool, true
	}
	noun, _, _ := strings.Cut(place, " ")
	text = strings.TrimPrefix(text, noun+" ") // "argument q: removed"
	if place != "" {
		text = place + ": " + text
	}
	fmt.Fprintf(&r.b, "  %-*s%s\n", verdictWidth, verdict, oneLine(text, 0))
	if note != "" {
		fmt.Fprintf(&r.b, "  %-*s%s\n", verdictWidth, "", oneLine(note, 0))
	}
}

// String is the text, which ends in an empty line unless it is empty.
func (r *report) String() string {
	if !r.any {
		return ""
	}
	return r.b.String() + "\n"
}

// printJSON prints one value, laid out for people too.
func (s *schema) printJSON(v any) error {
	text, err := json.Marshal(v, jsontext.WithIndent("  "), jsontext.EscapeForJS(true))
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(s.env.stdout, "%s\n", text)
	return err
}
