// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type showInput struct {
	Repository
	Revision  string   `json:"revision,omitempty" jsonschema:"description=Commit\\, branch or tag; or REVISION:PATH for a file or directory.,default=HEAD"`
	Path      string   `json:"path,omitempty" jsonschema:"description=Show this file or directory as it is at the revision\\, relative to the top of the repository\\, instead of the commit."`
	StartLine int64    `json:"startLine,omitempty" jsonschema:"description=First line of a file to show.,minimum=1"`
	EndLine   int64    `json:"endLine,omitempty" jsonschema:"description=Last line of a file to show.,minimum=1"`
	Paths     []string `json:"paths,omitempty" jsonschema:"description=Of a commit show only the changes of these files or directories.,maxItems=100"`
	Context   int      `json:"context,omitempty" jsonschema:"description=Unchanged lines around each change.,default=3,minimum=0,maximum=50"`
	StatOnly  bool     `json:"statOnly,omitempty" jsonschema:"description=Of a commit list the files only\\, without their hunks."`
	tool.PageInput
}

// A ShowSummary stands beside the items of git_show.
type ShowSummary struct {
	Object string  `json:"object" jsonschema:"description=id of what is shown"`
	Type   string  `json:"type" jsonschema:"description=what it is,enum=commit,enum=tag,enum=tree,enum=blob"`
	Commit *Commit `json:"about,omitempty" jsonschema:"description=the commit; absent in a small page"`
	Size   *int64  `json:"size,omitempty" jsonschema:"description=of a file in bytes"`
}

// A showPosition is where a page of git_show begins.
type showPosition struct {
	Object []byte       `json:"o,omitempty"` // id
	Diff   diffPosition `json:"d,omitzero"`  // of a commit, once its message was shown
	Tag    bool         `json:"g,omitzero"`  // what the tag says was shown
	Told   bool         `json:"m,omitzero"`  // the message was
	Place  place        `json:"p,omitzero"`  // of a directory
	Line   int64        `json:"l,omitzero"`  // of a file: the next
}

func (g *roots) gitShow(ctx context.Context, req *tool.Request, in showInput, page *result.Page[Change]) error {
	pos, err := g.show.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	r, err := g.open(ctx, in.Repo)
	if err != nil {
		return err
	}
	if pos.Object == nil {
		id, err := r.object(ctx, in.Revision, in.Path)
		if err != nil {
			return err
		}
		pos.Object = rawID(id)
	}
	id := hex.EncodeToString(pos.Object)
	kind, err := r.output(ctx, "cat-file", "-t", id)
	if err != nil {
		return err
	}
	s := &shown{repo: r, in: in, id: id, page: page, pos: &pos, summary: &ShowSummary{Object: id, Type: strings.TrimSpace(kind)}}
	page.Hint = "narrow it with paths, statOnly, startLine and endLine"
	page.Line, page.Shrink, page.Extra = Change.line, Change.shrink, s.summary
	shorten(page)
	if err := s.checkArguments(); err != nil {
		return err
	}
	switch s.summary.Type {
	case "tag":
		err = s.tag(ctx)
	case "commit":
		err = s.commit(ctx, id)
	case "tree":
		err = s.tree(ctx)
	default:
		err = s.blob(ctx)
	}
	if err == errFull || err != nil && page.Len() > 0 {
		if stopErr := stop(req, page, g.show, pos); err == errFull {
			return stopErr
		}
	}
	return err
}

// object resolves what is to be shown.
func (r *repo) object(ctx context.Context, rev, path string) (string, error) {
	if path == "" {
		return r.resolve(ctx, rev, "object")
	}
	clean, err := cleanPath(path)
	if err != nil {
		return "", err
	}
	tree, err := r.resolve(ctx, rev, "tree")
	if err != nil {
		return "", err
	}
	id, err := r.parse(ctx, tree+":"+clean)
	if err == nil && id == "" {
		if r.isID(rev) {
			rev = short(rev)
		}
		err = fmt.Errorf("there is no path %s in revision %s; git_ls_files with this revision lists what there is, git_log with the path tells when it went", quote(clean), quote(rev))
	}
	return id, err
}

