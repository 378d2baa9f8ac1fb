// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// The reasons for which an artifact cannot be read. They are returned as they
// are or wrapped: match with errors.Is. All of them match fs.ErrNotExist too.
var (
	// ErrMalformed: the handle is not one that a store could have given.
	ErrMalformed error = &gone{"artifact: not a handle: copy it whole, 32 letters and digits"}

	// ErrOffset: the URI is that of an artifact, and what it says after that is
	// no offset in it.
	ErrOffset error = &gone{`artifact: no part of it: after the handle a URI may have "?offset=" and a number of bytes from 0 to the size`}

	// ErrForeign: another store gave the handle, that of a process that has
	// ended, or a character of it was changed.
	ErrForeign error = &gone{"artifact: the handle is from another process of this server, whose outputs are gone, or was not copied exactly; " + again}

	// ErrExpired: the artifact was there and is gone, because of its age or
	// because room was needed for others.
	ErrExpired error = &gone{"artifact: expired: outputs are kept for a limited time, and the oldest make room for new ones; " + again}

	// ErrClosed: the store is closed.
	ErrClosed error = &gone{"artifact: the store is closed: the server is stopping"}
)

const again = "call the tool that made it again"

// The reasons for which an artifact cannot be written.
var (
	// ErrTooLarge: what Put was given is larger than Store.MaxBytes.
	ErrTooLarge = errors.New("artifact: larger than an artifact may be")

	// ErrFull: what is being written at this moment takes all of
	// Store.MaxTotal, so that nothing can make room.
	ErrFull = errors.New("artifact: no room: other outputs are being written")

	// ErrInUse: Store.Dir is the directory of another open store.
	ErrInUse = errors.New("artifact: the directory is in use by another store")
)

// A gone is the reason for which there is no such artifact.
type gone struct{ text string }

func (e *gone) Error() string        { return e.text }
func (e *gone) Is(target error) bool { return target == fs.ErrNotExist }

// failure is err without the path that it names: texts may reach a peer, which
// has no business with the files of this machine.
func failure(doing string, err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		err = path.Err
	case errors.As(err, &link):
		err = link.Err
	}
	return fmt.Errorf("artifact: %s: %w", doing, err)
}
