// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build (!unix && !windows) || aix

package stdio

import "os"

// system is what Claim changed where there is nothing but os.Stdin and os.Stdout.
type system struct {
	taken         bool
	stdin, stdout os.File // the values that *os.Stdin and *os.Stdout held
	null          *os.File
}

// claim does the work of Claim as far as Go's own variables reach: what is printed goes to stderr at once.
func (g *Guard) claim() error {
	null, err := os.Open(os.DevNull)
	if err != nil {
		return err
	}
	g.system = system{taken: true, stdin: *os.Stdin, stdout: *os.Stdout, null: null}
	in, out := *os.Stdin, *os.Stdout
	g.in, g.out = newInput(&in), newOutput(&out)
	g.in.unlock, g.out.unlock = keepOpen, keepOpen // Release gives them back
	*os.Stdin, *os.Stdout = *null, *os.Stderr
	return nil
}

// restore makes os.Stdin and os.Stdout what they were.
func (g *Guard) restore() {
	if g.system.taken {
		*os.Stdin, *os.Stdout = g.system.stdin, g.system.stdout
		_ = g.system.null.Close()
	}
}

// discard has nothing to do: restore freed what it used.
func (g *Guard) discard() {}

func keepOpen() error { return nil }
