// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	prints["write(1) as in C"] = func() {
		_, err := syscall.Write(1, []byte("stray\n"))
		check(err)
	}
	prints["sh with inherited stdio"] = func() { // cat ends at once: fd 0 is the null device
		shell("echo stray; cat")
	}
	prints["write(2) as in C"] = func() {
		_, err := syscall.Write(2, []byte("stray\n"))
		check(err)
	}
	for _, way := range []string{"write(1) as in C", "sh with inherited stdio", "write(2) as in C"} {
		modes["print by "+way] = between(prints[way])
	}
}

// shell runs script with the process's own stdio.
func shell(script string) {
	cmd := exec.Command("sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	check(cmd.Run())
}

// pair returns a connected pair of stream sockets.
func pair(t *testing.T) (ours, theirs *os.File) {
	t.Helper()
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	ours, theirs = os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs")
	t.Cleanup(func() { ours.Close(); theirs.Close() })
	return ours, theirs
}

func pipes(t *testing.T) (r, w *os.File) {
	t.Helper()
	fds := make([]int, 2)
	if err := unix.Pipe(fds); err != nil {
		t.Fatal(err)
	}
	unix.CloseOnExec(fds[0])
	unix.CloseOnExec(fds[1])
	r, w = os.NewFile(uintptr(fds[0]), "r"), os.NewFile(uintptr(fds[1]), "w")
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

func nonblocking(t *testing.T, f *os.File) bool {
	t.Helper()
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	if err != nil {
		t.Fatal(err)
	}
	return flags&unix.O_NONBLOCK != 0
}

func init() {
	modes["children that read"] = func() {
		g := must()
		for i := range 20 {
			shell("read x; cat; true")
			line := make([]byte, 2)
			_, err := io.ReadFull(g.In(), line)
			check(err)
			if want := string(rune('a' + i)); string(line) != want+"\n" {
				panic(fmt.Sprintf("%q, want %q", line, want))
			}
		}
		send(g, 1)
		send(g, 2)
		g.Release()
	}
}

// case 54: children that read an inherited stdin eat no request.
func TestChildrenEatNoRequest(t *testing.T) {
	cmd := child(t, "children that read")
	cmd.Stdin = strings.NewReader("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\nm\nn\no\np\nq\nr\ns\nt\n")
	if stdout, _ := output(t, cmd); stdout != frames {
		t.Errorf("stdout: %q", stdout)
	}
}

func init() {
	modes["shared stderr"] = func() {
		blocking := func(fd int) {
			if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0); err != nil || flags&unix.O_NONBLOCK != 0 {
				panic("fd 2 is non-blocking")
			}
		}
		blocking(2)
		g := must()
		blocking(2)
		blocking(g.system.saved[2]) // what it was, shared with the host
		if !g.Merged() {
			panic("not seen as merged")
		}
		send(g, 1)
		fmt.Println("stray")
		fmt.Fprintln(os.Stderr, "stray")
		println("stray")
		shell("echo stray; echo stray >&2")
		send(g, 2)
		g.Release()
		blocking(2)
		if s := g.Stats(); s.Stray != 12 || s.Dropped != 12 {
			panic(fmt.Sprintf("%+v", s))
		}
		fmt.Fprintln(os.Stderr, "back")
	}
}

// case 54: with 2>&1 whatever goes to stderr would stand between frames, so it goes nowhere.
func TestStdoutAndStderrAreOne(t *testing.T) {
	kinds := map[string]func(*testing.T) (read, write *os.File){"pipe": pipes, "socket": pair}
	for kind, make := range kinds {
		t.Run(kind, func(t *testing.T) {
			r, w := make(t)
			cmd := child(t, "shared stderr")
			cmd.Stdout, cmd.Stderr = w, w
			got := readAll(r)
			err := cmd.Run()
			w.Close()
			if text := <-got; err != nil || text != frames+"back\n" {
				t.Errorf("%v, got %q", err, text)
			}
			if kind == "pipe" && nonblocking(t, r) {
				t.Error("the mode was not restored")
			}
		})
	}
	t.Run("regular file", func(t *testing.T) {
		f, err := os.Create(t.TempDir() + "/out")
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		cmd := child(t, "shared stderr")
		cmd.Stdout, cmd.Stderr = f, f
		err = cmd.Run()
		if text, _ := os.ReadFile(f.Name()); err != nil || string(text) != frames+"back\n" {
			t.Errorf("%v, got %q", err, text)
		}
	})
}

func readAll(r io.Reader) <-chan string {
	text := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(r)
		text <- string(all)
	}()
	return text
}

func init() {
	modes["a megabyte"] = func() {
		g := must()
		send(g, 1)
		line := strings.Repeat("x", 1023) + "\n"
		for range 1024 {
			if n, err := fmt.Print(line); n != len(line) || err != nil {
				panic(fmt.Sprint(n, err))
			}
		}
		send(g, 2)
		_, _ = g.In().Read(make([]byte, 1)) // until the parent has looked
		g.Release()
		s := g.Stats()
		if s.Stray != 1<<20 {
			panic(fmt.Sprintf("%+v", s))
		}
		_, err := os.NewFile(3, "report").WriteString(strconv.FormatInt(s.Dropped, 10))
		check(err)
	}
}

