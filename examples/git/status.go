// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type statusInput struct {
	Repository
	Paths     []string `json:"paths,omitempty" jsonschema:"description=Only these files or directories\\, relative to the top of the repository.,maxItems=100"`
	Untracked string   `json:"untracked,omitempty" jsonschema:"description=Untracked files: a directory that has only such as one entry (normal)\\, each file (all)\\, or none (no).,enum=normal,enum=all,enum=no,default=normal"`
	Ignored   bool     `json:"ignored,omitempty" jsonschema:"description=List ignored files too."`
	tool.PageInput
}

// A StatusEntry is one item of git_status.
type StatusEntry struct {
	Path      string `json:"path" jsonschema:"description=relative to the top; in double quotes\\, as git quotes it\\, where it has unusual characters: pass it on like that"`
	OldPath   string `json:"oldPath,omitempty" jsonschema:"description=before it was renamed"`
	Code      string `json:"code" jsonschema:"description=git's two letters: for the index and for the working tree; a dot or space means unchanged"`
	Staged    string `json:"staged,omitempty" jsonschema:"description=what became of it in the index"`
	Worktree  string `json:"worktree,omitempty" jsonschema:"description=what became of it in the working tree\\, or: untracked\\, ignored"`
	Conflict  string `json:"conflict,omitempty" jsonschema:"description=which sides of a merge changed it"`
	Submodule bool   `json:"submodule,omitzero" jsonschema:"description=it is a submodule\\, of which another commit is checked out"`
}

func (e StatusEntry) line() string {
	name := inLine(e.Path)
	if e.OldPath != "" {
		name = inLine(e.OldPath) + " -> " + name
	}
	s := e.Code + " " + name
	if e.Conflict != "" {
		s += " (" + e.Conflict + ")"
	}
	return s
}

func (e StatusEntry) shrink(limit int) (StatusEntry, bool) {
	e.Path, e.OldPath = cut(e.Path, limit, limit/2), cut(e.OldPath, limit, limit/4)
	return e, true
}

// A StatusSummary stands beside the items of git_status.
type StatusSummary struct {
	Branch    string `json:"branch,omitempty" jsonschema:"description=the current branch; absent when HEAD is detached"`
	Commit    string `json:"commit,omitempty" jsonschema:"description=id of the current commit; absent before the first"`
	Upstream  string `json:"upstream,omitempty" jsonschema:"description=branch that it follows"`
	Ahead     *int64 `json:"ahead,omitempty" jsonschema:"description=commits that the upstream does not have"`
	Behind    *int64 `json:"behind,omitempty" jsonschema:"description=commits that only the upstream has"`
	Stashes   int64  `json:"stashes,omitzero" jsonschema:"description=entries of git stash"`
	Operation string `json:"operation,omitempty" jsonschema:"description=what is under way,enum=merge,enum=rebase,enum=cherry-pick,enum=revert,enum=bisect"`
}

// standing is how a branch stands to its upstream, in the words of git_branches.
func standing(ahead, behind int64) string {
	var parts []string
	if ahead > 0 {
		parts = append(parts, "ahead "+strconv.FormatInt(ahead, 10))
	}
	if behind > 0 {
		parts = append(parts, "behind "+strconv.FormatInt(behind, 10))
	}
	return cmp.Or(strings.Join(parts, ", "), "even")
}

// text is the summary as a sentence.
func (s *StatusSummary) text() string {
	b := "On no branch (HEAD is detached)"
	if s.Branch != "" {
		b = "On branch " + s.Branch
	}
	if s.Commit == "" {
		b += ", without a commit"
	} else {
		b += " at " + short(s.Commit)
	}
	if s.Upstream != "" {
		b += ", upstream " + s.Upstream
		if s.Ahead != nil && s.Behind != nil {
			b += " (" + standing(*s.Ahead, *s.Behind) + ")"
		} else {
			b += " (gone)"
		}
	}
	b += "."
	if s.Operation != "" {
		b += " A " + s.Operation + " is under way."
	}
	if s.Stashes > 0 {
		b += " Stashes: " + strconv.FormatInt(s.Stashes, 10) + "."
	}
	return b
}

// A statusPosition is where a page of git_status begins. git lists changed files
// first, then those in conflict, untracked and ignored ones, each sorted by path.
type statusPosition struct {
	Section int   `json:"s,omitzero"`
	Place   place `json:"p,omitzero"`
}

var sections = map[byte]int{'1': 1, '2': 1, 'u': 2, '?': 3, '!': 4}

