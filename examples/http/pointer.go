// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

// parsePointer splits a JSON Pointer (RFC 6901) into names.
func parsePointer(s string) ([]string, error) {
	if s == "" {
		return nil, nil
	}
	if s[0] != '/' {
		return nil, fmt.Errorf("%q is no JSON Pointer: it begins with /, as /items/0/name does", cut(s, 100))
	}
	for rest := s; ; {
		_, after, ok := strings.Cut(rest, "~")
		if !ok {
			break
		}
		if after == "" || after[0] != '0' && after[0] != '1' {
			return nil, fmt.Errorf("%q is no JSON Pointer: a ~ is written ~0, and a / within a name ~1", cut(s, 100))
		}
		rest = after
	}
	names := strings.Split(s[1:], "/")
	for i := range names {
		names[i] = unescape.Replace(names[i])
	}
	return names, nil
}

// A selector is what of a value is wanted: all of it, or these members; of a
// list, those of each element.
type selector struct {
	members map[string]*selector // nil: all of it
	field   string               // that asks for it; "" for one that leads to others
	met     bool                 // there was such a value
}

// parseFields reads names of members: "name", "user.login" or "/user/login".
func parseFields(fields []string) (*selector, error) {
	if len(fields) == 0 {
		return new(selector), nil
	}
	root := &selector{members: make(map[string]*selector)}
	for _, f := range fields {
		names := strings.Split(f, ".")
		if strings.HasPrefix(f, "/") {
			var err error
			if names, err = parsePointer(f); err != nil {
				return nil, fmt.Errorf("fields: %w", err)
			}
		}
		s := root
		for i, name := range names {
			if name == "" {
				return nil, errors.New("fields: an empty name; write them like name, user.login or /user/login")
			}
			if s.members == nil {
				break // all of it is wanted already
			}
			next := s.members[name]
			switch {
			case i == len(names)-1:
				next = &selector{field: f}
			case next == nil:
				next = &selector{members: make(map[string]*selector)}
			}
			s.members[name] = next
			s = next
		}
	}
	return root, nil
}

// member is what of a member is wanted; nil is nothing.
func (s *selector) member(name string) *selector {
	if s.members == nil {
		return s
	}
	return s.members[name]
}

// dotted is a field as an API is given it.
func dotted(field string) string {
	if names, err := parsePointer(field); err == nil && names != nil {
		return strings.Join(names, ".")
	}
	return field
}

// unmet are the fields that were found nowhere.
func (s *selector) unmet() (fields []string) {
	if s.members == nil && !s.met {
		return []string{s.field}
	}
	for _, name := range slices.Sorted(maps.Keys(s.members)) {
		fields = append(fields, s.members[name].unmet()...)
	}
	return fields
}
