// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"bufio"
	"context"
	"io"
	"io/fs"
	"iter"
	"os"
	"regexp"
	"slices"
	"strings"
)

// A Match is one line that matches.
type Match struct {
	Path string `json:"path" jsonschema:"description=relative to the root"`
	Line int    `json:"line" jsonschema:"description=number of the line from 1"`
	Text string `json:"text" jsonschema:"description=the line"`
}

// A position is where a search goes on: with the first match that is not before
// that line of that file.
type position struct {
	Path string `json:"path"`
	Line int    `json:"line"`
}

// matches yields the matching lines at or below dir, file by file in one order.
// It opens no file before the one of from, and none after the one whose match
// was yielded last.
func matches(ctx context.Context, root *os.Root, dir string, re *regexp.Regexp, from position) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		err := fs.WalkDir(root.FS(), dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return context.Cause(ctx)
			case err != nil:
				return err
			case !d.Type().IsRegular() || before(path, from.Path):
				return nil
			}
			first := 1
			if path == from.Path {
				first = from.Line
			}
			return file(root, path, re, first, yield)
		})
		if err != nil {
			yield(Match{}, err)
		}
	}
}

// before orders paths as fs.WalkDir walks them: directory by directory. As plain
// strings "a.go" stands before "a/b.go", and a walk resumed by that would lose
// files.
func before(a, b string) bool {
	return slices.Compare(strings.Split(a, "/"), strings.Split(b, "/")) < 0
}

func file(root *os.Root, path string, re *regexp.Regexp, first int, yield func(Match, error) bool) error {
	f, err := root.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	r := bufio.NewReaderSize(f, 64<<10)
	for n := 1; ; n++ {
		line, long, err := r.ReadLine()
		for long && err == nil { // the rest of a line over 64 KiB is not searched
			_, long, err = r.ReadLine()
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		case n < first || !re.Match(line):
			continue
		}
		if !yield(Match{path, n, string(line)}, nil) {
			return fs.SkipAll
		}
	}
}
