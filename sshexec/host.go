// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"log/slog"
	"net"
	"os/user"
	"strconv"
	"sync"
	"time"
)

// The defaults of a [Host].
const (
	DefaultConnectTimeout  = 15 * time.Second
	DefaultKeepalive       = 15 * time.Second
	DefaultKeepaliveMisses = 3
	DefaultMaxSessions     = 8
	DefaultMaxWaiting      = 256
	DefaultSessionTimeout  = 30 * time.Second
	DefaultIdle            = 5 * time.Minute
)

// A Host is another machine, reached over SSH. Only Address has to be set. It
// makes its connection when a call needs it, and shares it among all calls. Its
// methods may be called from many goroutines at once; its fields are not changed
// after the first call, and a Host must not be copied then.
type Host struct {
	// Name is what the host is called in results, errors and lists. Empty means
	// Address.
	Name string

	// Address is "host:port" or "host", a name or an IP address. Without port
	// it is 22.
	Address string

	// Network is "tcp", "tcp4" or "tcp6". Empty means "tcp". It is not used
	// with Via.
	Network string

	// User is the account on the other machine. Empty means the name of this
	// process's user.
	User string

	// Auth is how to authenticate. The zero Auth is what the ssh program does:
	// the agent of SSH_AUTH_SOCK and the key files of ~/.ssh.
	Auth Auth

	// HostKeys says which keys the host may show. The zero HostKeys trusts what
	// ~/.ssh/known_hosts and /etc/ssh/ssh_known_hosts hold, and nothing else: an
	// unknown host is refused.
	HostKeys HostKeys

	// Via is a host through which this one is reached (ProxyJump), which may
	// have its own Via. It may serve many hosts. Its connection is closed with
	// its own Close, or when it was idle. Nil means directly.
	Via *Host

	// ConnectTimeout bounds the way to an authenticated connection, of each
	// hop by itself. Zero or less means DefaultConnectTimeout.
	ConnectTimeout time.Duration

	// Keepalive is how long nothing may come from the server before it is asked
	// whether it is there. Zero or less means DefaultKeepalive.
	Keepalive time.Duration

	// KeepaliveMisses is how many such questions in a row may stay without an
	// answer, each for Keepalive, before the connection is given up. Zero or
	// less means DefaultKeepaliveMisses.
	KeepaliveMisses int

	// MaxSessions is how many calls have a session at the same time. One more
	// is used to end processes; the sum should not be more than the server's
	// MaxSessions, which is 10 by default. Where a server turns out to take
	// fewer, calls wait. Zero or less means DefaultMaxSessions.
	MaxSessions int

	// MaxWaiting is how many calls wait for a session; one more gets ErrBusy.
	// Zero or less means DefaultMaxWaiting.
	MaxWaiting int

	// SessionTimeout bounds how long a call waits for its turn, and then again
	// how long the server may take to open the session and to take the command.
	// Zero or less means DefaultSessionTimeout.
	SessionTimeout time.Duration

	// Idle is how long the connection is kept when no call uses it. Zero or
	// less means DefaultIdle, or that of Pool.
	Idle time.Duration

	// Pool bounds how many hosts have a connection. Nil means that this one may
	// have one at any time.
	Pool *Pool

	// Bare sends the quoted command line and nothing else, for a server that
	// compares it with a list (a forced command, a restricted shell that knows
	// few words). Then its process is not known, nothing ends it but the end
	// of its input and output, a signal where the server passes that on, and
	// itself; the Output says when it may still run. Dir and Env that the
	// server does not take are errors. False means that the line
	// is wrapped: see docs/ssh.md.
	Bare bool

	// Ciphers, KeyExchanges and MACs are the algorithms to offer, as
	// golang.org/x/crypto/ssh names them. Nil means its defaults.
	Ciphers, KeyExchanges, MACs []string

	// Log is told of connections made, lost and closed, by host and address.
	// Nil means nobody.
	Log *slog.Logger

	// dialer makes the network connection in tests. Nil means net.Dialer.
	dialer func(ctx context.Context, network, address string) (net.Conn, error)

	mu   sync.Mutex // guards link
	link link
}

func orDefault[T int | time.Duration](v, byDefault T) T {
	if v > 0 {
		return v
	}
	return byDefault
}

// name is what the host is called.
func (h *Host) name() string {
	if h.Name != "" {
		return h.Name
	}
	return h.Address
}

// String says what the host is called and where it is. No verb of fmt shows
// more, so that a Host may be printed while it is used.
func (h *Host) String() string { return h.name() + " (" + h.address() + ")" }

// GoString is String.
func (h *Host) GoString() string { return h.String() }

// LogValue is String, for slog.
func (h *Host) LogValue() slog.Value { return slog.StringValue(h.String()) }

// address is Address with its port.
func (h *Host) address() string {
	if _, _, err := net.SplitHostPort(h.Address); err == nil {
		return h.Address
	}
	host := h.Address
	if n := len(host); n > 1 && host[0] == '[' && host[n-1] == ']' {
		host = host[1 : n-1]
	}
	return net.JoinHostPort(host, strconv.Itoa(22))
}

// user is the account to log in to.
func (h *Host) user() string {
	if h.User != "" {
		return h.User
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return ""
}

func (h *Host) log() *slog.Logger {
	if h.Log != nil {
		return h.Log
	}
	return discard
}

var discard = slog.New(slog.DiscardHandler)
