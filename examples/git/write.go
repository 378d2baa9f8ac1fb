// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"github.com/weir-mcp/weir/exec"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

type addInput struct {
	Repository
	Paths []string `json:"paths" jsonschema:"description=Files and directories to stage\\, relative to the top of the repository; . is all of it. What was deleted is staged as deleted.,minItems=1,maxItems=100"`
}

type unstageInput struct {
	Repository
	Paths []string `json:"paths" jsonschema:"description=Files and directories\\, relative to the top of the repository; . is all of it.,minItems=1,maxItems=100"`
}

type commitInput struct {
	Repository
	Message    string `json:"message" jsonschema:"description=The message: a subject (best of at most 72 characters)\\, and after a blank line what else there is to say.,minLength=1,maxLength=65536"`
	AllowEmpty bool   `json:"allowEmpty,omitempty" jsonschema:"description=Commit although nothing is staged."`
}

type switchInput struct {
	Repository
	Branch string `json:"branch" jsonschema:"description=Name of the local branch.,minLength=1,maxLength=200"`
	Create bool   `json:"create,omitempty" jsonschema:"description=Create the branch\\, which must not exist."`
	From   string `json:"from,omitempty" jsonschema:"description=With create: revision that the branch begins at.,default=HEAD"`
}

// addWriters adds the tools that change a repository.
func (g *roots) addWriters(tools *tool.Registry) {
	writes := func(name, title, description string, destructive, idempotent tool.Hint) tool.Info {
		return tool.Info{
			Name: name, Title: title, Description: description,
			ReadOnly: tool.No, Destructive: destructive, Idempotent: idempotent, OpenWorld: tool.No, AcceptText: true,
		}
	}
	tool.Add(tools, writes("git_add", "Stage", "Stages files as they are in the working tree, for the next git_commit.", tool.No, tool.Yes), g.gitAdd)
	tool.Add(tools, writes("git_unstage", "Unstage", "Makes the index like the current commit again for these paths. The working tree stays as it is; what was staged and is not in it is lost.", tool.Yes, tool.Yes), g.gitUnstage)
	tool.Add(tools, writes("git_commit", "Commit", "Commits what is staged to the current branch.", tool.No, tool.No), g.gitCommit)
	tool.Add(tools, writes("git_switch", "Switch branches", "Switches the working tree to another local branch, or creates one. It is refused where local changes would be overwritten.", tool.No, tool.Yes), g.gitSwitch)
}

// writable opens a repository to change it.
func (g *roots) writable(ctx context.Context, name string) (*repo, error) {
	r, err := g.worktree(ctx, name)
	if err != nil || !g.trust {
		return r, err
	}
	var kept []string
	for i := 0; i+1 < len(overrides); i += 2 {
		if !trusted[overrides[i]] {
			kept = append(kept, overrides[i], overrides[i+1])
		}
	}
	r.settings = kept
	return r, nil
}

// change runs git, and returns what it says of a failure as an error.
func (r *repo) change(ctx context.Context, stdin string, args ...string) error {
	cmd := r.cmd(args)
	if stdin != "" {
		cmd.Stdin = strings.NewReader(stdin)
	}
	out, err := exec.Run(ctx, cmd)
	switch {
	case err != nil:
		return err
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case out.Success():
		return nil
	}
	said := refusal(r.hide(out.Stdout.Text() + "\n" + out.Stderr.Text()))
	switch {
	case strings.Contains(said, "index.lock"):
		return errors.New("another git is at work in the repository (index.lock is there): try again, and if it stays ask the user to look")
	case strings.Contains(said, "tell me who you are") || strings.Contains(said, "empty ident"):
		return errors.New("git does not know who commits: ask the user to set user.name and user.email")
	case strings.Contains(said, "nothing to commit") || strings.Contains(said, "nothing added to commit") || strings.Contains(said, "no changes added to commit"):
		return errors.New("nothing is staged: stage files with git_add first; git_status shows what was changed")
	}
	for _, e := range refusals {
		if m := e.pattern.FindStringSubmatch(said); m != nil {
			return errors.New(strings.ReplaceAll(e.text, "$1", text([]byte(strings.TrimSpace(m[1])), 1000, 0)))
		}
	}
	return errors.New("git " + args[0] + ": " + text([]byte(said), 2000, 0))
}

