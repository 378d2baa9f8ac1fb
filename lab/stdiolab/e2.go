// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
)

// e2Sizes are the replies of group E2, with samples after 300 that are dropped.
var e2Sizes = []struct{ size, samples int }{
	{128, 3000}, {1 << 10, 3000}, {4 << 10, 3000}, {8 << 10, 3000}, {16 << 10, 3000}, {32 << 10, 3000}, {64 << 10, 3000}, {128 << 10, 3000},
	{256 << 10, 600}, {1 << 20, 600},
}

const warmUps = 300

// e2 times one request and one response, the bare loop and Weir in turn, and then the bare loop over pipes of other capacities.
func (l *lab) e2(ctx context.Context) error {
	for _, s := range e2Sizes {
		l.progress("E2  %d bytes", s.size)
		if err := l.roundTrips(ctx, strconv.Itoa(s.size), []string{"oneLock", "weir"}, s.size, s.samples, 0); err != nil {
			return err
		}
	}
	for _, pipe := range []int{4 << 10, 64 << 10, 1 << 20} {
		for _, s := range e2Sizes {
			if s.size != 4<<10 && s.size != 64<<10 && s.size != 256<<10 {
				continue
			}
			l.progress("E2  %d bytes, pipe of %d", s.size, pipe)
			cell := fmt.Sprintf("%d pipe %d", s.size, pipe)
			if err := l.roundTrips(ctx, cell, []string{"oneLock"}, s.size, s.samples, pipe); err != nil {
				return err
			}
		}
	}
	return nil
}

// roundTrips measures some writers in alternation, 100 samples at a time.
func (l *lab) roundTrips(ctx context.Context, cell string, writers []string, size, samples, pipe int) error {
	peers := make([]*pinger, len(writers))
	defer func() {
		for _, p := range peers {
			if p != nil {
				p.stop()
			}
		}
	}()
	for i, w := range writers {
		p, err := l.ping(ctx, Config{Mode: "reply", Writer: w, Size: size}, pipe)
		if err != nil && pipe > 0 && ctx.Err() == nil { // more than this user may have, or than this system knows

			return l.emit(skippedRow("E2", cell, err))
		}
		if err != nil {
			return err
		}
		peers[i] = p
	}
	took := make([][]time.Duration, len(writers))
	for n := 0; n < warmUps+samples; n += 100 {
		for i, p := range peers {
			for range 100 {
				d, err := p.once()
				if err != nil {
					return err
				}
				if n >= warmUps {
					took[i] = append(took[i], d)
				}
			}
		}
	}
	for i, p := range peers {
		slices.Sort(took[i])
		l.count(p.id, int64(p.id)*int64(size+1))
		r := newRow("E2", cell, 0, p.conf).set("opt", fmt.Sprint("pipe=", p.conf.Pipe)).set("frames", samples)
		r.set("framesSent", p.id).set("p50us", quantile(took[i], 0.5)).set("p99us", quantile(took[i], 0.99))
		if err := l.emit(r.set("value", quantile(took[i], 0.5)).set("unit", "us, median round trip")); err != nil {
			return err
		}
	}
	return nil
}

// pinger sends one request and waits for its response.
type pinger struct {
	*child
	id    int
	judge *Classifier
	buf   []byte
	req   []byte
}

func (l *lab) ping(ctx context.Context, c Config, pipe int) (*pinger, error) {
	p, err := l.start(ctx, c, startOptions{pipe: pipe})
	if err != nil {
		return nil, err
	}
	g := &pinger{child: p, judge: NewClassifier(1<<20, p.conf.Size, p.conf.CJK, false), buf: make([]byte, p.conf.Size+4096)}
	if err := errors.Join(block(p.in), block(p.out)); err != nil {
		p.stop()
		return nil, err
	}
	if err := g.greet(); err != nil {
		p.stop()
		return nil, err
	}
	return g, nil
}

// greet does the handshake where the child wants one.
func (g *pinger) greet() error {
	if g.conf.Writer != "weir" {
		return nil
	}
	if _, err := g.in.WriteString(handshake); err != nil {
		return err
	}
	line, err := g.line()
	if err == nil && !bytes.Contains(line, []byte(`"protocolVersion"`)) {
		err = fmt.Errorf("the handshake was answered with %.200q", line)
	}
	return err
}

// line reads one line, of which nothing follows.
func (g *pinger) line() ([]byte, error) {
	n := 0
	for n == 0 || g.buf[n-1] != '\n' {
		if n == len(g.buf) {
			return nil, fmt.Errorf("more than %d bytes came", n)
		}
		k, err := g.out.Read(g.buf[n:])
		if n += k; err != nil {
			return nil, fmt.Errorf("%w after %d bytes; the child said %q", err, n, g.said.Last())
		}
	}
	return g.buf[:n-1], nil
}

// once is one round trip, timed from before the write to after the last byte.
func (g *pinger) once() (time.Duration, error) {
	g.id++
	g.req = replyRequest(g.req[:0], g.id)
	began := time.Now()
	if _, err := g.in.Write(g.req); err != nil {
		return 0, err
	}
	line, err := g.line()
	took := time.Since(began)
	if err != nil {
		return 0, err
	}
	if id, _ := frameID(line); id != g.id || !g.judge.exact(line) {
		return 0, fmt.Errorf("the answer to request %d is %.200q, %d bytes", g.id, line, len(line))
	}
	return took, nil
}
