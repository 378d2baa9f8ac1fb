// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// rest is a last pattern that stands for any number of arguments.
const rest = "..."

// A command is an entry of the allow-list.
type command struct {
	argv        []string
	destructive bool
}

// checkArgv says what is wrong with the patterns of a command.
func checkArgv(argv []string) string {
	switch {
	case len(argv) == 0 || argv[0] == "":
		return "is empty: it has the program first"
	case wild(argv[0]):
		return "the program is named, without * and ?"
	}
	for i, p := range argv {
		if strings.IndexByte(p, 0) >= 0 {
			return "has a NUL"
		}
		if p == rest && (i == 0 || i < len(argv)-1) {
			return `"..." stands for the last arguments`
		}
		if strings.HasSuffix(p, rest) && p != rest && !strings.HasSuffix(p, `\`+rest) {
			return fmt.Sprintf(`%q: "..." stands alone, for the last arguments; text that ends in dots is written with a backslash before them`, p)
		}
	}
	return ""
}

// wild tells whether a pattern stands for more than one text.
func wild(pattern string) bool {
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '*', '?':
			return true
		}
	}
	return pattern == rest
}

// matches tells whether the entry allows a command.
func (c *command) matches(program string, args []string) bool {
	if unescaped(c.argv[0]) != program {
		return false
	}
	patterns := c.argv[1:]
	for i, p := range patterns {
		if p == rest {
			return !slices.ContainsFunc(args[min(i, len(args)):], func(a string) bool { return !harmless(rest, a) })
		}
		if i >= len(args) || !matchArgument(p, args[i]) {
			return false
		}
	}
	return len(args) == len(patterns)
}

// matchArgument matches one argument.
func matchArgument(pattern, arg string) bool {
	return match(pattern, arg) && (!wild(pattern) || harmless(pattern, arg))
}

// parent finds a part ".." where a program may look for a path.
var parent = regexp.MustCompile(`(^|[/=:,])\.\.($|[/:,])`)

// harmless tells whether an argument that a wildcard matched may stand there: it
// is no option unless the pattern is one, and does not climb out of a directory
// that the pattern names.
func harmless(pattern, arg string) bool {
	if strings.HasPrefix(arg, "-") && !strings.HasPrefix(pattern, "-") {
		return false
	}
	return !parent.MatchString(arg) && strings.IndexByte(arg, 0) < 0
}

// match matches s as a whole: * is any text, ? any one byte of it, and \ takes
// the meaning from what follows.
func match(pattern, s string) bool {
	star, mark := -1, 0
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, i
			p++
			continue
		case p < len(pattern) && pattern[p] == '?':
			p, i = p+1, i+1
			continue
		case p+1 < len(pattern) && pattern[p] == '\\' && pattern[p+1] == s[i]:
			p, i = p+2, i+1
			continue
		case p < len(pattern) && pattern[p] != '\\' && pattern[p] == s[i]:
			p, i = p+1, i+1
			continue
		}
		if star < 0 {
			return false
		}
		mark++
		p, i = star+1, mark
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// unescaped is the text of a pattern without wildcards.
func unescaped(pattern string) string {
	var b strings.Builder
	for i := 0; i < len(pattern); i++ {
		if pattern[i] == '\\' && i+1 < len(pattern) {
			i++
		}
		b.WriteByte(pattern[i])
	}
	return b.String()
}

// shown is the command as a text quotes it, at most some 200 bytes of it.
func (c *command) shown() string {
	words, quoted := make([]string, len(c.argv)), false
	for i, a := range c.argv {
		words[i] = a
		if q := quote(a); a == "" || strings.Contains(a, " ") || q != `"`+a+`"` {
			words[i], quoted = q, true
		}
	}
	text := strings.Join(words, " ")
	if !quoted {
		return quote(text)
	}
	const most = 250
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// String is the entry as a model reads it.
func (c *command) String() string {
	words := make([]string, len(c.argv))
	for i, a := range c.argv {
		words[i] = a
		if a == "" || strings.ContainsAny(a, " \t\r\n\"'") {
			words[i] = quote(a)
		}
	}
	return strings.Join(words, " ")
}