// refusals are what a model can do about what git says of a change.
var refusals = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`pathspec '(.*)' did not match`),
		"there is no $1 to stage; git_status lists what was changed, and paths are relative to the top of the repository"},
	{regexp.MustCompile(`pathspec '(.*)' is beyond a symbolic link`),
		"$1 is behind a symbolic link, where the repository has no files"},
	{regexp.MustCompile(`pathspec '(.*)' is in submodule`),
		"$1 is in a submodule: stage it there, with the submodule's directory as repo"},
	{regexp.MustCompile(`(?s)paths are ignored by one of your \.gitignore files:\n(.*)`),
		"these are ignored (.gitignore), and so they are not staged: $1"},
	{regexp.MustCompile(`(?s)local changes to the following files would be overwritten by checkout:\n(.*)`),
		"the branch has other contents of files with local changes, which would be overwritten: commit them first (git_add, git_commit), or ask the user: $1"},
	{regexp.MustCompile(`(?s)untracked working tree files would be overwritten by checkout:\n(.*)`),
		"the branch has files which are here untracked and would be overwritten: stage and commit them first, or ask the user: $1"},
	{regexp.MustCompile(`cannot switch branch while (\w+)`),
		"a branch cannot be switched while git is $1: ask the user to end that"},
	{regexp.MustCompile(`is already (?:checked out|used by worktree) at '(.*)'`),
		"the branch is checked out in another working tree, $1"},
	{regexp.MustCompile(`(?:you need to resolve your current index first|Committing is not possible because you have (unmerged files))`),
		"a merge is under way with files in conflict, which git_status lists: resolve these, and stage them with git_add"},
}

// refusal is what git said without its advice, which names commands that a model
// does not have, and without the magic of our pathspecs.
func refusal(said string) string {
	var kept []string
	for line := range strings.Lines(said) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "hint:") || strings.HasPrefix(line, "Please ") || line == "Aborting" || strings.TrimSpace(line) == "" {
			continue
		}
		line = strings.TrimPrefix(strings.TrimPrefix(line, "fatal: "), "error: ")
		kept = append(kept, strings.ReplaceAll(line, ":(top,literal)", ""))
	}
	return strings.Join(kept, "\n")
}

func (g *roots) gitAdd(ctx context.Context, _ *tool.Request, in addInput) (result.Result, error) {
	r, specs, err := g.pathsToWrite(ctx, in.Repo, in.Paths)
	if err != nil {
		return result.Result{}, err
	}
	if err := r.refuseFilters(ctx, append([]string{"ls-files", "-z", "--modified", "--others", "--exclude-standard", "--"}, specs...)); err != nil {
		return result.Result{}, err
	}
	if err := r.change(ctx, "", append([]string{"add", "--"}, specs...)...); err != nil {
		return result.Result{}, err
	}
	return r.staged(ctx)
}

func (g *roots) gitUnstage(ctx context.Context, _ *tool.Request, in unstageInput) (result.Result, error) {
	r, specs, err := g.pathsToWrite(ctx, in.Repo, in.Paths)
	if err != nil {
		return result.Result{}, err
	}
	if err := r.checkPaths(ctx, in.Paths); err != nil {
		return result.Result{}, err
	}
	if err := r.change(ctx, "", append([]string{"reset", "--quiet", "--"}, specs...)...); err != nil {
		return result.Result{}, err
	}
	return r.staged(ctx)
}

func (g *roots) pathsToWrite(ctx context.Context, repo string, paths []string) (*repo, []string, error) {
	specs, err := pathspecs(paths, "")
	if err != nil {
		return nil, nil, err
	}
	for _, p := range paths {
		clean, _ := cleanPath(p)
		for part := range strings.SplitSeq(clean, "/") {
			if strings.EqualFold(part, ".git") {
				return nil, nil, fmt.Errorf("path %s is git's own, which is never staged", quote(clean))
			}
		}
	}
	r, err := g.writable(ctx, repo)
	return r, specs, err
}

