// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"io"
)

// A redacted stream is given to a sink in parts that no secret crosses: text,
// and the number of bytes of a secret in its place.
type sink interface {
	plain(p []byte)
	hidden(n int)
}

// A redactor finds the secrets of a stream, however they are spelled and
// wherever its parts are cut. It holds back what may be the beginning of one.
type redactor struct {
	secrets secrets
	to      sink
	first   *byteSet // of the secrets
	held    []byte
}

func (r *redactor) write(p []byte) {
	if len(r.secrets) == 0 {
		r.to.plain(p)
		return
	}
	r.pass(append(r.held, p...), false)
}

// flush passes on what was held back: the stream has ended. It is not called
// for a stream that broke off, which may have been within a secret.
func (r *redactor) flush() { r.pass(r.held, true) }

// pass passes on b, but for its end where that may be the beginning of a secret
// and the stream goes on.
func (r *redactor) pass(b []byte, ended bool) {
	if r.first == nil {
		r.first = r.secrets.first()
	}
	at, i := 0, 0 // at: what was not passed on yet
	for i < len(b) {
		if !r.first.has(b[i]) && !escape(b[i]) {
			i++
			continue
		}
		size, more := r.secrets.spelled(r.first, b[i:])
		if more && !ended {
			break
		}
		if size == 0 {
			i++
			continue
		}
		if i > at {
			r.to.plain(b[at:i])
		}
		r.to.hidden(size)
		i += size
		at = i
	}
	if i > at {
		r.to.plain(b[at:i])
	}
	r.held = append([]byte(nil), b[i:]...)
}

// A hiddenText is a sink that puts hidden in the place of each secret.
type hiddenText struct{ bytes.Buffer }

func (b *hiddenText) plain(p []byte) { b.Write(p) }
func (b *hiddenText) hidden(int)     { b.WriteString(hidden) }

// A redactedReader reads what another reader does, without secrets. It is for
// what is decoded afterwards: a charset may make another text of a secret, from
// which that can be had again.
type redactedReader struct {
	from io.Reader
	r    redactor
	text hiddenText
	buf  [4 << 10]byte
	err  error
}

func newRedactedReader(from io.Reader, s secrets) io.Reader {
	if len(s) == 0 {
		return from
	}
	r := &redactedReader{from: from}
	r.r = redactor{secrets: s, to: &r.text}
	return r
}

func (r *redactedReader) Read(p []byte) (int, error) {
	for r.text.Len() == 0 && r.err == nil {
		var n int
		n, r.err = r.from.Read(r.buf[:])
		r.r.write(r.buf[:n])
		if r.err == io.EOF {
			r.r.flush()
		}
	}
	if r.text.Len() > 0 {
		return r.text.Read(p)
	}
	return 0, r.err
}
