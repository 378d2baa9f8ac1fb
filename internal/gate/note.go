// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package gate

import (
	"fmt"
	"sync"
)

// The checks on the stream itself have no session of their own: what every
// session notices is gathered here.
type notes struct {
	mu    sync.Mutex // guards byKey
	byKey map[string]*noted
}

// noted is all that was noticed of one kind.
type noted struct {
	verdict Verdict
	count   int
	first   string
	session string
}

// add takes note of something that belongs to a check; kind tells apart what
// the check counts separately.
func (n *notes) add(check string, v Verdict, kind, session, format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.byKey == nil {
		n.byKey = make(map[string]*noted)
	}
	key := check + "\x00" + kind
	e := n.byKey[key]
	if e == nil {
		e = &noted{verdict: v, first: fmt.Sprintf(format, args...), session: session}
		n.byKey[key] = e
	}
	e.count++
	e.verdict = max(e.verdict, v)
}

// report moves what was noticed for a check into its outcome.
func (n *notes) report(check string, o *outcome) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, key := range sortedKeys(n.byKey) {
		if len(key) <= len(check) || key[:len(check)+1] != check+"\x00" {
			continue
		}
		e := n.byKey[key]
		text := fmt.Sprintf("%s (in the session of %s)", e.first, e.session)
		if e.count > 1 {
			text += fmt.Sprintf("; %s more like it", number(e.count-1))
		}
		o.add(e.verdict, "%s", text)
	}
}