// staged says what is in the index now.
func (r *repo) staged(ctx context.Context) (result.Result, error) {
	base := "HEAD"
	if head, err := r.parse(ctx, "HEAD"); err != nil {
		return result.Result{}, err
	} else if head == "" {
		base = r.emptyTree()
	}
	c := &comparison{repo: r, sides: []string{"--cached", base}}
	files, err := c.files(ctx, true)
	if err != nil {
		return result.Result{}, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Files staged: %d.", len(files))
	for i, f := range files {
		if i == 100 {
			fmt.Fprintf(&b, "\nand %d more; git_status lists them", len(files)-i)
			break
		}
		b.WriteString("\n" + f.change().line())
	}
	return result.Text(b.String()), nil
}

func (g *roots) gitCommit(ctx context.Context, _ *tool.Request, in commitInput) (result.Result, error) {
	if strings.TrimSpace(in.Message) == "" || strings.IndexByte(in.Message, 0) >= 0 {
		return result.Result{}, errors.New("message: has to have text, and no NUL")
	}
	r, err := g.writable(ctx, in.Repo)
	if err != nil {
		return result.Result{}, err
	}
	args := []string{"commit", "--quiet", "--cleanup=whitespace", "--no-status", "--file=-"}
	if in.AllowEmpty {
		args = append(args, "--allow-empty")
	}
	if !g.trust {
		args = append(args, "--no-verify", "--no-gpg-sign")
	}
	if err := r.change(ctx, in.Message, args...); err != nil {
		return result.Result{}, err
	}
	row, err := r.oneCommit(ctx, "HEAD")
	if err != nil {
		return result.Result{}, err
	}
	c := newCommit(row)
	c.Body = ""
	return result.Text("Committed " + c.Commit + "\n" + c.line()), nil
}

func (g *roots) gitSwitch(ctx context.Context, _ *tool.Request, in switchInput) (result.Result, error) {
	r, err := g.writable(ctx, in.Repo)
	if err != nil {
		return result.Result{}, err
	}
	if in.Branch[0] == '-' {
		return result.Result{}, fmt.Errorf("branch: %s begins with a dash, and so it is no name for a branch", quote(in.Branch))
	}
	if err := checkRevision(in.Branch); err != nil {
		return result.Result{}, err
	}
	if _, err := r.output(ctx, "check-ref-format", "refs/heads/"+in.Branch); err != nil {
		return result.Result{}, fmt.Errorf("%s is no name for a branch", quote(in.Branch))
	}
	existing, err := r.parse(ctx, "refs/heads/"+in.Branch)
	if err != nil {
		return result.Result{}, err
	}
	args := []string{"switch", "--quiet", "--no-guess", "--no-recurse-submodules", "--no-progress"}
	target := existing
	switch {
	case in.Create && existing != "":
		return result.Result{}, fmt.Errorf("branch %s exists; leave out create to switch to it", quote(in.Branch))
	case in.Create:
		if target, err = r.resolve(ctx, in.From, "commit"); err != nil {
			return result.Result{}, err
		}
		args = append(args, "--no-track", "--create", in.Branch, target)
	case existing == "":
		if id, err := r.parse(ctx, in.Branch); err == nil && id != "" {
			return result.Result{}, fmt.Errorf("branch: %s is no local branch, but another revision; to work from there create a branch of a name of its own, with create and from %s", quote(in.Branch), quote(in.Branch))
		}
		return result.Result{}, r.unknown(ctx, in.Branch)
	default:
		args = append(args, in.Branch)
	}
	if err := r.refuseFilters(ctx, []string{"diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--name-only", "-z", "HEAD", target, "--"}); err != nil {
		return result.Result{}, err
	}
	if err := r.change(ctx, "", args...); err != nil {
		return result.Result{}, err
	}
	return result.Text("On branch " + quote(in.Branch) + " at " + target), nil
}

// refuseFilters refuses to write files that the repository wants filtered, as
// for large file storage: without the filter, which only -trust runs, they would
// be written wrong. list prints the files.
func (r *repo) refuseFilters(ctx context.Context, list []string) error {
	filters := make(map[string]bool)
	for i := 0; i < len(r.settings); i += 2 {
		if rest, ok := strings.CutPrefix(r.settings[i], "filter."); ok {
			filters[rest[:max(strings.LastIndexByte(rest, '.'), 0)]] = true
		}
	}
	if len(filters) == 0 {
		return nil
	}
	var names strings.Builder
	for rec, err := range r.records(ctx, 0, list...) {
		if err != nil {
			return err
		}
		names.Write(rec.Bytes)
		names.WriteByte(0)
		if path.Base(string(rec.Bytes)) == ".gitattributes" {
			return r.filtered(string(rec.Bytes))
		}
	}
	cmd := r.cmd([]string{"check-attr", "-z", "--stdin", "filter"})
	cmd.Stdin = strings.NewReader(names.String())
	n := 0
	name := ""
	for rec, err := range exec.Records(ctx, cmd, 0) {
		if out := exited(err); out != nil {
			return r.explain(ctx, out)
		}
		if err != nil {
			return err
		}
		switch n++; n % 3 { // path, attribute, value
		case 1:
			name = string(rec.Bytes)
		case 0:
			if filters[string(rec.Bytes)] {
				return r.filtered(name)
			}
		}
	}
	return nil
}

func (r *repo) filtered(name string) error {
	return fmt.Errorf("%s has, or decides on, a filter such as that of large file storage, which this server does not run: it needs to be started with -trust for that, or the user does it", quote(name))
}
