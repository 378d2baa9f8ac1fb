// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"syscall"
	"time"
)

// silence is how long a child that still lives has to say nothing to be called blocked.
const silence = 2 * time.Second

// pipeSizes are the capacities of parts c and d; 0 is the default.
var pipeSizes = []int{0, 4096, 65536, 1 << 20}

func (l *lab) e3(ctx context.Context) error {
	for _, p := range []struct {
		part string
		run  func(context.Context) error
	}{{"a", l.e3a}, {"b", l.e3b}, {"c", l.e3c}, {"d", l.e3d}, {"e", l.e3e}, {"f", l.e3f}} {
		if !l.wanted("e3" + p.part) {
			continue
		}
		l.progress("E3%s", p.part)
		if err := p.run(ctx); err != nil {
			return fmt.Errorf("part %s: %w", p.part, err)
		}
	}
	return nil
}

// together runs f for each of n at once, and emits their rows in order.
func (l *lab) together(n int, f func(i int) ([]Row, error)) error {
	rows, errs := make([][]Row, n), make([]error, n)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() { rows[i], errs[i] = f(i) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, list := range rows {
		for _, r := range list {
			if err := l.emit(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// stuckWrite has a child write frames times size bytes to a host that does not read.
func (l *lab) stuckWrite(ctx context.Context, size, frames, pipe int) (c Config, blocked bool, held int, err error) {
	p, err := l.start(ctx, Config{Mode: "stuck", Size: size, Frames: frames}, startOptions{pipe: pipe})
	if err != nil {
		return c, false, 0, err
	}
	defer p.stop()
	if !p.says(ctx, writtenWord, silence) {
		if blocked = p.alive(); !blocked {
			return c, false, 0, fmt.Errorf("the child ended: %q", p.said.Last())
		}
	}
	if n, err := pending(p.out); err == nil {
		held = n
	}
	return p.conf, blocked, held, ctx.Err()
}

// e3a: one write, and a host that does not read.
func (l *lab) e3a(ctx context.Context) error {
	return l.together(11, func(i int) ([]Row, error) {
		size := 1024 << i
		c, blocked, held, err := l.stuckWrite(ctx, size, 1, 0)
		if err != nil {
			return nil, err
		}
		word := "returned"
		if blocked {
			word = "blocked"
		}
		r := newRow("E3", "a one write, no reader", 0, c).set("opt", fmt.Sprint("pipe=", c.Pipe)).set("bytes", held)
		return []Row{r.set("value", boolNumber(!blocked)).set("unit", "1 returned, 0 blocked").set("note", word)}, nil
	})
}

func boolNumber(b bool) int {
	if b {
		return 1
	}
	return 0
}

// e3b: the same with a host that reads.
func (l *lab) e3b(ctx context.Context) error {
	for size := 1 << 10; size <= 8<<20; size *= 2 {
		p, err := l.start(ctx, Config{Mode: "stuck", Size: size}, startOptions{})
		if err != nil {
			return err
		}
		began := time.Now()
		n, err := io.Copy(io.Discard, p.out)
		took := time.Since(began)
		if err := errors.Join(err, p.finish(ctx)); err != nil {
			return err
		}
		l.count(1, n)
		r := newRow("E3", "b one write, a reader", 0, p.conf).set("bytes", n).set("mbps", mbps(n, took))
		r.set("value", boolNumber(n == int64(size) && p.says(ctx, writtenWord, 0))).set("unit", "1 complete, 0 not")
		if err := l.emit(r); err != nil {
			return err
		}
	}
	return nil
}

// e3c: the edge to the byte: the largest write that returns, and the least that blocks.
func (l *lab) e3c(ctx context.Context) error {
	return l.together(len(pipeSizes), func(i int) ([]Row, error) {
		cell := "c edge, default pipe"
		if pipeSizes[i] > 0 {
			cell = fmt.Sprint("c edge, pipe ", pipeSizes[i])
		}
		returns, blocks, c, err := l.edge(ctx, pipeSizes[i])
		if err != nil {
			if pipeSizes[i] > 0 && ctx.Err() == nil {
				return []Row{skippedRow("E3", cell, err)}, nil
			}
			return nil, err
		}
		opt := fmt.Sprint("pipe=", c.Pipe)
		return []Row{
			Row{"group": "E3", "cell": cell, "writer": "rawOne", "opt": opt}.set("size", returns).set("value", returns).set("unit", "bytes, the largest write that returns").set("note", "confirmed 3 times"),
			Row{"group": "E3", "cell": cell, "writer": "rawOne", "opt": opt}.set("size", blocks).set("value", blocks).set("unit", "bytes, the least write that blocks").set("note", "confirmed 3 times"),
		}, nil
	})
}

// edge searches between 1 byte and 4 MiB, 15 writes at a time, and confirms both sides three times.
func (l *lab) edge(ctx context.Context, pipe int) (returns, blocks int, c Config, err error) {
	low, high := 0, 4<<20 // the first surely returns; the second is checked below
	if _, blocked, _, err := l.stuckWrite(ctx, high, 1, pipe); err != nil || !blocked {
		return 0, 0, c, errors.Join(err, errors.New("a write of 4 MiB does not block"))
	}
	var mu sync.Mutex // guards what follows
	probe := func(sizes []int) error {
		var wg sync.WaitGroup
		var errs []error
		for _, n := range sizes {
			wg.Go(func() {
				conf, blocked, _, err := l.stuckWrite(ctx, n, 1, pipe)
				mu.Lock()
				defer mu.Unlock()
				switch {
				case err != nil:
					errs = append(errs, err)
				case blocked:
					high = min(high, n)
				default:
					low = max(low, n)
				}
				if err == nil {
					c = conf
				}
			})
		}
		wg.Wait()
		if low >= high {
			errs = append(errs, fmt.Errorf("a write of %d bytes returned, and one of %d blocked", low, high))
		}
		return errors.Join(errs...)
	}
	for high-low > 1 {
		var sizes []int
		for i := 1; i < 16; i++ {
			if n := low + (high-low)*i/16; n > low && (len(sizes) == 0 || n > sizes[len(sizes)-1]) {
				sizes = append(sizes, n)
			}
		}
		if err := probe(sizes); err != nil {
			return 0, 0, c, err
		}
	}
	returns, blocks = low, high
	err = probe([]int{returns, returns, returns, blocks, blocks, blocks}) // an answer that turned would be low >= high
	return returns, blocks, c, err
}

// e3d: many writes: what a pipe takes before it blocks.
func (l *lab) e3d(ctx context.Context) error {
	sizes := []int{1, 1024, 2049, 3000, 4096, 4097, 5000}
	return l.together(len(sizes), func(i int) ([]Row, error) {
		const cell = "d many writes, no reader"
		c, blocked, held, err := l.stuckWrite(ctx, sizes[i], 9_000_000, 0)
		if err != nil {
			return nil, err
		}
		if held == 0 {
			return []Row{skippedRow("E3", cell, errors.New("the bytes in a pipe cannot be asked here"))}, nil
		}
		if !blocked {
			return nil, fmt.Errorf("writes of %d bytes never blocked", sizes[i])
		}
		r := newRow("E3", cell, 0, c).set("frames", "").set("opt", fmt.Sprint("pipe=", c.Pipe)).set("bytes", held)
		return []Row{r.set("value", held).set("unit", "bytes taken before the block")}, nil
	})
}

// slowHosts are the hosts of part e: so many bytes, then a pause.
var slowHosts = []struct {
	name   string
	read   int
	pause  time.Duration
	lasts  time.Duration
	before int // frames asked for
}{
	{"1 KiB, then 50 ms", 1 << 10, 50 * time.Millisecond, 3 * time.Second, 64},
	{"64 KiB, then 1 s", 64 << 10, time.Second, 3 * time.Second, 64},
	{"nothing for 5 s", 0, 5 * time.Second, 5 * time.Second, 64},
}

// e3e: a host that reads now and then: the longest write, whether a cancel is still read, and what is lost.
func (l *lab) e3e(ctx context.Context) error {
	writers := []string{"oneLock", "weir"}
	return l.together(len(slowHosts)*len(writers), func(i int) ([]Row, error) {
		return l.slowHost(ctx, i/len(writers), writers[i%len(writers)])
	})
}

func (l *lab) slowHost(ctx context.Context, which int, writer string) ([]Row, error) {
	h := slowHosts[which]
	c := Config{Mode: "reply", Writer: writer, Threads: 8, Frames: h.before, Size: 16 << 10, CJK: true}
	p, err := l.start(ctx, c, startOptions{})
	if err != nil {
		return nil, err
	}
	defer p.stop()
	g := &pinger{child: p, buf: make([]byte, 64<<10)}
	if err := g.greet(); err != nil {
		return nil, err
	}
	const waiting = 900_001
	req := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"wait","arguments":{}}}`+"\n", waiting)
	if writer != "weir" {
		req = req[:0] // the bare loop has no tool to cancel: it says when it reads the notification
	}
	for n := range h.before {
		req = append(req, replyRequest(nil, n)...)
	}
	if _, err := p.in.Write(req); err != nil {
		return nil, err
	}
	began := time.Now()
	cancelled := make(chan time.Duration, 1)
	go func() {
		wait, stop := context.WithTimeout(ctx, patience)
		defer stop()
		select {
		case <-time.After(time.Second):
		case <-wait.Done():
		}
		sentAt := time.Now()
		fmt.Fprintf(p.in, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n", waiting)
		if p.said.Wait(wait, cancelWord) != nil {
			cancelled <- -1
			return
		}
		cancelled <- time.Since(sentAt)
	}()
	judge := NewClassifier(h.before, p.conf.Size, p.conf.CJK, false)
	slow := &slowReader{r: p.out, chunk: h.read, pause: h.pause, until: began.Add(h.lasts)}
	read := make(chan error, 1)
	go func() {
		_, err := judge.ReadFrom(slow)
		read <- err
	}()
	took := <-cancelled
	if took < 0 {
		return nil, errors.Join(ctx.Err(), fmt.Errorf("the cancel was never read; the child said %q", p.said.Last()))
	}
	// The slow part is over before stdin is closed, so that the end of the session does not count.
	select {
	case <-time.After(time.Until(began.Add(h.lasts))):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	p.in.Close()
	if err := errors.Join(<-read, p.finish(ctx)); err != nil {
		return nil, err
	}
	l.countLocked(h.before, judge.Bytes)
	cell := "e " + h.name
	first := newRow("E3", cell, 0, p.conf).addCounts(judge.Counts, h.before, h.before)
	first.set("value", float64(took.Microseconds())/1000).set("unit", "ms until a cancel was read")
	longest := newRow("E3", cell, 0, p.conf).set("value", float64(p.number(wrotePrefix))/1000).set("unit", "ms, the longest write")
	if wait := p.number(waitedPrefix); wait >= 0 {
		longest.set("note", fmt.Sprintf("a worker waited %.0f ms for its turn and its write", float64(wait)/1000))
	}
	return []Row{first, longest}, nil
}

// slowReader pauses after each chunk until a time, then reads at full speed.
type slowReader struct {
	r     io.Reader
	chunk int
	pause time.Duration
	until time.Time
	begun bool
}

func (s *slowReader) Read(b []byte) (int, error) {
	if time.Now().Before(s.until) {
		if s.begun || s.chunk == 0 {
			time.Sleep(min(s.pause, time.Until(s.until)))
		}
		s.begun = true
		if s.chunk > 0 {
			b = b[:min(len(b), s.chunk)]
		}
	}
	return s.r.Read(b)
}

// e3f: the host that reads stderr only, and then a host that reads.
func (l *lab) e3f(ctx context.Context) error {
	if err := l.together(len(Payloads), func(i int) ([]Row, error) { return l.frozenHost(ctx, Payloads[i]) }); err != nil {
		return err
	}
	return l.readingHost(ctx)
}

func (l *lab) frozenHost(ctx context.Context, payload string) ([]Row, error) {
	p, err := l.start(ctx, Config{Mode: "chunks8", Payload: payload}, startOptions{})
	if err != nil {
		return nil, err
	}
	defer p.stop()
	if _, err := p.in.Write(replyRequest(nil, 1)); err != nil {
		return nil, err
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	running, held := p.alive(), p.says(ctx, backpressureWord, patience)
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.cmd.Process.Kill() // a system without signals
	}
	ended := true
	select {
	case <-p.ended:
	case <-time.After(patience):
		ended = false
	}
	l.countLocked(1, int64(min(8<<20, max(p.conf.Pipe, 0))))
	r := newRow("E3", "f 8 MiB, no reader", 0, p.conf).set("opt", "payload="+p.conf.Payload).set("value", boolNumber(running && held && ended)).set("unit", "1 stuck as expected, 0 not")
	return []Row{r.set("note", fmt.Sprintf("child still running: %v; %s: %v; ended by SIGTERM: %v", running, backpressureWord, held, ended))}, nil
}

var countMu sync.Mutex

// countLocked is count for cells that run at the same time.
func (l *lab) countLocked(frames int, bytes int64) {
	countMu.Lock()
	defer countMu.Unlock()
	l.count(frames, bytes)
}
