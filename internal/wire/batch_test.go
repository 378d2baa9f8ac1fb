// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"fmt"
	"strings"
	"testing"
)

func TestSplitBatch(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"two", `[{"a":1}, 5 ]`, `{"a":1}|5`},
		{"one", ` [ {} ] `, `{}`},
		{"nested", `[[1,[2]],"]"]`, `[1,[2]]|"]"`},
		{"three, the limit", `[1,2,3]`, `1|2|3`},
		{"four", `[1,2,3,4]`, "error -32600"},
		{"none", `[]`, "error -32600"},
		{"none, blank", ` [ ] `, "error -32600"},
		{"an object", `{}`, "error -32600"},
		{"not JSON", `x`, "error -32700"},
		{"not ended", `[1`, "error -32700"},
		{"comma at the end", `[1,]`, "error -32700"},
		{"no comma", `[1 2]`, "error -32700"},
		{"more behind it", `[1] 2`, "error -32700"},
		{"syntax before number", `[1,2,3,4,x]`, "error -32700"},
		{"bad UTF-8", "[\"\xff\"]", "error -32700"},
		{"nothing", ``, "error -32700"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members, err := SplitBatch([]byte(tt.frame), 3)
			var parts []string
			for _, m := range members {
				parts = append(parts, string(m))
				if cap(m) != len(m) {
					t.Errorf("%s can grow into the next", m)
				}
			}
			got := strings.Join(parts, "|")
			if err != nil {
				got = fmt.Sprint("error ", err.Code)
			}
			if got != tt.want {
				t.Errorf("SplitBatch(%q) = %s, want %s", tt.frame, got, tt.want)
			}
		})
	}
}

func TestIsBatch(t *testing.T) {
	for frame, want := range map[string]bool{`[1]`: true, " \t\r[": true, `{}`: false, `"["`: false, ``: false, ` `: false} {
		if got := IsBatch([]byte(frame)); got != want {
			t.Errorf("IsBatch(%q) = %v", frame, got)
		}
	}
}
