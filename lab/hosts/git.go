// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/lab/drive"
)

// gitTools are those of examples/git without -write.
var gitTools = []string{"git_blame", "git_branches", "git_diff", "git_grep", "git_log", "git_ls_files", "git_show", "git_status"}

// plantGit makes a repository of 300 commits to 10 files with Chinese names, and returns the ids of the commits, the newest first.
func plantGit(ctx context.Context, dir string) ([]string, error) {
	git := func(stdin string, args ...string) (string, error) {
		cmd := exec.CommandContext(ctx, "git", args...)
		cmd.Dir = dir
		cmd.Stdin = strings.NewReader(stdin)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
		out, err := cmd.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("git %s: %w: %.500s", args[0], err, out)
		}
		return string(out), nil
	}
	var b strings.Builder
	for i := range 300 {
		fmt.Fprintf(&b, "commit refs/heads/main\nauthor 林 <lin@example.com> %d +0800\ncommitter 林 <lin@example.com> %[1]d +0800\n", 1_700_000_000+60*i)
		message, text := fmt.Sprintf("第 %d 次 \"commit\"", i), fmt.Sprintf("水位 %d\n", i)
		fmt.Fprintf(&b, "data %d\n%s\nM 100644 inline 目录/文件%d.txt\ndata %d\n%s\n", len(message), message, i%10, len(text), text)
	}
	for _, step := range []struct {
		stdin string
		args  []string
	}{{"", []string{"init", "-q", "-b", "main"}}, {b.String(), []string{"fast-import", "--quiet"}}, {"", []string{"reset", "-q", "--hard"}}} {
		if _, err := git(step.stdin, step.args...); err != nil {
			return nil, err
		}
	}
	ids, err := git("", "rev-list", "main")
	return strings.Fields(ids), err
}

func gitChecks(srv servers) []namedCheck {
	// says is a check of one call's text.
	says := func(tool string, arguments map[string]any, isError bool, want ...string) func(context.Context, session, *drive.Tail) error {
		return func(ctx context.Context, s session, _ *drive.Tail) error {
			r, err := s.call(ctx, tool, arguments)
			if err != nil {
				return err
			}
			if r.isError != isError {
				return fmt.Errorf("isError is %v, the text %.300q", r.isError, r.text)
			}
			for _, w := range want {
				if !strings.Contains(r.text, w) {
					return fmt.Errorf("the text has no %q: %.300q", w, r.text)
				}
			}
			return nil
		}
	}
	return []namedCheck{
		{"lists the eight tools that read", func(ctx context.Context, s session, _ *drive.Tail) error {
			names, err := s.tools(ctx)
			if err != nil {
				return err
			}
			slices.Sort(names)
			if !slices.Equal(names, gitTools) {
				return fmt.Errorf("the tools are %v", names)
			}
			return nil
		}},
		{"git_log pages to the end, with every commit once and in order", func(ctx context.Context, s session, _ *drive.Tail) error {
			return logToTheEnd(ctx, s, srv.commits)
		}},
		{"git_show reads a file with a Chinese name at a revision", says("git_show", map[string]any{"path": "目录/文件3.txt", "revision": "main~9"}, false, "水位 283")},
		{"git_diff begins with a line for each file", says("git_diff", map[string]any{"from": "main~2", "to": "main"}, false, "modified     目录/文件8.txt | +1 -1", "-水位 288\n+水位 298")},
		{"git_grep finds Chinese text", says("git_grep", map[string]any{"pattern": "水位 29[0-9]"}, false, "Returned 10 of 10", "目录/文件0.txt:1:1:水位 290")},
		{"a revision that looks like an option is refused in words", says("git_log", map[string]any{"range": "--output=x"}, true, "begins with a dash")},
		{"a revision that is not there comes with one that is like it", says("git_log", map[string]any{"range": "mian"}, true, "main")},
		{"no repository outside of the root is read", says("git_status", map[string]any{"repo": "../../.."}, true, "outside")},
	}
}

// logPage is the structured form of a page of git_log.
type logPage struct {
	Items []struct {
		Commit  string `json:"commit"`
		Subject string `json:"subject"`
	} `json:"items"`
	Truncated  bool   `json:"truncated"`
	NextCursor string `json:"nextCursor"`
}

func logToTheEnd(ctx context.Context, s session, want []string) error {
	var found []string
	arguments := map[string]any{"maxBytes": 8192}
	for pages := 1; ; pages++ {
		r, err := s.call(ctx, "git_log", arguments)
		if err != nil {
			return err
		}
		if r.isError {
			return errors.New("isError: " + r.text)
		}
		var page logPage
		if err := json.Unmarshal(r.structured, &page); err != nil {
			return fmt.Errorf("page %d: structured content: %w", pages, err)
		}
		for _, c := range page.Items {
			if at := len(want) - 1 - len(found); c.Subject != fmt.Sprintf("第 %d 次 \"commit\"", at) {
				return fmt.Errorf("page %d: the subject of commit %d is %q", pages, at, c.Subject)
			}
			found = append(found, c.Commit)
		}
		if page.Truncated != (page.NextCursor != "") {
			return fmt.Errorf("page %d: truncated is %v, the cursor %q", pages, page.Truncated, page.NextCursor)
		}
		if page.NextCursor == "" {
			if pages < 5 {
				return fmt.Errorf("only %d pages: maxBytes was not minded", pages)
			}
			break
		}
		arguments["cursor"] = page.NextCursor
	}
	if !slices.Equal(found, want) {
		return fmt.Errorf("%d commits instead of %d, or in another order", len(found), len(want))
	}
	return nil
}
