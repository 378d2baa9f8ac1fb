// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package host

import "testing"

// TestVanish: a server that waits for somebody to read its stderr hears of
// the death of its host there too.
func TestVanish(t *testing.T) {
	h := startChild(t, Config{StderrUnread: true}, "serve")
	p, err := h.Begin(Request{Method: "tools/call", Params: ToolParams("stderr", args{"n": 1 << 20})})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Flush(soon(t)); err != nil {
		t.Fatal(err)
	}
	h.Vanish()
	select {
	case <-h.Done():
	case <-soon(t).Done():
		t.Fatal(h.Diagnose())
	}
	if _, err := p.Wait(soon(t)); err == nil {
		t.Error("the call was answered")
	}
}
