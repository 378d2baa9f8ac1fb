// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servertest

import (
	"fmt"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// match compares a JSON text with what is expected of it; see Play. The error
// says where they differ.
func match(want string, got []byte) error {
	if !jsontext.Value(want).IsValid() {
		return fmt.Errorf("the expected line is not JSON")
	}
	if !jsontext.Value(got).IsValid() {
		return fmt.Errorf("the line is not JSON")
	}
	return matchValue("$", jsontext.Value(want), jsontext.Value(got))
}

func matchValue(path string, want, got jsontext.Value) error {
	var s string
	if want.Kind() == '"' {
		if err := json.Unmarshal(want, &s); err != nil {
			return err
		}
		if s == "*" {
			return nil
		}
	}
	if want.Kind() != got.Kind() {
		return fmt.Errorf("at %s: %s, want %s", path, clip(got), clip(want))
	}
	switch want.Kind() {
	case '"':
		var have string
		if err := json.Unmarshal(got, &have); err != nil {
			return err
		}
		if !glob(s, have) {
			return fmt.Errorf("at %s: %q, want %q", path, have, s)
		}
	case '{':
		return matchObject(path, want, got)
	case '[':
		var w, g []jsontext.Value
		if err := json.Unmarshal(want, &w); err != nil {
			return err
		}
		if err := json.Unmarshal(got, &g); err != nil {
			return err
		}
		if len(w) != len(g) {
			return fmt.Errorf("at %s: %d elements, want %d", path, len(g), len(w))
		}
		for i := range w {
			if err := matchValue(fmt.Sprintf("%s[%d]", path, i), w[i], g[i]); err != nil {
				return err
			}
		}
	default:
		if string(want) != string(got) {
			return fmt.Errorf("at %s: %s, want %s", path, got, want)
		}
	}
	return nil
}

func matchObject(path string, want, got jsontext.Value) error {
	var w, g map[string]jsontext.Value
	if err := json.Unmarshal(want, &w); err != nil {
		return err
	}
	if err := json.Unmarshal(got, &g); err != nil {
		return err
	}
	_, more := w["*"]
	delete(w, "*")
	for name, v := range w {
		have, ok := g[name]
		if !ok {
			return fmt.Errorf("at %s: no %q", path, name)
		}
		if err := matchValue(path+"."+name, v, have); err != nil {
			return err
		}
	}
	for name := range g {
		if _, ok := w[name]; !ok && !more {
			return fmt.Errorf("at %s: %q was not expected", path, name)
		}
	}
	return nil
}

// glob matches s with a pattern in which * stands for any characters.
func glob(pattern, s string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == s
	}
	s, ok := strings.CutPrefix(s, first)
	if !ok {
		return false
	}
	for {
		part, next, star := strings.Cut(rest, "*")
		if !star {
			return strings.HasSuffix(s, part)
		}
		i := strings.Index(s, part)
		if i < 0 {
			return false
		}
		s, rest = s[i+len(part):], next
	}
}

// clip shortens b for a message.
func clip(b []byte) string {
	if len(b) > 400 {
		return fmt.Sprintf("%s… (%d bytes)", b[:400], len(b))
	}
	return string(b)
}
