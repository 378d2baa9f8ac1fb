// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"net"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/crypto/ssh"
)

// checkTime is how long a connection has to answer when it is in doubt.
const checkTime = time.Second

// A conn is one connection to a Host's server.
type conn struct {
	h      *Host
	client *ssh.Client
	wire   *wire
	parent *conn // the connection that it goes through, or nil
	pooled bool  // has a place of Host.Pool

	room room        // for sessions
	null atomic.Bool // a shell there runs what it is told, and there is a null device

	lost  chan struct{} // closed when it is over
	once  sync.Once
	cause error // why; set before lost is closed

	// Guarded by Host.mu.
	users   int
	resting *time.Timer // ends it when it was idle
	rested  time.Time   // since when nobody uses it
	retired bool        // takes no new calls

	mu      sync.Mutex // guards what follows
	asked   *question
	refused map[string]bool // variables that the server does not take
	guard   *guard
	noGuard bool

	spare     *session // open, for the next call
	preparing bool     // it is being opened
	noSpare   bool     // none is opened
}

// A wire is the network connection, which remembers when something last came.
type wire struct {
	net.Conn
	heard atomic.Int64 // time in nanoseconds since began
	began time.Time
}

func (w *wire) Read(p []byte) (int, error) {
	n, err := w.Conn.Read(p)
	if n > 0 {
		w.heard.Store(int64(time.Since(w.began)))
	}
	return n, err
}

// quiet is how long nothing has come.
func (w *wire) quiet() time.Duration { return time.Since(w.began) - time.Duration(w.heard.Load()) }

// run runs fn in a goroutine that Close waits for.
func (c *conn) run(fn func()) { c.h.link.all.Go(fn) }

// serve starts what a connection needs while it lasts.
func (c *conn) serve() {
	c.run(func() {
		err := c.client.Wait()
		c.end(lostError(err))
	})
	c.run(c.keepalive)
}

// lostError is ErrLost with what the network said.
func lostError(err error) error {
	if err == nil {
		return ErrLost
	}
	return &lossError{err}
}

// A lossError is ErrLost with a reason.
type lossError struct{ err error }

func (e *lossError) Error() string        { return ErrLost.Error() + ": " + plain(e.err.Error(), maxTold) }
func (e *lossError) Is(target error) bool { return target == ErrLost }
func (e *lossError) Unwrap() error        { return e.err }

// end closes the connection, for the first cause that is given. It does not
// wait. It may be called with Host.mu held.
func (c *conn) end(cause error) {
	c.once.Do(func() {
		c.cause = cause
		close(c.lost)
		c.wire.Close()
		c.run(func() {
			c.client.Close()
			c.client.Wait()
			h := c.h
			h.mu.Lock()
			h.dropLocked(c)
			if c.resting != nil {
				c.resting.Stop()
			}
			h.mu.Unlock()
			if c.parent != nil {
				c.parent.release()
			}
			if c.pooled {
				h.Pool.leave(h)
			}
			h.log().Info("ssh connection closed", "host", h.name(), "address", h.address(), "reason", cause)
		})
	})
}

// useLocked counts a user in.
func (c *conn) useLocked() {
	c.users++
	if c.resting != nil {
		c.resting.Stop()
		c.resting = nil
	}
}

// release counts a user out.
func (c *conn) release() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.users--
	c.restLocked()
}

// restLocked lets a connection without users end: at once when it is retired,
// else when it was idle.
func (c *conn) restLocked() {
	if c.users > 0 || isClosed(c.lost) {
		return
	}
	if c.retired {
		c.end(errIdle)
		return
	}
	if c.pooled && c.h.Pool.wanted() {
		c.h.dropLocked(c)
		c.end(errIdle)
		return
	}
	c.rested = time.Now()
	if c.resting != nil {
		c.resting.Stop()
	}
	c.resting = time.AfterFunc(c.h.idle(), func() { c.yield() })
}

// yield ends the connection if nobody uses it, and reports whether it did.
func (c *conn) yield() bool {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	if c.users > 0 || isClosed(c.lost) {
		return false
	}
	c.h.dropLocked(c)
	c.end(errIdle)
	return true
}

// retire lets no new call on the connection, and ends it with its last user.
func (c *conn) retire() {
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.dropLocked(c)
	c.retired = true
	c.restLocked()
}

// idle is how long a connection is kept that nobody uses.
func (h *Host) idle() time.Duration {
	if h.Idle <= 0 && h.Pool != nil {
		return orDefault(h.Pool.Idle, DefaultIdle)
	}
	return orDefault(h.Idle, DefaultIdle)
}

// A question asks the server whether it is there.
type question struct {
	answered chan struct{} // closed when it is; never on a connection that is lost
}

// ping asks the server whether it is there, unless it is being asked already.
// The channel is closed when it answers; see conn.lost for when it never will.
func (c *conn) ping() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.asked != nil {
		return c.asked.answered
	}
	q := &question{make(chan struct{})}
	c.asked = q
	c.run(func() {
		_, _, err := c.client.SendRequest("keepalive@openssh.com", true, nil)
		c.mu.Lock()
		c.asked = nil
		c.mu.Unlock()
		if err == nil { // refused is an answer too
			close(q.answered)
		}
	})
	return q.answered
}

// keepalive asks when nothing has come for a while, and ends a connection on
// which nothing comes any more.
func (c *conn) keepalive() {
	every := orDefault(c.h.Keepalive, DefaultKeepalive)
	most := orDefault(c.h.KeepaliveMisses, DefaultKeepaliveMisses)
	timer := time.NewTimer(every)
	defer timer.Stop()
	heard := c.wire.heard.Load()
	for misses := 0; ; {
		select {
		case <-timer.C:
		case <-c.lost:
			return
		}
		if last := c.wire.heard.Load(); last != heard {
			heard, misses = last, 0
		}
		if quiet := c.wire.quiet(); quiet < every {
			timer.Reset(every - quiet)
			continue
		}
		if misses == most {
			c.end(ErrKeepalive)
			return
		}
		misses++
		c.ping() // its answer is heard
		timer.Reset(every)
	}
}

// check finds out, without waiting for it, whether the connection is alive, and
// ends it otherwise. It is for when something on it did not answer.
func (c *conn) check() {
	c.run(func() { c.alive() })
}

// alive finds out whether the connection is there, and ends it otherwise.
func (c *conn) alive() bool {
	timer := time.NewTimer(checkTime)
	defer timer.Stop()
	select {
	case <-c.ping():
		return true
	case <-c.lost:
	case <-timer.C:
		c.end(ErrKeepalive)
	}
	return false
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// refuses tells whether the server is known not to take a variable.
func (c *conn) refuses(name string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.refused[name]
}

// refuse remembers that the server does not take a variable.
func (c *conn) refuse(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.refused == nil {
		c.refused = make(map[string]bool)
	}
	if len(c.refused) < maxRefused {
		c.refused[name] = true
	}
}

// maxRefused is how many names are remembered.
const maxRefused = 256
