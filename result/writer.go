// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import (
	"context"
	"encoding/base64"
	"math"
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
)

// A writer measures a result in one pass and appends it in a second, with the
// same code, so that both agree to the byte.
type writer struct {
	ctx       context.Context
	protocol  string
	measuring bool
	n         int    // bytes measured
	escaped   bool   // a string was measured that does not stand for itself between quotes
	dst       []byte // bytes appended
	unlooked  int    // bytes handled since ctx was looked at
	err       error  // once set, nothing more is written
}

// room reports whether n more bytes may be handled, after a look at ctx if it
// is time.
func (w *writer) room(n int) bool {
	if w.unlooked += n; w.unlooked >= step && w.err == nil {
		w.unlooked = 0
		if w.ctx.Err() != nil {
			w.err = context.Cause(w.ctx)
		}
	}
	return w.err == nil
}

// raw writes a short piece of JSON as it is.
func (w *writer) raw(s string) {
	if w.measuring {
		w.n += len(s)
		return
	}
	w.dst = append(w.dst, s...)
}

// long writes JSON as it is.
func (w *writer) long(v jsontext.Value) {
	if w.measuring {
		w.n += len(v)
		return
	}
	for len(v) > 0 {
		n := min(len(v), step)
		if !w.room(n) {
			return
		}
		w.dst = append(w.dst, v[:n]...)
		v = v[n:]
	}
}

// str writes a JSON string.
func (w *writer) str(s string) {
	w.raw(`"`)
	for s != "" {
		n := len(s)
		if n > step {
			n = runeStart(s, step)
		}
		if !w.room(n) {
			return
		}
		switch {
		case w.measuring:
			inner := quote.Len(s[:n]) - len(`""`)
			w.escaped = w.escaped || inner != n
			w.n += inner
		case w.escaped:
			w.dst, _ = quote.AppendChunk(w.dst, s[:n], n)
		default: // seen when it was measured: nothing to look for again
			w.dst = append(w.dst, s[:n]...)
		}
		s = s[n:]
	}
	w.raw(`"`)
}

// base64 writes data as a JSON string.
func (w *writer) base64(data []byte) {
	const piece = step / 4 * 3 // whole groups of three, so that the pieces join
	w.raw(`"`)
	if w.measuring {
		w.n += base64.StdEncoding.EncodedLen(len(data))
		data = nil
	}
	for len(data) > 0 && w.room(piece) {
		n := min(len(data), piece)
		w.dst = base64.StdEncoding.AppendEncode(w.dst, data[:n])
		data = data[n:]
	}
	w.raw(`"`)
}

func (w *writer) number(f float64) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		w.fail("a number")
		return
	}
	var buf [32]byte
	w.raw(string(jsontext.AppendFloat(buf[:0], f, 64)))
}

func (w *writer) int(n int64) {
	var buf [20]byte
	w.raw(string(strconv.AppendInt(buf[:0], n, 10)))
}

// member writes a member with a string value, unless the value is empty.
func (w *writer) member(prefix, value string) {
	if value != "" {
		w.raw(prefix)
		w.str(value)
	}
}

// runeStart is the largest n up to limit at which s can be cut without
// splitting a rune. Bytes that are not valid UTF-8 may be cut anywhere.
func runeStart[S string | []byte](s S, limit int) int {
	if limit >= len(s) {
		return len(s)
	}
	for n := limit; n >= 0 && n > limit-utf8.UTFMax; n-- {
		if utf8.RuneStart(s[n]) {
			return n
		}
	}
	return limit
}
