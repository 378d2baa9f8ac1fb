// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/weir-mcp/weir/exec"
)

func TestRecords(t *testing.T) {
	for _, tt := range []struct {
		name   string
		pieces []string
		end    byte
		want   []string
	}{
		{"NUL", []string{"a\\nb\\x00", "\\x00c\\r\\n\\x00d"}, 0, []string{"a\nb", "", "c\r\n", "d"}},
		{"CR kept", []string{"a\\r\\nb\\n\\r\\n"}, '\n', []string{"a\r", "b", "\r"}},
		{"bytes kept", []string{"\\xff\\x00"}, 0, []string{"\xff"}},
		{"none", nil, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for r, err := range exec.Records(t.Context(), child(t, "pieces", tt.pieces...), tt.end) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(r.Bytes))
			}
			if !slices.Equal(got, tt.want) {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

// TestRecordsEnd holds that a long record is bounded, and that how the child
// ended comes last, as for Lines.
func TestRecordsEnd(t *testing.T) {
	cmd := exec.Shell("head -c 100000 /dev/zero; printf x; exit 3")
	var last error
	var sizes []int
	var dropped int64
	for r, err := range exec.Records(t.Context(), cmd, 'x') {
		if last = err; err == nil {
			sizes, dropped = append(sizes, len(r.Bytes)), r.Dropped
		}
	}
	var exit *exec.ExitError
	if !errors.As(last, &exit) || exit.Output.ExitCode != 3 || !strings.Contains(last.Error(), "3") {
		t.Errorf("the end: %v", last)
	}
	if !slices.Equal(sizes, []int{exec.MaxLine}) || dropped != 100000-exec.MaxLine {
		t.Errorf("records of %v bytes, %d dropped", sizes, dropped)
	}
}
