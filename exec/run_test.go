// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/weir-mcp/weir/exec"
)

// TestDrain: case 53. A child that writes far more than its preview runs to
// its end, and the counts are exact.
func TestDrain(t *testing.T) {
	const size = 200 << 20
	cmd := child(t, "write", "209715200", "3")
	cmd.Stdout = exec.Preview{Head: 48 << 10, Tail: 16 << 10}
	out := run(t, t.Context(), cmd)
	if out.End != exec.Exited || out.ExitCode != 3 || out.Success() {
		t.Errorf("%s with status %d", out.End, out.ExitCode)
	}
	s := out.Stdout
	if s.Bytes != size || s.Lines != size/64 || !s.Truncated || s.SoFar || s.Invalid {
		t.Errorf("%d bytes, %d lines, truncated %t, so far %t", s.Bytes, s.Lines, s.Truncated, s.SoFar)
	}
	if kept := int64(len(s.Head) + len(s.Tail)); kept+s.Dropped != size || kept < 60<<10 || kept > 64<<10 {
		t.Errorf("%d bytes kept and %d dropped of %d", kept, s.Dropped, size)
	}
	if !strings.HasPrefix(s.Head, "xxx") || !strings.HasSuffix(s.Tail, "xxx\n") {
		t.Error("the ends are not those of the stream")
	}
}

// TestBothStreams: case 55. Both streams are drained at once.
func TestBothStreams(t *testing.T) {
	cmd := child(t, "alternate")
	cmd.Timeout = 30 * time.Second
	out := run(t, t.Context(), cmd)
	if out.End != exec.Exited || out.Stdout.Bytes != 2<<20 || out.Stderr.Bytes != 2<<20 {
		t.Errorf("%s, %d and %d bytes", out.End, out.Stdout.Bytes, out.Stderr.Bytes)
	}
	if n, m := len(out.Stdout.Text()), len(out.Stderr.Head+out.Stderr.Tail); n < exec.DefaultStdout || m != exec.DefaultStderr {
		t.Errorf("kept %d and %d bytes", n, m)
	}
}

// TestTimeout: case 58. What came before the time-out is kept.
func TestTimeout(t *testing.T) {
	t.Parallel()
	cmd := child(t, "step")
	cmd.Timeout = time.Second
	began := time.Now()
	out := run(t, t.Context(), cmd)
	within(t, began, time.Second, 5*time.Second)
	if out.End != exec.TimedOut || out.Stdout.Head != "step 1\n" || runtime.GOOS != "windows" && (out.Signal != "SIGTERM" || out.ExitCode != -1) {
		t.Errorf("%+v", out)
	}
	if out.Elapsed < cmd.Timeout || !strings.Contains(out.String(), "step 1") || !strings.Contains(out.String(), "limit of 1s") {
		t.Errorf("after %v: %s", out.Elapsed, out)
	}
}

// TestDeadline: case 58. The context's deadline is a time-out, its cancel a
// cancel, and the cause is told.
func TestDeadline(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if out := run(t, ctx, child(t, "step")); out.End != exec.TimedOut || out.Stdout.Head != "step 1\n" {
		t.Errorf("%+v", out)
	}
	ctx2, cancel2 := context.WithCancelCause(t.Context())
	cmd := child(t, "step")
	seen := newFirstLine()
	cmd.Sink = seen
	go func() {
		<-seen.seen
		cancel2(errors.New("not wanted any more"))
	}()
	if out := run(t, ctx2, cmd); out.End != exec.Cancelled || out.Cause != "not wanted any more" || out.Stdout.Head != "step 1\n" {
		t.Errorf("%+v", out)
	}
	if out, err := exec.Run(ctx2, cmd); out != nil || err == nil || err.Error() != "not wanted any more" {
		t.Errorf("with an ended context: %v, %v", out, err)
	}
}

// TestFirstCause holds that a cancel during Grace does not change why a child
// was ended.
func TestFirstCause(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	cmd := child(t, "polite")
	cmd.Timeout = time.Second
	cmd.Sink = writerFunc(func(p []byte) (int, error) {
		if bytes.Contains(p, []byte("goodbye")) {
			cancel(errors.New("not wanted any more"))
		}
		return len(p), nil
	})
	if out := run(t, ctx, cmd); out.End != exec.TimedOut || out.Cause != "the time limit of 1s was over" {
		t.Errorf("%s: %s", out.End, out.Cause)
	}
}

