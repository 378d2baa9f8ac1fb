// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	if os.Getenv("SCHEMAPORT") != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// TestPort runs the commands of docs/porting.md, through real processes, and
// finds what they print there.
func TestPort(t *testing.T) {
	dir := t.TempDir()
	weir := filepath.Join(dir, "weir.exe")
	if out, err := exec.Command("go", "build", "-o", weir, "../../../cmd/weir").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	run := func(status int, args ...string) string {
		t.Helper()
		cmd := exec.Command(weir, append([]string{"schema"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "SCHEMAPORT=1")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			err = nil
		}
		if err != nil || cmd.ProcessState.ExitCode() != status {
			t.Fatalf("weir schema %s: %v, exit status %d, want %d: %s", args, err, cmd.ProcessState.ExitCode(), status, out)
		}
		return string(out)
	}
	doc, err := os.ReadFile(filepath.Join("..", "..", "porting.md"))
	if err != nil {
		t.Fatal(err)
	}
	saved := run(0, "--", self, "-state", "hand")
	if err := os.WriteFile(filepath.Join(dir, "tools.json"), []byte(saved), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"the lint by hand": run(1, "-lint", "tools.json"),
		"the first diff":   run(1, "-diff", "tools.json", "--", self, "-state", "first"),
		"the last diff":    run(0, "-diff", "tools.json", "--", self),
	} {
		if !strings.Contains(strings.ReplaceAll(string(doc), "\r", ""), "```\n"+text+"```\n") {
			t.Errorf("docs/porting.md does not have %s:\n%s", name, text)
		}
	}
	run(0, "-lint", "-strict", "--", self)
}
