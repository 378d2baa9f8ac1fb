// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/host"
)

// defaultPatience is how long a handshake may take before a hint.
const defaultPatience = 10 * time.Second

// open does the handshake. While that takes long, it says so.
func (s *session) open(ctx context.Context) (jsontext.Value, error) {
	method, other := "initialize", "modern"
	if host.IsModern(s.era.protocol()) {
		method, other = "server/discover", "legacy"
	}
	opened, waited := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(waited)
		s.await(method, opened)
	}()
	v, err := within(ctx, s, method, s.h.Open)
	close(opened)
	<-waited
	s.faults.opened()
	s.status.clear()
	var rpc *host.Error
	switch {
	case errors.Is(err, host.ErrEcho):
		return nil, fmt.Errorf("%w: it returns what it reads, as cat does, and is no MCP server", err)
	case errors.As(err, &rpc):
		return nil, fmt.Errorf("%w (the server may need -era %s)", err, other)
	}
	return v, err
}

// await says that method is not answered yet: on a terminal with a status line
// that counts the seconds, elsewhere once, after the patience has gone.
func (s *session) await(method string, opened <-chan struct{}) {
	patience := cmp.Or(s.env.patience, defaultPatience)
	start, every := time.Now(), patience
	if s.env.errTerminal {
		every = patience / 10
	}
	t := time.NewTicker(every)
	defer t.Stop()
	for said := false; ; {
		select {
		case <-opened:
			return
		case <-t.C:
		}
		took := time.Since(start)
		if !said && took >= patience {
			said = true
			s.say("the server has not answered %s for %s%s; is it an MCP server over stdio? (-timeout sets a limit)",
				method, short(took), s.faults.soFar())
		}
		s.status.set(fmt.Sprintf("waiting for the answer to %s for %s", method, short(took)))
	}
}

// errBabble is why a server is given up that writes and does not answer.
var errBabble = errors.New("the server did not answer the handshake")

// mostBabble is how many lines that are no messages a server may write before
// it answers the handshake.
const mostBabble = 1000
