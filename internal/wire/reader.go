// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"sync/atomic"
)

const (
	// readSize is the most that one read takes, and what a Reader keeps.
	readSize = 64 << 10

	// maxGuess bounds what is allocated for a frame before it has come.
	maxGuess = 2 << 20

	// spareSize is the memory kept for frames that outgrow buf a little.
	spareSize = 2 * readSize

	// defaultLimit holds for a Reader made without a limit.
	defaultLimit = 16 << 20
)

// FrameTooLong is the error of [Reader.Next] for a frame above the limit. The
// frame has been discarded up to its line end, and the next one can be read.
type FrameTooLong struct {
	Size  int64 // of the frame, without its line end, as far as it came
	Limit int
	ID    ID // found in passing, wherever in the frame it stood; zero if not
}

func (e *FrameTooLong) Error() string {
	return fmt.Sprintf("wire: a frame of %d bytes, %d are allowed", e.Size, e.Limit)
}

// ReaderStats is what a [Reader] has seen so far.
type ReaderStats struct {
	Frames  int64 // returned by Next
	Bytes   int64 // read from the stream
	Largest int64 // bytes of the largest frame returned
	TooLong int64 // frames discarded
}

// Reader cuts a byte stream into frames. A frame ends at LF and nowhere else,
// however the bytes arrive; one CR before the LF belongs to the line end.
//
// It holds a buffer of 64 KiB, another of 128 KiB once a frame was longer than
// half of the first, and besides them only the frame that is arriving. A frame
// larger than these is read into the memory that is returned. The time is
// linear in the bytes of the stream even if they come one by one. Next and
// Buffered are for one goroutine; Stats is for any.
type Reader struct {
	src   io.Reader
	limit int
	buf   []byte // buf[at:end] has been read and not been returned
	at    int
	end   int
	seen  int    // bytes from at on that hold no LF
	err   error  // of src; nothing is read after it
	begun bool   // past the place of a byte order mark
	guess int    // size of the last frame that outgrew buf
	spare []byte // where frames up to spareSize are put together; made when first needed

	frames, bytes, largest, tooLong atomic.Int64
}

// NewReader returns a Reader of src. The limit is in bytes before the line end;
// less than 1 means 16 MiB.
func NewReader(src io.Reader, limit int) *Reader {
	if limit < 1 {
		limit = defaultLimit
	}
	limit = min(limit, math.MaxInt-2) // room for CR LF
	return &Reader{src: src, limit: limit, buf: make([]byte, readSize)}
}

// Next returns the next frame that is not blank, without its line end. The
// slice is the caller's to keep. A byte order mark at the start of the stream
// is not part of the first frame. What stands after the last LF is a frame
// too.
//
// The error is io.EOF at the end of the stream, a *[FrameTooLong] for a frame
// above the limit, after which Next can go on, or else the stream's own, for
// good. A frame cut short by an error other than io.EOF is not returned.
//
// Next returns frames that are at hand before it reads again.
func (r *Reader) Next() ([]byte, error) {
	for {
		frame, err := r.line()
		switch {
		case err != nil:
			return nil, err
		case skipSpace(frame, 0) == len(frame):
			continue
		}
		r.frames.Add(1)
		if n := int64(len(frame)); n > r.largest.Load() {
			r.largest.Store(n)
		}
		return frame, nil
	}
}

// Buffered is the number of bytes, line end included, of the line that Next
// would look at without a read, or 0 if it would have to read. The line may
// turn out to be blank.
func (r *Reader) Buffered() int {
	return bytes.IndexByte(r.buf[r.at:r.end], '\n') + 1
}

// Stats returns the counters. They belong to one moment each, not all to the
// same.
func (r *Reader) Stats() ReaderStats {
	return ReaderStats{
		Frames:  r.frames.Load(),
		Bytes:   r.bytes.Load(),
		Largest: r.largest.Load(),
		TooLong: r.tooLong.Load(),
	}
}

// line returns a copy of the next line, blank or not, without its end.
func (r *Reader) line() ([]byte, error) {
	for {
		if !r.begun {
			r.begin()
		}
		waiting := r.buf[r.at:r.end]
		if i := bytes.IndexByte(waiting[r.seen:], '\n'); i >= 0 {
			i += r.seen
			r.at, r.seen = r.at+i+1, 0
			return r.finish(waiting[:i])
		}
		r.seen = len(waiting)
		switch {
		case r.err == io.EOF && len(waiting) > 0:
			r.at, r.seen = r.end, 0
			return r.finish(waiting)
		case r.err != nil:
			return nil, r.err
		case r.begun && r.exceeds(waiting):
			return nil, r.discard(waiting)
		case len(waiting) >= readSize/2:
			return r.long()
		}
		if r.at > 0 { // once a line, so that the time stays linear
			r.at, r.end = 0, copy(r.buf, waiting)
		}
		r.end += r.read(r.buf[r.end:])
	}
}

