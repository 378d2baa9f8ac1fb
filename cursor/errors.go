// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor

import (
	"errors"
	"fmt"
)

// again ends every text: a model reads it, and has no other way to go on.
const again = "; start again without cursor"

// The reasons for which [Codec.Decode] refuses a token. It returns them as they
// are or wrapped: match with errors.Is.
var (
	// ErrMalformed: the token is not one that Encode could have made.
	ErrMalformed = errors.New("cursor: not a cursor of this server" + again)

	// ErrKey: the token was sealed with another key, or altered.
	ErrKey = errors.New("cursor: altered, or from a server with another key" + again)

	// ErrTool: the token was made by another tool.
	ErrTool = errors.New("cursor: made by another tool" + again)

	// ErrQuery: the token was made by this tool for other arguments.
	ErrQuery = errors.New("cursor: made for other arguments; repeat those of the first call, or" + again[1:])

	// ErrType: the token holds another type of position, or one whose fields
	// have changed since.
	ErrType = errors.New("cursor: of another kind of position" + again)

	// ErrExpired: the token is older than MaxAge.
	ErrExpired = errors.New("cursor: expired" + again)

	// ErrTooLong: the token is longer than MaxLen.
	ErrTooLong = errors.New("cursor: longer than 512 bytes" + again)
)

// ErrPosition: [Codec.Encode] cannot make a token of at most MaxLen bytes of the
// position. To start again would not help; the author has to store less.
var ErrPosition = errors.New("cursor: the position is too long for a cursor (512 bytes): an author's mistake")

// What no other call can put right: mistakes of an author, or of who set the
// variable.
var (
	errScope         = errors.New("cursor: the scope is nil")
	errShortKey      = fmt.Errorf("cursor: Codec.Key is shorter than %d bytes", MinKey)
	errShortVariable = fmt.Errorf("cursor: the environment variable %s is shorter than %d bytes: the server has to be started with a longer key, or without one", keyVariable, MinKey)
)
