// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/weir-mcp/weir/result"
)

// A piece is a hunk, or a part of one that is too long for a page, with the
// header that such a part has as a hunk of its own.
type piece struct {
	old, new           int64 // numbers of its first lines
	oldCount, newCount int64
	section            string // what git shows behind the header, such as a function
	text               strings.Builder
	lines              int64
}

func (p *piece) header() string {
	return strings.TrimSuffix(fmt.Sprintf("@@ -%s +%s @@ %s", span1(p.old, p.oldCount), span1(p.new, p.newCount), p.section), " ")
}

// span1 is a range of lines as git writes it: without lines, it is behind the
// line of that number.
func span1(from, count int64) string {
	switch count {
	case 0:
		return fmt.Sprintf("%d,0", max(from-1, 0))
	case 1:
		return strconv.FormatInt(from, 10)
	}
	return fmt.Sprintf("%d,%d", from, count)
}

var hunkHeader = regexp.MustCompile(`^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)$`)

// hunks parses git's patch of one file, and cuts it into pieces.
type hunks struct {
	file     Change
	maxBytes int // of a piece
	skip     int64
	piece    piece
	seen     int64 // lines of hunks so far
	oldLeft  int64 // lines of the hunk that have not come
	newLeft  int64
	binary   bool
	emit     func(Change, int64) error // a piece, and the lines up to its end
	nextOld  int64
	nextNew  int64
	section  string
}

// line takes a line of the patch.
func (h *hunks) line(rec record) error {
	if h.oldLeft > 0 || h.newLeft > 0 {
		return h.body(rec)
	}
	b := rec.Bytes
	if len(b) > 0 && b[0] == '\\' { // "\ No newline at end of file"
		if h.piece.lines > 0 {
			h.piece.text.WriteString("\n\\ No newline at end of file")
		}
		return nil
	}
	if m := hunkHeader.FindSubmatch(b); m != nil {
		if err := h.flush(); err != nil {
			return err
		}
		count := func(m []byte) int64 {
			if m == nil {
				return 1
			}
			return number(string(m))
		}
		h.nextOld, h.oldLeft = number(string(m[1])), count(m[2])
		h.nextNew, h.newLeft = number(string(m[3])), count(m[4])
		if h.oldLeft == 0 {
			h.nextOld++ // git names the line before
		}
		if h.newLeft == 0 {
			h.nextNew++
		}
		h.section = text(m[5], max(min(h.maxBytes/2, 200), 0), 0)
		h.begin()
		return nil
	}
	if strings.HasPrefix(string(b), "Binary files ") {
		h.binary = true
	}
	return nil
}

func (h *hunks) begin() {
	h.piece = piece{old: h.nextOld, new: h.nextNew, section: h.section}
}

// body takes a line of a hunk.
func (h *hunks) body(rec record) error {
	b := rec.Bytes
	if len(b) > 0 && b[0] == '\\' {
		if h.piece.lines > 0 {
			h.piece.text.WriteString("\n\\ No newline at end of file")
		}
		return nil
	}
	sign := byte(' ')
	if len(b) > 0 {
		sign = b[0]
	}
	line := text(b, maxPatchLine, rec.Dropped)
	if n := len(b); n > 0 && b[n-1] == '\r' && n <= maxPatchLine && rec.Dropped == 0 {
		line += "\r" // a change of line ends is a change
	}
	if h.piece.lines > 0 && (h.piece.lines >= maxPieceLines || h.piece.text.Len()+len(line) > h.maxBytes) {
		if err := h.flush(); err != nil {
			return err
		}
	}
	h.seen++
	if h.seen > h.skip {
		if h.piece.lines == 0 {
			h.begin()
		} else {
			h.piece.text.WriteByte('\n')
		}
		h.piece.text.WriteString(line)
		h.piece.lines++
	}
	if sign != '+' {
		h.nextOld++
		h.oldLeft--
		if h.seen > h.skip {
			h.piece.oldCount++
		}
	}
	if sign != '-' {
		h.nextNew++
		h.newLeft--
		if h.seen > h.skip {
			h.piece.newCount++
		}
	}
	return nil
}

// flush emits the piece.
func (h *hunks) flush() error {
	if h.piece.lines == 0 {
		return nil
	}
	c := Change{Kind: "hunk", Path: h.file.Path, Header: h.piece.header(), Text: h.piece.text.String()}
	h.begin()
	return h.emit(c, h.seen)
}

// addHunks adds the hunks of one file from pos.Line on.
func (c *comparison) addHunks(ctx context.Context, page *result.Page[Change], f changedFile, pos *diffPosition) error {
	specs := []string{":(top,literal)" + f.path}
	if f.old != "" {
		specs = append(specs, ":(top,literal)"+f.old)
	}
	more := []string{"--patch", "-U" + strconv.Itoa(c.context)}
	if f.status == 'U' {
		more = append(more, "--ours")
	}
	explicit := f.path == c.only
	type held struct {
		change Change
		end    int64
	}
	var kept []held // until it is known that the file is not too large
	h := hunks{file: Change{Path: quote(f.path)}, maxBytes: min(max((page.Budget.Bytes-700)/8, 64), 6<<10), skip: pos.Line}
	add := func(item Change, end int64) error {
		if !page.Add(item) {
			return errFull
		}
		pos.Line = end
		return nil
	}
	tooLarge := false
	h.emit = func(item Change, end int64) error {
		switch {
		case explicit:
			return add(item, end)
		case tooLarge:
			return nil
		}
		kept = append(kept, held{item, end})
		return nil
	}
	var bytes, changed int64
	for rec, err := range c.records(ctx, '\n', c.args(more, specs)...) {
		if err != nil {
			return err
		}
		inHunk := h.oldLeft > 0 || h.newLeft > 0
		if inHunk && !explicit {
			bytes += int64(min(len(rec.Bytes), maxPatchLine)) + 1
			if len(rec.Bytes) > 0 && (rec.Bytes[0] == '+' || rec.Bytes[0] == '-') {
				changed++
			}
			if changed > maxChanged {
				return nil // the list of files says so
			}
			if bytes > maxPatch {
				tooLarge = true // the list did not know, unless there are many lines too
				kept = nil
			}
		}
		if err := h.line(rec); err != nil {
			return err
		}
	}
	if tooLarge {
		if pos.Line > 0 {
			return nil
		}
		return add(Change{Kind: "note", Path: quote(f.path), Text: fmt.Sprintf("more than %d KiB of changes, left out; to see them compare this path alone", maxPatch>>10)}, h.seen)
	}
	if err := h.flush(); err != nil {
		return err
	}
	for _, k := range kept {
		if err := add(k.change, k.end); err != nil {
			return err
		}
	}
	return nil
}
