// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// The plan of the run: when what happens, from its start.
const (
	pace       = 25 * time.Millisecond // between two requests for 64 KiB
	stopAt     = 1000 * time.Millisecond
	cancelAt   = 2500 * time.Millisecond
	resumeAt   = 4000 * time.Millisecond
	endAt      = 9000 * time.Millisecond // at the latest: a while after the last result
	afterwards = 400 * time.Millisecond
	readPace   = 8 * time.Millisecond // between two reads of up to 64 KiB
)

// A hostRun is the host's side of the run.
type hostRun struct {
	began  time.Time
	stdin  io.WriteCloser
	stdout *os.File

	mu       sync.Mutex // guards the fields below
	moved    sync.Cond  // signalled when paused changed
	paused   bool
	received int64
	last     time.Time // when bytes were received last
	waiting  int64     // as the server said last
	out      run
}

// runHost starts this program again as the server and drives it by the plan.
func runHost() (*run, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer r.Close()
	capacity, err := unix.FcntlInt(r.Fd(), unix.F_GETPIPE_SZ, 0)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(exe, "-serve")
	cmd.Stdout = w
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	w.Close()
	if err != nil {
		return nil, err
	}
	h := &hostRun{stdin: stdin, stdout: r, began: time.Now()}
	h.moved.L = &h.mu
	h.out.where = fmt.Sprintf("%s/%s, a pipe of %d bytes, a request for %d bytes every %v, a read every %v, a sample every %v",
		runtime.GOOS, runtime.GOARCH, capacity, resultSize, pace, readPace, step)

	var reads, logs sync.WaitGroup
	reads.Go(h.read)
	logs.Go(func() { h.listen(stderr) })
	sent, err := h.drive()
	stdin.Close()
	reads.Wait()
	logs.Wait()
	if err = errors.Join(err, cmd.Wait()); err != nil {
		return nil, err
	}
	if h.received < sent*resultSize {
		return nil, fmt.Errorf("%d results asked for, and %d bytes received", sent, h.received)
	}
	return &h.out, nil
}

// drive sends requests by the plan and samples.
func (h *hostRun) drive() (sent int64, err error) {
	send := func(format string, a ...any) {
		if err == nil {
			_, err = fmt.Fprintf(h.stdin, format+"\n", a...)
		}
	}
	send(`{"jsonrpc":"2.0","id":"hello","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"picture","version":"1"}}}`)
	send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	send(`{"jsonrpc":"2.0","id":"slow","method":"tools/call","params":{"name":"slow","arguments":{}}}`)

	requests, samples := time.NewTicker(pace), time.NewTicker(step)
	defer requests.Stop()
	defer samples.Stop()
	stop, cancel, resume, end := time.After(stopAt), time.After(cancelAt), time.After(resumeAt), time.After(endAt)
	for err == nil {
		select {
		case <-requests.C:
			if time.Since(h.began) < resumeAt {
				sent++
				send(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"rows","arguments":{}}}`, sent)
			}
		case <-samples.C:
			h.sample()
			if time.Since(h.began) > resumeAt && h.quietFor(sent) > afterwards {
				return sent, nil
			}
		case <-stop:
			h.event("stop", time.Now())
			h.pause(true)
		case <-cancel:
			h.event("cancel", time.Now())
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"slow","reason":"no longer needed"}}`)
		case <-resume:
			h.event("resume", time.Now())
			h.pause(false)
		case <-end:
			return sent, nil
		}
	}
	h.pause(false)
	return sent, err
}

// quietFor tells for how long all that was asked for has been received.
func (h *hostRun) quietFor(sent int64) time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.received < sent*resultSize {
		return 0
	}
	return time.Since(h.last)
}

func (h *hostRun) pause(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.paused = on
	h.moved.Broadcast()
}

// read reads stdout, except while it is paused.
func (h *hostRun) read() {
	buf := make([]byte, 64<<10)
	for {
		h.mu.Lock()
		for h.paused {
			h.moved.Wait()
		}
		h.mu.Unlock()
		time.Sleep(readPace) // a host that has something else to do as well
		n, err := h.stdout.Read(buf)
		h.mu.Lock()
		h.received += int64(n)
		h.last = time.Now()
		h.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// listen takes what the server says on stderr.
func (h *hostRun) listen(stderr io.Reader) {
	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		var what string
		var at, n int64
		if _, err := fmt.Sscan(lines.Text(), &what, &at, &n); err != nil || bytes.ContainsRune(lines.Bytes(), '=') {
			fmt.Fprintln(os.Stderr, "server:", lines.Text())
			continue
		}
		if what == "stopped" {
			h.event(what, time.Unix(0, at))
			continue
		}
		h.mu.Lock()
		h.waiting = n
		h.mu.Unlock()
	}
}

func (h *hostRun) event(name string, at time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.out.events = append(h.out.events, event{float64(at.Sub(h.began).Microseconds()) / 1000, name})
}

func (h *hostRun) sample() {
	inPipe, err := unix.IoctlGetInt(int(h.stdout.Fd()), unix.TIOCINQ)
	h.mu.Lock()
	defer h.mu.Unlock()
	if err == nil {
		h.out.samples = append(h.out.samples, sample{time.Since(h.began).Milliseconds(), h.waiting, int64(inPipe), h.received})
	}
}
