// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"iter"
	"maps"
	"os/user"
	"slices"
	"strings"
)

// A lookup reads a Config's files for one name. The first value of an option
// counts, as for ssh.
type lookup struct {
	config *Config
	alias  string
	local  string // the user of this process
	lines  int    // read so far
	named  bool   // a line is about the name, and not about every name

	set    map[string]configLine // by option, in lower case
	keys   []configLine          // IdentityFile
	certs  []configLine          // CertificateFile
	ignore []string              // patterns of IgnoreUnknown

	final bool // this is the second time, for Match final
	again bool // a Match final was seen
}

// lookup reads the files for a hop, whose own user and port come first.
func (c *Config) lookup(at hop) (*lookup, error) {
	u := &lookup{config: c, alias: at.alias, set: make(map[string]configLine)}
	if at.user != "" {
		u.set["user"] = configLine{option: "ProxyJump", args: []string{at.user}}
	}
	if at.port != "" {
		u.set["port"] = configLine{option: "ProxyJump", args: []string{at.port}}
	}
	if me, err := user.Current(); err == nil {
		u.local = me.Username
		if i := strings.LastIndexByte(u.local, '\\'); i >= 0 { // DOMAIN\name
			u.local = u.local[i+1:]
		}
	}
	if err := u.readAll(); err != nil {
		return nil, err
	}
	if u.again {
		// Match host now sees the final name.
		name, err := u.hostName()
		if err != nil {
			return nil, err
		}
		l := u.set["hostname"]
		l.args = []string{strings.ReplaceAll(name, "%", "%%")}
		u.set["hostname"] = l
		u.final = true
		if err := u.readAll(); err != nil {
			return nil, err
		}
	}
	return u, nil
}

func (u *lookup) readAll() error {
	u.lines = 0
	for _, f := range u.config.files() {
		if err := u.read(f, true, 0); err != nil {
			return err
		}
	}
	return nil
}

// read takes over what a file says about the name. Outer tells whether the
// block that includes it is about the name.
func (u *lookup) read(f configFile, outer bool, depth int) error {
	lines, err := f.read()
	if err != nil {
		return err
	}
	active := outer
	for _, l := range lines {
		if u.lines++; u.lines > maxConfigLines {
			return l.at("the files have more than %d lines", maxConfigLines)
		}
		switch option := strings.ToLower(l.option); option {
		case "host":
			active = matchList(l.args, u.alias, false) && outer
			u.named = u.named || active && !everyName(l.args)
		case "match":
			matched, err := u.match(l, outer)
			if err != nil {
				return err
			}
			active = matched && outer
		case "include":
			if !active {
				continue // what it says could not count
			}
			if depth >= maxIncludes {
				return l.at("files include each other more than %d deep", maxIncludes)
			}
			files, err := f.included(l)
			if err != nil {
				return err
			}
			for _, inner := range files {
				if err := u.read(inner, active, depth+1); err != nil {
					return err
				}
			}
		default:
			if active {
				u.add(option, l)
			}
		}
	}
	return nil
}

// add takes over an option, unless it has a value.
func (u *lookup) add(option string, l configLine) {
	if name, ok := synonyms[option]; ok {
		option = name
	}
	switch option {
	case "identityfile":
		u.keys = addFile(u.keys, l)
	case "certificatefile":
		u.certs = addFile(u.certs, l)
	case "ignoreunknown":
		if u.ignore == nil {
			u.ignore = strings.Split(strings.Join(l.args, ","), ",")
		}
	case "proxyjump", "proxycommand":
		// They share one place, and whichever comes first has it.
		if _, ok := u.set["proxyjump"]; ok {
			return
		}
		if _, ok := u.set["proxycommand"]; ok {
			return
		}
		u.set[option] = l
	default:
		if _, ok := u.set[option]; !ok {
			u.set[option] = l
		}
	}
}

// addFile adds a line whose file is not there yet.
func addFile(list []configLine, l configLine) []configLine {
	for _, other := range list {
		if strings.Join(other.args, "\x00") == strings.Join(l.args, "\x00") {
			return list
		}
	}
	return append(list, l)
}

// match tells whether the criteria of a Match line hold. One that cannot be
// judged is an error, unless another one has failed before it.
func (u *lookup) match(l configLine, outer bool) (bool, error) {
	args := matchArgs(l.args)
	holds := outer
	for i := 0; i < len(args); i++ {
		name, negated := strings.CutPrefix(strings.ToLower(args[i]), "!")
		if name == "all" {
			if negated || len(args) > 2 || len(args) == 2 && (i == 0 || !isPass(args[0])) {
				return false, l.at("all stands alone, or after final or canonical")
			}
			return holds, nil
		}
		result := false
		switch name {
		case "final", "canonical":
			if name == "final" && outer {
				u.again = true
			}
			result = u.final
		default:
			if i+1 == len(args) {
				return false, l.at("%s needs a value", plain(name, 40))
			}
			i++
			if !holds {
				continue
			}
			var err error
			if result, err = u.criterion(l, name, strings.Split(args[i], ",")); err != nil {
				return false, err
			}
		}
		if result == negated {
			holds = false
		}
	}
	return holds, nil
}

func isPass(arg string) bool {
	arg = strings.ToLower(arg)
	return arg == "final" || arg == "canonical"
}

// matchArgs takes criteria of the form name=value apart.
func matchArgs(args []string) (out []string) {
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok {
			if name != "" {
				out = append(out, name)
			}
			if value != "" {
				out = append(out, value)
			}
			continue
		}
		out = append(out, a)
	}
	return out
}

func (u *lookup) criterion(l configLine, name string, patterns []string) (bool, error) {
	switch name {
	case "host", "originalhost":
		host, err := u.alias, error(nil)
		if name == "host" {
			if host, err = u.hostName(); err != nil {
				return false, err
			}
		}
		matched := matchList(patterns, strings.ToLower(host), true)
		u.named = u.named || matched && !everyName(patterns)
		return matched, nil
	case "user":
		return matchList(patterns, u.user(), false), nil
	case "localuser":
		return matchList(patterns, u.local, false), nil
	case "tagged":
		tag := ""
		if t, ok := u.set["tag"]; ok {
			tag = t.args[0]
		}
		return matchList(patterns, tag, false), nil
	}
	return false, l.at("the criterion %s is not supported (supported are all, final, canonical, host, originalhost, user, localuser and tagged); give this host a block of its own before this line, or read other files by Config.Files", quoted(name))
}

// everyName tells whether patterns stand for any name that they do not exclude.
func everyName(patterns []string) bool {
	for _, p := range patterns {
		if !strings.HasPrefix(p, "!") && strings.Trim(p, "*") != "" {
			return false
		}
	}
	return true
}

// sorted yields the options in the order of their names, so that of several
// faults always the same one is told.
func (u *lookup) sorted() iter.Seq2[string, configLine] {
	return func(yield func(string, configLine) bool) {
		for _, option := range slices.Sorted(maps.Keys(u.set)) {
			if !yield(option, u.set[option]) {
				return
			}
		}
	}
}

// user is the account so far.
func (u *lookup) user() string {
	if l, ok := u.set["user"]; ok {
		return l.args[0]
	}
	return u.local
}

// hostName is the name to connect to, so far.
func (u *lookup) hostName() (string, error) {
	l, ok := u.set["hostname"]
	if !ok {
		return u.alias, nil
	}
	return expand(l, l.args[0], map[byte]string{'h': u.alias}, false)
}
