// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package server serves a tool.Registry to an MCP host over stdin and stdout,
// or over any byte stream.
//
// The reader never waits for a handler, for stdout or for the host: cancels,
// pings and lists are dealt with while every slot is taken and stdout is
// stuck. Each response is one frame and leaves in one write, on a descriptor
// that nothing else in the process can touch. A cancelled call is never
// answered, and its handler's context ends with a cause. docs/architecture.md
// follows one request through the code; docs/cancellation.md and
// docs/backpressure.md say what a host and a handler may rely on.
package server

import (
	"context"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// CodeBusy is the JSON-RPC error code of a call that found the queue full.
// It lies outside the range that JSON-RPC and MCP reserve; its data holds how
// many calls are running and queued. The host may send the call again later.
const CodeBusy = -31000

// A Server serves the tools of a registry. Its fields must not be changed
// once it serves; everything else may be used concurrently, and one Server
// may serve many streams at once.
type Server struct {
	// Name is how the server introduces itself to a host.
	// Empty means the base name of the program's file.
	Name string

	// Version is the server's own version, for display.
	// Empty means the main module's version as the Go tool recorded it.
	Version string

	// Title is a name for people. Empty means none is sent.
	Title string

	// Instructions are a hint for the model on how to use the tools.
	// Empty means none are sent.
	Instructions string

	// Tools are what is served. Tools may be added and removed while serving;
	// hosts are told. Nil means no tools.
	Tools *tool.Registry

	// Limits bound memory, time and parallel calls of each session.
	// Zero fields mean the defaults.
	Limits Limits

	// Log receives the server's log. It is never waited for: records pass a
	// bounded queue, and what does not fit is dropped and counted. Nil means
	// text lines on stderr, at level info and above. In either case the
	// environment variable WEIR_LOG=FILE adds a size-limited file.
	Log *slog.Logger

	// Logging opts in to log messages to the host (notifications/message) for
	// the handlers' Request.Log, at the level that the host asked for.
	// Deprecated by the protocol since 2026-07-28; false means that the
	// capability is not declared and nothing is sent.
	Logging bool

	// ListTTL is how long a 2026-07-28 host may reuse a list, or the content of a
	// resource. The list of resources is left out of it: it grows with each
	// output that is kept. Zero means that the host should ask again each time.
	ListTTL time.Duration

	// PublicLists says that lists are the same for every user, so that a
	// 2026-07-28 host may share its copy among users. Resources are always
	// private. False means that lists are private too.
	PublicLists bool

	// Artifacts is where full outputs go when they exceed a budget. If it is a
	// [result.ResourceReader] too, as *artifact.Store is, the server declares
	// the capability resources and answers resources/list, resources/read and
	// resources/templates/list from it; these wait and run as calls do.
	// Nil means that outputs are cut to a preview, and that there are no
	// resources.
	Artifacts result.Store

	once  sync.Once
	state serverState
}

type serverState struct {
	limits     Limits
	implTitled []byte // serverInfo as JSON, for revisions that know title
	implPlain  []byte // the same without it
	lists      listCache
	resources  result.ResourceReader // nil when there are none
	log        *serverLog

	mu       sync.Mutex // guards sessions and ended
	sessions map[*session]struct{}
	ended    Metrics // the sum of the sessions that are over
}

// Serve reads frames from r and writes frames to w until r ends, ctx ends, or
// w fails, and closes both. It may be called concurrently for many streams;
// each is a session of its own with its own limits.
//
// At the end of r every call that was read is still answered: for one Grace
// (longer while the host takes bytes, 30 seconds in all) calls go on and
// queued ones start; then contexts end with a *tool.Shutdown cause, after one
// more Grace what calls still own is killed, and Serve returns nil. When ctx
// ends, contexts end at once and Serve returns ctx's error after at most one
// Grace. When w fails, contexts end with a *tool.HostGone cause and Serve
// returns the write error, or nil if r ends within Grace of that.
//
// Close of r must unblock a pending Read, and Close of w a pending Write, or
// their goroutines outlive Serve. If r is a regular file, or has a method
// Regular() bool that says so, the reader waits for room instead of answering
// "busy".
func (s *Server) Serve(ctx context.Context, r io.ReadCloser, w io.WriteCloser) error {
	return newSession(s, ctx, r, w).serve(ctx)
}

// Calls returns the calls of all sessions that are waiting, running, being
// written, or lingering, oldest first in each session.
func (s *Server) Calls() []Call {
	s.init()
	var out []Call
	for _, se := range s.sessionList() {
		out = append(out, se.snapshot()...)
	}
	return out
}

// Metrics returns the counters of the server since it was made, all sessions
// added up (of peaks, the highest).
func (s *Server) Metrics() Metrics {
	s.init()
	s.state.mu.Lock()
	m := s.state.ended
	list := make([]*session, 0, len(s.state.sessions))
	for se := range s.state.sessions {
		list = append(list, se)
	}
	s.state.mu.Unlock()
	for _, se := range list {
		m.add(se.metrics())
	}
	return m
}

func (s *Server) sessionList() []*session {
	s.state.mu.Lock()
	defer s.state.mu.Unlock()
	list := make([]*session, 0, len(s.state.sessions))
	for se := range s.state.sessions {
		list = append(list, se)
	}
	return list
}

func (s *Server) init() {
	s.once.Do(func() {
		st := &s.state
		st.limits = s.Limits.withDefaults()
		st.sessions = make(map[*session]struct{})
		name, version := identity(s.Name, s.Version)
		st.log = s.openLog()
		st.implPlain = implementation(name, version, "")
		st.resources, _ = s.Artifacts.(result.ResourceReader)
		st.implTitled = implementation(name, version, s.Title)
	})
}

// noTools stands in for a nil Server.Tools.
var noTools tool.Registry

func (s *Server) tools() *tool.Registry {
	if s.Tools == nil {
		return &noTools
	}
	return s.Tools
}