func (g *roots) gitStatus(ctx context.Context, req *tool.Request, in statusInput, page *result.Page[StatusEntry], note *string) error {
	pos, err := g.status.Decode(req, in.Cursor)
	if err != nil {
		return err
	}
	specs, err := pathspecs(in.Paths, "")
	if err != nil {
		return err
	}
	r, err := g.worktree(ctx, in.Repo)
	if err != nil {
		return err
	}
	summary := &StatusSummary{Operation: r.operation()}
	page.Noun, page.Hint = "changed files", "narrow the list with paths or untracked"
	page.Line, page.Shrink, page.Extra = StatusEntry.line, StatusEntry.shrink, summary
	shorten(page)

	args := []string{"status", "--porcelain=v2", "-z", "--branch", "--show-stash", "--find-renames", "--ignore-submodules=dirty", "--untracked-files=" + in.Untracked}
	if in.Ignored {
		args = append(args, "--ignored=traditional")
	}
	s := statusList{page: page, pos: &pos}
	next := r.tokens(ctx, append(append(args, "--"), specs...))
	defer next.stop()
	for !s.full {
		field, ok := next.token()
		if !ok {
			break
		}
		if header, ok := strings.CutPrefix(field, "# "); ok {
			summary.header(header)
			continue
		}
		e, section, ok := parseStatus(field, func() string { old, _ := next.token(); return old })
		if ok {
			s.add(e, section)
		}
	}
	s.end()
	*note = summary.text()
	switch {
	case s.full:
		return stop(req, page, g.status, pos)
	case next.err != nil:
		if page.Len() > 0 {
			_ = stop(req, page, g.status, pos)
		}
		return next.err
	case page.Len() == 0 && in.Cursor == "":
		return r.checkPaths(ctx, in.Paths)
	}
	return nil
}

// A statusList takes the entries from a position on.
type statusList struct {
	page *result.Page[StatusEntry]
	pos  *statusPosition
	rest *resumed[StatusEntry]
	at   int // the section of rest
	full bool
}

func (s *statusList) add(e StatusEntry, section int) {
	if section < s.pos.Section {
		return
	}
	if section != s.at {
		s.end()
		if s.full {
			return
		}
		from := place{}
		if section == s.pos.Section {
			from = s.pos.Place
		}
		s.at = section
		name := func(e StatusEntry) string { path, _ := unquote(e.Path); return path }
		s.rest = &resumed[StatusEntry]{from: from, path: name, yield: func(e StatusEntry) bool {
			s.pos.Section, s.pos.Place = section, at(name(e))
			s.full = !s.page.Add(e)
			return !s.full
		}}
	}
	s.rest.add(e)
}

func (s *statusList) end() {
	if s.rest != nil && !s.full {
		s.rest.end()
	}
}

func (s *StatusSummary) header(h string) {
	key, value, _ := strings.Cut(h, " ")
	switch key {
	case "branch.oid":
		if value != "(initial)" {
			s.Commit = value
		}
	case "branch.head":
		if value != "(detached)" {
			s.Branch = quote(value)
		}
	case "branch.upstream":
		s.Upstream = quote(value)
	case "branch.ab":
		ahead, behind, _ := strings.Cut(value, " ")
		a, b := number(strings.TrimPrefix(ahead, "+")), number(strings.TrimPrefix(behind, "-"))
		s.Ahead, s.Behind = &a, &b
	case "stash":
		s.Stashes = max(number(value), 0)
	}
}

var words = map[byte]string{'M': "modified", 'T': "type changed", 'A': "added", 'D': "deleted", 'R': "renamed", 'C': "copied"}

var conflicts = map[string]string{
	"DD": "both deleted", "AU": "added by us", "UD": "deleted by them", "UA": "added by them",
	"DU": "deleted by us", "AA": "both added", "UU": "both modified",
}

// parseStatus reads one entry of git status --porcelain=v2; old reads the path
// that follows a rename.
func parseStatus(field string, old func() string) (StatusEntry, int, bool) {
	// How many fields stand before the path.
	before := map[byte]int{'1': 8, '2': 9, 'u': 10, '?': 1, '!': 1}
	if field == "" || before[field[0]] == 0 {
		return StatusEntry{}, 0, false
	}
	kind := field[0]
	parts := strings.SplitN(field, " ", before[kind]+1)
	if len(parts) != before[kind]+1 {
		return StatusEntry{}, 0, false
	}
	e := StatusEntry{Path: quote(parts[len(parts)-1])}
	switch kind {
	case '?':
		e.Code, e.Worktree = "??", "untracked"
	case '!':
		e.Code, e.Worktree = "!!", "ignored"
	default:
		xy := parts[1]
		e.Code = xy
		e.Submodule = strings.HasPrefix(parts[2], "S")
		if kind == 'u' {
			e.Conflict = conflicts[xy]
		} else if len(xy) == 2 {
			e.Staged, e.Worktree = words[xy[0]], words[xy[1]]
		}
		if kind == '2' {
			e.OldPath = quote(old())
		}
	}
	return e, sections[kind], true
}

// operation is what git has begun and not ended, told by the files that it keeps
// of it.
func (r *repo) operation() string {
	for _, o := range []struct{ file, name string }{
		{"rebase-merge", "rebase"}, {"rebase-apply", "rebase"}, {"MERGE_HEAD", "merge"},
		{"CHERRY_PICK_HEAD", "cherry-pick"}, {"REVERT_HEAD", "revert"}, {"BISECT_LOG", "bisect"},
	} {
		if _, err := os.Lstat(filepath.Join(r.gitDir, o.file)); err == nil {
			return o.name
		}
	}
	return ""
}
