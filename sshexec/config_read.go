// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/kevinburke/ssh_config"
)

const (
	// maxConfigFile bounds a file of configuration, in bytes.
	maxConfigFile = 4 << 20

	// maxIncludes is how deep files may include files, as for ssh.
	maxIncludes = 16

	// maxConfigLines bounds the lines of all files together.
	maxConfigLines = 1 << 20
)

// A configLine is an option of a file, with its arguments as ssh takes them
// apart.
type configLine struct {
	file   string
	number int
	option string // as it was written
	args   []string
}

// at is a fault of the line.
func (l configLine) at(format string, args ...any) *ConfigError {
	return &ConfigError{File: l.file, Line: l.number, Option: plain(l.option, 60), Reason: fmt.Sprintf(format, args...)}
}

// structural finds the options that the library would follow itself: it opens
// included files at once, from the home directory that it finds, and knows
// neither quotes in patterns nor most of Match. Each gets a mark in front, which
// makes it an option like others.
var structural = regexp.MustCompile(`(?im)^([ \t\r\f]*)((?:host|match|include)(?:[ \t="]|\r?$))`)

const structuralMark = "-"

// parseConfig takes a file apart: the library finds the options and their lines,
// and splitArgs takes their values apart.
func parseConfig(file string, data []byte) (lines []configLine, err error) {
	bad := func(line int, format string, args ...any) error {
		return &ConfigError{File: file, Line: line, Reason: fmt.Sprintf(format, args...)}
	}
	texts := slices.Collect(strings.Lines(string(data)))
	for i, text := range texts {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return nil, bad(i+1, "the line is not text in UTF-8")
		}
	}
	config, err := ssh_config.DecodeBytes(structural.ReplaceAll(data, []byte("${1}"+structuralMark+"${2}")))
	if err != nil {
		return nil, bad(0, "it cannot be read: %s", plain(strings.TrimSpace(err.Error()), 200))
	}
	for _, host := range config.Hosts {
		for _, node := range host.Nodes {
			kv, ok := node.(*ssh_config.KV)
			if !ok {
				continue
			}
			line := configLine{file: file, number: kv.Pos().Line, option: strings.TrimPrefix(kv.Key, structuralMark)}
			if line.number < 1 || line.number > len(texts) {
				return nil, bad(0, "it cannot be read") // the library counts otherwise
			}
			text, ok := value(texts[line.number-1], line.option)
			if !ok || line.option == "" || strings.ContainsAny(line.option, "\"'") {
				return nil, bad(line.number, "the line does not begin with an option")
			}
			if line.args, err = splitArgs(text); err != nil {
				return nil, line.at("%v", err)
			}
			if len(line.args) == 0 {
				return nil, line.at("the value is missing")
			}
			lines = append(lines, line)
		}
	}
	return lines, nil
}

// value is what stands after an option in its line. The library's own value
// ends at any "#", which for ssh begins a comment only between words.
func value(text, option string) (string, bool) {
	rest, ok := strings.CutPrefix(strings.TrimLeft(text, " \t\r\f"), option)
	rest = strings.TrimLeft(rest, " \t")
	rest = strings.TrimLeft(strings.TrimPrefix(rest, "="), " \t")
	return strings.TrimRight(rest, " \t\r\n\f"), ok
}

// splitArgs takes a value apart as ssh does: words between spaces, quotes of
// both kinds around words or parts of them, a backslash before a quote, a
// backslash or a space, and a comment at the end.
func splitArgs(s string) ([]string, error) {
	var args []string
	for i := 0; i < len(s); i++ {
		if s[i] == ' ' || s[i] == '\t' {
			continue
		}
		if s[i] == '#' {
			break
		}
		var word strings.Builder
		quote := byte(0)
	word:
		for ; i < len(s); i++ {
			c := s[i]
			switch {
			case c == '\\' && i+1 < len(s) && (strings.IndexByte(`'"\`, s[i+1]) >= 0 || quote == 0 && s[i+1] == ' '):
				i++
				word.WriteByte(s[i])
			case quote == 0 && (c == ' ' || c == '\t'):
				break word
			case quote == 0 && (c == '"' || c == '\''):
				quote = c
			case quote != 0 && c == quote:
				quote = 0
			default:
				word.WriteByte(c)
			}
		}
		if quote != 0 {
			return nil, errors.New("a quote is not closed")
		}
		args = append(args, word.String())
	}
	return args, nil
}

// A configFile is one of the files that a Config reads.
type configFile struct {
	name   string
	system bool // of all users: its relative includes are beside it
	must   bool // it is an error if it is not there
	mine   bool // it must not be changed by others
}

// files are the files to read, in order.
func (c *Config) files() (out []configFile) {
	if c.Files != nil {
		for _, f := range c.Files {
			out = append(out, configFile{name: f, must: true})
		}
		return out
	}
	return []configFile{
		{name: "~/.ssh/config", mine: runtime.GOOS != "windows"},
		{name: filepath.Join(systemDir(), "ssh_config"), system: true},
	}
}

// read gives the lines of a file; none for one that is not there.
func (f configFile) read() ([]configLine, error) {
	name, err := expandHome(f.name)
	if err != nil {
		return nil, &ConfigError{File: f.name, Reason: err.Error(), Err: err}
	}
	if f.mine {
		if err := checkOwned(name); err != nil {
			return nil, &ConfigError{File: name, Reason: err.Error(), Err: err}
		}
	}
	data, err := readFile(name, maxConfigFile)
	if err != nil {
		if !f.must && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return nil, &ConfigError{File: name, Reason: strings.TrimPrefix(err.Error(), name+": "), Err: err}
	}
	return parseConfig(name, data)
}

// included are the files that an Include names.
func (f configFile) included(l configLine) (out []configFile, err error) {
	for _, arg := range l.args {
		if strings.ContainsAny(arg, "%") || strings.Contains(arg, "${") {
			return nil, l.at("tokens and variables in %s are not supported; name the file", quoted(arg))
		}
		dir := "~/.ssh"
		if f.system {
			dir = systemDir()
		}
		if !filepath.IsAbs(arg) && !strings.HasPrefix(arg, "~") {
			arg = filepath.Join(dir, arg)
		}
		path, err := expandHome(arg)
		if err != nil {
			return nil, l.at("%v", err)
		}
		matches, err := filepath.Glob(path)
		if err != nil {
			return nil, l.at("the pattern %s cannot be read", quoted(path))
		}
		slices.Sort(matches)
		for _, m := range matches {
			out = append(out, configFile{name: m, system: f.system, mine: f.mine})
		}
	}
	return out, nil
}