// A shown is one object on its way into a page.
type shown struct {
	*repo
	in      showInput
	id      string
	page    *result.Page[Change]
	pos     *showPosition
	summary *ShowSummary
}

// checkArguments refuses arguments that mean nothing for what is shown.
func (s *shown) checkArguments() error {
	kind := s.summary.Type
	const defaultContext = 3
	switch {
	case kind != "blob" && (s.in.StartLine > 0 || s.in.EndLine > 0):
		return errors.New("startLine and endLine are for a file, and this is a " + kind + "; leave them out, or give the path of a file")
	case (kind == "blob" || kind == "tree") && (len(s.in.Paths) > 0 || s.in.StatOnly || s.in.Context != defaultContext):
		return errors.New("paths, context and statOnly are for the changes of a commit, and this is a " + kind + "; leave them out, or leave out path")
	}
	return nil
}

var tagger = regexp.MustCompile(`(?m)^(tagger .*>) (\d+) ([+-]\d{4})$`)

// taggerDates makes the date in the header of a tag one that a reader knows.
func taggerDates(tag string) string {
	head, message, _ := strings.Cut(tag, "\n\n")
	if m := tagger.FindStringSubmatchIndex(head); m != nil {
		when := number(head[m[4]:m[5]])
		head = head[:m[3]] + " " + inZone(when, head[m[6]:m[7]]) + head[m[1]:]
	}
	return head + "\n\n" + message
}

// tag shows what an annotated tag says, and then what it points to.
func (s *shown) tag(ctx context.Context) error {
	target, err := s.parse(ctx, s.id+"^{}")
	if err != nil {
		return err
	}
	if !s.pos.Tag {
		out, err := s.run(ctx, []string{"cat-file", "tag", s.id})
		if err != nil {
			return err
		}
		if !out.Success() {
			return s.explain(ctx, out)
		}
		said, _, _ := strings.Cut(out.Stdout.Text(), "-----BEGIN ")
		if !s.page.Add(Change{Kind: "message", Text: text([]byte(strings.TrimSpace(taggerDates(said))), maxBody, 0)}) {
			return errFull
		}
		s.pos.Tag = true
	}
	commit, err := s.parse(ctx, target+"^{commit}")
	switch {
	case err != nil:
		return err
	case commit == "":
		if !s.page.Add(Change{Kind: "note", Text: "it points to " + target + ", which is no commit: show that"}) {
			return errFull
		}
		return nil
	}
	return s.commit(ctx, commit)
}

// commit shows a message, and the changes to the first parent.
func (s *shown) commit(ctx context.Context, id string) error {
	row, err := s.oneCommit(ctx, id)
	if err != nil {
		return err
	}
	c := newCommit(row)
	body := c.Body
	c.Body = ""
	c.Refs = c.Refs[:min(len(c.Refs), 10)]
	if !small(s.page.Budget) { // the message says it all
		s.summary.Commit = &c
	}
	if len(c.Parents) > 10 {
		c.Parents = c.Parents[:10]
	}
	if !s.pos.Told {
		said := fmt.Sprintf("commit %s\nAuthor: %s <%s>\nDate:   %s\n", id, c.Author, c.Email, c.Date)
		if len(c.Parents) > 1 {
			said += "Merge:  " + strings.Join(c.Parents, " ") + " (the changes below are to the first)\n"
		}
		if len(c.Refs) > 0 {
			said += "Refs:   " + strings.Join(c.Refs, ", ") + "\n"
		}
		said += "\n    " + strings.ReplaceAll(strings.TrimSpace(c.Subject+"\n\n"+body), "\n", "\n    ")
		if !s.page.Add(Change{Kind: "message", Text: said}) {
			return errFull
		}
		s.pos.Told = true
	}
	parent := s.emptyTree()
	if len(c.Parents) > 0 {
		parent = c.Parents[0]
		if have, err := s.parse(ctx, parent+"^{commit}"); err != nil || have == "" {
			return errors.Join(err, addNote(s.page, "its parent "+parent+" is not in this (shallow) clone: its changes cannot be told"))
		}
	}
	specs, err := pathspecs(s.in.Paths, "")
	if err != nil {
		return err
	}
	diff := &comparison{repo: s.repo, sides: []string{parent, id}, specs: specs, context: s.in.Context, statOnly: s.in.StatOnly}
	if len(s.in.Paths) == 1 {
		diff.only, _ = cleanPath(s.in.Paths[0])
	}
	return diff.fill(ctx, s.page, &s.pos.Diff, func() {})
}

