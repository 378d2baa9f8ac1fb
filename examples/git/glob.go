// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// matcher makes a function of a glob pattern that matches paths as git's :(glob)
// does, for the commands that do not know it. An empty pattern gives nil.
func matcher(glob string) (func(string) bool, error) {
	if glob == "" {
		return nil, nil
	}
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob
	}
	var b strings.Builder
	b.WriteString(`(?s)^`)
	for i := 0; i < len(glob); i++ {
		rest := glob[i:]
		switch {
		case strings.HasPrefix(rest, "**/") && (i == 0 || glob[i-1] == '/'):
			b.WriteString(`(?:.*/)?`)
			i += 2
		case rest == "**" && i > 0 && glob[i-1] == '/':
			b.WriteString(`.*`)
			i++
		case rest[0] == '*':
			b.WriteString(`[^/]*`)
		case rest[0] == '?':
			b.WriteString(`[^/]`)
		case rest[0] == '[':
			end := strings.IndexByte(rest[min(2, len(rest)):], ']')
			if end < 0 {
				return nil, fmt.Errorf("glob: %q has a [ without its ]", glob)
			}
			set := rest[1 : end+2]
			b.WriteByte('[')
			if set[0] == '!' || set[0] == '^' {
				b.WriteString(`^/`)
				set = set[1:]
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, "[", `\[`, "]", `\]`).Replace(set) + "]")
			i += end + 2
		case rest[0] == '\\' && len(rest) > 1:
			i++
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		default:
			b.WriteString(regexp.QuoteMeta(rest[:1]))
		}
	}
	re, err := regexp.Compile(b.String() + `$`)
	if err != nil {
		return nil, fmt.Errorf("glob: %q is no pattern", glob)
	}
	return re.MatchString, nil
}
