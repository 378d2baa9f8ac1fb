// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// A Writer writes an artifact as a stream whose length is not known before,
// such as the output of a child process (the field Sink of an exec.Cmd):
//
//	w, err := store.Create("make test", "text/plain")
//	…
//	defer w.Close() // drops what was not kept
//	out, err := exec.Run(ctx, exec.Cmd{…, Sink: w}) // keeps what out does not hold
//
// Its methods may be called from many goroutines at once.
type Writer struct {
	store *Store

	mu   sync.Mutex // guards all below
	file *os.File   // nil once it is closed
	err  error      // what ended the writer
	info Info
	done bool // committed

	last  int64  // bytes since the last line feed
	first []byte // the first bytes, by which text is told from other things
}

// Create begins a new artifact. The name and the MIME type describe it to a
// reader; both may be empty. The Writer has to be closed.
func (s *Store) Create(name, mimeType string) (*Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	w := &Writer{store: s, info: Info{Handle: newHandle(s.home.key), Name: named(name), MIMEType: mimeType}}
	var err error
	w.file, err = s.home.root.OpenFile(w.info.Handle+partSuffix, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, failure("making a file", err)
	}
	s.writers[w] = true
	return w, nil
}

// Write adds p. Past Store.MaxBytes it keeps nothing and counts on, without an
// error, so that the producer can go on: see Info.Dropped. After any other
// failure, such as a full disk, the artifact cannot be committed.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return 0, w.err
	}
	if w.done {
		return 0, errCommitted
	}
	keep := p[:min(int64(len(p)), w.store.maxBytes()-w.info.Size)]
	if len(keep) > 0 {
		if err := w.store.reserve(int64(len(keep))); err != nil {
			w.endLocked(err)
			return 0, err
		}
		w.info.Size += int64(len(keep))
		if n, err := w.file.Write(keep); err != nil {
			w.endLocked(failure("writing", err))
			return n, w.err
		}
		w.lookLocked(keep)
	}
	w.info.Dropped += int64(len(p) - len(keep))
	return len(p), nil
}

var errCommitted = errors.New("artifact: written to after Commit")

// Commit completes the artifact: from now on it can be read. A second Commit
// returns the same.
func (w *Writer) Commit() (Info, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err != nil {
		return Info{}, w.err
	}
	if w.done {
		return w.info, nil
	}
	if err := w.commitLocked(); err != nil {
		w.endLocked(err)
		return Info{}, err
	}
	w.done = true
	return w.info, nil
}

// Keep is Commit for who does not know what an artifact is, such as an
// exec.Cmd whose Sink w is. It returns how a model reads it.
func (w *Writer) Keep() (how string, err error) {
	info, err := w.Commit()
	if err != nil {
		return "", err
	}
	switch {
	case info.Binary:
		how = "read the resource " + info.URI() + ", which is binary"
	default:
		how = info.how()
	}
	if info.Dropped > 0 {
		how += fmt.Sprintf(" (only the first %s of %s bytes are kept)", comma(info.Size), comma(info.Size+info.Dropped))
	}
	return how, nil
}

func (w *Writer) commitLocked() error {
	if err := w.trimLocked(); err != nil {
		return failure("writing", err)
	}
	s, f := w.store, w.file
	w.file = nil
	var err error
	if s.Keep {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return failure("writing", err)
	}
	if w.last > 0 {
		w.info.Lines++
		w.info.Longest = max(w.info.Longest, w.last)
	}
	w.info.Binary = isBinary(w.first)
	byContent := "text/plain"
	if w.info.Binary {
		byContent = "application/octet-stream"
		if isText(w.info.MIMEType) { // whoever gave it did not know
			w.info.MIMEType = ""
		}
	}
	w.info.MIMEType = cmp.Or(w.info.MIMEType, byContent)
	w.info.Created = time.Now()
	// Close waits for w.mu before it gives the directory up.
	if err := s.home.finish(&w.info, s.Keep); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	delete(s.writers, w)
	info := w.info
	s.addLocked(&info)
	return nil
}

// trimLocked takes the beginning of a character off the end, where only that
// was kept of it.
func (w *Writer) trimLocked() error {
	if w.info.Dropped == 0 {
		return nil
	}
	end := make([]byte, min(w.info.Size, utf8.UTFMax-1))
	if _, err := w.file.ReadAt(end, w.info.Size-int64(len(end))); err != nil {
		return err
	}
	for i := len(end) - 1; i >= 0; i-- {
		if !utf8.RuneStart(end[i]) {
			continue
		}
		if n := int64(len(end) - i); !utf8.FullRune(end[i:]) {
			w.store.unreserve(n)
			w.info.Size -= n
			w.info.Dropped += n
			w.last -= n // no character has a line feed in it
			return w.file.Truncate(w.info.Size)
		}
		break
	}
	return nil
}

// Close drops the artifact unless it was committed; then it does nothing. It
// returns nil.
func (w *Writer) Close() error {
	w.fail(errDropped)
	return nil
}

var errDropped = errors.New("artifact: the writer is closed")

// fail ends the writer unless it has ended.
func (w *Writer) fail(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.err == nil && !w.done {
		w.endLocked(err)
	}
}

// endLocked drops what was written.
func (w *Writer) endLocked(err error) {
	w.err = err
	if w.file != nil {
		w.file.Close()
		w.file = nil
	}
	s := w.store
	s.mu.Lock()
	defer s.mu.Unlock()
	s.home.remove(w.info.Handle)
	s.writing -= w.info.Size
	if !s.closed { // else Close looks at them
		delete(s.writers, w)
	}
}

// unreserve gives back n bytes of what is being written.
func (s *Store) unreserve(n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing -= n
}

// sniff is how much of an artifact tells whether it is binary.
const sniff = 8000

// lookLocked counts lines, and keeps the first bytes.
func (w *Writer) lookLocked(b []byte) {
	w.first = append(w.first, b[:min(len(b), sniff-len(w.first))]...)
	for {
		n := bytes.IndexByte(b, '\n')
		if n < 0 {
			w.last += int64(len(b))
			return
		}
		w.info.Longest = max(w.info.Longest, w.last+int64(n))
		w.info.Lines++
		w.last = 0
		b = b[n+1:]
	}
}

var newline = []byte{'\n'}

// isText reports whether a MIME type is one of text.
func isText(mimeType string) bool {
	kind, _, _ := strings.Cut(strings.TrimSpace(mimeType), "/")
	return strings.EqualFold(kind, "text")
}

// isBinary tells by the first bytes of a content whether it is not text.
func isBinary(first []byte) bool {
	if bytes.IndexByte(first, 0) >= 0 {
		return true
	}
	invalid := 0
	for b := first; len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			invalid++
		}
		b = b[n:]
	}
	return invalid*10 > len(first)
}
