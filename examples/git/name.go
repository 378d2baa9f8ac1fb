// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// quote is how a name is shown: as it is, or as git quotes it, in double quotes
// with \n, \", \\ and octal bytes, where it has quotes, backslashes, what is not
// printable or what is not UTF-8. No two names are shown alike, and unquote gives
// the name back.
func quote(name string) string {
	if plain(name) {
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(name[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\r':
			b.WriteString(`\r`)
		case printable(r):
			b.WriteString(name[i : i+n])
		default:
			for _, c := range []byte(name[i : i+n]) {
				fmt.Fprintf(&b, `\%03o`, c)
			}
		}
		i += n
	}
	b.WriteByte('"')
	return b.String()
}

// inLine is a shown name as it stands in a line of the text form: in quotes too
// where it could be taken for a name and what stands behind it there, such as
// "a (executable)" or "a -> b".
func inLine(shown string) string {
	if !strings.HasPrefix(shown, `"`) && besideNames.MatchString(shown) {
		return `"` + shown + `"`
	}
	return shown
}

var besideNames = regexp.MustCompile(` -> | \(| \| | @@|: |:$|[:-]\d+[:-]`)

func plain(name string) bool {
	for i := 0; i < len(name); {
		r, n := utf8.DecodeRuneInString(name[i:])
		if r == '"' || r == '\\' || !printable(r) {
			return false
		}
		i += n
	}
	return true
}

// printable tells whether r can be shown and read back. U+FFFD could
// not be told from what a host puts in place of bytes that are not UTF-8.
func printable(r rune) bool {
	return r != utf8.RuneError && unicode.IsPrint(r)
}

// escapes are those of C, as git uses them.
var escapes = map[byte]byte{'a': '\a', 'b': '\b', 't': '\t', 'n': '\n', 'v': '\v', 'f': '\f', 'r': '\r', '"': '"', '\\': '\\'}

// unquote is the name that s shows. A name that is not in quotes is itself.
func unquote(s string) (string, error) {
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return s, nil
	}
	var b strings.Builder
	for in := s[1 : len(s)-1]; in != ""; {
		c := in[0]
		in = in[1:]
		switch {
		case c == '"':
			return "", badQuotes(s)
		case c != '\\':
			b.WriteByte(c)
		case in == "":
			return "", badQuotes(s)
		case escapes[in[0]] != 0:
			b.WriteByte(escapes[in[0]])
			in = in[1:]
		case len(in) >= 3 && in[0] >= '0' && in[0] <= '3' && octal(in[1]) && octal(in[2]):
			b.WriteByte((in[0]-'0')<<6 | (in[1]-'0')<<3 | (in[2] - '0'))
			in = in[3:]
		default:
			return "", badQuotes(s)
		}
	}
	return b.String(), nil
}

func octal(c byte) bool { return c >= '0' && c <= '7' }

func badQuotes(s string) error {
	return fmt.Errorf(`%q is in double quotes, but not as git quotes names (\", \\, \n, \t, \351 for other bytes); a plain name needs no quotes`, s)
}

// cleanPath is the path that a model gave, relative to the top of the
// repository, "" for the top itself.
func cleanPath(s string) (string, error) {
	p, err := unquote(s)
	if err != nil {
		return "", err
	}
	switch {
	case strings.IndexByte(p, 0) >= 0:
		return "", errors.New("a path has no NUL")
	case p == "":
		return "", errors.New(`a path is empty; "." is the whole repository`)
	case path.IsAbs(p):
		return "", fmt.Errorf("path %s: paths are relative to the top of the repository, such as %q", quote(p), "src/main.go")
	}
	p = path.Clean(p)
	switch {
	case p == ".":
		return "", nil
	case p == ".." || strings.HasPrefix(p, "../"):
		return "", fmt.Errorf("path %s is outside of the repository; paths are relative to its top", quote(s))
	}
	return p, nil
}

// pathspecs are the arguments behind "--" for paths and one glob pattern below
// them. Each begins with magic of ours, so that what follows is taken as it is:
// it is no option, no magic and, in a path, no pattern.
func pathspecs(paths []string, glob string) ([]string, error) {
	var clean []string
	total := 0
	for _, p := range paths {
		c, err := cleanPath(p)
		if err != nil {
			return nil, err
		}
		if total += len(c); total > maxPathBytes {
			return nil, fmt.Errorf("paths: have more than %d bytes together; give fewer", maxPathBytes)
		}
		clean = append(clean, c)
	}
	if glob == "" {
		var specs []string
		for _, p := range clean {
			specs = append(specs, ":(top,literal)"+p)
		}
		return specs, nil
	}
	switch {
	case strings.IndexByte(glob, 0) >= 0:
		return nil, errors.New("glob: a pattern has no NUL")
	case strings.HasPrefix(glob, "/"):
		return nil, errors.New(`glob: patterns are relative to the top of the repository, such as "src/**/*.go"`)
	}
	if err := checkText("glob", glob, true); err != nil {
		return nil, err
	}
	if _, err := matcher(glob); err != nil {
		return nil, err
	}
	if !strings.Contains(glob, "/") {
		glob = "**/" + glob // as .gitignore has it: a name at any depth
	}
	if len(clean) == 0 {
		return []string{":(top,glob)" + glob}, nil
	}
	var specs []string
	for _, p := range clean {
		if p != "" {
			p = globEscape.Replace(p) + "/"
		}
		specs = append(specs, ":(top,glob)"+p+glob)
	}
	return specs, nil
}

var globEscape = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)
