// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"os"
)

// rawFile is the flag -raw: a file that gets the server's stdout byte for byte.
// It is not touched before the server has started.
type rawFile struct {
	name string
	done chan struct{} // closed by open; what is written waits for it
	f    *os.File      // nil when it could not be opened
	err  error         // the first error of a write
}

func (r *rawFile) String() string { return r.name }

func (r *rawFile) Set(name string) error {
	if name == "" {
		return errors.New("the name of a file is empty")
	}
	r.name, r.done = name, make(chan struct{})
	return nil
}

// given reports whether the flag was given.
func (r *rawFile) given() bool { return r.name != "" }

// open empties the file, or makes it, and lets the writes go on.
func (r *rawFile) open() (err error) {
	defer close(r.done)
	if r.f, err = os.Create(r.name); err != nil {
		return usagef("-raw: %v", err)
	}
	return nil
}

func (r *rawFile) Write(p []byte) (int, error) {
	<-r.done
	if r.f == nil {
		return 0, os.ErrClosed
	}
	n, err := r.f.Write(p)
	if r.err == nil {
		r.err = err
	}
	return n, err
}

func (r *rawFile) close() error {
	if r.f == nil {
		return nil
	}
	if err := r.f.Close(); r.err == nil {
		r.err = err
	}
	if r.err != nil {
		return fmt.Errorf("-raw: %w", r.err)
	}
	return nil
}
