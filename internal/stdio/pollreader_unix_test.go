// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"testing"
)

func check2(_ int, err error) { check(err) }

// eager is the pace of a host that was never slow: the reader lingers at each wait.
var eager = pace{run: maxQuick}

// Nothing is lost, doubled or read late where the reader lingers, and the end of the pipe is the end of file.
func TestLingeringReader(t *testing.T) {
	r, w, err := os.Pipe()
	check(err)
	defer r.Close()
	pr := newPollReader(r)
	pr.pace = eager
	back := make(chan []byte)
	go func() {
		defer w.Close()
		for i := range 2000 {
			check2(w.Write(bytes.Repeat([]byte{byte(i)}, 1+i%7)))
			if got := <-back; !bytes.Equal(got, bytes.Repeat([]byte{byte(i)}, 1+i%7)) {
				t.Errorf("message %d: read %v", i, got)
			}
		}
	}()
	buf := make([]byte, 64)
	for i := range 2000 {
		n, err := pr.read(buf)
		if err != nil {
			t.Fatalf("message %d: %v", i, err)
		}
		back <- bytes.Clone(buf[:n])
	}
	for range 2 {
		if n, err := pr.read(buf); n != 0 || err != io.EOF {
			t.Errorf("at the end: %d, %v; want 0, EOF", n, err)
		}
	}
}

// Close ends a read that lingers as it ends one that sleeps.
func TestCloseWhileLingering(t *testing.T) {
	for range 200 {
		r, w, err := os.Pipe()
		check(err)
		in := newInput(r)
		pr := newPollReader(r)
		pr.pace = eager
		in.move = pr.read
		started := make(chan struct{})
		ended := make(chan error)
		go func() {
			close(started)
			_, err := in.Read(make([]byte, 8))
			ended <- err
		}()
		<-started
		check(in.Close())
		if err := <-ended; !errors.Is(err, os.ErrClosed) {
			t.Fatalf("Read after Close: %v; want os.ErrClosed", err)
		}
		check(w.Close())
	}
}
