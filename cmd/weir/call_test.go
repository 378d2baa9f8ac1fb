// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/host"
)

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	mu sync.Mutex // guards b
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestInterruptStatus: the exit status after a signal, which the scripts
// cannot see.
func TestInterruptStatus(t *testing.T) {
	signals := make(chan os.Signal, 1)
	var out lockedBuffer
	errs := &trigger{text: "fake server is up", then: func() { signals <- os.Interrupt }}
	env := &environment{stdout: &out, stderr: errs, signals: signals}
	if got := run(env, []string{"call", "slow", "--", "fakeserver"}); got != exitInterrupted {
		t.Errorf("exit status %d, want %d; stderr %s", got, exitInterrupted, errs)
	}
}

// TestSecondInterrupt: it kills the server at once, whatever its grace.
func TestSecondInterrupt(t *testing.T) {
	signals := make(chan os.Signal, 2)
	var out lockedBuffer
	note := filepath.Join(t.TempDir(), "note")
	errs := &trigger{text: "fake server is up", then: func() { signals <- os.Interrupt; signals <- os.Interrupt }}
	env := &environment{stdout: &out, stderr: errs, signals: signals, grace: time.Hour}
	if got := run(env, []string{"call", "slow", "--", "fakeserver", "-stubborn", "-note", note}); got != exitInterrupted {
		t.Errorf("exit status %d, want %d; stderr %s", got, exitInterrupted, errs)
	}
}

// trigger does something once when a text was written.
type trigger struct {
	lockedBuffer
	text string
	then func()
	once sync.Once
}

func (t *trigger) Write(p []byte) (int, error) {
	n, err := t.lockedBuffer.Write(p)
	if strings.Contains(t.String(), t.text) {
		t.once.Do(t.then)
	}
	return n, err
}

// TestTerminal: on a terminal a status line stands below the pages and leaves
// with the end, and nothing that a server sends can steer the terminal.
func TestTerminal(t *testing.T) {
	var out, errs lockedBuffer
	env := &environment{stdout: &out, stderr: &errs, outTerminal: true, errTerminal: true}
	if got := run(env, []string{"call", "-all", "pages", `{"q":"x"}`, "--", "fakeserver"}); got != exitOK {
		t.Fatalf("exit status %d; stderr %s", got, errs.String())
	}
	if got, want := out.String(), "one two\nthree\n"; got != want {
		t.Errorf("stdout is %q, want %q", got, want)
	}
	shown := errs.String()
	if !strings.Contains(shown, "\r\x1b[K1 pages, 2 of 3 items, ") || !strings.HasSuffix(shown, "\r\x1b[K") {
		t.Errorf("stderr is %q", shown)
	}
	if got := harmless("a\x1b[31mb\tc\n\u009b"); got != "a\uFFFD[31mb\tc\n\uFFFD" {
		t.Errorf("harmless: %q", got)
	}
}

func TestStatus(t *testing.T) {
	var w, next lockedBuffer
	s := status{w: &w, next: &next, on: true}
	s.set("50 %\nof " + strings.Repeat("é", 100))
	s.Write([]byte("from the server\n"))
	s.Write([]byte("again\n"))
	if got, want := w.String(), "\r\x1b[K50 % of "+strings.Repeat("é", 69)+"…\r\x1b[K"; got != want {
		t.Errorf("status wrote %q, want %q", got, want)
	}
	if got := next.String(); got != "from the server\nagain\n" {
		t.Errorf("passed through: %q", got)
	}
	s.on = false
	s.set("nothing")
	if strings.Contains(w.String(), "nothing") {
		t.Error("a status was shown without a terminal")
	}
}

func TestOneLine(t *testing.T) {
	tests := []struct {
		in    string
		width int
		want  string
	}{
		{"short", 10, "short"},
		{" first\nsecond", 10, "first …"},
		{"exactly ten", 11, "exactly ten"},
		{"exactly ten", 10, "exactly t…"},
		{"ééééé", 3, "éé…"},
		{"a\tb\x1b", 0, "a b\uFFFD"},
		{"", 5, ""},
	}
	for _, tt := range tests {
		if got := oneLine(tt.in, tt.width); got != tt.want {
			t.Errorf("oneLine(%q, %d) = %q, want %q", tt.in, tt.width, got, tt.want)
		}
	}
}

func TestArguments(t *testing.T) {
	list, err := readTools([]byte(`{"tools":[{"name":"x","inputSchema":{"properties":{"b":{"type":"object","properties":{"deep":{}}},"a":true},"required":["a"]}},{"name":"y","inputSchema":{}}]}`))
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	if got := list[0].arguments(); got != "[b] a" {
		t.Errorf("arguments: %q", got)
	}
	if got := list[1].arguments(); got != "" {
		t.Errorf("arguments: %q", got)
	}
}

// TestRawFull: a file that cannot be written is an error, though late.
func TestRawFull(t *testing.T) {
	full := "/dev/full"
	if _, err := os.Stat(full); err != nil {
		t.Skip("no /dev/full here")
	}
	var out, errs lockedBuffer
	env := &environment{stdout: &out, stderr: &errs}
	if got := run(env, []string{"call", "-raw", full, "hello", "--", "fakeserver"}); got != exitServer || !strings.Contains(errs.String(), "weir call: -raw: ") {
		t.Errorf("exit status %d; stderr %s", got, errs.String())
	}
}

func TestIsTerminal(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "f"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	null, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer null.Close()
	if isTerminal(file) || isTerminal(null) {
		t.Error("a file or the null device passes for a terminal")
	}
}

func TestEraFlag(t *testing.T) {
	for in, want := range map[string]string{"legacy": host.LatestLegacy, "modern": host.LatestModern, "2024-11-05": "2024-11-05"} {
		var e eraFlag
		if err := e.Set(in); err != nil || e.protocol() != want {
			t.Errorf("-era %s: %q, %v", in, e.protocol(), err)
		}
	}
	if e := eraFlag(""); e.protocol() != host.LatestLegacy {
		t.Errorf("no -era: %q", e.protocol())
	}
}
