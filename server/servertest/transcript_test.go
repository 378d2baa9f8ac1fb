// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestTranscripts(t *testing.T) {
	Transcripts(t, "testdata/*.txtar", func(*testing.T) Server { return answers{} })
}

// TestPlayFinds: a transcript fails, with the line, at each difference.
func TestPlayFinds(t *testing.T) {
	const ping = `> {"jsonrpc":"2.0","id":1,"method":"ping"}` + "\n"
	tests := []struct{ transcript, want string }{
		{ping + `< {"jsonrpc":"2.0","id":"1","result":{}}`, `transcript:2: at $.id: 1, want "1"`},
		{ping + `< {"jsonrpc":"2.0","id":1,"result":{"a":1}}`, `at $.result: no "a"`},
		{ping + `< {"jsonrpc":"2.0","id":1}`, `at $: "result" was not expected`},
		{ping + `< {"jsonrpc":"2.0","id":1,"result":[]}`, `at $.result: {}, want []`},
		{`> {"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"hello"}}` + "\n" + `< {"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
			`at $.result.content: 1 elements, want 0`},
		{ping + `< {"jsonrpc":"2.0","id":1,`, `the expected line is not JSON`},
		{ping + `< (nothing)`, `nothing more was expected, and this came: {"jsonrpc":"2.0","id":1,`},
		{ping, `the end was expected, and this came: {"jsonrpc":"2.0","id":1,`},
		{ping + `<? {"jsonrpc":"2.0","id":2,"result":{}}`, `none of these was expected to be {"jsonrpc":"2.0","id":1,"result":{}}`},
		{"> (eof)\n<? {}", "waiting for one of\n\t{}"},
		{"> (eof)\n< {}", "transcript:2: waiting for {}: "},
		{"> (dance)", "nothing is known of (dance)"},
		{"hello", `a line begins with >, >>, <, <? or #, not with "hello"`},
		{`>> "`, "invalid syntax"},
	}
	for _, tt := range tests {
		failed, _ := watch(func(t testing.TB) { New(t, answers{}).Play(tt.transcript) })
		if !strings.Contains(failed, tt.want) {
			t.Errorf("%s\nthe test was told %q, want %q", tt.transcript, failed, tt.want)
		}
	}
}

func TestGlob(t *testing.T) {
	tests := []struct {
		pattern, s string
		want       bool
	}{
		{"", "", true}, {"a", "a", true}, {"a", "b", false}, {"a*", "abc", true}, {"*c", "abc", true}, {"*b*", "abc", true},
		{"a*c*", "abc", true}, {"a*b*c", "abc", true}, {"ab*bc", "abc", false}, {"*x*", "abc", false}, {"b*", "abc", false}, {"**", "", true},
	}
	for _, tt := range tests {
		if got := glob(tt.pattern, tt.s); got != tt.want {
			t.Errorf("glob(%q, %q) = %v", tt.pattern, tt.s, got)
		}
	}
}

// FuzzMatch: a JSON text without wildcards matches itself, and only what has
// the same value.
func FuzzMatch(f *testing.F) {
	f.Add(`{"a":[1,"x",null],"b":{}}`, `{"b":{},"a":[1,"x",null]}`)
	f.Add(`"a*c"`, `"abc"`)
	f.Add(`[1,2]`, `[1]`)
	f.Fuzz(func(t *testing.T, want, got string) {
		match(want, []byte(got)) // must not panic
		v := jsontext.Value(want)
		if strings.Contains(want, "*") || !v.IsValid() {
			return
		}
		if err := match(want, v); err != nil {
			t.Errorf("%s does not match itself: %v", want, err)
		}
	})
}
