// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

// An agentLink is the connection to an ssh-agent, for one attempt. It is closed
// when the context ends, so that an agent that says nothing holds up nobody.
type agentLink struct {
	conn io.Closer
	stop func() bool
	keys []ssh.Signer
}

// agentSocket is where the agent is; empty when there is none.
func (a *Auth) agentSocket() (string, error) {
	switch {
	case a.Agent == "" || a.Agent == "SSH_AUTH_SOCK":
		return defaultAgent(), nil
	case strings.EqualFold(a.Agent, "none"):
		return "", nil
	case strings.HasPrefix(a.Agent, "$"):
		return os.Getenv(strings.Trim(a.Agent[1:], "{}")), nil
	}
	return expandHome(a.Agent)
}

// dial connects to the agent and asks for its keys. Without an agent both
// results are nil. The socket's name is in no error.
func (a *Auth) dial(ctx context.Context) (*agentLink, error) {
	socket, err := a.agentSocket()
	if err != nil || socket == "" {
		return nil, err
	}
	conn, err := dialAgent(ctx, socket)
	if err != nil {
		var op *net.OpError
		if errors.As(err, &op) {
			err = op.Err
		} else if path := new(os.PathError); errors.As(err, &path) {
			err = path.Err
		}
		return nil, fmt.Errorf("it cannot be reached: %w", err)
	}
	l := &agentLink{conn: conn, stop: context.AfterFunc(ctx, func() { conn.Close() })}
	l.keys, err = agent.NewClient(conn).Signers()
	if err != nil {
		l.close()
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		return nil, fmt.Errorf("it does not list its keys: %w", err)
	}
	return l, nil
}

func (l *agentLink) close() {
	if l != nil {
		l.stop()
		l.conn.Close()
	}
}

// find returns the agent's signer for a public key, or nil.
func (l *agentLink) find(key ssh.PublicKey) ssh.Signer {
	if l == nil || key == nil {
		return nil
	}
	blob := string(key.Marshal())
	if i := slices.IndexFunc(l.keys, func(s ssh.Signer) bool { return string(s.PublicKey().Marshal()) == blob }); i >= 0 {
		return l.keys[i]
	}
	return nil
}
