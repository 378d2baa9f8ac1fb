// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/weir-mcp/weir/internal/quote"
)

// identity fills an empty name with the program's and an empty version with
// the main module's.
func identity(name, version string) (string, string) {
	if name == "" {
		if exe, err := os.Executable(); err == nil {
			name = strings.TrimSuffix(filepath.Base(exe), ".exe")
		} else {
			name = "weir"
		}
	}
	if version == "" {
		version = "(devel)"
		if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
			version = info.Main.Version
		}
	}
	return name, version
}

// implementation is the protocol's Implementation object.
func implementation(name, version, title string) []byte {
	b := append([]byte(nil), `{"name":`...)
	b = quote.Append(b, name)
	if title != "" {
		b = append(b, `,"title":`...)
		b = quote.Append(b, title)
	}
	b = append(b, `,"version":`...)
	b = quote.Append(b, version)
	return append(b, '}')
}
