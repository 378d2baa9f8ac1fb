// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/crypto/ssh"
)

// connect makes a connection, stage by stage. The errors are *Error. When it
// fails, or ctx ends, nothing of it is left once it has returned.
func (h *Host) connect(ctx context.Context, d *dial, hop bool) (_ *conn, err error) {
	defer func() {
		if err != nil {
			err = h.fail(d.stage.Load().(Stage), err)
		}
	}()
	if h.Address == "" {
		return nil, errors.New("no address: set Host.Address")
	}
	if err := checkAddress(h.Address); err != nil {
		return nil, &FieldError{"Host.Address", err}
	}
	user := h.user()
	if user == "" {
		return nil, errors.New("no user: set Host.User")
	}
	keys, err := h.HostKeys.check(h.address())
	if err != nil {
		return nil, err
	}
	pooled := h.Pool != nil && !hop
	if pooled {
		d.at(StageQueue)
		if err := h.Pool.enter(ctx, h); err != nil {
			return nil, err
		}
		d.at(StageConnect)
	}
	var parent *conn
	defer func() {
		if err != nil {
			if parent != nil {
				parent.release()
			}
			if pooled {
				h.Pool.leave(h)
			}
		}
	}()
	if h.Via != nil {
		if parent, err = h.Via.acquire(ctx, nil, true); err != nil {
			return nil, err
		}
	}
	patience := orDefault(h.ConnectTimeout, DefaultConnectTimeout)
	ctx, cancel := context.WithTimeoutCause(ctx, patience, &timeoutError{"no connection", patience})
	defer cancel()
	began := time.Now()
	raw, err := h.reach(ctx, parent)
	if err != nil {
		return nil, firstCause(ctx, err)
	}
	w := &wire{Conn: raw, began: time.Now()}
	d.at(StageHandshake)
	client, err := h.handshake(ctx, d, w, user, keys)
	if err != nil {
		return nil, firstCause(ctx, err)
	}
	c := &conn{h: h, client: client, wire: w, parent: parent, pooled: pooled, lost: make(chan struct{})}
	c.room.limit = max(usualSessions, h.sessions()+2) // calls, a guard, and one to spare
	c.serve()
	h.log().Info("ssh connection made", "host", h.name(), "address", h.address(), "user", user, "took", time.Since(began).Round(time.Millisecond))
	return c, nil
}

// firstCause is the cause of ctx if that has ended, else err.
func firstCause(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// reach makes the network connection.
func (h *Host) reach(ctx context.Context, parent *conn) (net.Conn, error) {
	if parent == nil {
		network := h.Network
		if network == "" {
			network = "tcp"
		}
		if h.dialer != nil {
			return h.dialer(ctx, network, h.address())
		}
		var d net.Dialer
		return d.DialContext(ctx, network, h.address())
	}
	// A server that does not answer the request for a channel would hold it:
	// the goroutine that waits for it ends with the connection at the latest.
	raw, err := parent.client.DialContext(ctx, "tcp", h.address())
	if err != nil {
		if ctx.Err() != nil {
			parent.check()
		}
		return nil, err
	}
	return &hopConn{Conn: raw, parent: parent}, nil
}

// A hopConn is a way through another host. Closing it waits for nobody; where
// the server does not confirm that, whoever reads returns when the connection
// below is found to be dead.
type hopConn struct {
	net.Conn
	parent *conn
	once   sync.Once
}

func (c *hopConn) Close() error {
	c.once.Do(func() {
		c.Conn.Close()
		c.parent.check()
	})
	return nil
}

// handshake makes an SSH connection of w. It closes w when it fails.
func (h *Host) handshake(ctx context.Context, d *dial, w *wire, user string, keys *hostKeyCheck) (*ssh.Client, error) {
	stop := context.AfterFunc(ctx, func() { w.Close() })
	defer stop()
	at, err := h.Auth.start(ctx, user)
	if err != nil {
		w.Close()
		return nil, err
	}
	defer at.close()
	config := &ssh.ClientConfig{
		Config:       ssh.Config{Ciphers: h.Ciphers, KeyExchanges: h.KeyExchanges, MACs: h.MACs},
		User:         user,
		AuthCallback: at.next,
		HostKeyCallback: func(hostname string, remote net.Addr, key ssh.PublicKey) error {
			if err := keys.callback(hostname, remote, key); err != nil {
				return err
			}
			d.at(StageAuthentication)
			return nil
		},
		HostKeyAlgorithms: keys.algorithms,
	}
	sc, channels, requests, err := ssh.NewClientConn(w, h.address(), config)
	if err == nil && !stop() {
		// ctx ended as it succeeded.
		sc.Close()
		go ssh.DiscardRequests(requests)
		for ch := range channels {
			ch.Reject(ssh.Prohibited, "")
		}
		err = context.Cause(ctx)
	}
	if err != nil {
		w.Close()
		if known := keys.failure(at.failure(err)); known != err {
			return nil, known
		}
		return nil, &toldError{err}
	}
	return ssh.NewClient(sc, channels, requests), nil
}
