// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"bytes"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/internal/wire"
	"github.com/weir-mcp/weir/tool"
)

// lenient reads what a host sends beside the arguments: it has been checked
// for syntax already, and lone surrogates in it become U+FFFD.
var lenient = json.JoinOptions(jsontext.AllowInvalidUTF8(true), jsontext.AllowDuplicateNames(true))

// stringOf decodes a JSON string.
func stringOf(v jsontext.Value) (string, bool) {
	s, ok := textOf(v)
	return string(s), ok
}

// textOf is stringOf without a copy where none is needed.
func textOf(v jsontext.Value) ([]byte, bool) {
	if v.Kind() != '"' {
		return nil, false
	}
	if bytes.IndexByte(v, '\\') < 0 {
		return v[1 : len(v)-1], true
	}
	var s string
	err := json.Unmarshal(v, &s, lenient)
	return []byte(s), err == nil
}

// boolMember returns a boolean member of object v: false when it is absent,
// not ok when it is something else.
func boolMember(v jsontext.Value, name string) (value, ok bool) {
	m, present := wire.Params{Present: true, Object: true, Raw: v}.Member(name)
	switch {
	case !present || bytes.Equal(m, []byte("false")):
		return false, true
	case bytes.Equal(m, []byte("true")):
		return true, true
	}
	return false, false
}

// clientOf reads a clientInfo; what is odd in it is ignored, since it is for
// display only.
func clientOf(v jsontext.Value) tool.Client {
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if v == nil || json.Unmarshal(v, &info, lenient) != nil {
		return tool.Client{}
	}
	return tool.Client{Name: info.Name, Version: info.Version}
}
