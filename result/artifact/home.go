// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package artifact

import (
	"crypto/rand"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names in a store's directory. Beside them stand the artifacts, each under its
// handle, with one of the suffixes for what belongs to it.
const (
	lockName   = "lock"  // held as long as the store is open; holds its key
	partSuffix = ".part" // an artifact that is being written
	infoSuffix = ".json" // the Info of a kept artifact

	tempPattern = "weir-artifacts-"
)

// A home is the directory of an open store.
type home struct {
	root *os.Root
	path string
	lock *os.File
	key  []byte
	made bool // by this store
}

// tempHome makes a directory in the system's place for such, and removes there
// what processes have left that did not end in order.
func tempHome() (*home, error) {
	left, _ := filepath.Glob(filepath.Join(os.TempDir(), tempPattern+"*"))
	for _, path := range left {
		sweep(path)
	}
	for try := 0; ; try++ {
		path, err := os.MkdirTemp("", tempPattern)
		if err != nil {
			return nil, failure("making a directory", err)
		}
		h, err := claim(path, true)
		if err == nil {
			h.made = true
			return h, nil
		}
		os.Remove(path)
		if try == 3 { // the sweep of another process may have been faster, once
			return nil, err
		}
	}
}

// dirHome opens the directory that a user has named, and makes it if need be.
func dirHome(path string) (*home, error) {
	path, err := filepath.Abs(path) // a later chdir does not move it
	if err != nil {
		return nil, failure("finding the directory", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, failure("making the directory", err)
	}
	err = os.Mkdir(path, 0o700)
	if err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, failure("making the directory", err)
	}
	made := err == nil
	h, err := claim(path, true)
	if err != nil {
		return nil, err
	}
	h.made = made
	return h, nil
}

var errNotPrivate = errors.New("artifact: the directory is not one that only this user can look into")

// claim opens a private directory and takes its lock. Without create it has to
// have been a store's before.
func claim(path string, create bool) (*home, error) {
	before, err := os.Lstat(path)
	if err != nil {
		return nil, failure("opening the directory", err)
	}
	if !before.IsDir() || !private(before) {
		return nil, errNotPrivate
	}
	h := &home{path: path}
	if h.root, err = os.OpenRoot(path); err != nil {
		return nil, failure("opening the directory", err)
	}
	// From here on the directory is what was looked at, whatever path leads to.
	if now, serr := h.root.Stat("."); serr != nil || !os.SameFile(before, now) {
		err = errNotPrivate
	} else {
		err = h.takeLock(create)
	}
	if err != nil {
		h.release()
		return nil, err
	}
	return h, nil
}

// takeLock takes the lock and reads the key that is in it.
func (h *home) takeLock(create bool) (err error) {
	flags := os.O_RDWR
	if create {
		flags |= os.O_CREATE
	}
	if h.lock, err = h.root.OpenFile(lockName, flags, 0o600); err != nil {
		return failure("opening the lock", err)
	}
	if !tryLock(h.lock) {
		return ErrInUse
	}
	mine, err := h.lock.Stat()
	if err != nil {
		return failure("opening the lock", err)
	}
	if named, err := h.root.Lstat(lockName); err != nil || !os.SameFile(mine, named) {
		return ErrInUse // a sweep has removed it meanwhile
	}
	return h.readKey()
}

// readKey reads the store's key, and makes one where there is none.
func (h *home) readKey() error {
	h.key = make([]byte, keySize)
	n, err := h.lock.ReadAt(h.key, 0)
	if n == keySize {
		return nil
	}
	if err != io.EOF {
		return failure("reading the key", err)
	}
	rand.Read(h.key)
	if _, err := h.lock.WriteAt(h.key, 0); err != nil {
		return failure("writing the key", err)
	}
	return nil
}

// release gives the directory up and leaves it as it is.
func (h *home) release() {
	if h.lock != nil {
		unlock(h.lock) // a process that is being started has the file too, until it runs
		h.lock.Close()
	}
	if h.root != nil {
		h.root.Close()
	}
}

// destroy removes what a store has written, and the directory if the store has
// made it. What is not a store's stays, and the directory with it.
func (h *home) destroy() error {
	err := h.removeAll()
	if lerr := h.root.Remove(lockName); err == nil && lerr != nil {
		err = failure("removing the lock", lerr)
	}
	h.release()
	if h.made {
		os.Remove(h.path) // it stays where somebody else has written into it
	}
	return err
}

// removeAll removes all artifacts and what belongs to them.
func (h *home) removeAll() error {
	names, err := h.names()
	if err != nil {
		return err
	}
	for _, name := range names {
		if rerr := h.root.Remove(name); err == nil && rerr != nil {
			err = failure("removing an artifact", rerr)
		}
	}
	return err
}

// names lists the files of artifacts.
func (h *home) names() ([]string, error) {
	dir, err := h.root.Open(".")
	if err != nil {
		return nil, failure("listing the directory", err)
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	if err != nil {
		return nil, failure("listing the directory", err)
	}
	ours := all[:0]
	for _, name := range all {
		handle, _, _ := strings.Cut(name, ".")
		rest := name[len(handle):]
		if isHandle(handle) && (rest == "" || rest == partSuffix || rest == infoSuffix) {
			ours = append(ours, name)
		}
	}
	return ours, nil
}

// sweep removes a directory whose store's process has ended without closing it.
func sweep(path string) {
	h, err := claim(path, false)
	switch {
	case err == nil:
		h.made = true
		h.destroy()
	case errors.Is(err, fs.ErrNotExist):
		os.Remove(path) // that process ended before it had a lock; fails unless empty
	}
}

// syncDir makes the names in the directory last.
func (h *home) syncDir() error {
	dir, err := h.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	return syncNames(dir)
}
