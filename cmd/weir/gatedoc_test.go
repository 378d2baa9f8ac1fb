// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"testing"
)

// TestTwoSecondCheck runs the commands of docs/gate.md on the fixture, and
// holds that they print what is shown there: on a result of 2,000 Chinese
// characters, the bytes that -raw keeps are one JSON object a line, in strict
// UTF-8, with LF alone.
func TestTwoSecondCheck(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are for a shell")
	}
	for _, program := range []string{"sh", "xxd", "iconv"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is not installed", program)
		}
	}
	doc, err := os.ReadFile("../../docs/gate.md")
	if err != nil {
		t.Fatal(err)
	}
	block := func(marker string) string {
		m := regexp.MustCompile("(?s)<!-- " + marker + " by TestTwoSecondCheck -->\n```\\w*\n(.*?)```\n").FindSubmatch(doc)
		if m == nil {
			t.Fatalf("docs/gate.md has no block %q", marker)
		}
		return string(m[1])
	}
	bin := t.TempDir()
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), ".", "../../examples/fixture")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	cmd := exec.Command("sh", "-c", block("run"))
	cmd.Dir = t.TempDir()
	cmd.Env = append(os.Environ(), "PATH="+bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if want := block("printed"); string(out) != want {
		t.Errorf("the commands printed\n%s\nand docs/gate.md shows\n%s", out, want)
	}
	// The raw bytes are what was shown, and nothing was lost on the way.
	shown, err := os.ReadFile(filepath.Join(cmd.Dir, "shown"))
	if err != nil {
		t.Fatal(err)
	}
	if n := len([]rune(string(shown))); n != 2001 { // and an LF
		t.Errorf("weir call showed %d characters", n)
	}
}
