// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"strconv"
	"strings"
)

// The text of a frame: a response to tools/call of revision 2025-11-25, byte for byte as Weir encodes it, so that every
// writer sends the same bytes and one classifier judges all.
const (
	frameHead = `{"jsonrpc":"2.0","id":`
	frameMid  = `,"result":{"content":[{"type":"text","text":"`
	frameTail = `"}]}}`

	// EndMarker is the last line of a child that pushes frames: pure ASCII, without an id.
	EndMarker = `{"jsonrpc":"2.0","method":"notifications/end"}`

	idKey = `"id":`
)

// MinSize is the least size that every frame of a run of a million can have.
const MinSize = len(frameHead) + 7 + len(frameMid) + len(frameTail)

// shape makes the frames of one cell: a frame is determined by its id.
type shape struct {
	size int
	cjk  bool
	fill [8]string // by the number of digits of the id; made on demand by texts
}

// texts is the filler of frames whose id has that many digits: U+4E2D with x for the remainder, or x alone.
func (s *shape) texts(digits int) string {
	if s.fill[digits] == "" {
		n := s.size - len(frameHead) - digits - len(frameMid) - len(frameTail)
		if n < 0 {
			n = 0
		}
		if s.cjk {
			s.fill[digits] = strings.Repeat("中", n/3) + strings.Repeat("x", n%3)
		} else {
			s.fill[digits] = strings.Repeat("x", n)
		}
	}
	return s.fill[digits]
}

// warm makes all fillers, so that frames can be made by several goroutines.
func (s *shape) warm() {
	for d := 1; d < len(s.fill); d++ {
		s.texts(d)
	}
}

func digits(id int) int { return len(strconv.Itoa(id)) }

// append appends the frame with that id, without a line end.
func (s *shape) append(dst []byte, id int) []byte {
	dst = append(dst, frameHead...)
	dst = strconv.AppendInt(dst, int64(id), 10)
	dst = append(dst, frameMid...)
	dst = append(dst, s.texts(digits(id))...)
	return append(dst, frameTail...)
}

// frameID is the number after the first "id": in b, and what follows it; -1 for none.
func frameID(b []byte) (id int, rest []byte) {
	i := bytes.Index(b, []byte(idKey))
	if i < 0 {
		return -1, nil
	}
	rest = b[i+len(idKey):]
	n := 0
	for n < len(rest) && n < 7 && rest[n] >= '0' && rest[n] <= '9' {
		id = id*10 + int(rest[n]-'0')
		n++
	}
	if n == 0 {
		return -1, rest
	}
	return id, rest[n:]
}
