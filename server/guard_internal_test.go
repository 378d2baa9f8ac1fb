// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"log/slog"
	"net"
	"testing"

	"github.com/weir-mcp/weir/tool"
)

// TestListIsShared holds that the encoded list is made once for each version
// of the registry and revision, and that all sessions share it.
func TestListIsShared(t *testing.T) {
	var tools tool.Registry
	add := func(name string) {
		tool.AddFunc(&tools, tool.Info{Name: name, Description: "does nothing"}, func(context.Context, struct{}) (string, error) { return "", nil })
	}
	add("a")
	srv := &Server{Name: "list", Version: "1", Tools: &tools, Log: slog.New(slog.DiscardHandler)}
	session := func() *session {
		r, w := net.Pipe()
		return newSession(srv, t.Context(), r, w)
	}
	one, two := session(), session()
	for _, revision := range []string{rev2024November, rev2025November, rev2026July} {
		l := one.toolList(revision)
		if two.toolList(revision) != l {
			t.Errorf("%s: each session has a list of its own", revision)
		}
		first := l.page(0, 1<<20)
		if again := l.page(0, 1<<20); again != first {
			t.Errorf("%s: a page is made twice", revision)
		}
	}
	before := one.toolList(rev2025November)
	add("b")
	after := two.toolList(rev2025November)
	if after == before || len(after.names) != 2 || len(before.names) != 1 {
		t.Errorf("after a change: %q, before it: %q", after.names, before.names)
	}
	if one.toolList(rev2025November) != after {
		t.Error("after a change each session has a list of its own")
	}
}
