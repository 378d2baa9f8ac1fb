// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"os"
	"strconv"
	"strings"
)

// expand is s with its %-tokens replaced, "%%" being a percent sign, and, where
// variables is set, each ${NAME} by the variable's value. What was put in is not
// looked at again.
func expand(l configLine, s string, tokens map[byte]string, variables bool) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '%':
			i++
			if i == len(s) {
				return "", l.at("%s ends in a single %%; write %%%%", quoted(s))
			}
			value, ok := tokens[s[i]]
			if s[i] == '%' {
				value, ok = "%", true
			}
			if !ok {
				return "", l.at("the token %s is not supported here", quoted(s[i-1:i+1]))
			}
			b.WriteString(value)
		case variables && strings.HasPrefix(s[i:], "${"):
			name, _, found := strings.Cut(s[i+2:], "}")
			if !found || name == "" {
				return "", l.at("%s has a ${ without a name and a }", quoted(s))
			}
			value, ok := os.LookupEnv(name)
			if !ok {
				return "", l.at("the variable %s is not set", quoted(name))
			}
			b.WriteString(value)
			i += len(name) + 2
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String(), nil
}

// tokens are the values of the %-tokens for files.
func (u *lookup) tokens(name, port string) map[byte]string {
	home, _ := homeDir()
	local, _ := os.Hostname()
	short, _, _ := strings.Cut(local, ".")
	alias := u.alias
	if l, ok := u.set["hostkeyalias"]; ok {
		alias = l.args[0]
	}
	return map[byte]string{
		'd': home, 'h': name, 'i': strconv.Itoa(os.Getuid()), 'k': alias, 'L': short, 'l': local,
		'n': u.alias, 'p': port, 'r': u.user(), 'u': u.local,
	}
}

// file is a path with everything in it replaced.
func (u *lookup) file(l configLine, path string, tokens map[byte]string) (string, error) {
	path, err := expandHome(path)
	if err != nil {
		return "", l.at("%v", err)
	}
	return expand(l, path, tokens, true)
}
