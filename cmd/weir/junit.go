// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// junitFile is the file of a report. What it held before stays until the new
// report is whole.
type junitFile struct {
	f    *os.File
	name string // what f is renamed to at the end; "" when f is the file itself
	old  bool   // f is the file itself, and holds what was there before
}

// createJUnit finds out whether the report can be written, and changes
// nothing of what is there.
func createJUnit(name string) (*junitFile, error) {
	if clean := filepath.Clean(name); strings.HasPrefix(clean, "/dev/") || strings.HasPrefix(clean, "/proc/") {
		// A device, or what is open here, such as /dev/stdout: others hold it too.
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_APPEND, 0)
		return &junitFile{f: f}, err
	}
	target := name
	if to, err := filepath.EvalSymlinks(name); err == nil {
		target = to
	}
	mode := fs.FileMode(0o666) // less the umask
	info, err := os.Stat(target)
	there := err == nil
	switch {
	case there && info.IsDir():
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("is a directory")}
	case there && !info.Mode().IsRegular(): // a pipe, or a device
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		return &junitFile{f: f}, err
	case there:
		mode = info.Mode().Perm()
		f, err := os.OpenFile(target, os.O_WRONLY, 0) // what is write-protected stays
		if err != nil {
			return nil, err
		}
		f.Close()
	}
	temp := filepath.Join(filepath.Dir(target), "."+filepath.Base(target)+"."+strconv.FormatUint(rand.Uint64(), 36))
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	switch {
	case err == nil:
		return &junitFile{f: f, name: target}, nil
	case there: // its folder takes no new file
		f, err := os.OpenFile(target, os.O_WRONLY, 0)
		return &junitFile{f: f, old: true}, err
	}
	var path *fs.PathError
	if errors.As(err, &path) {
		path.Path = name
	}
	return nil, err
}

// write writes the report, and puts it in the place of what was there.
func (j *junitFile) write(report []byte) error {
	f := j.f
	j.f = nil
	if j.old {
		if err := f.Truncate(0); err != nil {
			f.Close()
			return err
		}
	}
	_, err := f.Write(report)
	err = errors.Join(err, f.Close())
	if j.name == "" {
		return err
	}
	if err == nil {
		err = os.Rename(f.Name(), j.name)
	}
	if err != nil {
		os.Remove(f.Name()) // it is of no use
	}
	return err
}

// discard leaves what was there.
func (j *junitFile) discard() {
	if j.f == nil {
		return
	}
	j.f.Close()
	if j.name != "" {
		os.Remove(j.f.Name()) // it is empty
	}
}

// sameFile reports whether two names are of one file, there or not.
func sameFile(a, b string) bool {
	if x, err := os.Stat(a); err == nil {
		if y, err := os.Stat(b); err == nil {
			return os.SameFile(x, y)
		}
	}
	x, errX := filepath.Abs(a)
	y, errY := filepath.Abs(b)
	return errX == nil && errY == nil && x == y
}
