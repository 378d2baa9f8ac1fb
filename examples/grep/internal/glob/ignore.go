// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package glob

import "strings"

// An Ignore is the rules of one .gitignore file.
type Ignore struct {
	rules []rule
}

type rule struct {
	pattern *Pattern
	keep    bool // the line began with !
}

// ParseIgnore reads the text of a .gitignore file by git's rules: a byte-order
// mark and the CR of CRLF are dropped, # starts a comment, trailing blanks count
// only when escaped. A malformed line matches nothing, as in git.
func ParseIgnore(text []byte) *Ignore {
	s := strings.TrimPrefix(string(text), "\ufeff")
	ig := &Ignore{}
	for s != "" {
		line, rest, _ := strings.Cut(s, "\n")
		s = rest
		if strings.HasPrefix(line, "#") {
			continue
		}
		line = trimBlanks(strings.TrimSuffix(line, "\r"))
		if line == "" {
			continue
		}
		var r rule
		if line[0] == '!' {
			r.keep = true
			line = line[1:]
		}
		if r.pattern = compile(line, true); !r.pattern.never {
			ig.rules = append(ig.rules, r)
		}
	}
	return ig
}

// trimBlanks drops trailing spaces that no backslash protects.
func trimBlanks(s string) string {
	end := len(s)
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case ' ':
			if end == len(s) {
				end = i
			}
			continue
		case '\\':
			if i++; i == len(s) {
				return s
			}
		}
		end = len(s)
	}
	return s[:end]
}

// Decide returns what the file says about name, a path relative to the file's
// directory: ignored or kept by its last rule that matches. known is false when
// none does, and then the .gitignore one directory up decides.
// The caller asks about each directory first and does not enter an ignored one.
func (ig *Ignore) Decide(name string, isDir bool) (ignored, known bool) {
	for i := len(ig.rules) - 1; i >= 0; i-- {
		if ig.rules[i].pattern.Match(name, isDir) {
			return !ig.rules[i].keep, true
		}
	}
	return false, false
}
