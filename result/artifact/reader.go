// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"fmt"
	"io"
	"os"
)

// A Reader reads one artifact, which it holds: it reads on after the artifact
// has expired and after the store was closed. It has to be closed. ReadAt may
// be called from many goroutines at once.
type Reader struct {
	Info Info

	*io.SectionReader // Read, ReadAt and Seek
	file              *os.File
}

// Open opens an artifact by its handle or its URI; Read begins at the offset
// that the URI of a part has. The error tells why there is none: ErrMalformed,
// ErrOffset, ErrForeign, ErrExpired or ErrClosed.
func (s *Store) Open(handle string) (*Reader, error) {
	handle, offset, err := parseHandle(handle)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := s.findLocked(handle)
	if err != nil {
		return nil, err
	}
	if offset > info.Size {
		return nil, fmt.Errorf("%w, which is %s, where %s was given", ErrOffset, comma(info.Size), comma(offset))
	}
	f, err := s.home.root.Open(handle)
	if err != nil {
		return nil, failure("opening", err)
	}
	r := &Reader{Info: *info, SectionReader: io.NewSectionReader(f, 0, info.Size), file: f}
	r.Seek(max(offset, 0), io.SeekStart) // of a SectionReader: never fails
	return r, nil
}

// Close closes the reader.
func (r *Reader) Close() error { return r.file.Close() }
