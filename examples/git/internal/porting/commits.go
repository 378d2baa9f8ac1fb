// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/weir-mcp/weir/exec"
)

// A Commit is one item.
type Commit struct {
	Commit  string `json:"commit" jsonschema:"description=id"`
	Author  string `json:"author" jsonschema:"description=name"`
	Date    string `json:"date" jsonschema:"description=when the author made it"`
	Subject string `json:"subject" jsonschema:"description=first line of the message"`
}

// commits yields the history of the commit with that id. Leaving the loop ends
// git.
func commits(ctx context.Context, dir, id string, skip, most int) iter.Seq2[Commit, error] {
	cmd := git(dir, "log", "-z", "--format=tformat:%H%x1f%an%x1f%aI%x1f%s",
		fmt.Sprintf("--skip=%d", skip), fmt.Sprintf("--max-count=%d", most), id, "--")
	return func(yield func(Commit, error) bool) {
		for record, err := range exec.Records(ctx, cmd, 0) { // -z: each ends in NUL
			if err != nil {
				yield(Commit{}, err)
				return
			}
			f := strings.SplitN(record.String(), "\x1f", 4)
			if len(f) != 4 {
				yield(Commit{}, fmt.Errorf("git log printed %q", record))
				return
			}
			if !yield(Commit{f[0], f[1], f[2], f[3]}, nil) {
				return
			}
		}
	}
}
