// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package hosts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/lab/drive"
)

// plant makes a tree of 60 text files in Chinese and English, and returns path:line of every line that has "match", sorted.
func plant(dir string) ([]string, error) {
	var matches []string
	for i := range 60 {
		path := fmt.Sprintf("目录%d/文件%02d.txt", i%4, i)
		var b strings.Builder
		for n := range 50 {
			if n%3 == i%3 {
				fmt.Fprintf(&b, "第 %d 行: a match in 水 %q\n", n+1, "引号")
				matches = append(matches, fmt.Sprintf("%s:%d", path, n+1))
			} else {
				fmt.Fprintf(&b, "line %d of plain text\n", n+1)
			}
		}
		file := filepath.Join(dir, filepath.FromSlash(path))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			return nil, err
		}
	}
	slices.Sort(matches)
	return matches, nil
}

// matchPage is the structured form of a page of grep.
type matchPage struct {
	Items []struct {
		Path    string `json:"path"`
		Line    int    `json:"line"`
		Excerpt string `json:"excerpt"`
	} `json:"items"`
	Truncated  *bool   `json:"truncated"`
	NextCursor *string `json:"nextCursor"`
}

func grepChecks(srv servers) []namedCheck {
	return []namedCheck{
		{"lists grep and read_file", func(ctx context.Context, s session, _ *drive.Tail) error {
			names, err := s.tools(ctx)
			if err != nil {
				return err
			}
			slices.Sort(names)
			if !slices.Equal(names, []string{"grep", "read_file"}) {
				return fmt.Errorf("the tools are %v", names)
			}
			return nil
		}},
		{"finds Chinese text", func(ctx context.Context, s session, _ *drive.Tail) error {
			r, err := s.call(ctx, "grep", map[string]any{"pattern": "第 1[0-9] 行.*水", "path": "目录0"})
			if err != nil {
				return err
			}
			page, err := decodePage(r)
			if err != nil {
				return err
			}
			if len(page.Items) == 0 {
				return fmt.Errorf("nothing found: %.200q", r.text)
			}
			for _, m := range page.Items {
				if !strings.HasPrefix(m.Path, "目录0/") || !strings.Contains(m.Excerpt, `水 "引号"`) {
					return fmt.Errorf("found %s:%d %q", m.Path, m.Line, m.Excerpt)
				}
			}
			return nil
		}},
		{"pages to the end, with every match once", func(ctx context.Context, s session, _ *drive.Tail) error {
			return pageToTheEnd(ctx, s, srv.matches)
		}},
		{"an altered cursor is refused in words", func(ctx context.Context, s session, _ *drive.Tail) error {
			r, err := s.call(ctx, "grep", map[string]any{"pattern": "match", "cursor": "nonesuch"})
			if err != nil {
				return err
			}
			if !r.isError || !strings.Contains(r.text, "cursor") {
				return fmt.Errorf("isError is %v, the text %q", r.isError, r.text)
			}
			return nil
		}},
		{"reads a range of a file with a Chinese name", func(ctx context.Context, s session, _ *drive.Tail) error {
			r, err := s.call(ctx, "read_file", map[string]any{"path": "目录3/文件03.txt", "startLine": 4, "endLine": 5})
			if err != nil {
				return err
			}
			if r.isError || !strings.Contains(r.text, "第 4 行: a match in 水") || !strings.Contains(r.text, "line 5 of plain text") {
				return fmt.Errorf("lines 4 and 5 are %.300q", r.text)
			}
			return nil
		}},
		{"no path leads out of the root", func(ctx context.Context, s session, _ *drive.Tail) error {
			r, err := s.call(ctx, "read_file", map[string]any{"path": "../../../../../../../../etc/passwd"})
			if err != nil {
				return err
			}
			if !r.isError || strings.Contains(r.text, "root:") {
				return fmt.Errorf("isError is %v, the text %.100q", r.isError, r.text)
			}
			return nil
		}},
	}
}

func decodePage(r reply) (matchPage, error) {
	var page matchPage
	if r.isError {
		return page, errors.New("isError: " + r.text)
	}
	if err := json.Unmarshal(r.structured, &page); err != nil {
		return page, fmt.Errorf("structured content: %w", err)
	}
	if page.Truncated == nil {
		return page, errors.New("a page without truncated")
	}
	if page.NextCursor != nil && *page.NextCursor == "" {
		return page, errors.New(`a page with nextCursor ""`)
	}
	return page, nil
}

func pageToTheEnd(ctx context.Context, s session, want []string) error {
	var found []string
	arguments := map[string]any{"pattern": "match", "maxBytes": 4096}
	for pages := 1; ; pages++ {
		r, err := s.call(ctx, "grep", arguments)
		if err != nil {
			return err
		}
		page, err := decodePage(r)
		if err != nil {
			return fmt.Errorf("page %d: %w", pages, err)
		}
		for _, m := range page.Items {
			found = append(found, fmt.Sprintf("%s:%d", m.Path, m.Line))
		}
		if *page.Truncated != (page.NextCursor != nil) {
			return fmt.Errorf("page %d: truncated is %v, but whether a cursor is there is %v", pages, *page.Truncated, page.NextCursor != nil)
		}
		if page.NextCursor == nil {
			if pages < 10 {
				return fmt.Errorf("only %d pages: maxBytes was not minded", pages)
			}
			break
		}
		if head := r.text[:min(len(r.text), 2048)]; !strings.Contains(head, *page.NextCursor) {
			return fmt.Errorf("page %d: the first 2 KiB of the text do not show the cursor: %.200q", pages, head)
		}
		arguments["cursor"] = *page.NextCursor
	}
	slices.Sort(found)
	if !slices.Equal(found, want) {
		missing := slices.DeleteFunc(slices.Clone(want), func(m string) bool { return slices.Contains(found, m) })
		return fmt.Errorf("%d matches instead of %d; missing are %.200v", len(found), len(want), missing)
	}
	return nil
}
