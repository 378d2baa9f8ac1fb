// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type blameInput struct {
	Repository
	Path        string `json:"path" jsonschema:"description=The file\\, relative to the top of the repository.,minLength=1"`
	Revision    string `json:"revision,omitempty" jsonschema:"description=As it is at this revision.,default=HEAD"`
	StartLine   int64  `json:"startLine,omitempty" jsonschema:"description=First line.,default=1,minimum=1"`
	EndLine     int64  `json:"endLine,omitempty" jsonschema:"description=Last line. Left out: to the end.,minimum=1"`
	IgnoreSpace bool   `json:"ignoreSpace,omitempty" jsonschema:"description=Ignore changes of white space."`
	Moved       bool   `json:"moved,omitempty" jsonschema:"description=Find lines that were moved or copied within a commit too; slower."`
	tool.PageInput
}

// A BlameLine is one item of git_blame.
type BlameLine struct {
	Line    int64  `json:"line" jsonschema:"description=its number in the file"`
	Commit  string `json:"commit" jsonschema:"description=that it comes from"`
	Author  string `json:"author" jsonschema:"description=name"`
	Date    string `json:"date" jsonschema:"description=when the author made it"`
	Subject string `json:"subject" jsonschema:"description=first line of the commit's message"`
	Path    string `json:"path,omitempty" jsonschema:"description=of the file in that commit\\, where it is another one"`
	OldLine int64  `json:"oldLine,omitzero" jsonschema:"description=its number in that commit\\, where it is another one"`
	Text    string `json:"text" jsonschema:"description=the line"`
}

func (l BlameLine) line() string {
	return fmt.Sprintf("%s (%s %s) %d: %s", short(l.Commit), l.Author, day(l.Date), l.Line, l.Text)
}

func (l BlameLine) shrink(limit int) (BlameLine, bool) {
	l.Subject, l.Text = cut(l.Subject, limit, max(limit/8, 60)), cut(l.Text, limit, limit/3)
	l.Author, l.Path = cut(l.Author, limit, limit/6), cut(l.Path, limit, limit/4)
	return l, true
}

// A BlameSummary stands beside the items of git_blame.
type BlameSummary struct {
	Path     string `json:"path" jsonschema:"description=the file"`
	Revision string `json:"revision" jsonschema:"description=id of the commit that it was looked at in"`
}

// A blamePosition is where a page of git_blame begins.
type blamePosition struct {
	Commit []byte `json:"c,omitempty"`
	Line   int64  `json:"l,omitzero"`
}

// maxBlamed is how many lines git is asked for at a time: it searches the history
// for each.
const maxBlamed = 250

func (g *roots) gitBlame(ctx context.Context, req *tool.Request, in blameInput, page *result.Page[BlameLine]) error {
	pos, err := g.blame.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	path, err := cleanPath(in.Path)
	if err != nil {
		return err
	}
	if in.EndLine > 0 && in.StartLine > in.EndLine {
		return fmt.Errorf("startLine %d is behind endLine %d", in.StartLine, in.EndLine)
	}
	r, err := g.open(ctx, in.Repo)
	if err != nil {
		return err
	}
	if pos.Commit == nil {
		id, err := r.resolve(ctx, in.Revision, "commit")
		if err != nil {
			return err
		}
		pos = blamePosition{rawID(id), in.StartLine}
	}
	id := hex.EncodeToString(pos.Commit)
	if err := r.checkIgnoredRevisions(ctx); err != nil {
		return err
	}
	lines, err := r.blamable(ctx, id, path)
	if err != nil {
		return err
	}
	if in.StartLine > lines {
		return fmt.Errorf("%s has only %d lines in that revision", quote(path), lines)
	}
	end := lines
	if in.EndLine > 0 {
		end = min(end, in.EndLine)
	}
	page.Noun, page.Sorted, page.Hint = "lines", "by number", "narrow the range with startLine and endLine"
	page.Line, page.Shrink, page.Extra = BlameLine.line, BlameLine.shrink, &BlameSummary{cut(quote(path), page.Budget.Bytes, page.Budget.Bytes/8), id}
	shorten(page)
	for pos.Line <= end {
		last := min(end, pos.Line+maxBlamed-1)
		err := r.blameLines(ctx, in, id, path, pos.Line, last, func(l BlameLine) bool {
			if !page.Add(l) {
				return false
			}
			pos.Line = l.Line + 1
			return true
		})
		if err == errFull {
			return stop(req, page, g.blame, pos)
		}
		if err != nil {
			if page.Len() > 0 {
				_ = stop(req, page, g.blame, pos)
			}
			return err
		}
		if pos.Line <= last {
			return fmt.Errorf("git blame ended before line %d", last)
		}
	}
	page.Total(end - in.StartLine + 1)
	return nil
}

