// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// longestProblem keeps room for GrepSummary.Problem.
var longestProblem = strings.Repeat("x", maxProblem)

// line is a match in the text form, as grep -n prints it. With context the
// excerpt has its own numbers and begins on the next line.
func line(m Match) string {
	at := m.Path + ":" + strconv.Itoa(m.Line) + ":" + strconv.Itoa(m.Column) + ":"
	if strings.Contains(m.Excerpt, "\n") {
		return at + "\n" + m.Excerpt
	}
	return at + m.Excerpt
}

// shrink shortens the excerpt of a match that would not fit a page of its own.
func shrink(m Match, max int) (Match, bool) {
	const members = 100 // the names of the members, their numbers, and the mark
	room := max - members - len(m.Path)
	if room < 0 {
		return m, false
	}
	n := cutAt(m.Excerpt, room)
	if n < len(m.Excerpt) {
		m.Excerpt = fmt.Sprintf("%s[%d bytes cut]", m.Excerpt[:n], len(m.Excerpt)-n)
	}
	return m, true
}
