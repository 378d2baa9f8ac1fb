// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"testing"

	"github.com/weir-mcp/weir/server/servertest"
)

// TestMain is also the server itself, when a test starts it as a child.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_HELLO") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

func TestHello(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self)
	cmd.Env = append(os.Environ(), "WEIR_TEST_HELLO=1")
	c := servertest.Config{}.StartCmd(t, cmd)
	r, err := c.Call(t.Context(), "hello", map[string]any{"name": "世界"})
	if err != nil || r.IsError || r.Text() != "Hello, 世界!" {
		t.Errorf("%v, %v", r, err)
	}
}
