// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package logsink

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// maxFile bounds a log file in bytes.
const maxFile = 8 << 20

// File is a log file of limited size. When a write would take it past 8 MiB, it becomes FILE.1, replacing what was there,
// and a new one begins: the two together hold at least the last 8 MiB and at most 16. (A single write of more than 8 MiB
// has a file to itself.)
//
// Several processes may share a File's path, since each write is one append; whoever finds the file renamed goes on with
// the new one. Two that rename it in the same instant may lose one of the two generations. All methods may be called from
// any goroutine.
type File struct {
	path  string
	limit int64

	mu   sync.Mutex // guards file
	file *os.File   // nil once closed, and after a failed rotation until it can be opened
	done bool       // Close was called
}

var _ io.WriteCloser = (*File)(nil)

// OpenFile opens the log file at path for appending, and creates it readable and writable by its owner only. It refuses
// what is not a regular file: a pipe could block, and /dev/stdout is the protocol's.
func OpenFile(path string) (*File, error) {
	path, err := filepath.Abs(path) // the process may change its directory before a rotation
	if err != nil {
		return nil, fmt.Errorf("logsink: %w", err)
	}
	f := &File{path: path, limit: maxFile}
	if f.file, err = f.open(); err != nil {
		return nil, fmt.Errorf("logsink: %w", err)
	}
	return f, nil
}

func (f *File) open() (*os.File, error) {
	if info, err := os.Stat(f.path); err == nil && !info.Mode().IsRegular() { // before opening, which may block
		return nil, &os.PathError{Op: "open", Path: f.path, Err: errors.New("not a regular file")}
	}
	return os.OpenFile(f.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
}

// Write appends p, after a rotation where it would not fit.
func (f *File) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done {
		return 0, os.ErrClosed
	}
	if err := f.makeRoomLocked(int64(len(p))); err != nil {
		return 0, fmt.Errorf("logsink: %w", err)
	}
	return f.file.Write(p)
}

// makeRoomLocked leaves f.file open and with room for n bytes. Where a rotation fails, nothing is written: the limit holds.
func (f *File) makeRoomLocked(n int64) error {
	for {
		if f.file == nil {
			file, err := f.open()
			if err != nil {
				return err
			}
			f.file = file
		}
		mine, err := f.file.Stat()
		if err != nil {
			return err
		}
		if mine.Size() == 0 || mine.Size()+n <= f.limit {
			return nil
		}
		err = f.file.Close() // before it is renamed: Windows renames no open file
		f.file = nil
		if err != nil {
			return err
		}
		// Another process may have renamed it already; then the new one is there to go on with.
		if now, err := os.Stat(f.path); err == nil && os.SameFile(mine, now) {
			if err := os.Rename(f.path, f.path+".1"); err != nil {
				return err
			}
		}
	}
}

// Close closes the file. Later writes return os.ErrClosed.
func (f *File) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	if f.file == nil {
		return nil
	}
	err := f.file.Close()
	f.file = nil
	return err
}
