// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
)

// patience bounds what should come at once. It is a fail-safe and measures nothing.
const patience = 30 * time.Second

// child is a running child, seen by its host.
type child struct {
	conf  Config // as it reported itself
	in    *os.File
	out   *os.File
	said  *drive.Tail
	cmd   *exec.Cmd
	ended chan struct{} // closed when the process is gone and its stderr read
	err   error         // what Wait returned; after ended
}

// foreignSwitches are variables that change what Python or a JDK prints; the cells of E1B begin without them.
var foreignSwitches = []string{
	"LC_CTYPE", "PYTHONIOENCODING", "PYTHONUTF8", "PYTHONCOERCECLOCALE", "PYTHONLEGACYWINDOWSSTDIO", "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS",
}

// startOptions are how a child is started; the zero value starts it plainly.
type startOptions struct {
	env     []string // replaces the variables of Switches and foreignSwitches: only these are set; nil leaves all as they are
	pipe    int      // capacity of its stdout; 0 means the default
	command []string // another program, which does not report a configuration; nil means the lab's own child
	conf    Config   // of such a program
	stderr  io.Writer
}

// start starts the child of a cell, and waits for its report.
func (l *lab) start(ctx context.Context, c Config, o startOptions) (*child, error) {
	c = c.withDefaults()
	args := append(slices.Clone(l.command), c.Args()...)
	if o.command != nil {
		args = o.command
	}
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
	fail := func(err error) (*child, error) {
		in.Close()
		out.Close()
		return nil, err
	}
	if o.pipe > 0 {
		if err := setPipeSize(out, o.pipe); err != nil {
			return fail(err)
		}
	}
	p := &child{in: in, out: out, said: drive.NewTail(), ended: make(chan struct{})}
	p.cmd = exec.CommandContext(ctx, args[0], args[1:]...)
	p.cmd.WaitDelay = time.Second // a process that the child left may hold stderr open
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = childIn, childOut, p.said
	if o.stderr != nil {
		p.cmd.Stderr = io.MultiWriter(p.said, o.stderr)
	}
	p.cmd.Env = os.Environ()
	if o.env != nil {
		p.cmd.Env = slices.DeleteFunc(p.cmd.Env, func(v string) bool {
			name, _, _ := strings.Cut(v, "=")
			return slices.Contains(Switches, name) || slices.Contains(foreignSwitches, name)
		})
		p.cmd.Env = append(p.cmd.Env, o.env...)
	}
	if err := p.cmd.Start(); err != nil {
		return fail(err)
	}
	go func() {
		p.err = p.cmd.Wait()
		close(p.ended)
	}()
	if o.command != nil {
		p.conf = o.conf
		return p, nil
	}
	report, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() { // a child that ended says no more
		<-p.ended
		cancel()
	}()
	if p.conf, err = awaitReport(report, p.said, c); err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// awaitReport waits for what a child says it runs. That it is not what was asked for is an error.
func awaitReport(ctx context.Context, said *drive.Tail, asked Config) (Config, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	said.Wait(ctx, reportPrefix) // what follows says what is missing
	c, err := parseReport(said.Text())
	if err == nil && !c.sameFlags(asked) {
		err = fmt.Errorf("the child runs %+v and was asked for %+v", c, asked)
	}
	return c, err
}

// finish closes stdin, reads what is left of stdout, waits for the end, and returns the child's error.
func (p *child) finish(ctx context.Context) error {
	p.in.Close()
	io.Copy(io.Discard, p.out)
	select {
	case <-p.ended:
	case <-ctx.Done():
	case <-time.After(patience):
	}
	select {
	case <-p.ended:
	default:
		p.stop()
		return errors.Join(ctx.Err(), fmt.Errorf("the child did not end; it said %q", p.said.Last()))
	}
	p.out.Close()
	if p.err != nil {
		return fmt.Errorf("the child ended with %w; it said %q", p.err, p.said.Last())
	}
	return nil
}

// stop kills the child if it lives, and reaps it.
func (p *child) stop() {
	p.in.Close()
	p.cmd.Process.Kill()
	p.out.Close()
	<-p.ended
}

// number is the number after a word that the child said; -1 when it did not.
func (p *child) number(word string) int {
	_, rest, ok := strings.Cut(p.said.Text(), word)
	if !ok {
		return -1
	}
	digits, _, _ := strings.Cut(rest, "\n")
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		return -1
	}
	return n
}

// says waits for a word on stderr; false when it did not come in d.
func (p *child) says(ctx context.Context, word string, d time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	return p.said.Wait(ctx, word) == nil
}

// alive says whether the process is still there.
func (p *child) alive() bool {
	select {
	case <-p.ended:
		return false
	default:
		return true
	}
}