// blamable returns how many lines a file has, and refuses what has none.
func (r *repo) blamable(ctx context.Context, commit, path string) (int64, error) {
	id, err := r.object(ctx, commit, path)
	if err != nil {
		return 0, err
	}
	if kind, err := r.output(ctx, "cat-file", "-t", id); err != nil || strings.TrimSpace(kind) != "blob" {
		if err == nil {
			err = fmt.Errorf("%s is not a file; git_ls_files lists the files below a directory", quote(path))
		}
		return 0, err
	}
	var lines, looked int64
	for rec, err := range r.records(ctx, '\n', "cat-file", "blob", id) {
		if err != nil {
			return 0, err
		}
		if looked < 8000 && bytes.IndexByte(rec.Bytes, 0) >= 0 {
			return 0, fmt.Errorf("%s is a binary file: it has no lines to be told of", quote(path))
		}
		looked += int64(len(rec.Bytes)) + 1
		lines++
	}
	return lines, nil
}

// blameLines asks git for the lines from first to last. It returns errFull when
// add has returned false.
func (r *repo) blameLines(ctx context.Context, in blameInput, id, path string, first, last int64, add func(BlameLine) bool) error {
	args := []string{"blame", "--porcelain", "--no-textconv", "--no-progress", "--encoding=UTF-8", "-L", fmt.Sprintf("%d,%d", first, last)}
	if in.IgnoreSpace {
		args = append(args, "-w")
	}
	if in.Moved {
		args = append(args, "-M", "-C")
	}
	commits := make(map[string]*BlameLine) // what is known of each
	var c *BlameLine
	var zone string
	var when int64
	for rec, err := range r.records(ctx, '\n', append(args, id, "--", path)...) {
		if err != nil {
			return err
		}
		if len(rec.Bytes) > 0 && rec.Bytes[0] == '\t' {
			if c == nil {
				continue
			}
			l := *c
			l.Text = text(rec.Bytes[1:], maxPatchLine, rec.Dropped)
			if l.OldLine == l.Line {
				l.OldLine = 0
			}
			if l.Path == quote(path) {
				l.Path = ""
			}
			if !add(l) {
				return errFull
			}
			continue
		}
		key, value, _ := strings.Cut(string(rec.Bytes), " ")
		switch {
		case r.isID(key): // "id oldLine line [count]"
			if c = commits[key]; c == nil {
				c = &BlameLine{Commit: key}
				commits[key] = c
			}
			numbers := strings.Fields(value)
			if len(numbers) < 2 {
				return fmt.Errorf("git blame printed %q", rec.Bytes)
			}
			c.OldLine, c.Line = number(numbers[0]), number(numbers[1])
		case c == nil:
		case key == "author":
			c.Author = text([]byte(value), maxName, 0)
		case key == "author-time":
			when, _ = strconv.ParseInt(value, 10, 64)
		case key == "author-tz":
			zone = value
			c.Date = inZone(when, zone)
		case key == "summary":
			c.Subject = text([]byte(value), maxSubject, 0)
		case key == "filename":
			name, err := unquote(value)
			if err != nil {
				return err
			}
			c.Path = quote(name)
		}
	}
	return nil
}

// inZone is a time in a zone such as +0200, as git log writes it.
func inZone(when int64, zone string) string {
	t := time.Unix(when, 0).UTC()
	if z, err := time.Parse("-0700", zone); err == nil {
		_, offset := z.Zone()
		t = t.In(time.FixedZone("", offset))
	}
	return t.Format(time.RFC3339)
}

// checkIgnoredRevisions refuses a list of revisions for git blame to ignore that
// is a file outside of the roots: git shows its lines where it cannot read them.
// (No setting can take that one back.)
func (r *repo) checkIgnoredRevisions(ctx context.Context) error {
	out, err := r.run(ctx, []string{"config", "-z", "--type=path", "--get-all", "blame.ignoreRevsFile"})
	if err != nil {
		return err
	}
	for name := range strings.SplitSeq(out.Stdout.Text(), "\x00") {
		if name == "" {
			continue
		}
		file := name
		if !filepath.IsAbs(file) {
			file = filepath.Join(cmp.Or(r.top, r.gitDir), file)
		}
		if _, err := os.Lstat(file); err == nil && !r.served(file) {
			return errors.New("the configuration has git blame ignore the commits that a file outside of this server's roots lists (blame.ignoreRevsFile); ask the user to move it into the repository")
		}
	}
	return nil
}
