// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bufio"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/text/encoding/simplifiedchinese"
)

// A frameWriter is one strategy of writing frames to stdout, used by several goroutines at once.
type frameWriter interface {
	frame(body []byte) error // body has no line end
	end() error              // after the last frame: nothing may stay behind
	lineEnd() string
}

// newWriter makes the strategy with that name; weir and twoProcs are made elsewhere, since they are more than a writer.
func newWriter(name string) frameWriter {
	switch name {
	case "println":
		return printLine{}
	case "printlnGBK":
		return printLineGBK{}
	case "printNL":
		return printThenLine{}
	case "rawSplit":
		return rawSplit{}
	case "rawOne":
		return rawOne{}
	case "batch512":
		return &batch{w: bufio.NewWriterSize(os.Stdout, 64<<10)}
	}
	return &oneLock{}
}

type lf struct{}

func (lf) end() error      { return nil }
func (lf) lineEnd() string { return "\n" }

// printLine is fmt.Println of a text: one Write of os.Stdout, which locks the descriptor until all is out.
type printLine struct{ lf }

func (printLine) frame(body []byte) error {
	_, err := fmt.Println(string(body))
	return err
}

// printLineGBK stands for a runtime with a legacy charset and its own line end.
type printLineGBK struct{ lf }

func (printLineGBK) lineEnd() string { return "\r\n" }

func (p printLineGBK) frame(body []byte) error {
	b, err := simplifiedchinese.GBK.NewEncoder().Bytes(body)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(append(b, p.lineEnd()...))
	return err
}

// printThenLine writes a frame in two calls of fmt, each of which is whole.
type printThenLine struct{ lf }

func (printThenLine) frame(body []byte) error {
	if _, err := fmt.Print(string(body)); err != nil {
		return err
	}
	_, err := fmt.Println()
	return err
}

// rawSplit is two write(2) without a lock.
type rawSplit struct{ lf }

func (rawSplit) frame(body []byte) error {
	if err := rawWrite(body); err != nil {
		return err
	}
	return rawWrite([]byte("\n"))
}

// rawOne is one write(2) without a lock.
type rawOne struct{ lf }

func (rawOne) frame(body []byte) error { return rawWrite(append(body, '\n')) }

// rawWrite calls write(2) until all bytes are taken.
func rawWrite(b []byte) error {
	for len(b) > 0 {
		n, err := syscall.Write(syscall.Stdout, b)
		if n > 0 {
			b = b[n:]
		}
		if err == syscall.EPIPE {
			_, err = os.Stdout.Write(b) // which ends this process by SIGPIPE, as its other writers do
		}
		if err != nil && err != syscall.EINTR && err != syscall.EAGAIN {
			return os.NewSyscallError("write", err)
		}
	}
	return nil
}

// oneLock writes a frame and its LF from one buffer, under one lock, by one Write.
type oneLock struct {
	lf
	mu  sync.Mutex // held while one frame is written; guards out
	out stopwatch
}

func (w *oneLock) frame(body []byte) error {
	body = append(body, '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.out.Write(body)
	return err
}

// stopwatch is stdout with the longest write remembered. One goroutine at a time writes.
type stopwatch struct{ longest atomic.Int64 } // nanoseconds

func (o *stopwatch) Write(b []byte) (int, error) {
	began := time.Now()
	n, err := os.Stdout.Write(b)
	o.longest.Store(max(o.longest.Load(), int64(time.Since(began))))
	return n, err
}

func (o *stopwatch) Close() error { return os.Stdout.Close() }

// report says on stderr how long the longest write took.
func (o *stopwatch) report() {
	fmt.Fprintf(os.Stderr, "%s%d\n", wrotePrefix, o.longest.Load()/1000)
}

// batch is oneLock through a buffer that is flushed at every 512th frame.
type batch struct {
	lf
	mu sync.Mutex // guards w and n
	w  *bufio.Writer
	n  int
}

func (w *batch) frame(body []byte) error {
	body = append(body, '\n')
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.w.Write(body); err != nil {
		return err
	}
	if w.n++; w.n%512 == 0 {
		return w.w.Flush()
	}
	return nil
}

func (w *batch) end() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.w.Flush()
}
