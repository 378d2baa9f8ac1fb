// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"strconv"
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

// parseHandle returns the handle in s, which may be the URI of an artifact or of
// a part of it, since all of them stand in results. The offset is -1 where there
// is none.
func parseHandle(s string) (handle string, offset int64, err error) {
	handle, query, part := strings.Cut(strings.TrimPrefix(strings.TrimSpace(s), scheme), "?")
	if !isHandle(handle) {
		hint := ""
		if low := strings.TrimPrefix(strings.ToLower(handle), scheme); low != handle && isHandle(low) {
			hint = "; it is of lower case"
		}
		return "", 0, fmt.Errorf("%w, where %q was given%s", ErrMalformed, quote.Cut(s, 64), hint)
	}
	if !part {
		return handle, -1, nil
	}
	digits, named := strings.CutPrefix(query, "offset=")
	offset, err = strconv.ParseInt(digits, 10, 64)
	if !named || err != nil || offset < 0 {
		return "", 0, fmt.Errorf("%w, where %q was given", ErrOffset, quote.Cut("?"+query, 64))
	}
	return handle, offset, nil
}
