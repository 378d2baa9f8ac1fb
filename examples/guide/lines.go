// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"strings"

	"github.com/weir-mcp/weir/cursor"
)

// A logFile is a file of lines that something else appends to.
type logFile struct {
	path    string
	cursors cursor.Codec[position]
}

// A position is where a line begins.
type position struct {
	Offset int64 `json:"o"` // bytes before it
	Lines  int   `json:"n"` // lines before it
}

// A line is one line of the file, without its end.
type line struct {
	text        string
	begin, next position
}

// lines yields the complete lines from a position on. Leaving the loop closes
// the file.
func (l *logFile) lines(ctx context.Context, from position) iter.Seq2[line, error] {
	return func(yield func(line, error) bool) {
		f, err := os.Open(l.path)
		if err == nil {
			defer f.Close()
			_, err = f.Seek(from.Offset, io.SeekStart)
		}
		if err != nil {
			yield(line{}, err)
			return
		}
		for r := bufio.NewReader(f); ; {
			if ctx.Err() != nil {
				yield(line{}, context.Cause(ctx))
				return
			}
			text, err := r.ReadString('\n')
			if errors.Is(err, io.EOF) {
				return // what stands after the last LF is still being written
			}
			if err != nil {
				yield(line{}, err)
				return
			}
			next := position{from.Offset + int64(len(text)), from.Lines + 1}
			if !yield(line{strings.TrimRight(text, "\r\n"), from, next}, nil) {
				return
			}
			from = next
		}
	}
}