var gaps = regexp.MustCompile(`\nweir: (\d+) bytes printed to stdout are missing here, because stderr was not read\n`)

// A stderr that nobody reads holds up neither the protocol nor whoever prints; what is missing is counted, and said in
// its place when stderr is read again.
func TestStderrStuck(t *testing.T) {
	for _, later := range []bool{false, true} {
		t.Run(fmt.Sprintf("read later %v", later), func(t *testing.T) {
			report, reportW := pipes(t)
			stderr, stderrW := pipes(t)
			stdout, stdoutW := pipes(t)
			cmd := child(t, "a megabyte")
			stdin, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdoutW, stderrW, []*os.File{reportW}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			stdoutW.Close()
			stderrW.Close()
			reportW.Close()
			protocol := make([]byte, len(frames))
			if _, err := io.ReadFull(stdout, protocol); err != nil || string(protocol) != frames {
				t.Errorf("%v: %q", err, protocol)
			}
			text := make(<-chan string)
			if later {
				text = readAll(stderr)
			}
			stdin.Close()
			if err := cmd.Wait(); err != nil {
				t.Fatal(err)
			}
			counted := <-readAll(report)
			dropped, err := strconv.Atoi(counted)
			if err != nil || dropped == 0 {
				t.Errorf("%q bytes dropped", counted)
			}
			if !later {
				return
			}
			all, said := <-text, 0
			for _, gap := range gaps.FindAllStringSubmatch(all, -1) {
				n, _ := strconv.Atoi(gap[1])
				said += n
			}
			if said != dropped {
				t.Errorf("%d dropped, but %d said", dropped, said)
			}
			if kept := len(gaps.ReplaceAllString(all, "")); kept+dropped != 1<<20 {
				t.Errorf("%d kept and %d dropped", kept, dropped)
			}
		})
	}
}

func init() {
	modes["stderr gone"] = func() {
		g := must()
		send(g, 1)
		for range 100 {
			fmt.Println("stray")
			if _, err := os.Stderr.WriteString("log\n"); !errors.Is(err, syscall.EPIPE) {
				panic(fmt.Sprint("stderr: ", err)) // which nobody will see
			}
		}
		send(g, 2)
		g.Release()
		if s := g.Stats(); s.Stray != s.Dropped || s.Stray != 600 {
			os.Exit(3)
		}
	}
	modes["stdout gone after the end"] = func() {
		must().Release()
		fmt.Println("to nobody")
		fmt.Fprintln(os.Stderr, "alive")
	}
	modes["stdout gone"] = func() {
		g := must()
		_, err := g.Out().Write([]byte("x\n"))
		if !errors.Is(err, syscall.EPIPE) {
			panic(fmt.Sprint("write: ", err))
		}
		if n, err := g.Out().WritePartial([]byte("x\n")); n != 0 || !errors.Is(err, syscall.EPIPE) {
			panic(fmt.Sprint("again: ", n, err))
		}
		fmt.Println("alive")
		g.Release()
	}
}

// case 66: a host that closed its end costs a write error, not the process.
func TestHostGone(t *testing.T) {
	for kind, make := range map[string]func(*testing.T) (r, w *os.File){"pipe": pipes, "socket": pair} {
		t.Run("stdout "+kind, func(t *testing.T) {
			r, w := make(t)
			r.Close()
			cmd := child(t, "stdout gone")
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = w, &stderr
			if err := cmd.Run(); err != nil || stderr.String() != "alive\n" {
				t.Errorf("%v: %s", err, stderr.String())
			}
		})
	}
	t.Run("after the end", func(t *testing.T) { // as without a guard
		r, w := pipes(t)
		r.Close()
		cmd := child(t, "stdout gone after the end")
		cmd.Stdout, cmd.Stderr = w, nil
		var exit *exec.ExitError
		if err := cmd.Run(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE {
			t.Error(err)
		}
	})
	t.Run("stderr", func(t *testing.T) {
		r, w := pipes(t)
		r.Close()
		cmd := child(t, "stderr gone")
		var stdout bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, w
		if err := cmd.Run(); err != nil || stdout.String() != frames {
			t.Errorf("%v: %q", err, stdout.String())
		}
	})
}

func init() {
	modes["child dies of SIGPIPE"] = func() {
		g := must()
		if signal.Ignored(syscall.SIGPIPE) {
			panic("ignored")
		}
		cmd := exec.Command("sh", "-c", "kill -PIPE $$; echo alive")
		out, err := cmd.Output()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGPIPE || len(out) > 0 {
			panic(fmt.Sprintf("%v %q", err, out))
		}
		g.Release()
	}
}

// SIGPIPE is caught and not ignored: `yes | head` in a child ends as it should.
func TestChildrenKeepSIGPIPE(t *testing.T) { output(t, child(t, "child dies of SIGPIPE")) }
