// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/weir-mcp/weir/server/servertest"
)

func startGrep(t *testing.T, conf servertest.Config, dir string) *servertest.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, "-root", dir)
	cmd.Env = append(os.Environ(), "WEIR_TEST_GREP=1")
	return conf.StartCmd(t, cmd)
}

// The whole server, as a child process, in both eras: list, page to the end, and
// read what was found.
func TestServer(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{"a.txt": strings.Repeat("匹配 match\n", 700), "b.txt": "match\n"})
	for _, protocol := range []string{"2025-11-25", "2026-07-28"} {
		c := startGrep(t, servertest.Config{Protocol: protocol}, dir)
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != 2 {
			t.Fatalf("%s: %d tools, %v", protocol, len(tools), err)
		}
		in := args{"pattern": "match"}
		n := 0
		for {
			r, err := c.Call(t.Context(), "grep", in)
			if err != nil || r.IsError {
				t.Fatalf("%s: %v, %v", protocol, r, err)
			}
			var p matchPage
			if err := json.Unmarshal(r.Structured, &p); err != nil {
				t.Fatal(err)
			}
			n += len(p.Items)
			if p.NextCursor == "" {
				break
			}
			in["cursor"] = p.NextCursor
		}
		if n != 701 {
			t.Errorf("%s: %d matches", protocol, n)
		}
		r, err := c.Call(t.Context(), "read_file", args{"path": "a.txt", "startLine": 700})
		if err != nil || !strings.HasSuffix(r.Text(), "700\t匹配 match") {
			t.Errorf("%s: %v, %v", protocol, r, err)
		}
	}
}
