// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package porting

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/server"
	"github.com/weir-mcp/weir/server/servertest"
	"github.com/weir-mcp/weir/tool"
)

// TestMain is also a git that never ends, for a test that cancels it.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "git" {
		time.Sleep(time.Hour)
	}
	goleak.VerifyTestMain(m)
}

func run(t *testing.T, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}

// many makes a repository of n commits.
func many(t *testing.T, n int) string {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	run(t, dir, "", "init", "-q", "-b", "main")
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "commit refs/heads/main\ncommitter 林 <lin@example.com> %d +0000\ndata <<E\ncommit %d with a subject of some length\nE\n\n", 1_700_000_000+i, i)
	}
	run(t, dir, b.String(), "fast-import", "--quiet")
	return dir
}

// The union of the pages is the history, though it grows meanwhile.
func TestPaged(t *testing.T) {
	dir := many(t, 1000)
	want := strings.Fields(run(t, dir, "", "rev-list", "main"))
	var tools tool.Registry
	addPaged(&tools, dir)
	in := map[string]any{"revision": "main"}
	var got []string
	for {
		r, err := tools.Call(t.Context(), "git_log", in)
		if err != nil || r.IsError {
			t.Fatalf("%v, %v", err, r)
		}
		var page struct {
			Items      []Commit `json:"items"`
			NextCursor string   `json:"nextCursor"`
		}
		if err := json.Unmarshal(r.Structured.(jsontext.Value), &page); err != nil {
			t.Fatal(err)
		}
		for _, c := range page.Items {
			got = append(got, c.Commit)
		}
		if page.NextCursor == "" {
			break
		}
		in["cursor"] = page.NextCursor
		run(t, dir, "commit refs/heads/main\ncommitter A <a@b> 1800000000 +0000\ndata 5\nlater\nfrom refs/heads/main^0\n\n", "fast-import", "--quiet")
	}
	if strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%d commits, want %d", len(got), len(want))
	}
}

// A cancel reaches git: the call is over when the process is, and the next one
// is answered. New fails the test if anything is left behind.
func TestCancelled(t *testing.T) {
	dir := many(t, 1)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, filepath.Join(dir, "git")); err != nil {
		t.Skip(err)
	}
	var tools tool.Registry
	addPaged(&tools, dir)
	srv := &server.Server{Tools: &tools}
	c := servertest.New(t, srv)

	path := os.Getenv("PATH")
	t.Setenv("PATH", dir+string(os.PathListSeparator)+path) // a git that is stuck
	long, err := c.BeginCall(t.Context(), "git_log", nil)
	if err != nil {
		t.Fatal(err)
	}
	for len(srv.Calls()) == 0 || len(srv.Calls()[0].Owns) == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := c.Cancel(long.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	for len(srv.Calls()) > 0 { // it holds its slot until git is gone
		time.Sleep(time.Millisecond)
	}
	t.Setenv("PATH", path)
	if r, err := c.Call(t.Context(), "git_log", nil); err != nil || r.IsError {
		t.Errorf("%v, %v", err, r)
	}
}

// What the page says of the naive tool.
func TestNaive(t *testing.T) {
	dir := many(t, 1000)
	var tools tool.Registry
	addNaive(&tools)
	planted := filepath.Join(t.TempDir(), "planted")
	r, err := tools.Call(t.Context(), "git_log", map[string]any{"repo": dir, "revision": "--output=" + planted})
	if err != nil || r.IsError {
		t.Fatalf("%v, %v", err, r)
	}
	if _, err := os.Stat(planted); err != nil {
		t.Error("git did not take the revision for an option")
	}
	r, err = tools.Call(t.Context(), "git_log", map[string]any{"repo": dir, "revision": "mian"})
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].(result.TextContent).Text, "exit status 128") {
		t.Errorf("%v, %v", err, r)
	}
}

// What it says of the bounded one.
func TestBounded(t *testing.T) {
	dir := many(t, 2000)
	var tools tool.Registry
	addBounded(&tools, dir)
	r, err := tools.Call(t.Context(), "git_log", nil)
	if err != nil || r.IsError {
		t.Fatalf("%v, %v", err, r)
	}
	text := r.Content[0].(result.TextContent).Text
	if len(text) > result.DefaultBytes || !strings.Contains(text, "commit 1999 with") || !strings.Contains(text, "commit 0 with") {
		t.Errorf("%d bytes", len(text))
	}
	for revision, want := range map[string]string{"--output=x": "begins with a dash", "mian": `there is no commit "mian" here`} {
		r, err := tools.Call(t.Context(), "git_log", map[string]any{"revision": revision})
		if err != nil || !r.IsError || !strings.Contains(r.Content[0].(result.TextContent).Text, want) {
			t.Errorf("%s: %v, %v", revision, err, r)
		}
	}
}