// TestRedactNames holds that a name is without secrets, also one that is in two
// elements of a path.
func TestRedactNames(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "pass")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := child(t, "step")
	cmd.Timeout = time.Nanosecond
	cmd.Path = filepath.Join(dir, "word-program")
	if err := os.Symlink(self, cmd.Path); err != nil {
		t.Skip(err)
	}
	cmd.Redact = []string{filepath.Join("pass", "word-prog")}
	if out := run(t, t.Context(), cmd); out.Name != "[redacted]ram" || strings.Contains(out.String(), "word") {
		t.Errorf("%q, %s", out.Name, out)
	}
}

// TestKillAfter: case 53. The byte limit is apart from the preview.
func TestKillAfter(t *testing.T) {
	cmd := child(t, "endless")
	cmd.KillAfter = 1 << 20
	out := run(t, t.Context(), cmd)
	if out.End != exec.OutputLimit || out.Stdout.Bytes <= 1<<20 || !out.Stdout.Truncated || out.Success() {
		t.Errorf("%s after %d bytes", out.End, out.Stdout.Bytes)
	}
	cmd = child(t, "write", "1048576", "0")
	cmd.KillAfter = 1 << 20
	if out := run(t, t.Context(), cmd); out.End != exec.Exited || out.ExitCode != 0 {
		t.Errorf("at the limit: %s", out.End)
	}
}

