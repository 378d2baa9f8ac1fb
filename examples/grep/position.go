// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"crypto/sha256"
	"strings"

	"github.com/weir-mcp/weir/examples/grep/internal/tree"
)

// A position is where a page of matches begins: with the first match that is not
// before that line of that file. Since matches are sorted by path and line, it
// stays right when files come and go: what was shown is before it.
type position struct {
	// Path is bytes, since a file name need not be UTF-8, and at most maxPath
	// of them, since a cursor has 512 bytes.
	Path []byte `json:"p,omitempty"`
	// Hash tells which of the paths that begin with Path is meant, if Path is
	// not all of it.
	Hash []byte `json:"h,omitempty"`
	Line int    `json:"l,omitzero"`
	// Seen is how many matches there were before, for the total at the end.
	Seen int `json:"n,omitzero"`
}

const maxPath = 200

func at(path string, line, seen int) position {
	p := position{Path: []byte(path), Line: line, Seen: seen}
	if len(path) > maxPath {
		p.Path, p.Hash = p.Path[:maxPath], hash(path)
	}
	return p
}

func hash(path string) []byte {
	sum := sha256.Sum256([]byte(path))
	return sum[:8]
}

// path returns the whole path of p. A path that was too long for a cursor is
// looked for in the tree; if it has gone, what begins like it is searched again.
func (p position) path(ctx context.Context, t *tree.Tree, start string) (string, error) {
	prefix := string(p.Path)
	if p.Hash == nil {
		return prefix, nil
	}
	for f, err := range t.Files(ctx, start, prefix) {
		switch {
		case ctx.Err() != nil:
			return "", context.Cause(ctx)
		case err != nil:
			continue
		case !strings.HasPrefix(f.Path, prefix):
			return prefix, nil
		case string(hash(f.Path)) == string(p.Hash):
			return f.Path, nil
		}
	}
	return prefix, nil
}
