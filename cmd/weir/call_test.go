// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
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
	if !strings.Contains(shown, "\r\x1b[K1 page, 2 of 3 items, ") || !strings.HasSuffix(shown, "\r\x1b[Kweir call: 2 pages, 3 items\n") {
		t.Errorf("stderr is %q", shown)
	}
	if got := harmless("a\x1b[31mb\tc\n\u009b"); got != "a\uFFFD[31mb\tc\n\uFFFD" {
		t.Errorf("harmless: %q", got)
	}
}

// TestTerminalEscapes: what could steer a terminal comes to none, in no form of
// the output and not by way of the server's stderr; a pipe gets what there is.
func TestTerminalEscapes(t *testing.T) {
	for _, tt := range []struct {
		args     []string
		terminal bool
		want     string
	}{
		{[]string{"escape"}, true, "a\uFFFD[31m\uFFFD2J\n"},
		{[]string{"escape"}, false, "a\x1b[31m\u009b2J\n"},
		{[]string{"-json", "escape"}, true, `{"content":[{"type":"text","text":"a\u001b[31m\u009b2J"}]}` + "\n"},
		{[]string{"-json", "escape"}, false, `{"content":[{"type":"text","text":"a\u001b[31m` + "\u009b" + `2J"}]}` + "\n"},
	} {
		var out, errs lockedBuffer
		env := &environment{stdout: &out, stderr: &errs, outTerminal: tt.terminal}
		args := append(append([]string{"call"}, tt.args...), "--", "fakeserver")
		if got := run(env, args); got != exitOK || out.String() != tt.want {
			t.Errorf("%v, terminal %v: status %d, %q, want %q", tt.args, tt.terminal, got, out.String(), tt.want)
		}
	}
	for _, size := range []int{1, 2, 3, 100} {
		var w, next lockedBuffer
		s := status{w: &w, next: &next, on: true}
		for text := "a\x1b[1m\a\r\nb\u009bc\rd\xffé😀\r\n\r"; text != ""; {
			n := min(size, len(text))
			if k, err := s.Write([]byte(text[:n])); k != n || err != nil {
				t.Errorf("%d bytes taken of %d, %v", k, n, err)
			}
			text = text[n:]
		}
		s.flush()
		if got, want := next.String(), "a\uFFFD[1m\uFFFD\nb\uFFFDc\uFFFDd\uFFFDé😀\n\uFFFD"; got != want {
			t.Errorf("stderr in pieces of %d: %q, want %q", size, got, want)
		}
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
		{"a\r\nb", 0, "a …"},
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

// TestDeaf: a time-out tells of a server that does not read.
func TestDeaf(t *testing.T) {
	var out, errs lockedBuffer
	env := &environment{stdout: &out, stderr: &errs, grace: 50 * time.Millisecond}
	args := `{"text":"` + strings.Repeat("x", 1<<20) + `"}`
	if got := run(env, []string{"call", "-timeout", "300ms", "hello", args, "--", "fakeserver", "-deaf"}); got != exitTimeout {
		t.Errorf("exit status %d, want %d", got, exitTimeout)
	}
	if got := errs.String(); !strings.Contains(got, "hello did not answer within 300ms and was cancelled (the server's read side is stuck: it has taken no byte of stdin for ") {
		t.Errorf("stderr is %q", got)
	}
}

// TestPatience: a server that does not answer the handshake is told of, once;
// and on a terminal the time is counted meanwhile.
func TestPatience(t *testing.T) {
	var errs lockedBuffer
	env := &environment{stdout: &errs, stderr: &errs, patience: 50 * time.Millisecond}
	if got := run(env, []string{"call", "-timeout", "400ms", "--", "fakeserver", "-mute", "-banner", "Ready."}); got != exitTimeout {
		t.Errorf("exit status %d, want %d", got, exitTimeout)
	}
	if shown := errs.String(); strings.Count(shown, "weir call: the server has not answered initialize for ") != 1 ||
		!strings.Contains(shown, `, but has written 1 line that the protocol does not know, the first "Ready."; is it an MCP server`) {
		t.Errorf("stderr is %q", shown)
	}

	signals := make(chan os.Signal, 1)
	seconds := &trigger{text: "\r\x1b[Kwaiting for the answer to initialize for ", then: func() { signals <- os.Interrupt }}
	env = &environment{stdout: &errs, stderr: seconds, errTerminal: true, signals: signals, patience: 50 * time.Millisecond}
	if got := run(env, []string{"call", "--", "fakeserver", "-mute"}); got != exitInterrupted {
		t.Errorf("on a terminal: exit status %d, want %d", got, exitInterrupted)
	}
}

// TestCursorKey: the hint about a cursor is for the words of package cursor,
// which cannot be imported here: it takes WEIR_CURSOR_KEY out of the
// environment, which the server must get.
func TestCursorKey(t *testing.T) {
	source, err := os.ReadFile("../../cursor/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, words := range []string{anotherKey + `" + again`, startAgain + `"`} {
		if !strings.Contains(string(source), words) {
			t.Errorf("package cursor does not say %s any more", words)
		}
	}
}

func TestNearest(t *testing.T) {
	names := []string{"read_file", "write_file", "grep", "list_directory", "größe"}
	for name, want := range map[string]string{
		"readfile": "[read_file]", "Read-File": "[read_file]", "gerp": "[grep]", "grepp": "[grep]", "rgep": "[grep]",
		"file": "[read_file write_file]", "directory": "[list_directory]", "grösse": "[größe]", "nothing_like_it": "[]", "x": "[]", "": "[]",
	} {
		if got := fmt.Sprint(nearest(name, names)); got != want {
			t.Errorf("nearest(%q) = %s, want %s", name, got, want)
		}
	}
}

func TestAmount(t *testing.T) {
	tests := []struct {
		progress, total float64
		want            string
	}{
		{0, 0, "0"}, {1234567, 0, "1,234,567"}, {-1000, 0, "-1,000"}, {-100, 0, "-100"}, {0.25, 0, "0.2"}, {1e300, 0, "1e+300"},
		{1, 3, "1 of 3"}, {1e6, 2e6, "1,000,000 of 2,000,000"}, {0.333, 1, "33%"}, {1.5, 3, "50%"},
	}
	for _, tt := range tests {
		if got := amount(host.Progress{Progress: tt.progress, Total: tt.total}); got != tt.want {
			t.Errorf("%g of %g is shown as %q, want %q", tt.progress, tt.total, got, tt.want)
		}
	}
	for n, want := range map[int64]string{0: "0 lines", 1: "1 line", 999: "999 lines", 1000: "1,000 lines"} {
		if got := count(n, "line"); got != want {
			t.Errorf("count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestQuoted(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`: `'{"a":1}'`, "it's": `"it's"`, "a\nb": `"a\nb"`, "\x1b": `"\x1b"`, strings.Repeat("é", 101): "'" + strings.Repeat("é", 100) + "…'",
	} {
		if got := quoted(in); got != want {
			t.Errorf("quoted(%q) = %s, want %s", in, got, want)
		}
	}
}
