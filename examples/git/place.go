// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"crypto/sha256"
	"strings"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// cursors are those of the tools.
type cursors struct {
	status   cursor.Codec[statusPosition]
	log      cursor.Codec[logPosition]
	diff     cursor.Codec[diffPosition]
	show     cursor.Codec[showPosition]
	blame    cursor.Codec[blamePosition]
	grep     cursor.Codec[grepPosition]
	branches cursor.Codec[branchPosition]
	files    cursor.Codec[filesPosition]
}

// stop sets the cursor of a page that is full, or whose call ends before it is.
func stop[T, P any](req *tool.Request, page *result.Page[T], c cursor.Codec[P], p P) error {
	token, err := c.Encode(req, p)
	page.NextCursor = token
	return cmp.Or(page.Err(), err)
}

// A place is where a list that is sorted by path goes on: with the first entry
// that is not before this one. So it stays right when entries come and go.
type place struct {
	// Path is bytes, since a name need not be UTF-8, and at most maxPath of
	// them, since a cursor has 512 bytes.
	Path []byte `json:"p,omitempty"`
	// Hash tells which of the entries that begin with Path is meant, if Path is
	// not all of it.
	Hash []byte `json:"h,omitempty"`
}

const maxPath = 120

func at(path string) place {
	if len(path) <= maxPath {
		return place{Path: []byte(path)}
	}
	return place{Path: []byte(path[:maxPath]), Hash: hash(path)}
}

func hash(path string) []byte {
	sum := sha256.Sum256([]byte(path))
	return sum[:8]
}

// A resumed list yields the entries of a sorted one from a place on.
type resumed[T any] struct {
	from  place
	path  func(T) string
	yield func(T) bool

	begun bool
	held  []T // those that begin like the place, before the one that is meant was seen
}

// add takes the next entry, and returns false when yield has.
func (r *resumed[T]) add(entry T) bool {
	if r.begun {
		return r.yield(entry)
	}
	path, prefix := r.path(entry), string(r.from.Path)
	switch {
	case r.from.Hash == nil:
		r.begun = path >= prefix
		return !r.begun || r.yield(entry)
	case strings.HasPrefix(path, prefix):
		if string(hash(path)) == string(r.from.Hash) {
			r.begun, r.held = true, nil
			return r.yield(entry)
		}
		r.held = append(r.held, entry)
		return true
	case path < prefix:
		return true
	}
	return r.end() && r.yield(entry)
}

// end yields what was held: the one that is meant has gone, and it is better to
// show its neighbours twice than to lose them. It returns false when yield has.
func (r *resumed[T]) end() bool {
	r.begun = true
	held := r.held
	r.held = nil
	for _, entry := range held {
		if !r.yield(entry) {
			return false
		}
	}
	return true
}
