// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build !unix || aix

package stdio

import "os"

// newInput reads from file, and closes it. A read of anything but a file cannot be interrupted here.
func newInput(file *os.File) *Input {
	in := &Input{end: end{file: file, unlock: file.Close, done: make(chan struct{})}, regular: regular(file)}
	if in.regular {
		in.move = file.Read
	} else {
		in.move = detachedRead(file.Read, in.done)
	}
	return in
}

// newOutput writes to file, and closes it.
func newOutput(file *os.File) *Output {
	out := &Output{end: end{file: file, unlock: file.Close, done: make(chan struct{})}}
	if regular(file) {
		out.move = sliced(file.Write)
	} else {
		out.move = detachedWrite(file.Write, out.done)
	}
	return out
}

// rest has nothing to read: the pipe was read to its end.
func rest(_ *os.File, _ []byte, _ func([]byte)) {}
