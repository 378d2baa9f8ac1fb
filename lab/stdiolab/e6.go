// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"time"
)

// The writers of group E6: those of its rounds, and those that are compared as batches.
var (
	e6Writers = []string{"printNL", "rawSplit", "oneLock", "weir"}
	e6Batches = []string{"oneLock", "batch512"}
)

// e6BatchSizes are the sizes at which batches are compared, and how many frames of each.
var e6BatchSizes = []struct{ size, frames int }{{1024, 8000}, {65536, 1000}}

// e6 repeats what E1 says in alternation, since one percentage moves from run to run; then it shows what a batch costs.
func (l *lab) e6(ctx context.Context) error {
	for round := 1; round <= l.o.Rounds; round++ {
		for _, w := range shuffled(l, e6Writers) {
			l.progress("E6  round %d of %d: %s", round, l.o.Rounds, w)
			r, _, err := l.push(ctx, "round", round, Config{Writer: w, Threads: 8, Frames: 8000, Size: 1024}, startOptions{})
			if err != nil {
				return err
			}
			if err := l.emit(r); err != nil {
				return err
			}
		}
	}
	for _, s := range e6BatchSizes {
		for _, w := range e6Batches {
			r, _, err := l.push(ctx, "batch", 0, Config{Writer: w, Threads: 8, Frames: s.frames, Size: s.size}, startOptions{})
			if err != nil {
				return err
			}
			age, note, err := l.age(ctx, w, s.size)
			if err != nil {
				return err
			}
			if err := l.emit(r.set("value", age).set("unit", "ms until a lone response has left").set("note", note)); err != nil {
				return err
			}
		}
	}
	return nil
}

// age is how long a lone response takes to leave, in milliseconds. One that has not left in a second is waited for no longer: the
// session is ended then, which flushes it.
func (l *lab) age(ctx context.Context, writer string, size int) (ms float64, note string, err error) {
	p, err := l.start(ctx, Config{Mode: "reply", Writer: writer, Size: size}, startOptions{})
	if err != nil {
		return 0, "", err
	}
	defer p.stop()
	began := time.Now()
	if _, err := p.in.Write(replyRequest(nil, 1)); err != nil {
		return 0, "", err
	}
	in := bufio.NewReader(p.out)
	p.out.SetReadDeadline(began.Add(time.Second))
	line, err := in.ReadSlice('\n')
	for err == bufio.ErrBufferFull {
		line, err = in.ReadSlice('\n')
	}
	if os.IsTimeout(err) {
		note = "the response had not left after 1 s; the end of the session flushed it"
		p.in.Close()
		p.out.SetReadDeadline(time.Now().Add(patience))
		for line, err = in.ReadSlice('\n'); err == bufio.ErrBufferFull; {
			line, err = in.ReadSlice('\n')
		}
	}
	if err != nil {
		return 0, "", fmt.Errorf("a lone response of %s: %w after %d bytes", writer, err, len(line))
	}
	l.count(1, int64(size)+1)
	return float64(time.Since(began).Microseconds()) / 1000, note, nil
}
