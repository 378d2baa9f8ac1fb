// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/internal/quote"
	"github.com/weir-mcp/weir/result"
)

func TestString(t *testing.T) {
	stream := func(text string) Stream {
		return Stream{Head: text, Bytes: int64(len(text)), Lines: int64(strings.Count(text, "\n"))}
	}
	cut := Stream{Head: "first\n", Tail: "last\n", Bytes: 12345, Lines: 700, Dropped: 12334, Truncated: true}
	for _, tt := range []struct {
		name string
		out  Output
		want string
	}{
		{"fine", Output{End: Exited, Stdout: stream("hi\n")}, "hi"},
		{"nothing", Output{End: Exited}, "[git exited with status 0]\n[no output]"},
		{"failed", Output{End: Exited, ExitCode: 2, Stderr: stream("bad\n")}, "[git exited with status 2]\n[standard error]\nbad"},
		{"both", Output{End: Exited, Stdout: stream("out"), Stderr: stream("warning\n")}, "out\n[standard error]\nwarning"},
		{"cut", Output{End: Exited, Stdout: cut}, "first\n\n[… 12,334 of 12,345 bytes left out here …]\nlast\n[12,345 bytes, 700 lines in all]"},
		{"kept", Output{End: Exited, Stdout: cut, Full: "Ask for a7."}, "first\n\n[… 12,334 of 12,345 bytes left out here; to see more, ask for a7 …]\nlast\n[12,345 bytes, 700 lines in all]"},
		{"signal", Output{End: Signalled, ExitCode: -1, Signal: "SIGSEGV"}, "[git was ended by SIGSEGV]\n[no output]"},
		{"timed out", Output{End: TimedOut, ExitCode: -1, Signal: "SIGTERM", Elapsed: 1234567 * time.Microsecond, Cause: "the time limit of 1s was over", Stdout: stream("step 1\n")},
			"[git was stopped after 1.23s: the time limit of 1s was over]\nstep 1"},
		{"cancelled, then exited", Output{End: Cancelled, ExitCode: 7, Elapsed: time.Second, Cause: "not wanted", Stdout: stream("x")}, "[git was stopped after 1s: not wanted; it exited with status 7]\nx"},
		{"limit", Output{End: OutputLimit, ExitCode: -1, Signal: "SIGTERM", Elapsed: 5 * time.Millisecond, Stdout: Stream{Head: "x", Bytes: 2000}}, "[git was stopped after 5ms: it wrote more than its limit, 2,000 bytes in all]\nx"},
		{"held and ended", Output{End: PipesHeld, Stdout: stream("hi\n")}, "[git exited with status 0; a process that it had left behind held its output open, and was ended]\nhi"},
		{"held", Output{End: PipesHeld, Stdout: Stream{Head: "hi\n", Bytes: 3, SoFar: true}, Survivors: []Survivor{{42, "sleep"}, {43, "cat"}}},
			"[git exited with status 0; still running: sleep (pid 42), cat (pid 43)]\nhi\n[this is the output so far; another process still holds it open]"},
		{"lost", Output{End: Unknown, ExitCode: -1, MayRun: "its id is 7", Stdout: Stream{Head: "hi\n", Bytes: 3, SoFar: true}}, "[git ended, and how is not known; it may still be running: its id is 7]\nhi\n[this is the output so far]"},
		{"invalid", Output{End: Exited, Stdout: Stream{Head: "one of many \uFFFD", Bytes: 13, Invalid: true}}, "one of many \uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]"},
		{"zero bytes", Output{End: Exited, Stdout: stream("\x7fELF\x00\x1b[2J\a"), Stderr: stream("warning\n")}, "[10 bytes of binary output, not shown]\n[standard error]\nwarning"},
		{"zero bytes in the tail", Output{End: Exited, Stdout: Stream{Head: "a\n", Tail: "\x00", Bytes: 12345, Lines: 7, Dropped: 12342, Truncated: true}, Full: "Ask for a7."}, "[12,345 bytes of binary output, not shown; to see it, ask for a7]"},
		{"much replaced", Output{End: Exited, Stderr: Stream{Head: "12345678\uFFFD", Bytes: 9, Invalid: true, SoFar: true}}, "[standard error]\n[9 bytes of binary output, not shown; this is the output so far; another process still holds it open]"},
		{"a tenth replaced", Output{End: Exited, Stdout: Stream{Head: "123456789\uFFFD", Bytes: 10, Invalid: true}}, "123456789\uFFFD\n[bytes that are not UTF-8 are shown as \uFFFD]"},
		{"replaced by somebody else", Output{End: Exited, Stdout: stream("\uFFFD\uFFFD\n")}, "\uFFFD\uFFFD"},
		{"unknown", Output{End: Exited, ExitCode: -1}, "[git ended, and how is not known]\n[no output]"},
	} {
		tt.out.Name = "git"
		if got := tt.out.String(); got != tt.want {
			t.Errorf("%s:\n%s\nwant:\n%s", tt.name, got, tt.want)
		}
	}
}

