// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// A Client names the program at the other end. It is what that program says of
// itself: for display, never for decisions.
type Client struct{ Name, Version string }

// A Peer is what a server lends to a call. Its methods may be called
// concurrently.
type Peer interface {
	// Progress reports to the host. It never blocks.
	Progress(done, total float64, message string)
	// Go runs fn on another goroutine, which the call's slot waits for.
	Go(fn func())
	// Log returns the logger of the call.
	Log() *slog.Logger
}

// A Request is one call of a tool, as its handler and middleware see it. The
// server fills the exported fields; a Request must not be copied or used after
// the handler has returned. Methods may be called concurrently.
type Request struct {
	// Tool is the name of the tool.
	Tool string
	// ID is the request's id as sent. Empty means that there is no wire.
	ID string
	// Protocol is the revision that the request is served by, such as
	// "2025-11-25".
	Protocol string
	// Client is who calls. Zero means that it did not say.
	Client Client
	// Meta is the request's _meta as sent, with traceparent and the like. Nil
	// means none.
	Meta jsontext.Value
	// Arguments is the object of arguments. A handler sees it validated, with
	// defaults filled in and nulls for optional properties left out; it must
	// not change it. Serve takes nil and null as no arguments.
	Arguments jsontext.Value

	// Peer is the server's side of the call. Nil means that there is no wire:
	// progress goes nowhere, logs to slog.Default.
	Peer Peer
	// DefaultBudget is the server's budget. Zero fields mean the defaults of
	// package result.
	DefaultBudget result.Budget
	// Store keeps texts that are over the budget. Nil means that they are cut.
	Store result.Store

	tool    *Tool
	decoded any            // a pointer to what from decodes to, or nil
	from    jsontext.Value // Arguments as they were checked
	group   group          // for Go without a Peer
}

// Budget is how much the result of this call may have: Info.Budget, then the
// server's for what it leaves open; lowered by the argument maxBytes of a tool
// whose input has [PageInput]. All fields are positive.
func (r *Request) Budget() result.Budget {
	if r.tool == nil {
		return result.Budget{}.WithDefaults(r.DefaultBudget)
	}
	b := r.tool.info.Budget.WithDefaults(r.DefaultBudget)
	if r.tool.pages {
		if n, ok := smallInteger(lookup(r.Arguments, "maxBytes")); ok && n < int64(b.Bytes) {
			b.Bytes = max(int(n), result.MinBytes)
		}
	}
	return b
}

// Progress tells the host how far the call is: done of total, where total is
// zero when it is not known, and a message, which may be empty. It does nothing
// when the host did not ask for progress, never blocks, and may leave out
// values when the host is slow. done should grow from call to call; values that
// do not are dropped.
func (r *Request) Progress(done, total float64, message string) {
	if r.Peer != nil {
		r.Peer.Progress(done, total, message)
	}
}

// Go runs fn on another goroutine of this call. The call is not over, and its
// slot not free, before fn has returned; a panic in fn becomes this call's
// error. fn must return soon after the handler's context is done.
func (r *Request) Go(fn func()) {
	if r.Peer != nil {
		r.Peer.Go(fn)
		return
	}
	r.group.run(fn)
}

// Log returns the logger of this call, which names its id and tool.
func (r *Request) Log() *slog.Logger {
	if r.Peer != nil {
		return r.Peer.Log()
	}
	return slog.Default().With("tool", r.Tool)
}

// CursorScope is what a cursor of this call is bound to: the tool, and its
// arguments in a canonical form without cursor and maxBytes, which may change
// from page to page. *Request is a cursor.Scope through it.
func (r *Request) CursorScope() (tool string, query []byte) {
	query = append(query, '{')
	members(r.Arguments, func(m member) bool {
		if name := string(m.name); name == "cursor" || name == "maxBytes" {
			return true
		}
		if len(query) > 1 {
			query = append(query, ',')
		}
		query = append(append(quote.Append(query, m.name), ':'), m.value...)
		return true
	})
	ordered, err := jsontext.AppendFormat(nil, append(query, '}'),
		jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true), jsontext.ReorderRawObjects(true))
	if err != nil { // not for arguments that were validated
		return r.Tool, slices.Clone(r.Arguments)
	}
	return r.Tool, canonicalNumbers(ordered)
}

// canonicalNumbers writes each number in text, which is valid JSON, in one of
// its forms: 1.0 and 1 are the same, and so are 0.5 and 5e-1.
func canonicalNumbers(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for i := 0; i < len(text); {
		end := i + 1
		switch c := text[i]; {
		case c == '"':
			end, _ = skipString(text, i)
		case c == '-' || '0' <= c && c <= '9':
			end, _ = skipNumber(text, i)
			out = appendCanonical(out, text[i:end])
			i = end
			continue
		}
		out = append(out, text[i:end]...)
		i = end
	}
	return out
}

// A group is the goroutines of a call without a server.
type group struct {
	wg sync.WaitGroup

	mu    sync.Mutex // guards panic
	panic error      // the first one
}

func (g *group) run(fn func()) {
	g.wg.Go(func() {
		defer func() {
			if v := recover(); v != nil {
				g.mu.Lock()
				defer g.mu.Unlock()
				if g.panic == nil {
					g.panic = fmt.Errorf("panic in a goroutine of Request.Go: %v", v)
				}
			}
		}()
		fn()
	})
}

// wait waits for all of them and returns the first panic.
func (g *group) wait() error {
	g.wg.Wait()
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.panic
}
