// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"strings"
	"testing"
)

// seek looks for the id in pieces of n bytes.
func seek(frame string, n int) ID {
	var s idSeeker
	for frame != "" {
		piece := frame[:min(n, len(frame))]
		s.feed([]byte(piece))
		frame = frame[len(piece):]
	}
	return s.id()
}

func TestSeekID(t *testing.T) {
	tests := []struct{ name, frame, want string }{
		{"in front", `{"jsonrpc":"2.0","id":1,"params":{`, `1`},
		{"behind", `{"params":{"a":[{"b":"}"}]},"id":1}`, `1`},
		{"last scalar", `{"a":true,"id":-1.5e3}`, `-1.5e3`},
		{"a string", `{"id":"a\"b"}`, `"a\"b"`},
		{"escaped name", `{"\u0069\u0064":7}`, `7`},
		{"with blanks", " { \"id\" :\t7 , \"x\" : 1 }\r", `7`},
		{"all digits: case 12", `{"id":9007199254740993}`, `9007199254740993`},
		{"cut off after it", `{"id":7,"text":"abc`, `7`},
		{"1 KiB", `{"id":"` + strings.Repeat("x", 1024) + `"}`, `"` + strings.Repeat("x", 1024) + `"`},

		{"nested", `{"params":{"id":1}}`, ``},
		{"in an array", `[{"id":1}]`, ``},
		{"in a string", `{"a":"\"id\":1","b":"{\"id\":1}"}`, ``},
		{"a value called id", `{"a":"id","b":1}`, ``},
		{"a string with a backslash at its end", `{"a":"\\","id":1}`, `1`},
		{"other case: case 51", `{"ID":1,"Id":2}`, ``},
		{"longer names", `{"idx":1,"` + strings.Repeat("id", 3000) + `":2,"\u0069\u0064\u0064":3}`, ``},
		{"twice: case 51", `{"id":1,"id":2}`, ``},
		{"twice, once escaped: case 51", `{"id":1,"\u0069d":1}`, ``},
		{"null: case 12", `{"id":null}`, ``},
		{"object: case 12", `{"id":{"id":1}}`, ``},
		{"array: case 12", `{"id":[1]}`, ``},
		{"array, then a number: case 12", `{"id":[1],"id":1}`, ``},
		{"a lone surrogate", `{"id":"\ud800"}`, ``},
		{"above 1 KiB", `{"id":"` + strings.Repeat("x", 1025) + `"}`, ``},
		{"far above 1 KiB", `{"id":` + strings.Repeat("1", 5000) + `}`, ``},
		{"cut off inside it", `{"id":123`, ``},
		{"cut off inside a string", `{"id":"abc`, ``},
		{"not an object", `"id"`, ``},
		{"not JSON", `xx{"id":1}`, ``},
		{"not JSON later", `{"id":1 2}`, ``},
		{"no value", `{"id":,"a":1}`, ``},
		{"nothing", ``, ``},
		{"empty object", `{}`, ``},
		{"a second object", `{"a":1}{"id":1}`, ``},
		{"text behind it", `{"id":1}x`, `1`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for n := 1; n <= max(len(tt.frame), 1) && n < 40; n++ {
				if got := seek(tt.frame, n); got.Raw != tt.want {
					t.Fatalf("in pieces of %d: id %.40q, want %.40q", n, got.Raw, tt.want)
				}
			}
		})
	}
}

// FuzzSeekID: the pieces make no difference, and where Parse takes the frame it
// finds the same id.
func FuzzSeekID(f *testing.F) {
	f.Add(`{"jsonrpc":"2.0","params":{"id":[1]},"method":"m","id":"a\"\u0041"}`, 3)
	f.Add(`{"jsonrpc":"2.0","id": 1.5 ,"method":"m","x":"\\"}`, 1)
	f.Add(`{"jsonrpc":"2.0","\u0069d":true,"result":[{}]}`, 1)
	f.Fuzz(func(t *testing.T, frame string, n int) {
		n = max(1, n%64)
		frame = strings.ReplaceAll(frame, "\n", " ") // which no frame has
		got := seek(frame, n)
		if whole := seek(frame, len(frame)); whole != got {
			t.Fatalf("%q: %v at once, %v in pieces of %d", frame, whole, got, n)
		}
		if m, err := Parse([]byte(frame)); err == nil && m.ID != got {
			t.Fatalf("%q: %v, and Parse says %v", frame, got, m.ID)
		}
	})
}
