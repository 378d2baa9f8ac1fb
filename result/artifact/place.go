// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"unicode/utf8"
)

// atOffset finds the line that a byte is in.
func atOffset(ctx context.Context, r *Reader, offset int64) (place, error) {
	if offset > r.Info.Size {
		return place{}, fmt.Errorf("artifact: offset %s is past the end: the artifact has %s", comma(offset), count(r.Info.Size, "byte"))
	}
	offset = runeStart(r, offset)
	p := place{Offset: offset, Line: 1}
	last := byte('\n')
	err := forward(ctx, r, func(b []byte) bool {
		b = b[:min(int64(len(b)), offset)]
		offset -= int64(len(b))
		p.Line += int64(bytes.Count(b, newline))
		if len(b) > 0 {
			last = b[len(b)-1]
		}
		return offset > 0
	})
	p.Inside = last != '\n'
	return p, err
}

// runeStart is offset, or where the character begins that offset is inside of.
func runeStart(r *Reader, offset int64) int64 {
	begin := max(0, offset-(utf8.UTFMax-1))
	at := int(offset - begin)
	var around [2 * utf8.UTFMax]byte
	n, _ := r.ReadAt(around[:at+utf8.UTFMax], begin)
	for i := min(at, n) - 1; i >= 0; i-- {
		if utf8.RuneStart(around[i]) {
			if _, size := utf8.DecodeRune(around[i:n]); i+size > at {
				return begin + int64(i)
			}
			break
		}
	}
	return offset
}

// atLine finds where a line begins.
func atLine(ctx context.Context, r *Reader, n int64) (place, error) {
	if n > max(r.Info.Lines, 1) {
		return place{}, fmt.Errorf("artifact: line %s is past the end: the artifact has %s", comma(n), count(r.Info.Lines, "line"))
	}
	p := place{Line: n}
	if n == 1 {
		return p, nil
	}
	feeds := n - 1 // still to pass
	err := forward(ctx, r, func(b []byte) bool {
		if here := int64(bytes.Count(b, newline)); here < feeds {
			feeds -= here
			p.Offset += int64(len(b))
			return true
		}
		for ; feeds > 0; feeds-- {
			k := bytes.IndexByte(b, '\n') + 1
			b = b[k:]
			p.Offset += int64(k)
		}
		return false
	})
	return p, err
}

// forward calls fn with the artifact from its start, 64 KiB at a time, for as
// long as fn returns true.
func forward(ctx context.Context, r *Reader, fn func(b []byte) bool) error {
	buf := make([]byte, min(r.Info.Size, step))
	for at := int64(0); at < r.Info.Size; {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), r.Info.Size-at)], at)
		if err != nil && err != io.EOF || n == 0 {
			return failure("reading", err)
		}
		if !fn(buf[:n]) {
			return nil
		}
		at += int64(n)
	}
	return nil
}

// atTail finds where the last n lines begin.
func atTail(ctx context.Context, r *Reader, n int64) (place, error) {
	n = min(n, r.Info.Lines)
	p := place{Line: r.Info.Lines - n + 1}
	if p.Line == 1 {
		return p, nil
	}
	buf := make([]byte, min(r.Info.Size, step))
	// The feed that ends the last line has no line after it.
	for end := r.Info.Size; end > 0; {
		if ctx.Err() != nil {
			return place{}, context.Cause(ctx)
		}
		b := buf[:min(int64(len(buf)), end)]
		begin := end - int64(len(b))
		if k, err := r.ReadAt(b, begin); k < len(b) {
			return place{}, failure("reading", err)
		}
		if end == r.Info.Size && b[len(b)-1] == '\n' {
			b = b[:len(b)-1]
		}
		for {
			k := bytes.LastIndexByte(b, '\n')
			if k < 0 {
				break
			}
			if n--; n == 0 {
				p.Offset = begin + int64(k) + 1
				return p, nil
			}
			b = b[:k]
		}
		end = begin
	}
	return p, nil
}