// begin steps over a byte order mark, once enough is there to see it.
func (r *Reader) begin() {
	const mark = "\xef\xbb\xbf"
	start := r.buf[r.at:r.end]
	if len(start) < len(mark) && r.err == nil && bytes.IndexByte(start, '\n') < 0 {
		return
	}
	r.begun = true
	if bytes.HasPrefix(start, []byte(mark)) {
		r.at, r.seen = r.at+len(mark), 0
	}
}

// read reads once, at most readSize, and keeps the error for later.
func (r *Reader) read(p []byte) int {
	p = p[:min(len(p), readSize)]
	for range 100 {
		n, err := r.src.Read(p)
		r.bytes.Add(int64(n))
		r.err = err
		if n > 0 || err != nil {
			return n
		}
	}
	r.err = io.ErrNoProgress
	return 0
}

// exceeds reports whether a line that begins with p, which has no LF, is above
// the limit whatever comes next. A CR at the end of p may yet turn out to be
// part of the line end.
func (r *Reader) exceeds(p []byte) bool {
	return len(trimCR(p)) > r.limit
}

// finish makes a frame of a complete line that lies in buf.
func (r *Reader) finish(line []byte) ([]byte, error) {
	line, err := r.check(line)
	if err != nil {
		return nil, err
	}
	return bytes.Clone(line), nil
}

// check cuts the CR off a complete line, and refuses it above the limit.
func (r *Reader) check(line []byte) ([]byte, error) {
	line = trimCR(line)
	if len(line) > r.limit {
		var s idSeeker
		s.feed(line)
		return nil, r.refuse(int64(len(line)), s.id())
	}
	return line, nil
}

// long reads on in a line that has filled half of buf: into spare, while that
// is large enough, and then into memory of its own, which grows fourfold (doubling leaves half as much garbage again), or
// at once to the size of the line before it.
func (r *Reader) long() ([]byte, error) {
	var line []byte
	if size := min(max(spareSize, r.guess), r.limit+2); size > spareSize {
		line = make([]byte, 0, size)
	} else {
		if r.spare == nil {
			r.spare = make([]byte, 0, size)
		}
		line = r.spare
	}
	line = append(line, r.buf[r.at:r.end]...)
	r.at, r.end, r.seen = 0, 0, 0
	for {
		if cap(line)-len(line) < readSize/8 && cap(line) < r.limit+2 {
			grown := make([]byte, len(line), min(4*cap(line), r.limit+2))
			copy(grown, line)
			line = grown
		}
		// What is read past the line's end is at most readSize and fits buf.
		n := r.read(line[len(line):cap(line)])
		chunk := line[len(line) : len(line)+n]
		i := bytes.IndexByte(chunk, '\n')
		switch {
		case i >= 0:
			r.end = copy(r.buf, chunk[i+1:])
			line = line[:len(line)+i]
		case r.err == io.EOF:
			line = line[:len(line)+n]
		case r.err != nil:
			return nil, r.err
		default:
			line = line[:len(line)+n]
			if r.exceeds(line) {
				return nil, r.discard(line)
			}
			continue
		}
		line, err := r.check(line)
		if err != nil {
			return nil, err
		}
		r.guess = min(len(line)+readSize/8+2, maxGuess)
		if cap(line) <= spareSize || cap(line) > len(line)+len(line)/4 {
			line = bytes.Clone(line) // out of spare, or rather than keep what it does not need
		}
		return line, nil
	}
}

// discard reads on to the line end and keeps nothing but the id. The head of
// the line may lie in buf.
func (r *Reader) discard(head []byte) error {
	var (
		s    idSeeker
		size int64
		cr   bool // a CR came last, which may be part of the line end
	)
	take := func(p []byte) {
		if len(p) == 0 {
			return
		}
		if cr {
			s.feed([]byte{'\r'})
			size++
		}
		cr = p[len(p)-1] == '\r'
		p = trimCR(p)
		s.feed(p)
		size += int64(len(p))
	}
	take(head)
	r.at, r.end, r.seen = 0, 0, 0
	for r.err == nil {
		chunk := r.buf[:r.read(r.buf)]
		if i := bytes.IndexByte(chunk, '\n'); i >= 0 {
			r.at, r.end = i+1, len(chunk)
			take(chunk[:i])
			break
		}
		take(chunk)
	}
	return r.refuse(size, s.id())
}

func (r *Reader) refuse(size int64, id ID) error {
	r.tooLong.Add(1)
	return &FrameTooLong{Size: size, Limit: r.limit, ID: id}
}

// trimCR cuts one CR off the end.
func trimCR(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\r' {
		return line[:n-1]
	}
	return line
}
