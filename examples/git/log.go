// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type logInput struct {
	Repository
	Range       string   `json:"range,omitempty" jsonschema:"description=Where to begin: a branch\\, tag or commit; or a range such as v1.0..main (commits of main that v1.0 does not have) or main...topic (those that only one of them has).,default=HEAD"`
	Paths       []string `json:"paths,omitempty" jsonschema:"description=Only commits that changed these files or directories\\, relative to the top of the repository.,maxItems=100"`
	Author      string   `json:"author,omitempty" jsonschema:"description=Only commits whose author's name or email contains this text\\, in any case."`
	Message     string   `json:"message,omitempty" jsonschema:"description=Only commits whose message contains this text\\, in any case."`
	Changed     string   `json:"changed,omitempty" jsonschema:"description=Only commits that add or remove an occurrence of this text in a file (git log -S)."`
	Since       string   `json:"since,omitempty" jsonschema:"description=Only commits from this time on: 2024-05-31\\, 2024-05-31T14:00:00+02:00\\, yesterday\\, 3 weeks ago."`
	Until       string   `json:"until,omitempty" jsonschema:"description=Only commits up to this time\\, the day included."`
	Merges      string   `json:"merges,omitempty" jsonschema:"description=Whether commits with several parents are listed.,enum=include,enum=exclude,enum=only,default=include"`
	FirstParent bool     `json:"firstParent,omitempty" jsonschema:"description=Of merges follow the first parent only: the history of a branch without that of what was merged into it."`
	Follow      bool     `json:"follow,omitempty" jsonschema:"description=Go on behind renames; needs exactly one path\\, of a file."`
	Body        bool     `json:"body,omitempty" jsonschema:"description=Give whole messages\\, not the subject only."`
	Limit       int      `json:"limit,omitempty" jsonschema:"description=At most so many commits on a page.,minimum=1,maximum=1000"`
	tool.PageInput
}

// A Commit is one item of git_log.
type Commit struct {
	Commit  string   `json:"commit" jsonschema:"description=id"`
	Parents []string `json:"parents" jsonschema:"description=ids; several for a merge\\, none for a first commit"`
	Author  string   `json:"author" jsonschema:"description=name"`
	Email   string   `json:"email" jsonschema:"description=of the author"`
	Date    string   `json:"date" jsonschema:"description=when the author made it"`
	Refs    []string `json:"refs,omitempty" jsonschema:"description=branches and tags that point to it"`
	Subject string   `json:"subject" jsonschema:"description=first line of the message"`
	Body    string   `json:"body,omitempty" jsonschema:"description=the rest of the message"`
}

// commitFormat prints the fields of a Commit, each ended by NUL; %x00 stands
// between them, and -z ends the last.
const (
	commitFormat = "--format=tformat:%H%x00%P%x00%an%x00%ae%x00%aI%x00%D%x00%s"
	commitFields = 7
	bodyFormat   = commitFormat + "%x00%b"
)

func newCommit(row []string) Commit {
	c := Commit{
		Commit: row[0], Parents: strings.Fields(row[1]),
		Author: text([]byte(row[2]), maxName, 0), Email: text([]byte(row[3]), maxName, 0),
		Date: row[4], Subject: text([]byte(row[6]), maxSubject, 0),
	}
	if row[5] != "" {
		for ref := range strings.SplitSeq(row[5], ", ") {
			c.Refs = append(c.Refs, quote(ref))
		}
	}
	if len(row) > commitFields {
		c.Body = text([]byte(strings.TrimSpace(row[7])), maxBody, 0)
	}
	return c
}

// How much is shown of what people write.
const (
	maxName    = 200
	maxSubject = 500
	maxBody    = 8 << 10
)

// line is a commit in the text form, as git log --oneline has it, and with date
// and author.
func (c Commit) line() string {
	s := fmt.Sprintf("%s %s %s: %s", short(c.Commit), day(c.Date), c.Author, c.Subject)
	if len(c.Refs) > 0 {
		s += " (" + strings.Join(c.Refs, ", ") + ")"
	}
	if c.Body != "" {
		s += "\n    " + strings.ReplaceAll(c.Body, "\n", "\n    ")
	}
	return s
}

func (c Commit) shrink(limit int) (Commit, bool) {
	c.Subject, c.Body = cut(c.Subject, limit, limit/3), cut(c.Body, limit, limit/4)
	c.Author, c.Email = cut(c.Author, limit, limit/6), cut(c.Email, limit, limit/6)
	c.Parents = c.Parents[:min(len(c.Parents), max(limit/200, 2))]
	refs := c.Refs[:min(len(c.Refs), 3)]
	c.Refs = nil
	for _, ref := range refs {
		c.Refs = append(c.Refs, cut(ref, limit, limit/8))
	}
	return c, true
}

func short(id string) string { return id[:min(len(id), 12)] }
func day(date string) string { return date[:min(len(date), len("2006-01-02"))] }

// A logPosition is where a page of git_log begins. It names commits, and no
// branch: so a page shows what the first one would have gone on with, whatever
// was committed meanwhile.
type logPosition struct {
	From      []byte `json:"f,omitempty"` // where the walk begins
	Not       []byte `json:"n,omitempty"` // what it leaves out
	Symmetric bool   `json:"s,omitzero"`
	Skip      int    `json:"k,omitzero"` // commits of the walk that were shown
	Seen      int    `json:"t,omitzero"` // commits that were shown in all
	Since     int64  `json:"a,omitzero"` // as they were understood on the first page
	Until     int64  `json:"b,omitzero"`
}

