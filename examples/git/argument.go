// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxArgument bounds one text that is given to git, and maxPathBytes the paths of
// one call together: a command line has no room for more.
const (
	maxArgument  = 16 << 10
	maxPathBytes = 100 << 10
)

// checkText refuses what git would not take as the one text that it is meant to
// be: of several lines it makes alternatives.
func checkText(argument, text string, lines bool) error {
	switch {
	case len(text) > maxArgument:
		return fmt.Errorf("%s: has %d bytes; at most %d are taken", argument, len(text), maxArgument)
	case strings.IndexByte(text, 0) >= 0:
		return fmt.Errorf("%s: has a NUL, which no text that is searched has", argument)
	case !lines && strings.ContainsAny(text, "\n\r"):
		return fmt.Errorf("%s: has a line break, and the search is line by line; search for a part of one line", argument)
	}
	return nil
}

// checkPaths refuses paths that lead to nothing, for an answer that has nothing:
// they are not in the working tree, the index, HEAD or one of these trees.
func (r *repo) checkPaths(ctx context.Context, paths []string, trees ...string) error {
	for _, p := range paths {
		clean, err := cleanPath(p)
		if err != nil {
			return err
		}
		if clean == "" {
			continue
		}
		known, err := r.knows(ctx, clean, trees)
		if err != nil {
			return err
		}
		if known {
			continue
		}
		how := "; paths are relative to the top of the repository, and git_ls_files lists what there is"
		if strings.ContainsAny(clean, "*?[") {
			how = "; a path is taken as it is: a pattern goes into glob, where a tool has that"
		}
		return fmt.Errorf("paths: there is no %s%s", quote(clean), how)
	}
	return nil
}

// knows tells whether a path is there, in any place where it might be.
func (r *repo) knows(ctx context.Context, path string, trees []string) (bool, error) {
	if r.top != "" {
		if _, err := os.Lstat(filepath.Join(r.top, filepath.FromSlash(path))); err == nil {
			return true, nil
		}
		if out, err := r.output(ctx, "ls-files", "--cached", "--", ":(top,literal)"+path); err != nil || out != "" {
			return true, err
		}
	}
	for _, tree := range append([]string{"HEAD"}, trees...) {
		if id, err := r.parse(ctx, tree+":"+path); err != nil || id != "" {
			return true, err
		}
	}
	return false, nil
}
