// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// A handle is 128 random bits, and 32 bits more by which its store knows it
// again without remembering it: a handle that is the store's own, and leads to
// nothing, has expired.
const (
	randomSize = 16
	markSize   = 4
	handleSize = (randomSize + markSize) * 8 / 5 // in characters

	keySize = 32
)

// alphabet is of lower case, since a handle is a file's name too.
var alphabet = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// scheme begins the URI of an artifact.
const scheme = "artifact:"

func newHandle(key []byte) string {
	b := make([]byte, randomSize, randomSize+markSize)
	rand.Read(b)
	return alphabet.EncodeToString(append(b, mark(key, b)...))
}

func mark(key, random []byte) []byte {
	h := hmac.New(sha256.New, key)
	h.Write(random)
	return h.Sum(nil)[:markSize]
}

// isHandle reports whether some store could have given s.
func isHandle(s string) bool {
	if len(s) != handleSize {
		return false
	}
	_, err := alphabet.DecodeString(s)
	return err == nil
}

// isOwn reports whether the store with that key has given the handle.
func isOwn(key []byte, handle string) bool {
	b, err := alphabet.DecodeString(handle)
	return err == nil && len(b) == randomSize+markSize &&
		hmac.Equal(b[randomSize:], mark(key, b[:randomSize]))
}

// parseHandle returns the handle in s, which may be the URI of an artifact,
// since both stand in results.
func parseHandle(s string) (string, error) {
	handle := strings.TrimPrefix(strings.TrimSpace(s), scheme)
	if !isHandle(handle) {
		return "", fmt.Errorf("%w, where %q was given", ErrMalformed, quote.Cut(s, 64))
	}
	return handle, nil
}
