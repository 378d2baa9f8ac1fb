// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import "github.com/weir-mcp/weir/internal/quote"

// idSeeker finds the id of a message that passes by in pieces and is too large
// to be kept. It looks for a member "id" of the outermost object, wherever that
// stands, and holds at most the text of one name or id. It checks no more than
// it needs: what it finds in text that is not JSON may be anything that stood
// there as an id would.
type idSeeker struct {
	state   seekState
	depth   int    // arrays and objects open
	inText  bool   // inside a string
	escaped bool   // the last byte was a backslash inside a string
	keep    bool   // the token under way goes to token
	token   []byte // one byte too many is kept, to tell that it was too many
	isID    bool   // the value under way is that of an id
	found   []byte // the id's text
	lost    bool   // no id can be had: there are two, or it is not one
}

type seekState uint8

const (
	seekObject seekState = iota // before the outermost brace
	seekName                    // of a member of the outermost object
	seekColon
	seekValue
	seekScalar // inside a number or a literal
	seekComma
	seekEnd // past the outermost object, or past hope
)

// id is the id seen so far.
func (s *idSeeker) id() ID {
	if s.lost || s.found == nil {
		return ID{}
	}
	id, _ := ParseID(s.found)
	return id
}

// feed looks at the next piece. It does not keep p.
func (s *idSeeker) feed(p []byte) {
	for i := 0; i < len(p) && s.state != seekEnd; {
		if s.inText {
			i += s.text(p[i:])
			continue
		}
		s.step(p[i])
		i++
	}
}

// text goes through a string, to its end or that of p, and returns how far.
func (s *idSeeker) text(p []byte) int {
	n := 0
	for n < len(p) && s.inText {
		if s.escaped {
			s.escaped = false
			n++
			continue
		}
		n += quote.Plain(p[n:])
		if n == len(p) {
			break
		}
		switch p[n] {
		case '\\':
			s.escaped = true
		case '"':
			s.inText = false
		}
		n++
	}
	s.take(p[:n])
	if !s.inText && s.depth == 1 {
		s.endToken()
	}
	return n
}

// take keeps bytes of a token, up to the longest that can matter.
func (s *idSeeker) take(p []byte) {
	if s.keep {
		room := maxID + 3 - len(s.token)
		s.token = append(s.token, p[:min(len(p), max(room, 0))]...)
	}
}

// startToken begins a name, or a string or scalar that is a value.
func (s *idSeeker) startToken(c byte) {
	s.token = s.token[:0]
	s.keep = s.state == seekName || s.isID
	s.inText = c == '"'
	s.take([]byte{c})
}

// endToken ends what startToken began.
func (s *idSeeker) endToken() {
	switch {
	case s.state == seekName:
		s.state = seekColon
		s.isID = isIDName(s.token)
		return
	case s.isID:
		s.setID(s.token)
	}
	s.state = seekComma
}

// setID takes the value of a member id.
func (s *idSeeker) setID(raw []byte) {
	_, ok := ParseID(raw)
	if !ok || s.found != nil {
		s.lost = true
	}
	s.found = append([]byte{}, raw...)
	s.isID = false
}

// step takes one byte outside of strings.
func (s *idSeeker) step(c byte) {
	if c == ' ' || c == '\t' || c == '\r' {
		if s.state == seekScalar {
			s.endToken()
		}
		return
	}
	if s.depth > 1 {
		s.nested(c)
		return
	}
	if s.state == seekScalar {
		if c != ',' && c != '}' {
			s.take([]byte{c})
			return
		}
		s.endToken()
	}
	switch {
	case s.state == seekObject && c == '{':
		s.depth, s.state = 1, seekName
	case s.state == seekName && c == '"':
		s.startToken(c)
	case s.state == seekColon && c == ':':
		s.state = seekValue
	case s.state == seekValue && (c == '{' || c == '['):
		s.lost = s.lost || s.isID
		s.depth++
	case s.state == seekValue && c != ',' && c != '}' && c != ']':
		s.startToken(c)
		if c != '"' {
			s.state = seekScalar
		}
	case s.state == seekComma && c == ',':
		s.state = seekName
	default:
		// The object has ended, or this is not JSON. After an orderly end
		// the id stands.
		s.lost = s.lost || c != '}' || s.state != seekComma
		s.state = seekEnd
	}
}

// nested takes one byte outside of strings below the outermost object.
func (s *idSeeker) nested(c byte) {
	switch c {
	case '"':
		s.inText, s.keep = true, false
	case '{', '[':
		s.depth++
	case '}', ']':
		if s.depth--; s.depth == 1 {
			s.state, s.isID = seekComma, false
		}
	}
}

// isIDName reports whether a member's name is id, in whatever escapes.
func isIDName(raw []byte) bool {
	if len(raw) > len(`"\u0069\u0064"`) || skipString(raw, 0) != len(raw) {
		return false
	}
	name, _ := unquote(raw)
	return name == "id"
}
