// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"cmp"
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

// The defaults of a [Store].
const (
	DefaultMaxBytes = 64 << 20
	DefaultMaxTotal = 512 << 20
	DefaultMaxCount = 1000
	DefaultMaxAge   = 24 * time.Hour
)

// A Store keeps artifacts in files of a private directory. The zero Store is
// ready to use; its directory is made when it is first needed. Close it when
// the server has ended.
//
// The fields must not be changed after the first use. Methods may be called
// from many goroutines at once. A Store must not be copied.
type Store struct {
	// Dir is the directory, for this store alone. It is made if it is not
	// there; if it is, nobody else may be able to look into it (mode 0700).
	// Artifacts of an earlier store in it are taken up with Keep, and removed
	// without. Empty means a new directory among the system's temporary files,
	// where those are removed that processes have left which were killed.
	Dir string

	// Keep leaves the artifacts in Dir when the store is closed, for a store
	// that is opened there later; it needs Dir. What is complete then survives
	// a crash of the process and of the system. False means that Close removes
	// everything.
	Keep bool

	// MaxBytes bounds one artifact. Zero or less means DefaultMaxBytes.
	MaxBytes int64

	// MaxTotal bounds all artifacts together, those too that are being written.
	// Past it the oldest go. Zero or less means DefaultMaxTotal.
	MaxTotal int64

	// MaxCount bounds how many artifacts there are. Past it the oldest go. Zero
	// or less means DefaultMaxCount.
	MaxCount int

	// MaxAge is how long an artifact is kept. Zero or less means DefaultMaxAge.
	MaxAge time.Duration

	mu      sync.Mutex // guards all below
	closed  bool
	home    *home // nil before the first use
	kept    map[string]*Info
	order   []*Info // those of kept, the oldest first
	writers map[*Writer]bool
	size    int64       // of what is kept
	writing int64       // of what is being written
	timer   *time.Timer // for the oldest one's age
}

var (
	_ result.Store          = (*Store)(nil)
	_ result.ResourceReader = (*Store)(nil)
)

func (s *Store) maxTotal() int64 { return positive(s.MaxTotal, DefaultMaxTotal) }
func (s *Store) maxBytes() int64 {
	return min(positive(s.MaxBytes, DefaultMaxBytes), s.maxTotal())
}
func (s *Store) maxCount() int         { return positive(s.MaxCount, DefaultMaxCount) }
func (s *Store) maxAge() time.Duration { return positive(s.MaxAge, DefaultMaxAge) }

func positive[N cmp.Ordered](n, byDefault N) N {
	var zero N
	if n > zero {
		return n
	}
	return byDefault
}

// step is how much is copied and scanned between two looks at a context.
const step = 64 << 10

// Put keeps everything that r yields, up to io.EOF, and returns the handle and
// one sentence for a model that tells how to read it. What is larger than
// MaxBytes is an error, ErrTooLarge, and nothing of it is kept. Put looks at
// ctx every 64 KiB and returns its cause when it has ended.
func (s *Store) Put(ctx context.Context, name, mimeType string, r io.Reader) (handle, how string, err error) {
	w, err := s.Create(name, mimeType)
	if err != nil {
		return "", "", err
	}
	defer w.Close()
	buf := make([]byte, step)
	for {
		if ctx.Err() != nil {
			return "", "", context.Cause(ctx)
		}
		n, rerr := r.Read(buf)
		if _, err := w.Write(buf[:n]); err != nil {
			return "", "", err
		}
		if w.info.Dropped > 0 {
			return "", "", ErrTooLarge
		}
		if rerr == io.EOF {
			break
		}
		if rerr != nil {
			return "", "", rerr
		}
	}
	info, err := w.Commit()
	if err != nil {
		return "", "", err
	}
	how = info.how() + "."
	return info.Handle, strings.ToUpper(how[:1]) + how[1:], nil
}