func (g *roots) gitLog(ctx context.Context, req *tool.Request, in logInput, page *result.Page[Commit]) error {
	pos, err := g.log.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	for _, a := range []struct {
		name, text string
		lines      bool
	}{{"author", in.Author, false}, {"message", in.Message, false}, {"changed", in.Changed, true}} {
		if err := checkText(a.name, a.text, a.lines); err != nil {
			return err
		}
	}
	if in.Follow && len(in.Paths) != 1 {
		return errors.New("follow needs exactly one path, that of a file")
	}
	specs, err := pathspecs(in.Paths, "")
	if err != nil {
		return err
	}
	r, err := g.open(ctx, in.Repo)
	if err != nil {
		return err
	}
	if pos.From == nil {
		if pos, err = r.firstPosition(ctx, in); err != nil {
			return err
		}
	}
	if in.Follow && in.Cursor == "" {
		path, _ := cleanPath(in.Paths[0])
		if id, err := r.parse(ctx, hex.EncodeToString(pos.From)+":"+path); err != nil {
			return err
		} else if id != "" {
			if kind, err := r.output(ctx, "cat-file", "-t", id); err != nil || strings.TrimSpace(kind) != "blob" {
				return cmp.Or(err, fmt.Errorf("follow needs the path of a file, and %s is a directory", quote(path)))
			}
		}
	}
	page.Noun, page.Hint = "commits", "narrow the list with paths, author, since or a range"
	page.Line, page.Shrink = Commit.line, Commit.shrink
	shorten(page)
	if in.Limit > 0 {
		page.Budget.Items = min(page.Budget.Items, in.Limit)
	}

	w := newWalk(pos, in)
	// No item takes less than 100 bytes, so that git need not find more commits
	// than these; with one more it is known whether there are more.
	count := min(page.Budget.Items, page.Budget.Bytes/100) + 1
	n := 0
	for row, err := range r.commits(ctx, in, w, count, specs) {
		if err != nil {
			if page.Len() > 0 { // a time-out, say: what there is has a way to go on
				_ = stop(req, page, g.log, w.position())
			}
			return err
		}
		c := newCommit(row)
		if w.skipped(c) {
			continue
		}
		if n++; n == count || !page.Add(c) {
			return stop(req, page, g.log, w.position())
		}
		w.show(c)
	}
	page.Total(int64(w.pos.Seen))
	if w.pos.Seen == 0 && in.Author == "" && in.Message == "" && in.Changed == "" && in.Since == "" && in.Until == "" {
		return r.checkPaths(ctx, in.Paths, hex.EncodeToString(pos.From))
	}
	return nil
}

// firstPosition resolves what a model wrote, once for all pages.
func (r *repo) firstPosition(ctx context.Context, in logInput) (logPosition, error) {
	var pos logPosition
	sp, err := r.span(ctx, in.Range)
	if err != nil {
		return pos, err
	}
	pos.From, pos.Not, pos.Symmetric = rawID(sp.from), rawID(sp.not), sp.symmetric
	now := time.Now()
	if in.Since != "" {
		t, err := parseDate(in.Since, now, false)
		if err != nil {
			return pos, fmt.Errorf("since: %w", err)
		}
		pos.Since = t.Unix()
	}
	if in.Until != "" {
		t, err := parseDate(in.Until, now, true)
		if err != nil {
			return pos, fmt.Errorf("until: %w", err)
		}
		pos.Until = t.Unix()
	}
	return pos, nil
}

// commits yields the fields of count commits of the walk.
func (r *repo) commits(ctx context.Context, in logInput, w *walk, count int, specs []string) iter.Seq2[[]string, error] {
	format, fields := commitFormat, commitFields
	if in.Body {
		format, fields = bodyFormat, commitFields+1
	}
	args := []string{"log", "-z", "--no-color", "--no-show-signature", "--no-notes", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8", format}
	args = append(args, "--max-count="+strconv.Itoa(count+w.reads), "--skip="+strconv.Itoa(w.skips))
	// Each value stands behind its "=", so that none can be an option.
	if in.Author != "" || in.Message != "" {
		args = append(args, "--fixed-strings", "--regexp-ignore-case", "--all-match")
	}
	if in.Author != "" {
		args = append(args, "--author="+in.Author)
	}
	if in.Message != "" {
		args = append(args, "--grep="+in.Message)
	}
	if in.Changed != "" {
		args = append(args, "-S"+in.Changed)
	}
	if w.pos.Since != 0 {
		args = append(args, "--max-age="+strconv.FormatInt(w.pos.Since, 10))
	}
	if w.pos.Until != 0 {
		args = append(args, "--min-age="+strconv.FormatInt(w.pos.Until, 10))
	}
	switch in.Merges {
	case "exclude":
		args = append(args, "--no-merges")
	case "only":
		args = append(args, "--merges")
	}
	if in.FirstParent {
		args = append(args, "--first-parent")
	}
	if in.Follow {
		args = append(args, "--follow")
	}
	args = append(args, w.start.args()...)
	args = append(append(args, "--"), specs...)
	return r.fields(ctx, fields, args...)
}
