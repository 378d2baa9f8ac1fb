// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// resolve turns what a model calls a revision into the id of an object, of the
// kind commit, tree, blob, or object for any. From there on only ids are given to
// git: nothing that a model wrote can be an option, or change its meaning while
// the pages of an answer are read.
func (r *repo) resolve(ctx context.Context, rev, kind string) (string, error) {
	if err := checkRevision(rev); err != nil {
		return "", err
	}
	// In two steps, since ":/text^{commit}" would be a search for that text.
	id, err := r.parse(ctx, rev)
	if err != nil {
		return "", err
	}
	if id == "" {
		return "", r.unknown(ctx, rev)
	}
	peeled, err := r.parse(ctx, id+"^{"+kind+"}")
	if err != nil {
		return "", err
	}
	if peeled == "" {
		return "", fmt.Errorf("revision %s is not a %s, and does not lead to one", quote(rev), kind)
	}
	return peeled, nil
}

// parse asks git for the id of one revision, and returns "" if there is none.
func (r *repo) parse(ctx context.Context, rev string) (string, error) {
	out, err := r.run(ctx, []string{"rev-parse", "--verify", "--end-of-options", rev})
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	id := strings.TrimSuffix(out.Stdout.Text(), "\n")
	if !out.Success() || !r.isID(id) { // "^main" is answered with ^ and an id
		return "", nil
	}
	// git warns, and takes the tag.
	if base, _ := cutRevision(rev); strings.Contains(out.Stderr.Text(), "' is ambiguous") && !r.isID(base) {
		return "", fmt.Errorf("revision %s is ambiguous, as of a tag and a branch of one name: write refs/heads/%s or refs/tags/%s", quote(rev), quote(rev), quote(rev))
	}
	return id, nil
}

// cutRevision parts the name of a ref or the id from what is behind it.
func cutRevision(rev string) (base, rest string) {
	if i := strings.IndexAny(rev, "~^@:"); i > 0 {
		return rev[:i], rev[i:]
	}
	return rev, ""
}

// isID tells whether s is the whole id of an object.
func (r *repo) isID(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == r.idBytes()
}

func (r *repo) idBytes() int {
	if r.sha256 {
		return 32
	}
	return 20
}

// emptyTree is the id of the tree with nothing in it, which every git knows.
func (r *repo) emptyTree() string {
	if r.sha256 {
		return "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321"
	}
	return "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
}

func checkRevision(rev string) error {
	const max = 1 << 10
	switch {
	case rev == "":
		return errors.New("a revision is empty; leave it out for the default")
	case len(rev) > max:
		return fmt.Errorf("a revision of %d bytes; give a branch, a tag or a commit", len(rev))
	case rev[0] == '-':
		return fmt.Errorf("revision %s: no revision begins with a dash; a branch that does is refs/heads/%s", quote(rev), rev)
	case !utf8.ValidString(rev) || strings.ContainsFunc(rev, unicode.IsControl):
		return fmt.Errorf("revision %s has control characters", quote(rev))
	}
	return nil
}

// unknown is the error for a revision that is not there, with the names that are
// most like it.
func (r *repo) unknown(ctx context.Context, rev string) error {
	before, path, hasPath := strings.Cut(rev, ":")
	if hasPath && (path == ".." || strings.HasPrefix(path, "../") || strings.HasPrefix(path, "./")) {
		return fmt.Errorf("revision %s: the path behind the colon is relative to the top of the repository, without ./ or ../ before it", quote(rev))
	}
	if strings.Contains(before, "..") {
		return fmt.Errorf("revision %s is a range, and one revision is wanted here", quote(rev))
	}
	head, err := r.parse(ctx, "HEAD")
	if err != nil {
		return err
	}
	if rev == "HEAD" && head == "" {
		return fmt.Errorf("the repository %s has no commit yet on its current branch; git_branches lists others, git_status and git_ls_files show what there is", quote(r.name))
	}
	if out, err := r.run(ctx, []string{"rev-parse", "--verify", "--end-of-options", rev}); err == nil && strings.Contains(out.Stderr.Text(), "is ambiguous") {
		return fmt.Errorf("revision %s is ambiguous: several objects begin like it; give more digits", quote(rev))
	}
	text := "there is no revision " + quote(rev)
	if r.name != "." {
		text += " in " + quote(r.name)
	}
	base, rest := cutRevision(rev) // what is behind a ref's name is another matter
	if rest != "" {
		if id, err := r.parse(ctx, base); err == nil && id != "" {
			return fmt.Errorf("%s: there is %s, but not %s of it", text, quote(base), quote(rest))
		}
	}
	if names := r.nearest(ctx, base); len(names) > 0 {
		text += "; the names most like it are " + strings.Join(names, ", ")
	}
	return errors.New(text + "; git_branches lists branches and tags, git_log commits")
}

// nearest are at most three branches and tags whose names are most like name.
func (r *repo) nearest(ctx context.Context, name string) []string {
	type near struct {
		name     string
		distance int
	}
	const most = 10_000 // names looked at
	var all []near
	n := 0
	for rec, err := range r.records(ctx, '\n', "for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/tags", "refs/remotes") {
		if n++; err != nil || n > most {
			break
		}
		ref := string(rec.Bytes)
		d := distance(strings.ToLower(name), strings.ToLower(ref))
		if i := strings.LastIndexByte(ref, '/'); i >= 0 {
			d = min(d, distance(strings.ToLower(name), strings.ToLower(ref[i+1:]))+1)
		}
		if d <= max(2, len(name)/3) || len(name) >= 3 && strings.Contains(strings.ToLower(ref), strings.ToLower(name)) {
			all = append(all, near{quote(ref), d})
		}
	}
	slices.SortStableFunc(all, func(a, b near) int { return a.distance - b.distance })
	var names []string
	for _, a := range all[:min(len(all), 3)] {
		names = append(names, a.name)
	}
	return names
}

// distance is how many bytes have to be changed, added or removed to make b of a.
func distance(a, b string) int {
	if len(a) > 200 || len(b) > 200 {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		last := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := last
			if a[i] != b[j] {
				cost = min(last, row[j], row[j+1]) + 1
			}
			last, row[j+1] = row[j+1], cost
		}
	}
	return row[len(b)]
}

// A span is what is to be listed: the commits that can be reached from one, and
// not those of another; or, if it is symmetric, what either has for itself.
type span struct {
	from, not string // ids; not may be empty
	symmetric bool
}

// span resolves REV, A..B and A...B, where a side left out is HEAD.
func (r *repo) span(ctx context.Context, s string) (span, error) {
	a, b, symmetric := strings.Cut(s, "...")
	isRange := symmetric
	if !symmetric {
		a, b, isRange = strings.Cut(s, "..")
	}
	if strings.Contains(b, "..") || strings.Contains(s, " ") && isRange {
		return span{}, fmt.Errorf("range %s: one range is wanted, such as v1.0..main", quote(s))
	}
	var sp span
	var err error
	side := func(rev string) string {
		if rev == "" {
			rev = "HEAD"
		}
		var id string
		if err == nil {
			id, err = r.resolve(ctx, rev, "commit")
		}
		return id
	}
	if !isRange {
		sp.from = side(s)
		return sp, err
	}
	sp.not, sp.from, sp.symmetric = side(a), side(b), symmetric
	return sp, err
}

// args are the revisions for git.
func (s span) args() []string {
	switch {
	case s.symmetric:
		return []string{s.not + "..." + s.from}
	case s.not != "":
		return []string{s.from, "^" + s.not}
	}
	return []string{s.from}
}
