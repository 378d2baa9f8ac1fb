// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// quote makes s one word of a POSIX shell, which sees nothing in it but text.
func quote(s string) string {
	if s != "" && strings.Trim(s, plainBytes) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// plainBytes need no quotes in any shell. A word that consists of them alone
// may still be a keyword, which is why a program is always quoted.
const plainBytes = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./:,@+-"

// maxLine is the longest line: Linux takes no longer argument, and the line is
// one of the login shell.
const maxLine = 128<<10 - 1

// A shellKind is what the login shell of the account turned out to be.
type shellKind int32

const (
	unknownShell    shellKind = iota // nothing has been run yet, or not by a shell
	posixShell                       // it runs the line itself
	restrictedShell                  // it does, without exec, redirection to files and cd
	otherShell                       // sh runs the line for it
)

// kinds are the letters by which the wrapper tells.
var kinds = map[string]shellKind{"p": posixShell, "r": restrictedShell, "s": otherShell}

// idName is the variable that marks the processes of a call, for those that
// look for them.
const idName = "WEIR_ID"

// markName begins the line by which the wrapper tells what it does.
const markName = "weir:"

// newID names a call among all that may run on a machine.
func newID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// A line is what a command is made of before it is written for a shell.
type line struct {
	id    string
	dir   string
	env   []string // "key=value", to be set in the line
	keep  []string // names that are set already and stay, with clean
	clean bool
	null  bool // it reads the null device, whatever its input is
	path  string
	args  []string
}

// command is the program and its arguments, quoted.
func (l *line) command() string {
	var b strings.Builder
	b.WriteString(quoteAlways(l.path))
	for _, a := range l.args {
		b.WriteByte(' ')
		b.WriteString(quote(a))
	}
	return b.String()
}

// quoteAlways is quote, also where it is not needed: a keyword or an alias is a
// program then.
func quoteAlways(s string) string {
	if q := quote(s); q[0] == '\'' {
		return q
	}
	return "'" + s + "'"
}

// kept are the variables that remain with exec.Cmd.CleanEnv.
var kept = []string{"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"}

// wrapped is the line for a shell of the kind. It tells on standard error, in a
// line of its own that the reader takes out again, under which process id it
// runs (which is the id of its group and session too, since sshd makes those),
// or why it does not; then the program takes its place.
func (l *line) wrapped(kind shellKind) string {
	switch kind {
	case posixShell:
		return l.script(kind, "p")
	case restrictedShell:
		return l.script(kind, "r")
	case otherShell:
		return inSh(l.script(kind, "s"))
	}
	// Not known yet: what follows has the same words in every shell. Those that
	// are no POSIX shells, and zsh, know a variable named status.
	all := `test -z "$status" && eval '` + decode(l.script(kind, "p")) + "' || " + inSh(l.script(posixShell, "s"))
	if len(all) > maxLine {
		return l.script(posixShell, "p")
	}
	return all
}

// inSh has sh run a script, in a line for any shell.
func inSh(script string) string { return "exec sh -c '" + decode(script) + "'" }

// decode is a line for a POSIX shell that runs a script, and holds nothing that
// any shell would take for something else inside single quotes.
func decode(script string) string {
	const plain = plainBytes + " =;"
	var b strings.Builder
	b.WriteString(`eval "$(printf %b "`)
	for i := range len(script) {
		if c := script[i]; strings.IndexByte(plain, c) >= 0 {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, `\0%03o`, c)
		}
	}
	b.WriteString(`")"`)
	return b.String()
}

// script is the wrapper for a POSIX shell, which tells its kind by letter.
func (l *line) script(kind shellKind, letter string) string {
	var b strings.Builder
	mark := func(what string) { b.WriteString("echo " + markName + l.id + ":" + what + " >&2;") }
	b.WriteString("export " + idName + "=" + l.id + ";")
	for _, kv := range l.env {
		key, value, _ := strings.Cut(kv, "=")
		b.WriteString("export " + key + "=" + quote(value) + ";")
	}
	if l.dir != "" {
		dir := l.dir
		if dir[0] != '/' {
			dir = "./" + dir
		}
		b.WriteString("cd " + quote(dir) + "||{ ")
		mark("d")
		b.WriteString("exit 126;};")
	}
	command := l.command()
	if l.clean {
		command = l.cleaned() + command
	}
	if l.null {
		command += " </dev/null"
	}
	run := "exec " + command
	switch {
	case !l.clean && (l.path == "true" || l.path == "false"):
		// Every shell has them built in, and a process for them would take
		// longer than all the rest.
		mark("$$:" + letter)
		b.WriteString(l.path)
		return b.String()
	case kind == restrictedShell:
		mark("$$:" + letter)
		b.WriteString(command)
		return b.String()
	case kind == unknownShell:
		b.WriteString("set -- " + command + ";case $- in *r*) ")
		mark("$$:r")
		b.WriteString(`"$@";exit;;esac;`)
		run = `exec "$@"`
	}
	b.WriteString("command -v " + quoteAlways(l.path) + " >/dev/null||{ ")
	if strings.Contains(l.path, "/") {
		b.WriteString("test -e " + quote(l.path) + "&&{ ")
		mark("x")
		b.WriteString("exit 126;};")
	}
	mark("n")
	b.WriteString("exit 127;};")
	mark("$$:" + letter)
	b.WriteString(run)
	return b.String()
}

// cleaned is what stands before the command with a minimal environment.
func (l *line) cleaned() string {
	var b strings.Builder
	b.WriteString("env -i " + idName + "=" + l.id + " ")
	names := append(append([]string(nil), kept...), l.keep...)
	for _, kv := range l.env {
		key, _, _ := strings.Cut(kv, "=")
		names = append(names, key)
	}
	seen := make(map[string]bool)
	for _, name := range names {
		if !seen[name] {
			seen[name] = true
			b.WriteString("${" + name + "+\"" + name + "=$" + name + "\"} ")
		}
	}
	return b.String()
}

// bare is the line with nothing around it.
func (l *line) bare() string { return l.command() }

// checkEnv refuses variables that no shell can set.
func checkEnv(env []string) error {
	for _, kv := range env {
		key, value, ok := strings.Cut(kv, "=")
		if !ok { // it may be a value, and is not shown
			return errors.New(`a variable is not of the form "NAME=value"`)
		}
		if !isName(key) {
			return fmt.Errorf("%q is no name of a variable", key)
		}
		if strings.IndexByte(value, 0) >= 0 {
			return errors.New("the variable " + key + " contains NUL")
		}
	}
	return nil
}

// isName tells whether a POSIX shell can set a variable of that name.
func isName(s string) bool {
	for i := range len(s) {
		c := s[i]
		if c != '_' && (c|0x20 < 'a' || c|0x20 > 'z') && (i == 0 || c < '0' || c > '9') {
			return false
		}
	}
	return s != ""
}

// A mark is what the wrapper told.
type mark struct {
	pid  int
	kind shellKind
	why  byte // 'd', 'n' or 'x' when it did not run the program
}

// parseMark reads what stands between the id and the line end.
func parseMark(s string) (m mark, ok bool) {
	if s == "d" || s == "n" || s == "x" {
		return mark{why: s[0]}, true
	}
	pid, kind, found := strings.Cut(s, ":")
	n, err := strconv.Atoi(pid)
	k := kinds[kind]
	return mark{pid: n, kind: k}, found && err == nil && n > 1 && k != unknownShell
}
