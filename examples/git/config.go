// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/exec"
)

// base is git with these arguments, in an environment of which nothing of this
// process's GIT_ variables is left.
func (g *roots) base(args []string) exec.Cmd {
	var above []string
	for _, r := range g.list {
		if slices.ContainsFunc(g.list, func(o root) bool { return o.dir != r.dir && within(r.dir, o.dir) }) {
			continue // within another root, whose repository it may be a part of
		}
		above = append(above, filepath.Dir(r.dir))
	}
	env := []string{
		"GIT_TERMINAL_PROMPT=0", "GIT_ASKPASS=", "SSH_ASKPASS=", // nobody is asked for a password
		"GIT_OPTIONAL_LOCKS=0",                               // reading takes no lock and writes no index
		"GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=disabled", // nothing is fetched: no protocol has that name
		"GIT_PAGER=cat", "GIT_EDITOR=:", "GIT_SEQUENCE_EDITOR=:",
		"GIT_CEILING_DIRECTORIES=" + strings.Join(above, string(filepath.ListSeparator)),
		"LC_ALL=" + locale(), // its texts are looked at
	}
	// The user's own configuration names the repositories of others that are
	// safe to read.
	if dir, ok := os.LookupEnv("XDG_CONFIG_HOME"); ok {
		env = append(env, "XDG_CONFIG_HOME="+dir)
	}
	return exec.Cmd{Path: g.program, Args: append([]string{"--no-pager"}, args...), CleanEnv: true, Env: env}
}

// locale is one with English texts and UTF-8.
func locale() string {
	if runtime.GOOS == "darwin" {
		return "en_US.UTF-8"
	}
	return "C.UTF-8"
}

// overrides are settings that git runs a program for, or that change what it
// prints, at values that do neither. The options of each command say the same
// where there are such.
var overrides = []string{
	// Programs.
	"core.fsmonitor", "false",
	"core.hooksPath", "/dev/null",
	"core.pager", "cat",
	"core.editor", ":",
	"core.askPass", "",
	"core.sshCommand", "false",
	"core.gitProxy", "",
	"core.alternateRefsCommand", "",
	"credential.helper", "", // empties the list
	"protocol.allow", "never",
	"log.showSignature", "false",
	"commit.gpgSign", "false",
	"tag.gpgSign", "false",
	"gc.auto", "0",
	"maintenance.auto", "false",
	"submodule.recurse", "false",
	"status.submoduleSummary", "false",
	"grep.fallbackToNoIndex", "false",
	// Output.
	"color.ui", "false",
	"column.ui", "never",
	"core.quotePath", "true",
	"core.safecrlf", "false",
	"core.warnAmbiguousRefs", "true",
	"diff.interHunkContext", "0",
	"diff.suppressBlankEmpty", "false",
	"diff.indentHeuristic", "true",
	"diff.renameLimit", "1000",
	"i18n.logOutputEncoding", "UTF-8",
	"log.follow", "false",
	"log.mailmap", "true",
	"mailmap.file", "", // it may be any file
	"log.showRoot", "true",
	"status.aheadBehind", "true",
}

// trusted are the overrides that -trust lifts for tools that write.
var trusted = map[string]bool{
	"core.hooksPath": true, "core.fsmonitor": true, "commit.gpgSign": true, "tag.gpgSign": true,
}

// drivers are the settings that name a program under a name of their own choice.
var drivers = regexp.MustCompile(`(?is)^(?:(filter)\.(.*)\.(?:clean|smudge|process|required)|(?:diff)\.(?:.*)\.(?:command|textconv)|(?:credential)\.(?:.*)\.helper|gpg\.(?:.*\.)?(?:program|defaultkeycommand)|merge\.(?:.*)\.driver|trailer\.(?:.*)\.(?:cmd|command)|pager\..*)$`)

// configure decides what overrides the configuration of r: the fixed list, and
// an empty program for each driver that any of its files defines.
func (r *repo) configure(ctx context.Context) error {
	r.settings = overrides
	names := r.drivers
	keys, err := names(ctx)
	if err != nil {
		return err
	}
	list := overrides[:len(overrides):len(overrides)]
	for _, key := range keys {
		value := ""
		if strings.HasSuffix(strings.ToLower(key), ".required") {
			value = "false"
		}
		list = append(list, key, value)
	}
	r.settings = list
	return nil
}

// maxDrivers bounds the drivers of one repository; their overrides go through
// the environment.
const maxDrivers = 1000

// drivers are the keys of all files of configuration, those that they include
// too, that name a program of a driver. A filter counts with all of its keys,
// since a process takes the place of the other two.
func (r *repo) drivers(ctx context.Context) ([]string, error) {
	seen := make(map[string]bool)
	var keys []string
	add := func(key string) {
		if !seen[key] {
			seen[key] = true
			keys = append(keys, key)
		}
	}
	for rec, err := range r.records(ctx, 0, "config", "--list", "--name-only", "-z", "--includes") {
		if err != nil {
			return nil, err
		}
		m := drivers.FindSubmatch(rec.Bytes)
		switch {
		case rec.Dropped > 0 || len(keys) > maxDrivers:
			return nil, fmt.Errorf("repo: the configuration of %s is refused: it has a key of more than %d bytes, or more than %d drivers", quote(r.name), exec.MaxLine, maxDrivers)
		case m == nil:
		case m[1] != nil:
			for _, last := range []string{"clean", "smudge", "process", "required"} {
				add("filter." + string(m[2]) + "." + last)
			}
		default:
			add(string(rec.Bytes))
		}
	}
	return keys, nil
}

// minVersion is the first git that knows all that is used here: settings in the
// environment came with 2.31, paths in one format too.
var minVersion = [2]int{2, 32}

// checkVersion refuses a git that is too old to be held off what a repository
// configures.
func (g *roots) checkVersion(ctx context.Context) error {
	cmd := g.base([]string{"version"})
	out, err := exec.Run(ctx, cmd)
	if err != nil {
		return err
	}
	m := regexp.MustCompile(`^git version (\d+)\.(\d+)`).FindStringSubmatch(out.Stdout.Text())
	if m == nil {
		return fmt.Errorf("git version: %s", out)
	}
	major, _ := strconv.Atoi(m[1])
	minor, _ := strconv.Atoi(m[2])
	if major < minVersion[0] || major == minVersion[0] && minor < minVersion[1] {
		return fmt.Errorf("git %d.%d is installed; %d.%d or later is needed", major, minor, minVersion[0], minVersion[1])
	}
	return nil
}
