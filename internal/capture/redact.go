// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"bytes"
	"slices"
	"strings"
)

// redacted stands where a secret stood.
const redacted = "[redacted]"

// minPart is how much of a secret has to stand at the end of a stream to be
// taken for the beginning of it.
const minPart = 4

// Secrets are strings to redact, longest first, none of them empty.
type Secrets [][]byte

// NewSecrets returns those of list. Empty strings count for nothing.
func NewSecrets(list []string) Secrets {
	var out Secrets
	for _, s := range list {
		if s != "" {
			out = append(out, []byte(s))
		}
	}
	slices.SortFunc(out, func(a, b []byte) int { return len(b) - len(a) })
	return out
}

// Hide is text without the secrets.
func (secrets Secrets) Hide(text string) string {
	if len(secrets) == 0 {
		return text
	}
	var b strings.Builder
	r := redactor{secrets: secrets, to: func(p []byte) { b.Write(p) }}
	r.write([]byte(text))
	r.close()
	return b.String()
}

// A redactor passes a stream on without the secrets in it. It holds back what
// may be the beginning of one.
type redactor struct {
	secrets Secrets
	to      func([]byte)
	held    []byte
	next    []int // where in the text at hand each secret stands next
}

func (r *redactor) write(p []byte) {
	if len(r.held) > 0 {
		p = append(r.held, p...)
		r.held = p[:0] // passed on once, even where that panics
	}
	pos := r.replace(p, false)
	r.held = append(r.held[:0], p[pos:]...)
}

// close passes on what was held back: the stream has ended.
func (r *redactor) close() {
	held := r.held
	r.held = nil
	r.replace(held, true)
}

// replace passes p on with its secrets replaced, as far as no later text can
// change what is one, and returns how far that was. At the end of the stream
// it is all of p, and the beginning of a secret is replaced too.
func (r *redactor) replace(p []byte, end bool) (pos int) {
	r.next = r.next[:0]
	for range r.secrets {
		r.next = append(r.next, -1)
	}
	open := -1
	for {
		at, size := len(p), 0 // the earliest; the longest that begins there
		for i, s := range r.secrets {
			if r.next[i] < pos {
				r.next[i] = len(p)
				if k := bytes.Index(p[pos:], s); k >= 0 {
					r.next[i] = pos + k
				}
			}
			if r.next[i] < at {
				at, size = r.next[i], len(s)
			}
		}
		if open < pos {
			open = r.open(p, pos)
		}
		switch {
		case open < at || open == at && size > 0 && r.begins(p[at:], size):
			// A longer one may begin before, or with, the one found.
			if !end {
				r.pass(p[pos:open])
				return open
			}
			if len(p)-open >= minPart {
				r.pass(p[pos:open])
				r.pass([]byte(redacted))
				return len(p)
			}
		}
		if at == len(p) {
			r.pass(p[pos:])
			return len(p)
		}
		r.pass(p[pos:at])
		r.pass([]byte(redacted))
		pos = at + size
	}
}

// open is where in p, at pos or later, the longest suffix begins that begins a
// secret and is not all of it; len(p) when there is none.
func (r *redactor) open(p []byte, pos int) int {
	for i := max(pos, len(p)-len(r.secrets[0])+1); i < len(p); i++ {
		if r.begins(p[i:], len(p)-i) {
			return i
		}
	}
	return len(p)
}

// begins tells whether p begins, and is not all of, a secret longer than size.
func (r *redactor) begins(p []byte, size int) bool {
	for _, s := range r.secrets {
		if len(s) > size && len(s) > len(p) && bytes.HasPrefix(s, p) {
			return true
		}
	}
	return false
}

func (r *redactor) pass(p []byte) {
	if len(p) > 0 {
		r.to(p)
	}
}
