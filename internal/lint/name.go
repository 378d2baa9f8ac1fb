// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"fmt"
	"strings"
)

// A NameRule says what a name is made of: ASCII letters and digits, and the
// characters of Also, at least one and at most Max of them. It is no
// regexp.Regexp, since compiling a repetition of 64 takes each server a tenth
// of its start.
type NameRule struct {
	Also string // with - last, as in a character class
	Max  int
}

// ToolName is what every host takes as the name of a tool.
var ToolName = NameRule{"_-", 64}

// propertyName is what every host takes as the name of an argument.
var propertyName = NameRule{"_.-", 64}

// Matches reports that name keeps the rule.
func (r NameRule) Matches(name string) bool {
	if name == "" || len(name) > r.Max {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte(r.Also, c) >= 0:
		default:
			return false
		}
	}
	return true
}

// String is the rule as a regular expression.
func (r NameRule) String() string { return fmt.Sprintf("^[a-zA-Z0-9%s]{1,%d}$", r.Also, r.Max) }
