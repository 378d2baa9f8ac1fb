// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type branchesInput struct {
	Repository
	Kind      string `json:"kind,omitempty" jsonschema:"description=What to list.,enum=local,enum=remote,enum=tag,enum=all,default=local"`
	Name      string `json:"name,omitempty" jsonschema:"description=Only those whose name contains this text\\, in any case."`
	Contains  string `json:"contains,omitempty" jsonschema:"description=Only those that contain this commit."`
	Merged    string `json:"merged,omitempty" jsonschema:"description=Only those that are wholly contained in this revision."`
	NotMerged string `json:"notMerged,omitempty" jsonschema:"description=Only those that have commits which this revision does not contain."`
	Sort      string `json:"sort,omitempty" jsonschema:"description=By name; or the most recently changed first\\, where one that is changed while pages are read may be missed.,enum=name,enum=recent,default=name"`
	Limit     int    `json:"limit,omitempty" jsonschema:"description=At most so many on a page.,minimum=1,maximum=1000"`
	tool.PageInput
}

// A Branch is one item of git_branches.
type Branch struct {
	Name     string `json:"name" jsonschema:"description=as other tools take it as a revision"`
	Kind     string `json:"kind" jsonschema:"description=what it is,enum=local,enum=remote,enum=tag"`
	Current  bool   `json:"current,omitzero" jsonschema:"description=it is checked out"`
	Commit   string `json:"commit" jsonschema:"description=id of what it points to"`
	Date     string `json:"date,omitempty" jsonschema:"description=of that commit\\, or when the tag was made"`
	Author   string `json:"author,omitempty" jsonschema:"description=of that commit\\, or who made the tag"`
	Subject  string `json:"subject,omitempty" jsonschema:"description=of that commit\\, or of the tag"`
	Upstream string `json:"upstream,omitempty" jsonschema:"description=branch that it follows"`
	Track    string `json:"track,omitempty" jsonschema:"description=how it stands to that: ahead N\\, behind N\\, gone\\, or even"`
	Target   string `json:"target,omitempty" jsonschema:"description=ref that it stands for\\, such as that of origin/HEAD"`
}

func (b Branch) line() string {
	mark := "  "
	if b.Current {
		mark = "* "
	}
	name := b.Name
	if b.Kind != "local" { // no name of a branch or tag has a space
		name += " (" + b.Kind + ")"
	}
	s := fmt.Sprintf("%s%s %s %s %s", mark, name, short(b.Commit), day(b.Date), b.Subject)
	if b.Upstream != "" {
		s += " [" + b.Upstream + ": " + b.Track + "]"
	}
	return s
}

func (b Branch) shrink(limit int) (Branch, bool) {
	b.Name, b.Subject = cut(b.Name, limit, limit/3), cut(b.Subject, limit, limit/4)
	b.Author, b.Upstream, b.Target = cut(b.Author, limit, limit/6), cut(b.Upstream, limit, limit/4), cut(b.Target, limit, limit/4)
	return b, true
}

// A branchPosition is where a page of git_branches begins.
type branchPosition struct {
	Place place `json:"p,omitzero"`
	Date  int64 `json:"d,omitzero"` // of the ref at Place, when sorted by it
	Seen  int64 `json:"n,omitzero"` // refs before
}

// A ref is what is sorted; details are asked for those on the page only.
type ref struct {
	name string // full
	date int64
}

func (g *roots) gitBranches(ctx context.Context, req *tool.Request, in branchesInput, page *result.Page[Branch]) error {
	pos, err := g.branches.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	r, err := g.open(ctx, in.Repo)
	if err != nil {
		return err
	}
	refs, err := r.refs(ctx, in)
	if err != nil {
		return err
	}
	page.Noun, page.Sorted, page.Hint = "branches", "by name", "narrow the list with name, contains or merged"
	switch in.Kind {
	case "tag":
		page.Noun = "tags"
	case "all":
		page.Noun, page.Sorted = "refs", "by kind (local, remote, tag) and name"
	}
	if in.Sort == "recent" {
		page.Sorted = "by date, the latest first"
	}
	page.Line, page.Shrink = Branch.line, Branch.shrink
	shorten(page)
	if in.Limit > 0 {
		page.Budget.Items = min(page.Budget.Items, in.Limit)
	}
	total := len(refs)
	if in.Cursor != "" {
		refs = refs[firstRef(refs, in.Sort, pos):]
	}
	before := total - len(refs)
	page.Total(int64(total))
	const batch = 50
	for part := range slices.Chunk(refs, batch) {
		details, err := r.details(ctx, part)
		if err != nil {
			return err
		}
		for i, f := range part {
			b, ok := details[f.name]
			if !ok {
				continue // gone meanwhile
			}
			if !page.Add(b) {
				return stop(req, page, g.branches, branchPosition{at(f.name), f.date, int64(before + i)})
			}
		}
		before += len(part)
	}
	return nil
}