// TestStdin: case 54. Standard input is the null device unless it is given.
func TestStdin(t *testing.T) {
	cmd := child(t, "cat")
	cmd.Timeout = 10 * time.Second
	if out := run(t, t.Context(), cmd); out.Stderr.Head != "0 <nil>\n" {
		t.Errorf("nil: %+v", out)
	}
	text := strings.Repeat("some input\n", 50_000)
	cmd.Stdin = strings.NewReader(text)
	var sink bytes.Buffer
	cmd.Sink = &sink
	if out := run(t, t.Context(), cmd); out.Stdout.Bytes != int64(len(text)) || !strings.HasPrefix(sink.String(), text[:1000]) {
		t.Errorf("a reader: %d bytes of %d", out.Stdout.Bytes, len(text))
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	f.WriteString("in a file")
	f.Seek(0, io.SeekStart)
	cmd.Stdin, cmd.Sink = f, nil
	if out := run(t, t.Context(), cmd); out.Stdout.Head != "in a file" {
		t.Errorf("a file: %+v", out)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		t.Errorf("the file was closed: %v", err)
	}
	cmd.Stdin = (*os.File)(nil)
	if out := run(t, t.Context(), cmd); out.Stderr.Head != "0 <nil>\n" {
		t.Errorf("no file: %+v", out)
	}
	// A child that reads nothing, and a reader that never returns.
	r, w := io.Pipe()
	defer w.Close()
	cmd = child(t, "args")
	cmd.Stdin = r
	if out := run(t, t.Context(), cmd); !out.Success() {
		t.Errorf("a stuck reader: %+v", out)
	}
}

// TestArgs holds that no shell is between a slice and the child.
func TestArgs(t *testing.T) {
	args := []string{"", "a b", "$HOME; rm -rf *", "汉字", "-", "'\""}
	out := run(t, t.Context(), child(t, "args", args...))
	if want := "\"\"\n\"a b\"\n\"$HOME; rm -rf *\"\n\"汉字\"\n\"-\"\n\"'\\\"\"\n"; out.Stdout.Head != want {
		t.Errorf("%q", out.Stdout.Head)
	}
}

// TestSink holds that the sink gets everything, and that an error of it is
// told and does not stop the child.
func TestSink(t *testing.T) {
	var sink bytes.Buffer
	cmd := child(t, "write", "300000", "0")
	cmd.Sink = &sink
	if out := run(t, t.Context(), cmd); sink.Len() != 300_000 || out.SinkErr != nil {
		t.Errorf("%d bytes, %v", sink.Len(), out.SinkErr)
	}
	// Lines of the two streams do not stand in one another.
	sink.Reset()
	cmd = exec.Shell(`i=0; while [ $i -lt 300 ]; do printf "out "; echo err >&2; printf "put\n"; i=$((i+1)); done`)
	cmd.Sink = &sink
	out := run(t, t.Context(), cmd)
	count := make(map[string]int)
	for line := range strings.Lines(sink.String()) {
		count[line]++
	}
	if count["out put\n"] != 300 || count["err\n"] != 300 || len(count) != 2 {
		t.Errorf("mixed: %v, %v", count, out.SinkErr)
	}
	cmd = child(t, "write", "300000", "0")
	full := errors.New("full")
	writes := 0
	cmd.Sink = writerFunc(func(p []byte) (int, error) { writes++; return 0, full })
	if out := run(t, t.Context(), cmd); out.SinkErr != full || writes != 1 || out.Stdout.Bytes != 300_000 || !out.Success() {
		t.Errorf("%v, %d bytes", out.SinkErr, out.Stdout.Bytes)
	}
	// A sink slower than Grace still gets all.
	sink.Reset()
	cmd.Grace = 50 * time.Millisecond
	cmd.Sink = writerFunc(func(p []byte) (int, error) {
		time.Sleep(100 * time.Millisecond)
		return sink.Write(p)
	})
	if out := run(t, t.Context(), cmd); sink.Len() != 300_000 || out.End != exec.Exited || out.Stdout.SoFar {
		t.Errorf("slow: %d bytes, %+v", sink.Len(), out)
	}
}

// A sink that can keep what it has is told to when the previews do not hold it,
// and only then; what it says is in the output.
func TestSinkKeeps(t *testing.T) {
	full := errors.New("full")
	for _, tt := range []struct {
		name  string
		bytes string
		fail  error
		full  string
		kept  int
	}{
		{"little", "1000", nil, "", 0},
		{"less than any result holds", "5120", nil, "", 0},
		{"more than a result of escapes may hold", "5184", nil, "ask", 1},
		{"truncated", "300000", nil, "ask", 1},
		{"failed", "300000", full, "", 0},
	} {
		s := &keeper{fail: tt.fail}
		cmd := child(t, "write", tt.bytes, "0")
		cmd.Sink = s
		out := run(t, t.Context(), cmd)
		if out.Full != tt.full || s.kept != tt.kept || out.SinkErr != tt.fail {
			t.Errorf("%s: %q, kept %d times, %v", tt.name, out.Full, s.kept, out.SinkErr)
		}
		if got := strings.Contains(out.String(), "; to see more, ask …]"); got != (tt.full != "" && out.Stdout.Truncated) {
			t.Errorf("%s: %s", tt.name, out)
		}
	}
}

type keeper struct {
	fail  error
	kept  int
	bytes int
}

func (k *keeper) Write(p []byte) (int, error) {
	if k.fail != nil {
		return 0, k.fail
	}
	k.bytes += len(p)
	return len(p), nil
}

func (k *keeper) Keep() (string, error) { k.kept++; return "ask", nil }

type writerFunc func([]byte) (int, error)

func (f writerFunc) Write(p []byte) (int, error) { return f(p) }

// TestEnv holds what a child's environment is.
func TestEnv(t *testing.T) {
	t.Setenv("WEIR_TEST_SECRET", "s3cret")
	lines := func(cmd exec.Cmd) []string {
		cmd.Stdout = exec.Preview{Head: 1 << 20}
		return strings.Split(run(t, t.Context(), cmd).Stdout.Head, "\n")
	}
	self := child(t, "env")
	self.Env = []string{childVariable + "=env", "A=1", "A=2"}
	if got := lines(self); !slices.Contains(got, "A=2") || slices.Contains(got, "A=1") || slices.Contains(got, "WEIR_TEST_SECRET=s3cret") {
		t.Errorf("Env: %q", got)
	}
	self.CleanEnv = true
	got := lines(self)
	if !slices.Contains(got, "A=2") || slices.Contains(got, "WEIR_TEST_SECRET=s3cret") || !slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "PATH=") }) {
		t.Errorf("CleanEnv: %q", got)
	}
	t.Setenv(childVariable, "env")
	self.Env, self.CleanEnv = nil, false
	if got := lines(self); !slices.Contains(got, "WEIR_TEST_SECRET=s3cret") {
		t.Errorf("nil: %q", got)
	}
	self.Dir = t.TempDir()
	if got := lines(self); !slices.Contains(got, "PWD="+self.Dir) {
		t.Errorf("Dir: %q", got)
	}
}

// TestInvalid holds that what is kept is valid UTF-8 and says so.
func TestInvalid(t *testing.T) {
	out := run(t, t.Context(), child(t, "pieces", `a\xffb`, `\xe6\xb1`, `\x89`))
	if s := out.Stdout; s.Head != "a\uFFFDb汉" || !s.Invalid || s.Bytes != 6 || s.Lines != 1 {
		t.Errorf("%+v", s)
	}
}
