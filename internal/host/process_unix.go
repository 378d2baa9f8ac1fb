// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package host

import (
	"sync"
	"syscall"
	"time"
)

// group is the child's process group. Its id is the leader's, and is ours to
// signal until the leader has been reaped.
type group struct {
	mu sync.Mutex // guards id
	id int        // 0 before the start and after the end
}

func (c *child) start() error {
	if c.cmd.SysProcAttr == nil {
		c.cmd.SysProcAttr = new(syscall.SysProcAttr)
	}
	c.cmd.SysProcAttr.Setpgid = true
	if err := c.cmd.Start(); err != nil {
		return err
	}
	c.id = c.cmd.Process.Pid
	return nil
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.id != 0 {
		syscall.Kill(-g.id, s) // fails only when nobody is left
	}
}

func (c *child) terminate() { c.signal(syscall.SIGTERM) }
func (c *child) kill()      { c.signal(syscall.SIGKILL) }

// release waits for what the leader left behind in its group or with its mark, for as long as
// grace, kills it, and reaps the leader.
func (c *child) release(grace time.Duration) Exit {
	left := survivors(c.id, c.mark)
	for end := time.Now().Add(grace); len(left) > 0 && time.Now().Before(end); left = survivors(c.id, c.mark) {
		time.Sleep(5 * time.Millisecond) // nobody tells when a process that is not ours ends
	}
	c.kill()
	if len(left) > 0 && c.mark != "" {
		killMarked(c.mark)
	}
	c.mu.Lock()
	c.id = 0
	c.mu.Unlock()
	c.reap()
	e := c.exit()
	e.Survivors = left
	return e
}
