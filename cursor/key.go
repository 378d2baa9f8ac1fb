// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor

import (
	"crypto/rand"
	"os"
)

const keyVariable = "WEIR_CURSOR_KEY"

// processKey signs the tokens of codecs that have no key of their own. It is
// never changed after the package is initialised.
var processKey = takeKey()

// takeKey returns the key of the environment and removes it from there, or
// makes a random one.
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
