// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/knownhosts"

	"github.com/weir-mcp/weir/internal/sshdtest"
)

// A fake is an SSH server in this process that misbehaves as it is told. The
// zero fields mean that it behaves: then it answers everything, and a session
// ends with status 0.
type fake struct {
	silent  bool                    // it accepts a connection and says nothing
	auth    func()                  // runs before a key is taken
	open    func() string           // what becomes of a channel: "", "hang" or "refuse"
	good    atomic.Bool             // from now on it behaves
	mute    atomic.Bool             // it does not answer global requests, such as keepalives
	session func(s *fakeSession)    // runs a command
	message string                  // with which a channel is refused
	env     func(name string) bool  // takes a variable
	wrap    func(net.Conn) net.Conn // around each connection

	config *ssh.ServerConfig
	key    ssh.PublicKey
	addr   string
	ends   sync.WaitGroup

	execs atomic.Int32 // commands that it was given

	mu    sync.Mutex // guards what follows
	conns map[net.Conn]bool
	most  int // connections at the same time
	total int // connections
}

// A fakeSession is one command of a fake.
type fakeSession struct {
	f        *fake
	ch       ssh.Channel
	requests <-chan *ssh.Request
	command  string
	env      map[string]string
	reply    func(ok bool) // answers the request to run it
}

// status ends the command with a status.
func (s *fakeSession) status(n uint32) {
	s.ch.SendRequest("exit-status", false, ssh.Marshal(struct{ N uint32 }{n}))
	s.ch.CloseWrite()
	s.ch.Close()
}

// ignore reads and refuses requests until the client closes the channel.
func (s *fakeSession) ignore() {
	for r := range s.requests {
		r.Reply(false, nil)
	}
}

// prepare makes the keys.
func (f *fake) prepare(t testing.TB) *ssh.ServerConfig {
	signer, _ := sshdtest.NewKey(t, "")
	f.key = signer.PublicKey()
	f.conns = make(map[net.Conn]bool)
	f.config = &ssh.ServerConfig{
		NoClientAuth: true,
		NoClientAuthCallback: func(ssh.ConnMetadata) (*ssh.Permissions, error) {
			if f.auth != nil {
				f.auth()
			}
			return nil, nil
		},
	}
	f.config.AddHostKey(signer)
	return f.config
}

// start serves on a loopback port until the test ends.
func (f *fake) start(t testing.TB) *fake {
	t.Helper()
	f.prepare(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.addr = l.Addr().String()
	f.ends.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			f.ends.Go(func() { f.serve(c) })
		}
	})
	t.Cleanup(func() {
		l.Close()
		f.drop()
		f.ends.Wait()
	})
	return f
}

// drop cuts all connections.
func (f *fake) drop() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for c := range f.conns {
		c.Close()
	}
}

// open is how many connections there are.
func (f *fake) connections() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.conns)
}

func (f *fake) serve(c net.Conn) {
	f.mu.Lock()
	f.conns[c] = true
	f.total++
	f.most = max(f.most, len(f.conns))
	f.mu.Unlock()
	defer func() {
		c.Close()
		f.mu.Lock()
		delete(f.conns, c)
		f.mu.Unlock()
	}()
	if f.wrap != nil {
		c = f.wrap(c)
	}
	if f.silent {
		buf := make([]byte, 1<<10)
		for {
			if _, err := c.Read(buf); err != nil {
				return
			}
		}
	}
	conn, channels, requests, err := ssh.NewServerConn(c, f.config)
	if err != nil {
		return
	}
	f.ends.Go(func() {
		for r := range requests {
			if !f.mute.Load() {
				r.Reply(false, nil)
			}
		}
	})
	for n := range channels {
		what := ""
		if f.open != nil && !f.good.Load() {
			what = f.open()
		}
		switch what {
		case "hang":
		case "refuse":
			n.Reject(ssh.ResourceShortage, f.message)
		default:
			ch, requests, err := n.Accept()
			if err != nil {
				continue
			}
			f.ends.Go(func() { f.channel(ch, requests) })
		}
	}
	conn.Wait()
}

func (f *fake) channel(ch ssh.Channel, requests <-chan *ssh.Request) {
	defer ch.Close()
	s := &fakeSession{f: f, ch: ch, requests: requests, env: make(map[string]string)}
	for r := range requests {
		switch r.Type {
		case "env":
			var m struct{ Name, Value string }
			ssh.Unmarshal(r.Payload, &m)
			ok := f.env != nil && !f.good.Load() && f.env(m.Name)
			if ok {
				s.env[m.Name] = m.Value
			}
			r.Reply(ok, nil)
		case "exec":
			var m struct{ Command string }
			ssh.Unmarshal(r.Payload, &m)
			f.execs.Add(1)
			s.command = m.Command
			s.reply = func(ok bool) { r.Reply(ok, nil) }
			if f.session != nil && !f.good.Load() {
				f.session(s)
			} else {
				s.reply(true)
				s.status(0)
			}
			for r := range requests {
				r.Reply(false, nil)
			}
			return
		default:
			r.Reply(false, nil)
		}
	}
}

// host is a Host for the fake, closed with the test.
func (f *fake) host(t testing.TB) *Host {
	t.Helper()
	h := &Host{Name: "fake", Address: f.addr, User: "me", Auth: Auth{Agent: "none", KeyFiles: []string{}}, HostKeys: f.keys()}
	t.Cleanup(func() { h.Close() })
	return h
}

func (f *fake) keys() HostKeys {
	return HostKeys{Files: []string{}, GlobalFiles: []string{}, Known: knownhosts.Line([]string{f.addr}, f.key) + "\n"}
}

// piped makes h reach the fake through a pipe in this process, for simulated
// time.
func (f *fake) piped(t testing.TB) *Host {
	f.prepare(t)
	f.addr = "pipe.example:22"
	h := f.host(t)
	h.dialer = func(context.Context, string, string) (net.Conn, error) {
		ours, theirs := bufferedPipe()
		f.ends.Go(func() { f.serve(theirs) })
		return ours, nil
	}
	return h
}

// bufferedPipe is net.Pipe with room, since both sides of SSH write first.
func bufferedPipe() (net.Conn, net.Conn) {
	a, b := net.Pipe()
	return newBuffered(a), newBuffered(b)
}

// A buffered connection writes in a goroutine.
type buffered struct {
	net.Conn
	out  chan []byte
	end  chan struct{}
	once sync.Once
}

func newBuffered(c net.Conn) *buffered {
	b := &buffered{Conn: c, out: make(chan []byte, 1024), end: make(chan struct{})}
	go func() {
		for {
			select {
			case p := <-b.out:
				if _, err := b.Conn.Write(p); err != nil {
					return
				}
			case <-b.end:
				return
			}
		}
	}()
	return b
}

func (b *buffered) Write(p []byte) (int, error) {
	select {
	case b.out <- append([]byte(nil), p...):
		return len(p), nil
	case <-b.end:
		return 0, net.ErrClosed
	}
}

func (b *buffered) Close() error {
	b.once.Do(func() { close(b.end) })
	return b.Conn.Close()
}
