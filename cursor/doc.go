// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package cursor seals positions into opaque tokens, so that a tool can hand a
// model the place to read on from and trust it when it comes back.
//
// A token is bound to the tool and the arguments it was made for ([Scope]), to
// the type of the position and to a time. It needs no memory on the server and
// is good in any session and any process that has the key. It is signed, not
// encrypted: a position must not hold secrets.
//
// The key of a [Codec] that has none of its own is the value of the environment
// variable WEIR_CURSOR_KEY, which this package takes out of the environment
// when it is initialised, so that child processes do not inherit it. (What the
// system shows of the process's initial environment, such as /proc/self/environ,
// cannot be changed.) The bytes of the value are the key as they are: 32 random
// ones in hexadecimal or base64 are good. One shorter than [MinKey] is refused by
// Encode and Decode. Without the variable, or with an empty one, the key is
// random, and tokens are good until the process ends.
package cursor
