// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "testing"

// TestNearest has what is taken for a slip of the pen (case 49).
func TestNearest(t *testing.T) {
	known := []string{"pattern", "path", "maxBytes", "in"}
	for name, want := range map[string]string{
		"patern": "pattern", "PATTERN": "pattern", "pattren": "pattern", "patterns": "pattern", "max-bytes": "maxBytes", "MAX_BYTES": "maxBytes",
		"pth": "path", "paths": "path", "In": "in", "on": "", "zzz": "", "": "", "p": "", "directory": "",
	} {
		if got := nearest(name, known); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}
