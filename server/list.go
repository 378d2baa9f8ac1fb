// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"sort"
	"sync"

	"github.com/weir-mcp/weir/cursor"
	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/internal/wire"
)

// listCursors seals positions in tools/list.
var listCursors cursor.Codec[listPosition]

// A listPosition is where a page of tools/list begins.
type listPosition struct {
	After string `json:"a"` // the last tool of the page before
}

// A listScope is the method that a cursor of a list is for.
type listScope string

func (m listScope) CursorScope() (string, []byte) { return string(m), nil }

// cursorOf opens the cursor of a request for a list. Without one it is the
// start, the zero P.
func cursorOf[P any](codec cursor.Codec[P], m listScope, q *envelope) (pos P, refused *wire.Error) {
	raw, ok := q.Params.Member("cursor")
	if !ok || string(raw) == "null" {
		return pos, nil
	}
	token, ok := stringOf(raw)
	if !ok {
		return pos, &wire.Error{Code: wire.CodeInvalidParams, Message: "params.cursor must be a string"}
	}
	pos, err := codec.Decode(m, token)
	if err != nil {
		return pos, &wire.Error{Code: wire.CodeInvalidParams, Message: err.Error()}
	}
	return pos, nil
}

// A listCache holds the encoded tools of one registry version, shared by all
// sessions and made once for each form that revisions want.
type listCache struct {
	mu      sync.Mutex // guards version and forms
	version uint64
	forms   map[string]*toolList // by revision
}

// A toolList is the tools of a registry, encoded for one revision.
type toolList struct {
	names []string // sorted
	defs  [][]byte // one JSON object each

	mu    sync.Mutex // guards pages
	pages map[int]*listPage
}

// A listPage is a run of definitions, joined by commas.
type listPage struct {
	joined []byte
	next   int // index of the first tool after it; len(defs) at the end
}

// toolList returns the tools as revision protocol wants them.
func (se *session) toolList(protocol string) *toolList {
	reg, cache := se.srv.tools(), &se.srv.state.lists
	cache.mu.Lock()
	defer cache.mu.Unlock()
	// The version is read first: a change meanwhile only makes the copy look
	// older than it is.
	if v := reg.Version(); cache.forms == nil || v != cache.version {
		cache.version, cache.forms = v, make(map[string]*toolList)
	}
	if l := cache.forms[protocol]; l != nil {
		return l
	}
	l := &toolList{pages: make(map[int]*listPage)}
	for _, t := range reg.Tools() {
		def := t.Definition(protocol)
		name := t.Info().Name
		if most := se.limits.MaxFrameOut - listOverhead; len(def) > most {
			se.log.Error("a tool's definition is larger than a response may be; it is left out of tools/list", "tool", name, "bytes", len(def), "limit", most)
			continue
		}
		l.names = append(l.names, name)
		l.defs = append(l.defs, def)
	}
	cache.forms[protocol] = l
	return l
}

// listOverhead is room for everything in a list frame but the definitions.
const listOverhead = 4 << 10

// page returns the page that begins with tool i.
func (l *toolList) page(i, most int) *listPage {
	l.mu.Lock()
	defer l.mu.Unlock()
	if p := l.pages[i]; p != nil {
		return p
	}
	p, size := &listPage{next: i}, 0
	for p.next < len(l.defs) && (p.next == i || size+1+len(l.defs[p.next]) <= most) {
		size += 1 + len(l.defs[p.next])
		p.next++
	}
	p.joined = make([]byte, 0, size)
	for k := i; k < p.next; k++ {
		if k > i {
			p.joined = append(p.joined, ',')
		}
		p.joined = append(p.joined, l.defs[k]...)
	}
	if len(l.pages) < 64 { // cursors decide where pages begin; keep the usual ones
		l.pages[i] = p
	}
	return p
}

// listTools answers tools/list.
func (se *session) listTools(q *envelope) {
	pos, refused := cursorOf(listCursors, listScope("tools/list"), q)
	if refused != nil {
		se.refuse(q.batch, q.ID, refused)
		return
	}
	begin := 0
	l := se.toolList(q.protocol)
	if pos.After != "" {
		begin = sort.Search(len(l.names), func(i int) bool { return l.names[i] > pos.After })
	}
	p := l.page(begin, min(se.limits.MaxListPage, se.limits.MaxFrameOut-listOverhead))
	b := make([]byte, 0, len(p.joined)+listOverhead)
	b = append(b, '{')
	if q.modern {
		b = append(b, `"resultType":"complete",`...)
	}
	b = append(b, `"tools":[`...)
	b = append(b, p.joined...)
	b = append(b, ']')
	if p.next < len(l.defs) {
		next, err := listCursors.Encode(listScope("tools/list"), listPosition{After: l.names[p.next-1]})
		if err != nil { // a name is at most 64 bytes, or the author chose longer ones
			se.refuse(q.batch, q.ID, &wire.Error{Code: wire.CodeInternal, Message: err.Error()})
			return
		}
		b = append(b, `,"nextCursor":`...)
		b = quote.Append(b, next)
	}
	se.answerResult(q.batch, q.ID, se.srv.appendTail(b, q, true))
}
