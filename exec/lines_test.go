// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix

package exec_test

import (
	"context"
	"errors"
	"iter"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// collect is all that a loop over Lines gets.
func collect(ctx context.Context, cmd exec.Cmd) (lines []string, dropped []int64, err error) {
	for line, e := range exec.Lines(ctx, cmd) {
		if e != nil {
			err = e
			continue
		}
		lines = append(lines, line.String())
		dropped = append(dropped, line.Dropped)
	}
	return lines, dropped, err
}

func TestLines(t *testing.T) {
	long := strings.Repeat("z", 100)
	for _, tt := range []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"none", nil, nil},
		{"one", []string{"a\\n"}, []string{"a"}},
		{"no line end", []string{"a\\nb"}, []string{"a", "b"}},
		{"blank", []string{"\\n\\n"}, []string{"", ""}},
		{"CR LF", []string{"a\\r\\nb\\rc\\r\\n"}, []string{"a", "b\rc"}},
		{"in pieces", []string{"a", "b", "\\n", long, "c\\nd\\n"}, []string{"ab", long + "c", "d"}},
		{"CR and LF apart", []string{"a\\r", "\\nb"}, []string{"a", "b"}},
		{"a character in pieces", []string{"\\xe6", "\\xb1\\x89\\n"}, []string{"汉"}},
		{"not UTF-8", []string{"\\xff\\n"}, []string{"\uFFFD"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			lines, _, err := collect(t.Context(), child(t, "pieces", tt.pieces...))
			if err != nil || strings.Join(lines, "|") != strings.Join(tt.want, "|") || len(lines) != len(tt.want) {
				t.Errorf("%q, %v, want %q", lines, err, tt.want)
			}
		})
	}
}

// TestLongLine holds that a line is bounded, and what is missing counted.
func TestLongLine(t *testing.T) {
	for _, size := range []int{exec.MaxLine, exec.MaxLine + 1, 1 << 20} {
		cmd := exec.Shell("head -c \"$0\" /dev/zero | tr '\\0' x; echo; echo end")
		cmd.Args = append(cmd.Args, strconv.Itoa(size))
		lines, dropped, err := collect(t.Context(), cmd)
		if err != nil || len(lines) != 2 || lines[1] != "end" || len(lines[0]) != exec.MaxLine || dropped[0] != int64(size-exec.MaxLine) || dropped[1] != 0 {
			t.Errorf("%d: %d lines, dropped %v, %v", size, len(lines), dropped, err)
		}
	}
}

// TestLinesEnd holds what the error after the loop says.
func TestLinesEnd(t *testing.T) {
	lines, _, err := collect(t.Context(), exec.Shell("echo out; echo why >&2; exit 3"))
	var exit *exec.ExitError
	if len(lines) != 1 || !errors.As(err, &exit) || exit.Output.ExitCode != 3 || exit.Output.Stdout.Bytes != 4 || exit.Output.Stderr.Head != "why\n" {
		t.Fatalf("%q, %v", lines, err)
	}
	if text := err.Error(); !strings.Contains(text, "status 3") || !strings.Contains(text, "why") {
		t.Errorf("%q", text)
	}
	var start *exec.StartError
	if _, _, err := collect(t.Context(), exec.Cmd{Path: "no-such-program"}); !errors.As(err, &start) {
		t.Errorf("%v", err)
	}
	cmd := exec.Shell("echo step 1; exec sleep 60")
	cmd.Timeout = 500 * time.Millisecond
	if lines, _, err := collect(t.Context(), cmd); len(lines) != 1 || !errors.As(err, &exit) || exit.Output.End != exec.TimedOut {
		t.Errorf("%q, %v", lines, err)
	}
}

// TestLinesLeave holds that leaving the loop ends the child, also by a panic.
func TestLinesLeave(t *testing.T) {
	for _, name := range []string{"break", "panic"} {
		t.Run(name, func(t *testing.T) {
			cmd := child(t, "endless")
			began := time.Now()
			n := 0
			func() {
				defer func() {
					if v := recover(); name == "panic" && v != "in the body" {
						t.Errorf("panic %v", v)
					}
				}()
				for line, err := range exec.Lines(t.Context(), cmd) {
					if err != nil || line.String() != "line" {
						t.Errorf("%q, %v", line, err)
					}
					if n++; n == 10_000 {
						if name == "panic" {
							panic("in the body")
						}
						break
					}
				}
			}()
			within(t, began, 0, 5*time.Second)
			if n != 10_000 {
				t.Errorf("%d lines", n)
			}
		})
	}
}

// TestLinesSlow holds that a slow loop loses nothing that was written, after
// the child's exit, while another process holds the output, or after the
// child was ended.
func TestLinesSlow(t *testing.T) {
	for _, tt := range []struct {
		line    string
		timeout time.Duration
		end     exec.End
	}{
		{"seq 1 12000", 0, ""},
		{"sleep 20 & seq 1 12000", 0, ""},
		{"seq 1 12000; sleep 20", 200 * time.Millisecond, exec.TimedOut},
	} {
		cmd := exec.Shell(tt.line)
		cmd.Grace = 50 * time.Millisecond
		cmd.Timeout = tt.timeout
		n := 0
		var last error
		for line, err := range exec.Lines(t.Context(), cmd) {
			if last = err; err != nil {
				continue
			}
			if n++; line.String() != strconv.Itoa(n) {
				t.Fatalf("%s: line %d is %q", tt.line, n, line)
			}
			if n == 1 {
				time.Sleep(400 * time.Millisecond) // longer than any patience
			}
		}
		if n != 12000 {
			t.Errorf("%s: %d lines of 12000", tt.line, n)
		}
		var exit *exec.ExitError
		if errors.As(last, &exit) != (tt.end != "") || exit != nil && exit.Output.End != tt.end {
			t.Errorf("%s: %v", tt.line, last)
		}
	}
}

// TestLinesCancel holds that the context ends the child while the body runs.
func TestLinesCancel(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	var last error
	n := 0
	for _, err := range exec.Lines(ctx, child(t, "endless")) {
		if n++; n == 1 {
			cancel(errors.New("enough"))
		}
		last = err
	}
	var exit *exec.ExitError
	if !errors.As(last, &exit) || exit.Output.End != exec.Cancelled || exit.Output.Cause != "enough" {
		t.Errorf("%v", last)
	}
}

// TestLinesSink holds that a loop over lines, to its end or not, lets its sink
// have what it reads, and does not have it kept for nobody.
func TestLinesSink(t *testing.T) {
	for _, tt := range []struct {
		name string
		left bool
		loop func(context.Context, exec.Cmd) iter.Seq2[exec.Line, error]
	}{
		{"lines", false, exec.Lines},
		{"lines, left", true, exec.Lines},
		{"records", false, func(ctx context.Context, cmd exec.Cmd) iter.Seq2[exec.Line, error] { return exec.Records(ctx, cmd, 0) }},
	} {
		s := &keeper{}
		cmd := child(t, "write", "300000", "0")
		cmd.Sink = s
		for _, err := range tt.loop(t.Context(), cmd) {
			if err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
			if tt.left {
				break
			}
		}
		if s.kept != 0 || s.bytes == 0 || !tt.left && s.bytes != 300_000 {
			t.Errorf("%s: kept %d times, %d bytes", tt.name, s.kept, s.bytes)
		}
	}
}
