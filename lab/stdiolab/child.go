// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Serve is the child of a cell: it reads its flags, reports on stderr what it runs, and does it on the standard descriptors.
func Serve(ctx context.Context, args []string) error {
	c, err := ParseConfig(args, os.Stderr)
	if err != nil {
		return err
	}
	if err := c.report(os.Stderr); err != nil {
		return err
	}
	switch c.Mode {
	case "push":
		return c.push(ctx)
	case "reply":
		if c.Writer == "weir" {
			return c.weirReply(ctx)
		}
		return c.reply()
	case "stuck":
		return c.stuck()
	case "chunk":
		return c.chunk()
	case "chunks8":
		return c.chunks8()
	case "mcp":
		for i := range c.Banner {
			fmt.Println(bannerLine(i))
		}
		return c.weirReply(ctx)
	}
	return c.forms(ctx)
}

// sent says how many frames went out.
func sent(n int) { fmt.Fprintf(os.Stderr, "%s%d\n", sentPrefix, n) }

// push writes frames from several goroutines, then the end marker.
func (c Config) push(ctx context.Context) error {
	own := c
	start := func() error { return nil }
	if c.Wait {
		start = func() error {
			fmt.Fprintln(os.Stderr, readyWord)
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			return err
		}
	}
	var second *secondProcess
	switch c.Writer {
	case "weir":
		if err := c.weirPush(ctx); err != nil {
			return err
		}
		sent(c.Frames)
		return marker(c, "\n")
	case "twoProcs":
		var err error
		if second, err = c.halve(ctx, &own); err != nil {
			return err
		}
		start = second.begin
	}
	w := newWriter(own.Writer)
	s := shape{size: c.Size, cjk: c.CJK}
	s.warm()
	var next atomic.Int64
	errs := make([]error, own.Threads)
	var wg sync.WaitGroup
	ready := make(chan struct{})
	for i := range own.Threads {
		wg.Go(func() {
			buf := make([]byte, 0, c.Size+2)
			<-ready
			for {
				n := int(next.Add(1)) - 1
				if n >= own.Frames {
					return
				}
				if errs[i] = w.frame(s.append(buf[:0], own.First+n)); errs[i] != nil {
					return
				}
			}
		})
	}
	err := start()
	if err != nil {
		next.Store(int64(own.Frames))
	}
	close(ready)
	wg.Wait()
	err = errors.Join(append(errs, err)...)
	if second != nil {
		err = errors.Join(err, second.end())
	}
	if err = errors.Join(err, w.end()); err != nil {
		return err
	}
	if !c.End {
		return nil
	}
	sent(c.Frames)
	return marker(c, w.lineEnd())
}

// secondProcess is the child of a child: it inherits stdout, and writes one half of the frames.
type secondProcess struct {
	cmd *exec.Cmd
	in  io.WriteCloser
}

// halve starts the second process of twoProcs with one half of the frames, and leaves own the other. When it returns, the second
// process has made its frames ready and waits for begin.
func (c Config) halve(ctx context.Context, own *Config) (*secondProcess, error) {
	own.Writer, own.Frames, own.Threads = "oneLock", c.Frames/2, max(c.Threads/2, 1)
	half := *own
	half.First, half.Frames, half.End, half.Wait = c.First+own.Frames, c.Frames-own.Frames, false, true
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &secondProcess{cmd: exec.CommandContext(ctx, self, append([]string{"server"}, half.Args()...)...)}
	p.cmd.Stdout = os.Stdout
	said, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(said)
	report, err := lines.ReadString('\n')
	if err == nil {
		_, err = parseReport(report)
	}
	for word := ""; err == nil && word != readyWord+"\n"; {
		word, err = lines.ReadString('\n')
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the second process: %w", err), p.end())
	}
	return p, nil
}

// begin lets the second process write.
func (p *secondProcess) begin() error {
	_, err := io.WriteString(p.in, "go\n")
	return err
}

// end waits until the second process has written its half.
func (p *secondProcess) end() error {
	p.in.Close()
	return p.cmd.Wait()
}

// marker writes the last line, whatever the strategy was.
func marker(c Config, lineEnd string) error {
	if !c.End {
		return nil
	}
	_, err := os.Stdout.WriteString(EndMarker + lineEnd)
	return err
}

// bannerLine is a line that a server might print when it starts.
func bannerLine(i int) string {
	return fmt.Sprintf("2026-01-01 00:00:%02d INFO  lab started, listening (%d)", i, i)
}

