// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"errors"
	"hash/maphash"
	"io"
	"unicode/utf8"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// Counts is what a host found in the lines of one child. Every question is asked of every line by itself, because the faults
// do not overlap: a frame can be whole and in the wrong charset.
type Counts struct {
	Lines    int   // the end marker and an unterminated last line included
	Bytes    int64 // line ends included
	CRLF     int   // lines that end in one CR, which is dropped before anything else is asked
	UTF8Fail int   // lines that are not UTF-8
	GBKOK    int   // of these, lines that are GBK
	Torn     int   // lines without "id":
	Merged   int   // lines with two or more
	Mixed    int   // lines with one, that are not the frame of that id
	Dup      int   // ids that had been seen before
	End      int   // end markers
	// Digest is a sum over the lines, whatever their order; it can be compared within one process.
	Digest uint64
}

// Bad is how many lines are no frame.
func (c Counts) Bad() int { return c.Torn + c.Merged + c.Mixed }

var digestSeed = maphash.MakeSeed()

// A Classifier judges lines by their bytes.
type Classifier struct {
	Counts
	shape shape
	gbk   *shapeGBK // nil for UTF-8
	seen  []bool    // by id
}

// shapeGBK is what a frame's filler looks like in GBK.
type shapeGBK struct{ fill [8]string } // by the number of digits of the id

// NewClassifier makes a classifier for the frames of that size, cjk or not, with ids below frames; gbk says that they were
// encoded as GBK on purpose, and are whole when they are the frame in that charset.
func NewClassifier(frames, size int, cjk, gbk bool) *Classifier {
	c := &Classifier{shape: shape{size: size, cjk: cjk}, seen: make([]bool, frames)}
	if gbk {
		c.gbk = new(shapeGBK)
	}
	return c
}

// Line judges one line, given without its LF.
func (c *Classifier) Line(b []byte) {
	c.Lines++
	c.Digest += maphash.Bytes(digestSeed, b)
	if n := len(b); n > 0 && b[n-1] == '\r' {
		c.CRLF++
		b = b[:n-1]
	}
	if string(b) == EndMarker {
		c.End++
		return
	}
	if !utf8.Valid(b) {
		c.UTF8Fail++
		if validGBK(b) {
			c.GBKOK++
		}
	}
	for rest := b; ; {
		var id int
		if id, rest = frameID(rest); rest == nil {
			break
		}
		if id >= 0 && id < len(c.seen) {
			if c.seen[id] {
				c.Dup++
			}
			c.seen[id] = true
		}
	}
	switch bytes.Count(b, []byte(idKey)) {
	case 0:
		c.Torn++
	case 1:
		if !c.exact(b) {
			c.Mixed++
		}
	default:
		c.Merged++
	}
}

// exact says whether b is the frame of the id that it names.
func (c *Classifier) exact(b []byte) bool {
	rest, ok := bytes.CutPrefix(b, []byte(frameHead))
	if !ok {
		return false
	}
	id, _ := frameID(b)
	if id < 0 || id >= len(c.seen) {
		return false
	}
	n := digits(id)
	if rest, ok = bytes.CutPrefix(rest[min(n, len(rest)):], []byte(frameMid)); !ok {
		return false
	}
	if rest, ok = bytes.CutSuffix(rest, []byte(frameTail)); !ok {
		return false
	}
	return string(rest) == c.want(n)
}

// want is the filler as it should have come.
func (c *Classifier) want(digits int) string {
	text := c.shape.texts(digits)
	if c.gbk == nil {
		return text
	}
	if c.gbk.fill[digits] == "" {
		encoded, err := simplifiedchinese.GBK.NewEncoder().String(text)
		if err != nil {
			panic(err) // x and U+4E2D are in GBK
		}
		c.gbk.fill[digits] = encoded
	}
	return c.gbk.fill[digits]
}

// ReadFrom reads r to its end, cuts it at LF and judges every line.
func (c *Classifier) ReadFrom(r io.Reader) (int64, error) {
	before := c.Bytes
	err := lines(r, func(line []byte, ended bool) {
		c.Bytes += int64(len(line))
		if ended {
			c.Bytes++
		}
		c.Line(line)
	})
	return c.Bytes - before, err
}

// lines cuts r at LF, and calls f with each line; ended is false for a last line without one. The slice is f's until it returns.
func lines(r io.Reader, f func(line []byte, ended bool)) error {
	buf := make([]byte, 256<<10)
	start, scanned, end := 0, 0, 0
	for {
		if end == len(buf) {
			if start > len(buf)/2 {
				end = copy(buf, buf[start:end])
				scanned, start = scanned-start, 0
			} else {
				buf = append(buf, make([]byte, len(buf))...)
			}
		}
		n, err := r.Read(buf[end:])
		end += n
		for {
			i := bytes.IndexByte(buf[scanned:end], '\n')
			if i < 0 {
				scanned = end
				break
			}
			f(buf[start:scanned+i], true)
			scanned += i + 1
			start = scanned
		}
		if start == end {
			start, scanned, end = 0, 0, 0
		}
		if err != nil {
			if end > start {
				f(buf[start:end], false)
			}
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// validGBK says whether b is GBK throughout.
func validGBK(b []byte) bool {
	text, err := simplifiedchinese.GBK.NewDecoder().Bytes(b)
	return err == nil && !bytes.ContainsRune(text, utf8.RuneError)
}
