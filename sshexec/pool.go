// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"
)

// The defaults of a [Pool].
const (
	DefaultMaxConnections = 32
	DefaultPoolWait       = 30 * time.Second
)

// A Pool bounds how many of its hosts have a connection, and finds hosts by
// name. The zero Pool is ready for hosts whose Pool field names it. Its methods
// may be called from many goroutines at once; its fields are not changed after
// the first call, and a Pool must not be copied then.
//
// When all connections are taken, the one that has been idle longest makes room;
// when none is idle, calls wait. A connection that only leads to other hosts
// (Host.Via) is not counted, so that it never waits for one that waits for it.
type Pool struct {
	// Open makes the host of a name, such as Config.Host. Pool.Host calls it,
	// once for a name, one call at a time; it must not call the Pool. Nil means that no host is found by name.
	Open func(name string) (*Host, error)

	// MaxConnections is how many hosts have a connection, those included that
	// are being made. Zero or less means DefaultMaxConnections.
	MaxConnections int

	// MaxSessions lowers Host.MaxSessions of each host. Zero or less means that
	// it does not.
	MaxSessions int

	// MaxWaiting is how many calls wait for a connection; one more gets ErrBusy.
	// Zero or less means DefaultMaxWaiting.
	MaxWaiting int

	// Wait bounds how long they wait. Zero or less means DefaultPoolWait.
	Wait time.Duration

	// Idle is how long a connection is kept that no call uses, for hosts that
	// do not say it themselves. Zero or less means DefaultIdle.
	Idle time.Duration

	pool
}

// A pool is the state of a Pool.
type pool struct {
	mu      sync.Mutex // guards what follows; Host.mu may be held when it is taken, not the other way round
	ready   bool
	closed  bool
	closing chan struct{}
	hosts   map[string]*Host // by name
	open    map[*Host]bool   // those that have a place
	gate    gate
}

// state is the pool's state, made if it was not.
func (p *Pool) state() *pool {
	s := &p.pool
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ready {
		s.ready = true
		s.closing = make(chan struct{})
		s.hosts = make(map[string]*Host)
		s.open = make(map[*Host]bool)
		s.gate.limit = orDefault(p.MaxConnections, DefaultMaxConnections)
	}
	return s
}

// maxNames is how many hosts a pool remembers by name before it forgets those
// that have no connection.
const maxNames = 1024

// Host returns the host of a name, always the same while it is in use. Its Pool
// is set to p. The error is that of Pool.Open, which has to be set.
func (p *Pool) Host(name string) (*Host, error) {
	s := p.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, &Error{Host: name, Stage: StageConnect, Err: ErrClosed}
	}
	if h := s.hosts[name]; h != nil {
		return h, nil
	}
	if p.Open == nil {
		return nil, &Error{Host: name, Stage: StageConnect, Err: errors.New("no such host: Pool.Open is not set")}
	}
	h, err := p.Open(name)
	if err != nil {
		return nil, err
	}
	if len(s.hosts) >= maxNames {
		for name, h := range s.hosts {
			if !s.open[h] {
				delete(s.hosts, name)
			}
		}
	}
	if h.Pool == nil {
		h.Pool = p
	}
	s.hosts[name] = h
	return h, nil
}

// enter waits for a place for h's connection.
func (p *Pool) enter(ctx context.Context, h *Host) error {
	s := p.state()
	s.gate.mu.Lock()
	full := s.gate.used >= s.gate.limit
	s.gate.mu.Unlock()
	if full {
		p.makeRoom()
	}
	what := "no connection of the pool was free"
	if err := s.gate.acquire(ctx, s.closing, orDefault(p.MaxWaiting, DefaultMaxWaiting), time.After, orDefault(p.Wait, DefaultPoolWait), what); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		s.gate.release()
		return ErrClosed
	}
	s.open[h] = true
	return nil
}

// leave gives the place of h back.
func (p *Pool) leave(h *Host) {
	s := p.state()
	s.mu.Lock()
	delete(s.open, h)
	s.mu.Unlock()
	s.gate.release()
}

// wanted reports whether somebody waits for a place.
func (p *Pool) wanted() bool {
	g := &p.state().gate
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// makeRoom ends the connection that has been idle longest, if one is.
func (p *Pool) makeRoom() {
	s := p.state()
	s.mu.Lock()
	hosts := slices.Collect(maps.Keys(s.open))
	s.mu.Unlock()
	var oldest *conn
	var since time.Time
	for _, h := range hosts {
		h.mu.Lock()
		if c := h.link.conn; c != nil && c.pooled && c.users == 0 && (oldest == nil || c.rested.Before(since)) {
			oldest, since = c, c.rested
		}
		h.mu.Unlock()
	}
	if oldest != nil {
		oldest.yield()
	}
}

// Close closes the hosts that the pool has found by name or that have a
// connection in it, and takes no more. See Host.Close.
func (p *Pool) Close() error {
	s := p.state()
	s.mu.Lock()
	if !s.closed {
		s.closed = true
		close(s.closing)
	}
	hosts := maps.Clone(s.open)
	for _, h := range s.hosts {
		hosts[h] = true
	}
	s.mu.Unlock()
	var all sync.WaitGroup
	for h := range hosts {
		all.Go(func() { h.Close() })
	}
	all.Wait()
	return nil
}