// firstRef is the index of the first ref that is not before a position.
func firstRef(refs []ref, sort string, pos branchPosition) int {
	name := string(pos.Place.Path)
	long := len(pos.Place.Hash) > 0
	first := len(refs)
	for i, f := range refs {
		if sort == "recent" && f.date != pos.Date {
			if f.date < pos.Date {
				return min(first, i)
			}
			continue
		}
		if long && strings.HasPrefix(f.name, name) {
			if string(hash(f.name)) == string(pos.Place.Hash) {
				return i
			}
			first = min(first, i) // if that one has gone
			continue
		}
		if f.name >= name {
			return min(first, i)
		}
	}
	return first
}

var refKinds = []struct{ kind, prefix string }{{"local", "refs/heads/"}, {"remote", "refs/remotes/"}, {"tag", "refs/tags/"}}

// maxRefs bounds the refs that are looked at.
const maxRefs = 200_000

// refs lists names, sorted.
func (r *repo) refs(ctx context.Context, in branchesInput) ([]ref, error) {
	args := []string{"for-each-ref", "--format=%(creatordate:unix) %(refname)"}
	for _, f := range []struct{ option, rev string }{{"--contains=", in.Contains}, {"--merged=", in.Merged}, {"--no-merged=", in.NotMerged}} {
		if f.rev != "" {
			id, err := r.resolve(ctx, f.rev, "commit")
			if err != nil {
				return nil, err
			}
			args = append(args, f.option+id)
		}
	}
	for _, k := range refKinds {
		if in.Kind == "all" || in.Kind == k.kind {
			args = append(args, k.prefix)
		}
	}
	var refs []ref
	names := 0 // bytes of them
	for rec, err := range r.records(ctx, '\n', args...) {
		if err != nil {
			return nil, err
		}
		date, name, _ := strings.Cut(string(rec.Bytes), " ")
		if in.Name != "" && !strings.Contains(strings.ToLower(name), strings.ToLower(in.Name)) {
			continue
		}
		if names += len(name); len(refs) == maxRefs || names > maxNames {
			return nil, fmt.Errorf("more than %d branches and tags, or their names have more than %d MiB; narrow the list with name or kind", maxRefs, maxNames>>20)
		}
		seconds, _ := strconv.ParseInt(date, 10, 64)
		refs = append(refs, ref{name, seconds})
	}
	slices.SortFunc(refs, func(a, b ref) int {
		if in.Sort == "recent" && a.date != b.date {
			if a.date > b.date {
				return -1
			}
			return 1
		}
		return strings.Compare(a.name, b.name)
	})
	return refs, nil
}

// details asks git for all that is shown of these refs.
func (r *repo) details(ctx context.Context, refs []ref) (map[string]Branch, error) {
	const fields = 11
	args := []string{"for-each-ref", "--format=%(refname)%00%(HEAD)%00%(objectname)%00%(*objectname)%00%(creatordate:iso-strict)%00%(authorname)%00%(taggername)%00%(contents:subject)%00%(upstream)%00%(upstream:track,nobracket)%00%(symref)"}
	for _, f := range refs {
		args = append(args, f.name) // each begins with refs/
	}
	details := make(map[string]Branch)
	for rec, err := range r.records(ctx, '\n', args...) {
		if err != nil {
			return nil, err
		}
		f := strings.Split(string(rec.Bytes), "\x00")
		if len(f) != fields {
			return nil, errors.New("git for-each-ref printed what it was not asked for")
		}
		b := Branch{Current: f[1] == "*", Commit: f[2], Date: f[4], Author: text([]byte(f[5]+f[6]), maxName, 0), Subject: text([]byte(f[7]), maxSubject, 0)}
		if f[3] != "" {
			b.Commit = f[3] // what an annotated tag leads to
		}
		b.Kind, b.Name = shortName(f[0])
		if f[8] != "" {
			_, b.Upstream = shortName(f[8])
			if b.Track = f[9]; b.Track == "" {
				b.Track = "even"
			}
		}
		if f[10] != "" {
			_, b.Target = shortName(f[10])
		}
		details[f[0]] = b
	}
	return details, nil
}

// shortName is the kind of a ref, and its name without what tells the kind.
func shortName(name string) (kind, short string) {
	for _, k := range refKinds {
		if rest, ok := strings.CutPrefix(name, k.prefix); ok {
			return k.kind, quote(rest)
		}
	}
	return "", quote(name)
}
