// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package sshexec

import (
	"bytes"
	"strings"
)

// A marker takes the wrapper's line out of standard error. Until it has come,
// what may be the beginning of it is held back.
type marker struct {
	word string       // how the line begins
	to   func([]byte) // gets everything else
	tell func(mark)   // gets what the line says, once
	held []byte       // the last bytes, which may belong to the line
	done bool         // it has come, or cannot any more
}

// maxMark is how long the rest of the line can be.
const maxMark = 32

func newMarker(id string, to func([]byte), tell func(mark)) *marker {
	return &marker{word: markName + id + ":", to: to, tell: tell}
}

func (m *marker) take(b []byte) {
	if m.done {
		m.pass(b)
		return
	}
	if len(m.held) > 0 {
		b = append(m.held, b...)
		m.held = nil
	}
	for {
		at := bytes.Index(b, []byte(m.word))
		if at < 0 {
			n := len(b) - overlap(b, m.word)
			m.pass(b[:n])
			m.held = append([]byte(nil), b[n:]...)
			return
		}
		rest := b[at+len(m.word):]
		end := bytes.IndexByte(rest, '\n')
		if end < 0 && len(rest) < maxMark {
			m.pass(b[:at])
			m.held = append([]byte(nil), b[at:]...)
			return
		}
		if end >= 0 && end < maxMark {
			if what, ok := parseMark(string(rest[:end])); ok {
				m.done = true
				m.tell(what)
				m.pass(b[:at])
				m.pass(rest[end+1:])
				return
			}
		}
		// Somebody shows the wrapper itself, such as a shell with set -x.
		n := at + len(m.word)
		m.pass(b[:n])
		b = b[n:]
	}
}

// end passes on what was held back: the stream has ended.
func (m *marker) end() {
	m.done = true
	m.pass(m.held)
	m.held = nil
}

func (m *marker) pass(b []byte) {
	if len(b) > 0 {
		m.to(b)
	}
}

// overlap is the length of the longest end of b that begins word.
func overlap(b []byte, word string) int {
	for n := min(len(b), len(word)-1); n > 0; n-- {
		if strings.HasPrefix(word, string(b[len(b)-n:])) {
			return n
		}
	}
	return 0
}