// TestFit holds that both forms of any output fit its limit, whatever the
// text is made of, and says what it has lost.
func TestFit(t *testing.T) {
	const full = `read it with read_artifact {"handle":"uec47m4k5yhprfywenfhys32zylxjiaa"}, and "line", "tail", "offset" or "pattern" for a part (only the first 67,108,864 of 107,374,182,400 bytes are kept)`
	for _, text := range []string{"x", "\x00", "\x01", "汉", "\"", "a line\n"} {
		for _, size := range []int{0, 100, 1000, 5000, 24 << 10} {
			for _, limit := range []int{1 << 10, 4 << 10, 32 << 10} {
				s := Stream{Head: strings.Repeat(text, size/len(text)), Bytes: math.MaxInt64, Lines: math.MaxInt64, Invalid: true, SoFar: true}
				cut := s
				cut.Tail, cut.Truncated, cut.Dropped = strings.Repeat(text, size/len(text)/3), true, math.MaxInt64/2
				for _, streams := range [][2]Stream{{s, s}, {s, {}}, {{}, s}, {cut, s}, {s, cut}} {
					o := Output{End: OutputLimit, ExitCode: math.MinInt32, Signal: "SIGTERM", Cause: "because", Stdout: streams[0], Stderr: streams[1], Name: "git",
						Survivors: []Survivor{{1 << 30, "sleep"}}, Elapsed: math.MaxInt64, CPU: math.MaxInt64, PeakMemory: math.MaxInt64}
					if limit > 1<<10 {
						o.Full = full
					}
					f := o.fit(limit)
					v, err := result.Marshal(t.Context(), f, 1<<20)
					if err != nil {
						t.Fatal(err)
					}
					if len(v) > limit {
						t.Fatalf("%q × %d: %d bytes, limit %d", text, size, len(v), limit)
					}
					if n := quote.Len(f.String()); n > limit && limit > 1<<10 {
						t.Fatalf("%q × %d: the text has %d bytes, limit %d", text, size, n, limit)
					}
					all, err := result.Marshal(t.Context(), &o, 1<<20)
					if err != nil {
						t.Fatal(err)
					}
					if f != &o && len(all) < limit*3/4 {
						t.Errorf("%q × %d: cut from %d to %d bytes for %d", text, size, len(all), len(v), limit)
					}
					if f != &o && len(v) < limit*3/4-800 {
						t.Errorf("%q × %d: %d bytes of %d", text, size, len(v), limit)
					}
					for i, s := range []Stream{f.Stdout, f.Stderr} {
						was := streams[i]
						if got, want := int64(len(s.Head)+len(s.Tail))+s.Dropped, int64(len(was.Head)+len(was.Tail))+was.Dropped; got != want || s.Truncated != (s.Dropped > 0) {
							t.Errorf("%d bytes kept and dropped, before %d; truncated %t", got, want, s.Truncated)
						}
					}
				}
			}
		}
	}
}

// TestExitErrorText holds that the text is bounded.
func TestExitErrorText(t *testing.T) {
	err := &ExitError{&Output{End: Exited, ExitCode: 1, Name: "sh", Stderr: Stream{Head: strings.Repeat("汉", 3000)}}}
	if text := err.Error(); len(text) > 600 || !strings.HasPrefix(text, "exec: sh exited with status 1\n…汉") {
		t.Errorf("%d bytes: %.100q", len(text), text)
	}
	if errors.Unwrap(err) != nil {
		t.Error("wraps something")
	}
	err.Output.Stderr = Stream{Head: "\x00\x1b[2J", Bytes: 5}
	if got, want := err.Error(), "exec: sh exited with status 1\n[5 bytes of binary output, not shown]"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestBinaryCut holds that a binary stream is not shown because the zero byte
// in it was cut out, and that the JSON form is as that of others.
func TestBinaryCut(t *testing.T) {
	text := strings.Repeat("x", 4000) + "\x00" + strings.Repeat("y", 8000)
	out := Output{End: Exited, Name: "cat", Stdout: Stream{Head: text, Bytes: int64(len(text))}}
	r := out.Result(result.Budget{Bytes: 2000})
	if got := r.Content[0].(result.TextContent).Text; got != "[12,001 bytes of binary output, not shown]" {
		t.Errorf("%.100q", got)
	}
	if s := r.Structured.(*Output).Stdout; !s.Truncated || !strings.HasPrefix(s.Head, "xxx") || strings.Contains(s.Text(), "\x00") {
		t.Errorf("%.100q", s.Head)
	}
}
