// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package drive is the host of the comparison: it starts a tool server as a child process, joins it by two pipes, and
// exchanges raw, pre-encoded frames with it, so that what is measured is the server and not the host.
//
// It is no MCP client. Its frames are its own (see Frame), it checks answers by comparing bytes, and it is meant for one
// goroutine a process unless a method says otherwise.
package drive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Command is a server program.
type Command struct {
	Path string   // the program; the only field that must be set
	Args []string // its arguments, without its name
	Dir  string   // where it runs; "" means the host's directory
	CPU  int      // the CPU it may use, from 1; 0 means all
}

// Process is a running server.
type Process struct {
	// Stderr is what the server wrote there.
	Stderr *Tail

	cmd     *exec.Cmd
	in      *os.File
	out     *os.File
	started time.Time
	ended   chan struct{} // closed when the process is gone and its stderr read

	buf        []byte // read from out; buf[start:end] is not consumed yet
	start, end int
	scanned    int // buf[start:scanned] holds no LF
}

// Start starts a server. It is killed when ctx ends; Stop must be called in any case.
func Start(ctx context.Context, c Command) (*Process, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()

	cmd := exec.CommandContext(ctx, c.Path, c.Args...)
	cmd.Dir = c.Dir
	cmd.WaitDelay = time.Second // a process the server left behind may hold stderr open
	p := &Process{Stderr: NewTail(), cmd: cmd, in: in, out: out, ended: make(chan struct{}), buf: make([]byte, 256<<10)}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, p.Stderr
	p.started = time.Now()
	if err := startOn(cmd, c.CPU); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go func() {
		cmd.Wait() // its error is of no interest: a server may end as it likes
		close(p.ended)
	}()
	return p, nil
}

// Stop closes the server's stdin, gives it two seconds to end, kills it otherwise, and frees what Start took. It reads what
// the server still writes meanwhile.
func (p *Process) Stop() {
	p.in.Close()
	kill := time.AfterFunc(2*time.Second, func() { p.cmd.Process.Kill() })
	go io.Copy(io.Discard, p.out) // ends when p.out is closed below
	<-p.ended
	kill.Stop()
	p.out.Close()
}

// Started is the moment just before the process was made.
func (p *Process) Started() time.Time { return p.started }

// Write sends b and waits until the server's pipe has taken all of it.
func (p *Process) Write(b []byte) error {
	_, err := p.in.Write(b)
	return p.explain(err)
}

// TryWrite sends b, and stops when the pipe has taken nothing for patience. It returns how many bytes the pipe took; fewer
// than len(b) with a nil error means that it is stuck. It must not be used after Block.
func (p *Process) TryWrite(b []byte, patience time.Duration) (int, error) {
	done := 0
	for done < len(b) {
		if err := p.in.SetWriteDeadline(time.Now().Add(patience)); err != nil {
			return done, err
		}
		n, err := p.in.Write(b[done:])
		done += n
		if err != nil {
			if errors.Is(err, os.ErrDeadlineExceeded) {
				if n > 0 {
					continue
				}
				err = nil
			}
			p.in.SetWriteDeadline(time.Time{})
			return done, p.explain(err)
		}
	}
	p.in.SetWriteDeadline(time.Time{})
	return done, nil
}

// ReadLine returns the next line without its LF. The slice is valid until the next call. A Process may be written to by one
// goroutine while another reads.
func (p *Process) ReadLine() ([]byte, error) {
	for {
		if line, ok := p.buffered(); ok {
			return line, nil
		}
		if err := p.fill(); err != nil {
			return nil, err
		}
	}
}

// buffered returns the next line if it is whole already.
func (p *Process) buffered() ([]byte, bool) {
	i := bytes.IndexByte(p.buf[p.scanned:p.end], '\n')
	if i < 0 {
		p.scanned = p.end
		return nil, false
	}
	line := p.buf[p.start : p.scanned+i]
	p.start = p.scanned + i + 1
	p.scanned = p.start
	return line, true
}

// fill reads once.
func (p *Process) fill() error {
	if p.start == p.end {
		p.start, p.end, p.scanned = 0, 0, 0
	}
	if len(p.buf)-p.end < 64<<10 {
		n := copy(p.buf, p.buf[p.start:p.end])
		p.scanned -= p.start
		p.start, p.end = 0, n
		if len(p.buf)-n < 64<<10 {
			p.buf = append(p.buf, make([]byte, len(p.buf))...)
		}
	}
	n, err := p.out.Read(p.buf[p.end:])
	p.end += n
	if n > 0 {
		return nil
	}
	return p.explain(err)
}

// explain adds to an error of a pipe what the server said last.
func (p *Process) explain(err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed its stdout")
		select {
		case <-p.ended: // so that all of its stderr is there
		case <-time.After(time.Second):
		}
	}
	if said := p.Stderr.Last(); said != "" {
		return fmt.Errorf("%w; its stderr ends in %q", err, said)
	}
	return err
}