func addNote(page *result.Page[Change], text string) error {
	if !page.Add(Change{Kind: "note", Text: text}) {
		return errFull
	}
	return nil
}

func (r *repo) oneCommit(ctx context.Context, id string) ([]string, error) {
	for row, err := range r.fields(ctx, commitFields+1, "log", "-z", "--no-walk", "--no-color", "--no-show-signature", "--no-notes", "--no-ext-diff", "--no-textconv", "--encoding=UTF-8", "--max-count=1", bodyFormat, id, "--") {
		if err != nil {
			return nil, err
		}
		return append([]string(nil), row...), nil
	}
	return nil, fmt.Errorf("commit %s cannot be read", id)
}

// tree lists a directory.
func (s *shown) tree(ctx context.Context) error {
	s.page.Noun, s.page.Sorted = "entries", "by name"
	full := false
	// git sorts a directory as if its name ended in a slash.
	name := func(c Change) string {
		name, _ := unquote(c.Path)
		if c.Type == "directory" {
			name += "/"
		}
		return name
	}
	rest := resumed[Change]{from: s.pos.Place, path: name, yield: func(c Change) bool {
		s.pos.Place = at(name(c))
		full = !s.page.Add(c)
		return !full
	}}
	for e, err := range s.entries(ctx, s.id, nil, false) {
		if err != nil {
			return err
		}
		if !rest.add(e.change()) {
			break
		}
	}
	if !full {
		rest.end()
	}
	if full {
		return errFull
	}
	return nil
}

// blob shows the lines of a file.
func (s *shown) blob(ctx context.Context) error {
	size, err := s.output(ctx, "cat-file", "-s", s.id)
	if err != nil {
		return err
	}
	bytesOfFile := number(strings.TrimSpace(size))
	s.summary.Size = &bytesOfFile
	s.page.Noun = "lines"
	if s.in.EndLine > 0 && s.in.StartLine > s.in.EndLine {
		return fmt.Errorf("startLine %d is behind endLine %d", s.in.StartLine, s.in.EndLine)
	}
	first := max(s.pos.Line, s.in.StartLine, 1)
	var line, looked int64
	for rec, err := range s.records(ctx, '\n', "cat-file", "blob", s.id) {
		if err != nil {
			return err
		}
		const sniff = 8000 // as much as git looks at
		if looked < sniff {
			if bytes.IndexByte(rec.Bytes[:min(len(rec.Bytes), int(sniff-looked))], 0) >= 0 {
				return addNote(s.page, fmt.Sprintf("a binary file of %d bytes", bytesOfFile))
			}
			looked += int64(len(rec.Bytes)) + 1
		}
		if line++; line < first {
			continue
		}
		if s.in.EndLine > 0 && line > s.in.EndLine {
			return nil
		}
		s.pos.Line = line
		if !s.page.Add(Change{Kind: "line", Line: line, Text: text(rec.Bytes, maxPatchLine, rec.Dropped)}) {
			return errFull
		}
	}
	if s.in.StartLine > max(line, 1) {
		return fmt.Errorf("the file has only %d lines", line)
	}
	if s.in.EndLine == 0 && s.in.StartLine <= 1 {
		s.page.Total(line)
	}
	return nil
}