// List returns what there is, the newest first.
func (s *Store) List() ([]Info, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unusedLocked() {
		return nil, nil
	}
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	s.expireLocked()
	all := make([]Info, 0, len(s.order))
	for _, info := range slices.Backward(s.order) {
		all = append(all, *info)
	}
	return all, nil
}

// Close ends the store: writers and later calls get ErrClosed. The directory is
// removed with everything in it, or with Keep left with what is complete. A
// [Reader] that is open reads on. A second Close does nothing.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	writers := s.writers
	s.mu.Unlock()
	for w := range writers { // nobody adds or removes one now
		w.fail(ErrClosed)
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
	}
	s.kept, s.order, s.writers = nil, nil, nil
	switch {
	case s.home == nil:
		return nil
	case s.Keep:
		s.home.release()
		return nil
	}
	return s.home.destroy()
}

// unusedLocked reports whether the store is sure to have nothing, so that its
// directory need not be made to find that out.
func (s *Store) unusedLocked() bool {
	return s.home == nil && s.Dir == "" && !s.Keep && !s.closed
}

// openLocked makes the store ready for use.
func (s *Store) openLocked() error {
	switch {
	case s.closed:
		return ErrClosed
	case s.home != nil:
		return nil
	case s.Keep && s.Dir == "":
		return errors.New("artifact: Store.Keep needs Store.Dir")
	}
	var h *home
	var err error
	if s.Dir == "" {
		h, err = tempHome()
	} else {
		h, err = dirHome(s.Dir)
	}
	if err != nil {
		return err
	}
	s.kept, s.writers = make(map[string]*Info), make(map[*Writer]bool)
	if s.Keep {
		s.order, err = h.load()
	} else {
		err = h.removeAll()
	}
	if err != nil {
		h.release()
		return err
	}
	for _, info := range s.order {
		s.kept[info.Handle] = info
		s.size += info.Size
	}
	s.home = h
	s.roomLocked()
	s.expireLocked()
	return nil
}

// findLocked returns the artifact, or the reason for which there is none.
func (s *Store) findLocked(handle string) (*Info, error) {
	if s.unusedLocked() {
		return nil, ErrForeign
	}
	if err := s.openLocked(); err != nil {
		return nil, err
	}
	s.expireLocked()
	switch info := s.kept[handle]; {
	case info != nil:
		return info, nil
	case isOwn(s.home.key, handle):
		return nil, ErrExpired
	}
	return nil, ErrForeign
}

// addLocked takes in a complete artifact, whose size was reserved.
func (s *Store) addLocked(info *Info) {
	s.writing -= info.Size
	s.size += info.Size
	s.kept[info.Handle] = info
	s.order = append(s.order, info)
	s.roomLocked()
	s.expireLocked()
}

// reserve makes room for n bytes more of what is being written.
func (s *Store) reserve(n int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClosed
	}
	if s.writing+n > s.maxTotal() {
		return ErrFull
	}
	s.writing += n
	s.roomLocked()
	return nil
}

// roomLocked has the oldest go until what there is is within the limits.
func (s *Store) roomLocked() {
	for len(s.order) > 0 && (s.size+s.writing > s.maxTotal() || len(s.order) > s.maxCount()) {
		s.dropLocked()
	}
}

// expireLocked has those go that are too old, and comes back for the next one.
func (s *Store) expireLocked() {
	for len(s.order) > 0 {
		left := s.maxAge() - time.Since(s.order[0].Created)
		if left > 0 {
			if s.timer == nil {
				s.timer = time.AfterFunc(left, s.expire)
			} else {
				s.timer.Reset(left)
			}
			return
		}
		s.dropLocked()
	}
}

func (s *Store) expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.expireLocked()
	}
}

// dropLocked removes the oldest one.
func (s *Store) dropLocked() {
	info := s.order[0]
	s.order = slices.Delete(s.order, 0, 1)
	delete(s.kept, info.Handle)
	s.size -= info.Size
	s.home.remove(info.Handle)
}

// named is a name as an Info has it.
func named(name string) string { return quote.Cut(cmp.Or(name, "output"), 128) }
