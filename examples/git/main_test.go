// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/result"
	"github.com/weir-mcp/weir/tool"
)

// TestMain is also the server itself, when a test starts it as a child. The
// user's own configuration is kept from all tests.
func TestMain(m *testing.M) {
	if os.Getenv("WEIR_TEST_GIT") != "" {
		main()
		return
	}
	home, err := os.MkdirTemp("", "weir-git-home-")
	if err != nil {
		panic(err)
	}
	os.Setenv("HOME", home)
	os.Unsetenv("XDG_CONFIG_HOME")
	os.Setenv("TZ", "UTC")
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		os.RemoveAll(home)
		os.Exit(code)
	}))
}

// needGit skips a test where git is missing or too old.
func needGit(t testing.TB) {
	t.Helper()
	if err := (&roots{program: "git"}).checkVersion(t.Context()); err != nil {
		t.Skip(err)
	}
}

// git runs git for a test, with fixed names and dates.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	return gitIn(t, dir, "", args...)
}

func gitIn(t testing.TB, dir, stdin string, args ...string) string {
	t.Helper()
	cmd := gitCmd(dir, args...)
	cmd.Stdin = strings.NewReader(stdin)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSuffix(string(out), "\n")
}

func gitCmd(dir string, args ...string) *exec.Cmd {
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(),
		"GIT_CONFIG_NOSYSTEM=1", "LC_ALL=C",
		"GIT_AUTHOR_NAME=林 Ada", "GIT_AUTHOR_EMAIL=ada@example.com", "GIT_AUTHOR_DATE=2024-05-01T10:00:00+0200",
		"GIT_COMMITTER_NAME=林 Ada", "GIT_COMMITTER_EMAIL=ada@example.com", "GIT_COMMITTER_DATE=2024-05-01T10:00:00+0200")
	return cmd
}

// initRepo makes an empty repository in dir.
func initRepo(t testing.TB, dir string) string {
	t.Helper()
	needGit(t)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	git(t, dir, "init", "-q", "-b", "main")
	return dir
}

// write makes files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// commit stages everything and commits it, and returns the id.
func commit(t testing.TB, dir, message string) string {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "--allow-empty", "-m", message)
	return git(t, dir, "rev-parse", "HEAD")
}

// history commits n times to an empty repository, one commit a minute.
func history(t testing.TB, dir string, n int) {
	t.Helper()
	var b strings.Builder
	for i := range n {
		who := "Ada <ada@example.com>"
		if i%100 == 7 {
			who = "Bob <bob@example.com>"
		}
		message := fmt.Sprintf("commit %d", i)
		fmt.Fprintf(&b, "commit refs/heads/main\nauthor %s %d +0000\ncommitter %s %d +0000\ndata %d\n%s\n", who, 1_600_000_000+60*i, who, 1_600_000_000+60*i, len(message), message)
		fmt.Fprintf(&b, "M 100644 inline f%d.txt\ndata %d\n%s\n", i%50, len(message), message)
	}
	gitIn(t, dir, b.String(), "fast-import", "--quiet")
}

// serve returns the tools over these roots.
func serve(t testing.TB, roots ...string) *tool.Registry {
	t.Helper()
	g, err := openRoots(roots)
	if err != nil {
		t.Fatal(err)
	}
	return newTools(g)
}

type args map[string]any

// A page is what the tools answer, as a host reads it.
type page[T, E any] struct {
	Items         []T    `json:"items"`
	Truncated     bool   `json:"truncated"`
	NextCursor    string `json:"nextCursor"`
	TotalEstimate *int64 `json:"totalEstimate"`
	Omitted       int    `json:"omitted"`
	Extra         E      `json:",inline"`
}

type none struct{}

func textOf(r result.Result) string {
	var all []string
	for _, c := range r.Content {
		if t, ok := c.(result.TextContent); ok {
			all = append(all, t.Text)
		}
	}
	return strings.Join(all, "\n")
}

// call calls a tool that must succeed, and decodes its page.
func call[T, E any](t testing.TB, tools *tool.Registry, name string, in args) (page[T, E], string) {
	t.Helper()
	var p page[T, E]
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if r.IsError {
		t.Fatalf("%s %v: %s", name, in, textOf(r))
	}
	if err := json.Unmarshal(r.Structured.(jsontext.Value), &p); err != nil {
		t.Fatal(err)
	}
	return p, textOf(r)
}

// all follows the cursors to the end, and calls between after each page but the
// last, if it is not nil.
func all[T any](t testing.TB, tools *tool.Registry, name string, in args, between func(page int)) (items []T, pages int) {
	t.Helper()
	with := args{}
	for k, v := range in {
		with[k] = v
	}
	for {
		p, text := call[T, jsontext.Value](t, tools, name, with)
		if p.Truncated != (p.NextCursor != "") {
			t.Fatalf("%s: truncated is %v, the cursor %q", name, p.Truncated, p.NextCursor)
		}
		items = append(items, p.Items...)
		pages++
		if p.NextCursor == "" {
			return items, pages
		}
		if !strings.Contains(text[:min(len(text), 2048)], p.NextCursor) {
			t.Fatalf("%s: the text does not begin with the cursor", name)
		}
		with["cursor"] = p.NextCursor
		if between != nil {
			between(pages)
		}
	}
}

// refused calls a tool that must fail, and returns the text that a model reads.
func refused(t testing.TB, tools *tool.Registry, name string, in args) string {
	t.Helper()
	r, err := tools.Call(t.Context(), name, in)
	if err != nil {
		t.Fatal(err)
	}
	if !r.IsError || r.Structured != nil {
		t.Errorf("%s %v: not an error: %s", name, in, textOf(r))
	}
	return textOf(r)
}

// What hosts are known to reject is not in the list of tools.
func TestLint(t *testing.T) {
	g := &roots{write: true}
	for _, f := range newTools(g).Lint() {
		t.Errorf("%+v", f)
	}
}
