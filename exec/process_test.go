// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec

import (
	"testing"

	"github.com/weir-mcp/weir/internal/capture"
)

// TestStreamEndsOnce holds that a loop that is left at a last line without line
// end, after which nothing is there to drain, does not end its stream twice and
// so the other one's with it.
func TestStreamEndsOnce(t *testing.T) {
	p, err := start(t.Context(), Shell("printf a"))
	if err != nil {
		t.Fatal(err)
	}
	lines := 0
	if p.out.lines(capture.Splitter{}, func(Line, error) bool { lines++; return false }) || lines != 1 {
		t.Errorf("%d lines", lines)
	}
	p.out.drain()
	p.conduct(t.Context())
	if n := p.reading.Load(); n != 0 {
		t.Errorf("%d streams are open", n)
	}
}
