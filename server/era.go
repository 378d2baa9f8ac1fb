// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"strconv"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// The revisions of the protocol. They compare as strings. All but the newest
// are the legacy era: a session begins with initialize and keeps what that
// negotiated. The newest is the modern era: each request says for itself what
// it speaks. A pipe may carry both at once.
const (
	rev2024November = "2024-11-05"
	rev2025March    = "2025-03-26"
	rev2025June     = "2025-06-18"
	rev2025November = "2025-11-25"
	rev2026July     = "2026-07-28"
)

// negotiate answers the revision that initialize asked for.
func negotiate(asked string) string {
	switch asked {
	case rev2024November, rev2025March, rev2025June:
		return asked
	}
	return rev2025November
}

// An envelope is a request with what its era says of it.
type envelope struct {
	wire.Message
	batch    *batch
	size     int // bytes of its frame
	meta     wire.Meta
	modern   bool
	protocol string // revision that its answer speaks
	client   tool.Client
}

// classify finds a request's era and checks what that demands of its _meta.
func (se *session) classify(q *envelope) *wire.Error {
	meta, err := wire.ParseMeta(q.Params.Meta)
	if err != nil {
		return err
	}
	q.meta = meta
	q.modern = meta.HasProtocolVersion || meta.ClientCapabilities != nil ||
		q.Method == "server/discover" || q.Method == "subscriptions/listen"
	if !q.modern {
		q.protocol, q.client = se.revision, se.client
		return nil
	}
	q.protocol, q.client = rev2026July, tool.Client{Name: meta.ClientName, Version: meta.ClientVersion}
	switch {
	case !meta.HasProtocolVersion:
		return &wire.Error{Code: wire.CodeInvalidParams, Message: `_meta lacks "io.modelcontextprotocol/protocolVersion"`}
	case meta.ProtocolVersion != rev2026July:
		data := append([]byte(nil), `{"supported":["`+rev2026July+`"],"requested":`...)
		data = append(quote.Append(data, quote.Cut(meta.ProtocolVersion, 128)), '}')
		return &wire.Error{Code: wire.CodeUnsupportedVersion, Message: "Unsupported protocol version", Data: data}
	case meta.ClientCapabilities == nil:
		return &wire.Error{Code: wire.CodeInvalidParams, Message: `_meta lacks "io.modelcontextprotocol/clientCapabilities"`}
	case q.batch != nil:
		return &wire.Error{Code: wire.CodeInvalidRequest, Message: "revision " + rev2026July + " has no batches; send one message a line"}
	}
	if meta.LogLevel != "" {
		if _, ok := severityOf(meta.LogLevel); !ok {
			return &wire.Error{Code: wire.CodeInvalidParams, Message: "unknown log level " + strconv.Quote(quote.Cut(meta.LogLevel, 64))}
		}
	}
	se.sawModern = true
	return nil
}

// implementation is the server's serverInfo for a revision.
func (s *Server) implementation(protocol string) []byte {
	if protocol >= rev2025June {
		return s.state.implTitled
	}
	return s.state.implPlain
}

// capabilities is what the server declares.
func (s *Server) capabilities() string {
	b := "{"
	if s.Logging {
		b += `"logging":{},`
	}
	if s.state.resources != nil {
		b += `"resources":{},`
	}
	return b + `"tools":{"listChanged":true}}`
}

// appendTail ends a result object that was begun with at least one member:
// the modern members that say how long it may be kept and who made it.
func (s *Server) appendTail(b []byte, q *envelope, cacheable bool) []byte {
	if q.modern {
		if cacheable {
			b = append(b, `,"ttlMs":`...)
			b = strconv.AppendInt(b, max(0, s.ListTTL.Milliseconds()), 10)
			if s.PublicLists {
				b = append(b, `,"cacheScope":"public"`...)
			} else {
				b = append(b, `,"cacheScope":"private"`...)
			}
		}
		b = append(b, `,"_meta":{"io.modelcontextprotocol/serverInfo":`...)
		b = append(b, s.implementation(q.protocol)...)
		b = append(b, '}')
	}
	return append(b, '}')
}
