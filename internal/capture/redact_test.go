// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package capture

import (
	"strings"
	"testing"
)

// redactIn writes text in pieces of n bytes.
func redactIn(text string, n int, secrets ...string) string {
	var b strings.Builder
	r := redactor{secrets: NewSecrets(secrets), to: func(p []byte) { b.Write(p) }}
	for len(text) > 0 {
		k := min(n, len(text))
		r.write([]byte(text[:k]))
		text = text[k:]
	}
	r.close()
	return b.String()
}

func TestRedact(t *testing.T) {
	for _, tt := range []struct {
		text    string
		secrets []string
		want    string
	}{
		{"nothing here", []string{"secret"}, "nothing here"},
		{"a secret b", []string{"secret"}, "a [redacted] b"},
		{"secretsecret", []string{"secret"}, "[redacted][redacted]"},
		{"sesecret", []string{"secret"}, "se[redacted]"},
		{"key and keychain", []string{"key", "keychain"}, "[redacted] and [redacted]"},
		{"keychai.", []string{"key", "keychain"}, "[redacted]chai."},
		{"ends with secre", []string{"secret"}, "ends with [redacted]"},
		{"ends with sec", []string{"secret"}, "ends with sec"},
		{"a key at the end: key", []string{"key", "keychain"}, "a [redacted] at the end: [redacted]"},
		{"line\nbreak", []string{"e\nb"}, "lin[redacted]reak"},
		{"ababab", []string{"abab"}, "[redacted]ab"},
		{"xxabyy", []string{"ab", "xxabyyz"}, "[redacted]"},
		{"xxabyy.", []string{"ab", "xxabyyz"}, "xx[redacted]yy."},
		{"", []string{"secret"}, ""},
		{"aaa", []string{"a"}, "[redacted][redacted][redacted]"},
	} {
		for _, n := range []int{1, 2, 3, 5, 100} {
			if got := redactIn(tt.text, n, tt.secrets...); got != tt.want {
				t.Errorf("%q without %q in pieces of %d: %q, want %q", tt.text, tt.secrets, n, got, tt.want)
			}
		}
	}
}

// TestRedactOnce holds that what was passed on is not passed on again after
// whoever received it has panicked.
func TestRedactOnce(t *testing.T) {
	var b strings.Builder
	r := redactor{secrets: NewSecrets([]string{"secret"})}
	write := func(fn func()) {
		defer func() { recover() }()
		fn()
	}
	r.to = func(p []byte) { b.Write(p); panic("enough") }
	write(func() { r.write([]byte("sec")) }) // held back
	write(func() { r.write([]byte("ond, sec")) })
	write(func() { r.write([]byte("onds")) })
	write(r.close)
	write(r.close)
	if got := b.String(); got != "second, ond" { // what a panic interrupts is lost
		t.Errorf("%q", got)
	}
}

// FuzzRedact holds that no secret is left, and that the pieces in which a text
// comes do not matter.
func FuzzRedact(f *testing.F) {
	f.Add("a secret, a secretive one", "secret", "secretive", 3)
	f.Add("abababab", "abab", "babab", 1)
	f.Fuzz(func(t *testing.T, text, a, b string, n int) {
		if n < 1 || a == "" || b == "" || strings.ContainsAny(a+b, redacted) {
			return // a secret might be made of what stands for another
		}
		got := redactIn(text, n, a, b)
		if strings.Contains(got, a) || strings.Contains(got, b) {
			t.Errorf("%q without %q and %q in pieces of %d: %q", text, a, b, n, got)
		}
		if whole := redactIn(text, len(text)+1, a, b); whole != got {
			t.Errorf("in pieces of %d %q, whole %q", n, got, whole)
		}
	})
}