// stuck writes to a host that may not read.
func (c Config) stuck() error {
	b := bytes.Repeat([]byte("x"), c.Size)
	b[len(b)-1] = '\n'
	for range c.Frames {
		if err := rawWrite(b); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintln(os.Stderr, writtenWord)
	return err
}

// chunk writes each frame as a pipe may deliver it: in pieces.
func (c Config) chunk() error {
	s := shape{size: c.Size, cjk: c.CJK}
	buf := make([]byte, 0, c.Size+1)
	for n := range c.Frames {
		b := append(s.append(buf[:0], c.First+n), '\n')
		for len(b) > 0 {
			k := min(len(b), 1024)
			if _, err := os.Stdout.Write(b[:k]); err != nil {
				return err
			}
			b = b[k:]
			nap(200 * time.Microsecond)
		}
	}
	sent(c.Frames)
	return nil
}

// reply is the bare loop: a server that answers each line of stdin with one frame. It has no more than its workers to take
// work from its reader: while all of them wait for stdout, stdin is not read.
func (c Config) reply() error {
	w := newWriter(c.Writer)
	s := shape{size: c.Size, cjk: c.CJK}
	s.warm()
	for i := range c.Banner {
		fmt.Println(bannerLine(i))
	}
	var longest atomic.Int64
	answer := func(buf []byte, id int) error {
		began := time.Now()
		err := w.frame(s.append(buf[:0], id))
		took := int64(time.Since(began))
		for old := longest.Load(); took > old && !longest.CompareAndSwap(old, took); old = longest.Load() {
		}
		return err
	}
	var wg sync.WaitGroup
	work := make(chan int)
	failed := make(chan error, c.Threads)
	if c.Threads > 1 {
		for range c.Threads {
			wg.Go(func() {
				buf := make([]byte, 0, c.Size+2)
				for id := range work {
					if err := answer(buf, id); err != nil {
						failed <- err
						return
					}
				}
			})
		}
	}
	buf := make([]byte, 0, c.Size+2)
	in := bufio.NewReader(os.Stdin)
	n, passed := 0, 0
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if bytes.Contains(line, []byte(`"notifications/cancelled"`)) {
			fmt.Fprintf(os.Stderr, "%s\n", cancelWord)
			continue
		}
		id, _ := frameID(line)
		if id < 0 {
			passed++
			continue
		}
		n++
		if c.Threads == 1 {
			if err := answer(buf, id); err != nil {
				return err
			}
			continue
		}
		select {
		case work <- id:
		case err := <-failed:
			return err
		}
	}
	close(work)
	wg.Wait()
	if err := w.end(); err != nil {
		return err
	}
	if one, ok := w.(*oneLock); ok {
		one.out.report()
	}
	fmt.Fprintf(os.Stderr, "%s%d\n", waitedPrefix, longest.Load()/1000)
	if passed > 0 {
		fmt.Fprintf(os.Stderr, "stdiolab lines without an id, which are not answered: %d; one that is: {\"id\":7}\n", passed)
	}
	sent(n)
	return nil
}

// payload is the text of mode chunks8, as JSON text: about 8 MiB.
func (c Config) payload() string {
	const total = 8 << 20
	unit := map[string]string{
		"x":       strings.Repeat("x", 99) + " ",
		"escapes": `say \"no\" to C:\\temp\\ `,
		"cjk":     "中文😀水 ",
		"run":     "x",
	}[c.Payload]
	return strings.Repeat(unit, total/len(unit))
}

// chunks8 is the server of a host that freezes: one answer of 8 MiB in chunks of 16 KiB.
func (c Config) chunks8() error {
	in := bufio.NewReader(os.Stdin)
	text := c.payload()
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		id, _ := frameID(line)
		if id < 0 {
			continue
		}
		b := fmt.Appendf(nil, "%s%d%s%s%s\n", frameHead, id, frameMid, text, frameTail)
		if bytes.Contains(line, []byte(`"small"`)) {
			b = fmt.Appendf(nil, "%s%d%ssmall%s\n", frameHead, id, frameMid, frameTail)
		}
		for len(b) > 0 {
			k := min(len(b), 16<<10)
			late := time.AfterFunc(50*time.Millisecond, func() { fmt.Fprintln(os.Stderr, backpressureWord) })
			_, err := os.Stdout.Write(b[:k])
			late.Stop()
			if err != nil {
				return err
			}
			b = b[k:]
		}
	}
}

const backpressureWord = "stdout backpressure observed"
