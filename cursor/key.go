// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor

import (
	"crypto/rand"
	"os"
)

const keyVariable = "WEIR_CURSOR_KEY"

// MinKey is the length of the shortest key, in bytes. It should be twice that.
const MinKey = 16

// processKey signs the tokens of codecs that have no key of their own. It is
// never changed after the package is initialised.
var processKey = takeKey()

// takeKey returns the key of the environment, however short, and removes it
// from there; or makes a random one.
func takeKey() []byte {
	s := os.Getenv(keyVariable)
	os.Unsetenv(keyVariable)
	if s != "" {
		return []byte(s)
	}
	key := make([]byte, 32)
	rand.Read(key) // never fails (Go 1.24)
	return key
}

// key returns the key that c signs with. Its errors are for the operator, or
// the author; neither holds the key.
func (c Codec[P]) key() ([]byte, error) {
	switch {
	case len(c.Key) >= MinKey:
		return c.Key, nil
	case len(c.Key) > 0:
		return nil, errShortKey
	case len(processKey) < MinKey:
		return nil, errShortVariable
	}
	return processKey, nil
}
