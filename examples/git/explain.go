// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"strings"

	"github.com/weir-mcp/weir/exec"
)

// explanations turn what git says into what a model can do about it. The first
// that matches is taken; $1 is what the pattern's group found.
var explanations = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`not a git repository`),
		"%s is not in a git repository below a root of this server; give the directory of one as repo"},
	{regexp.MustCompile(`cannot use Perl-compatible regexes`),
		"perl: the git that is installed does not know Perl's regular expressions; leave it out, and write an extended one"},
	{regexp.MustCompile(`dubious ownership|unsafe repository`),
		"%s belongs to another user of this machine, and git reads it only when its user allows that: ask them to run git config --global --add safe.directory with its path"},
	{regexp.MustCompile(`bad (?:numeric |boolean )?config|bad config line|unable to parse .*config|invalid section name|bad config variable`),
		"the configuration of %s is not valid, and git does nothing before it is put right: $0"},
	{regexp.MustCompile(`file .* has only (\d+) lines?`),
		"the file has only $1 lines; ask for a range within them"},
	{regexp.MustCompile(`no such path (.+) in|path (.+) does not exist in|path (.+) exists on disk, but not in`),
		"there is no path $1 in that revision; git_ls_files with the same revision lists what there is, and git_log with the path tells when it went"},
	{regexp.MustCompile(`bad object|unable to read|missing blob|could not fetch|is a partial clone|promisor`),
		"an object is missing, and this server fetches nothing (%s may be a partial or shallow clone): $0"},
	{regexp.MustCompile(`fatal: (?:command line|-e option), (?s:.*)': (.*)|((?:Invalid|invalid) regular expression.*|Unmatched .*)`),
		"pattern: it is no regular expression: $1; set fixed to search for the text as it is"},
}

// explain says in words for a model why git has not done what it was asked, or
// why it was stopped.
func (r *repo) explain(ctx context.Context, out *exec.Output) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	said := strings.TrimSpace(out.Stderr.Text())
	for _, e := range explanations {
		m := e.pattern.FindStringSubmatch(said)
		if m == nil {
			continue
		}
		text := e.text
		if strings.Contains(text, "%s") {
			text = fmt.Sprintf(text, quote(r.name))
		}
		first := ""
		for _, group := range m[1:] {
			if first == "" {
				first = group
			}
		}
		text = strings.ReplaceAll(text, "$1", r.hide(first))
		return errors.New(strings.ReplaceAll(text, "$0", r.lastLine(said)))
	}
	if said == "" {
		return errors.New(r.hide(out.String()))
	}
	return errors.New("git: " + r.lastLine(said))
}

// lastLine is the last of git's lines that says what is wrong, since warnings
// and hints stand around it.
func (r *repo) lastLine(said string) string {
	lines := strings.Split(said, "\n")
	line := lines[len(lines)-1]
	for _, l := range lines {
		if rest, ok := strings.CutPrefix(l, "fatal: "); ok {
			line = rest
		} else if rest, ok := strings.CutPrefix(l, "error: "); ok {
			line = rest
		}
	}
	return text([]byte(r.hide(line)), 500, 0)
}

// execRecords are the lines of a command's output, and its own error at the end.
func execRecords(ctx context.Context, cmd exec.Cmd) iter.Seq2[record, error] {
	return exec.Records(ctx, cmd, '\n')
}

// exited is how git ended, if err says that it did not do so with status 0.
func exited(err error) *exec.Output {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.Output
	}
	return nil
}
