// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"reflect"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	// MaxLen is the length of the longest token, in bytes.
	MaxLen = 512

	// DefaultMaxAge is how long a token is good unless [Codec.MaxAge] is set.
	DefaultMaxAge = 24 * time.Hour
)

// A Scope is what a token is bound to: a tool, and the query that its call
// asks. Both may be any bytes. Two calls that should be able to continue each
// other return the same query, whatever the page size or the cursor they ask
// for; *tool.Request of Weir does so.
type Scope interface {
	CursorScope() (tool string, query []byte)
}

// A Codec seals and opens positions of type P. The zero Codec is ready to use.
// Its methods may be called from many goroutines at once.
//
// P is stored as JSON by the rules of github.com/go-json-experiment/json, and
// has to survive that: a string that is not valid UTF-8, such as a file name
// may be, is refused by Encode, where a []byte is kept. Give P concrete types;
// a number that is decoded into an any loses digits.
type Codec[P any] struct {
	// Key signs the tokens. It should hold 32 random bytes or more, and must
	// not change while the Codec is in use; one shorter than MinKey is refused
	// by Encode and Decode. Nil or empty means the key of the process; see the
	// package comment.
	Key []byte

	// MaxAge is how long a token is good, to the millisecond. Zero or less
	// means DefaultMaxAge.
	MaxAge time.Duration
}

// A token is the base64url form, without padding, of
//
//	version   1 byte
//	expiry    uvarint, Unix time in milliseconds
//	tool      4 bytes of a hash, to tell ErrTool
//	position type   4 bytes of a hash, to tell ErrType
//	query     16 bytes of a hash over tool, type and query
//	position  JSON
//	seal      16 bytes of the HMAC-SHA256 over all of the above
//
// The short hashes only choose the error; the 16-byte one binds.
const (
	version  = 1
	tagLen   = 4
	queryLen = 16
	sealLen  = 16
)

// encoding is strict, so that no two tokens stand for the same bytes.
var encoding = base64.RawURLEncoding.Strict()

// Encode seals p for s. The token has at most MaxLen bytes; a position that
// does not fit is refused with [ErrPosition]. Other errors mean that s is nil,
// that the key is too short, or that p cannot be stored as JSON.
func (c Codec[P]) Encode(s Scope, p P) (string, error) {
	if s == nil {
		return "", errScope
	}
	key, err := c.key()
	if err != nil {
		return "", err
	}
	maxAge := c.MaxAge
	if maxAge <= 0 {
		maxAge = DefaultMaxAge
	}
	position, err := json.Marshal(&p, json.Deterministic(true))
	if err != nil {
		return "", fmt.Errorf("cursor: position: %w", err)
	}
	b := make([]byte, 0, MaxLen)
	b = append(b, version)
	b = binary.AppendUvarint(b, uint64(time.Now().Add(maxAge).UnixMilli()))
	b = newBinding[P](s).append(b)
	b = append(b, position...)
	b = append(b, seal(key, b)...)
	if encoding.EncodedLen(len(b)) > MaxLen {
		return "", ErrPosition
	}
	return encoding.EncodeToString(b), nil
}

// Decode opens a token that Encode made for the same scope, type and key. The
// empty token means the start: Decode returns the zero P for it. A token that
// is refused gives one of the errors above, and the zero P. A key that is too
// short is an error for every token, the empty one too, so that it is found at
// the first call.
func (c Codec[P]) Decode(s Scope, token string) (P, error) {
	var zero P
	key, err := c.key()
	if err != nil {
		return zero, err
	}
	if token == "" {
		return zero, nil
	}
	if s == nil {
		return zero, errScope
	}
	if len(token) > MaxLen {
		return zero, ErrTooLong
	}
	t, err := parse(token)
	if err != nil {
		return zero, err
	}
	want := newBinding[P](s)
	switch {
	case !hmac.Equal(t.seal, seal(key, t.signed)):
		return zero, ErrKey
	case t.tool != want.tool:
		return zero, ErrTool
	case t.kind != want.kind:
		return zero, ErrType
	case t.query != want.query:
		return zero, ErrQuery
	case time.Now().UnixMilli() > t.expiry:
		return zero, ErrExpired
	}
	var p P
	if err := json.Unmarshal(t.position, &p, json.RejectUnknownMembers(true)); err != nil {
		return zero, ErrType
	}
	return p, nil
}

// seal signs b with the key.
func seal(key, b []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write([]byte("weir cursor\x00"))
	h.Write(b)
	return h.Sum(nil)[:sealLen]
}

// binding is what ties a token to its use.
type binding struct {
	tool, kind [tagLen]byte
	query      [queryLen]byte
}

func newBinding[P any](s Scope) binding {
	tool, query := s.CursorScope()
	t := reflect.TypeFor[P]()
	kind := t.PkgPath() + "|" + t.String()

	var b binding
	copy(b.tool[:], hash([]byte(tool)))
	copy(b.kind[:], hash([]byte(kind)))
	copy(b.query[:], hash([]byte(tool), []byte(kind), query))
	return b
}

func (b binding) append(dst []byte) []byte {
	dst = append(dst, b.tool[:]...)
	dst = append(dst, b.kind[:]...)
	return append(dst, b.query[:]...)
}

// hash is SHA-256 over parts, each with its length before it, so that no two
// lists of parts are the same bytes.
func hash(parts ...[]byte) []byte {
	h := sha256.New()
	for _, p := range parts {
		h.Write(binary.AppendUvarint(nil, uint64(len(p))))
		h.Write(p)
	}
	return h.Sum(nil)
}

// parsed is a token in its parts; nothing in it is trusted yet.
type parsed struct {
	binding
	expiry   int64
	position []byte
	signed   []byte // everything before the seal
	seal     []byte
}

func parse(token string) (parsed, error) {
	var t parsed
	b, err := encoding.AppendDecode(make([]byte, 0, MaxLen), []byte(token))
	if err != nil || encoding.EncodedLen(len(b)) != len(token) { // the decoder skips line breaks
		return t, ErrMalformed
	}
	if len(b) < 1+1+2*tagLen+queryLen+sealLen || b[0] != version {
		return t, ErrMalformed
	}
	t.signed, t.seal = b[:len(b)-sealLen], b[len(b)-sealLen:]
	expiry, n := binary.Uvarint(t.signed[1:])
	if n <= 0 {
		return t, ErrMalformed
	}
	t.expiry = int64(expiry)
	r := bytes.NewBuffer(t.signed[1+n:])
	if r.Len() < 2*tagLen+queryLen {
		return t, ErrMalformed
	}
	copy(t.tool[:], r.Next(tagLen))
	copy(t.kind[:], r.Next(tagLen))
	copy(t.query[:], r.Next(queryLen))
	t.position = r.Bytes()
	return t, nil
}
