// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import "bytes"

// A part is the line of a stream that has begun and not ended, which its Sink
// gets when it is whole: else a line of the other stream could come to stand in
// it. It is of MaxLine bytes at most, and that is its memory; a line that is
// longer is passed on as it comes.
type part struct {
	held []byte
	long bool // the line's beginning was passed on
}

// write takes b, and passes on what can be.
func (p *part) write(to *Sink, b []byte) {
	if n := bytes.LastIndexByte(b, '\n') + 1; n > 0 {
		p.pass(to, b[:n])
		p.long = false
		b = b[n:]
	}
	if p.long || len(p.held)+len(b) > MaxLine {
		p.long = true
		p.pass(to, b)
		return
	}
	p.held = append(p.held, b...)
}

// end passes on what is held: the stream has ended.
func (p *part) end(to *Sink) { p.pass(to, nil) }

// pass passes on what is held, and b.
func (p *part) pass(to *Sink, b []byte) {
	held := p.held
	p.held = held[:0] // passed on once, even where that does not return
	if len(held)+len(b) > 0 {
		to.write(held, b)
	}
}
