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

func startGit(t *testing.T, conf servertest.Config, flags ...string) *servertest.Client {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(self, flags...)
	cmd.Env = append(os.Environ(), "WEIR_TEST_GIT=1")
	return conf.StartCmd(t, cmd)
}

// The whole server, as a child process, in both eras: list, page to the end, and
// look at what was found.
func TestServer(t *testing.T) {
	dir := initRepo(t, t.TempDir())
	history(t, dir, 400)
	git(t, dir, "reset", "-q", "--hard")
	write(t, dir, map[string]string{"目录/文件.txt": "水\n"})
	commit(t, dir, "with a Chinese name")
	for _, tt := range []struct {
		protocol string
		flags    []string
		tools    int
	}{{"2025-11-25", []string{"-root", dir}, 8}, {"2026-07-28", []string{"-root", dir, "-write"}, 12}} {
		c := startGit(t, servertest.Config{Protocol: tt.protocol}, tt.flags...)
		tools, err := c.Tools(t.Context())
		if err != nil || len(tools) != tt.tools {
			t.Fatalf("%s: %d tools, %v", tt.protocol, len(tools), err)
		}
		in := args{"maxBytes": 8192}
		seen := make(map[string]bool)
		for {
			r, err := c.Call(t.Context(), "git_log", in)
			if err != nil || r.IsError {
				t.Fatalf("%s: %v, %v", tt.protocol, r, err)
			}
			var p page[Commit, none]
			if err := json.Unmarshal(r.Structured, &p); err != nil {
				t.Fatal(err)
			}
			for _, item := range p.Items {
				seen[item.Commit] = true
			}
			if p.NextCursor == "" {
				break
			}
			in["cursor"] = p.NextCursor
		}
		if len(seen) != 401 {
			t.Errorf("%s: %d commits", tt.protocol, len(seen))
		}
		for name, want := range map[string]string{
			"git_status": "On branch main", "git_diff": "There are no more", "git_show": "目录/文件.txt", "git_branches": "* main", "git_ls_files": "目录/文件.txt",
		} {
			r, err := c.Call(t.Context(), name, nil)
			if err != nil || r.IsError || !strings.Contains(r.Text(), want) {
				t.Errorf("%s: %s: %v, %v", tt.protocol, name, r, err)
			}
		}
		for name, in := range map[string]args{"git_blame": {"path": "目录/文件.txt"}, "git_grep": {"pattern": "水"}} {
			r, err := c.Call(t.Context(), name, in)
			if err != nil || !strings.Contains(r.Text(), "1: 水") && !strings.Contains(r.Text(), ":1:1:水") {
				t.Errorf("%s: %s: %v, %v", tt.protocol, name, r, err)
			}
		}
		r, err := c.Call(t.Context(), "git_log", args{"range": "mian"})
		if err != nil || !r.IsError || !strings.Contains(r.Text(), "main") {
			t.Errorf("%s: %v, %v", tt.protocol, r, err)
		}
	}
}
