// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"
	"strings"
	"testing"
)

// The rules do what the regular expressions do that they are printed as.
func FuzzNameRule(f *testing.F) {
	rules := []NameRule{ToolName, propertyName, {"_./-", 128}}
	patterns := make([]*regexp.Regexp, len(rules))
	for i, r := range rules {
		patterns[i] = regexp.MustCompile(r.String())
	}
	for _, name := range []string{"", "a", "read_file", "Z9-", "a.b", "a/b", "a b", "a\n", "ä", "\xff", "a\x00", "`", "{", "@", "[", "^", ":",
		strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 128), strings.Repeat("x", 129)} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for i, r := range rules {
			if got, want := r.Matches(name), patterns[i].MatchString(name); got != want {
				t.Errorf("%s: Matches(%q) = %t, want %t", r, name, got, want)
			}
		}
	})
}
