// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// encodings are what bodies may be compressed with.
const encodings = "gzip, deflate"

// ratioFrom is the size up to which a body may be compressed as well as it can.
const ratioFrom = 1 << 20

// A body is the body of a response, decompressed, within the limits of a
// policy: bytes as they come, bytes decompressed, the ratio of both, and the
// time that nothing comes.
type body struct {
	wire
	ctx      context.Context // of the request
	r        io.Reader
	encoding string // that it was compressed with
	unknown  bool   // encoding is not one of encodings: r is as it came
	n        int64  // bytes read from r
	max      int64
	ratio    int64
	err      error // that ended it, other than io.EOF
	ended    bool  // io.EOF was reached
}

// wire is a body as it comes.
type wire struct {
	from   io.Reader
	count  int64
	limit  int64
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// A limitError says that a body was not read to its end.
type limitError struct{ text string }

func (e *limitError) Error() string { return e.text }

func newBody(ctx context.Context, p *Policy, resp *http.Response, cancel context.CancelCauseFunc) *body {
	b := &body{ctx: ctx, max: p.MaxBody, ratio: p.MaxRatio}
	b.wire = wire{from: resp.Body, limit: p.MaxBody, idle: p.IdleTimeout, cancel: cancel}
	b.r = &b.wire
	b.encoding = strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Encoding")))
	switch b.encoding {
	case "", "identity":
		b.encoding = ""
	case "gzip", "x-gzip", "deflate":
		b.r = &decompressor{name: b.encoding, from: bufio.NewReader(&b.wire)}
	default:
		b.unknown = true
	}
	return b
}

func (w *wire) Read(p []byte) (int, error) {
	if w.timer == nil {
		w.timer = time.AfterFunc(w.idle, func() { w.cancel(&stageError{"the wait for more of the body", w.idle}) })
	} else {
		w.timer.Reset(w.idle)
	}
	n, err := w.from.Read(p)
	w.timer.Stop()
	w.count += int64(n)
	if w.count > w.limit {
		return n, &limitError{fmt.Sprintf("the body is larger than %d bytes, the limit here", w.limit)}
	}
	return n, err
}

// Read reads what is decompressed. After an error it returns that again.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	if b.ended {
		return 0, io.EOF
	}
	n, err := b.r.Read(p)
	b.n += int64(n)
	switch {
	case b.n > b.max:
		n -= int(b.n - b.max)
		b.n, err = b.max, &limitError{fmt.Sprintf("the body is larger than %d bytes, the limit here", b.max)}
	case b.encoding != "" && b.n > ratioFrom && b.n/b.ratio > b.count:
		err = &limitError{fmt.Sprintf("the body was refused: it was compressed to less than 1/%d", b.ratio)}
	}
	if err == io.EOF {
		b.ended = true
	} else if err != nil {
		b.err = err
	}
	return n, err
}

// A decompressor begins when it is first read, so that whoever does not read
// does not wait.
type decompressor struct {
	name string
	from *bufio.Reader
	r    io.Reader
}

func (d *decompressor) Read(p []byte) (int, error) {
	if d.r == nil {
		start, err := d.from.Peek(2)
		switch {
		case len(start) == 0:
			return 0, err // no body: io.EOF
		case d.name != "deflate":
			d.r, err = gzip.NewReader(d.from)
		case len(start) == 2 && start[0]&0x0f == 8 && (int(start[0])<<8|int(start[1]))%31 == 0:
			d.r, err = zlib.NewReader(d.from)
		default: // some servers leave the frame of zlib out
			d.r, err = flate.NewReader(d.from), nil
		}
		if err != nil {
			d.r = nil
			return 0, err
		}
	}
	return d.r.Read(p)
}

// why says for a model what ended the body before its end; want is how many
// bytes were promised, or less than zero. It is "" for a body that was not read
// to its end on purpose.
func (b *body) why(want int64) string {
	var stage *stageError
	switch {
	case b.err == nil:
		return ""
	case errors.As(b.err, &stage), errors.As(context.Cause(b.ctx), &stage):
		return stage.Error()
	case errors.Is(b.err, io.ErrUnexpectedEOF) && b.encoding == "" && want >= 0:
		return fmt.Sprintf("the server promised %d bytes and sent %d", want, b.count)
	case errors.Is(b.err, io.ErrUnexpectedEOF):
		return "the server ended it too early"
	}
	return b.err.Error()
}
