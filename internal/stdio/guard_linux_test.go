// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// descriptors tells what the descriptors of this process lead to.
func descriptors() map[string]string {
	entries, err := os.ReadDir("/proc/self/fd")
	check(err)
	leads := make(map[string]string)
	for _, e := range entries {
		if target, err := os.Readlink("/proc/self/fd/" + e.Name()); err == nil {
			leads[e.Name()] = target
		}
	}
	return leads
}

func init() {
	modes["list descriptors"] = func() { // as a child of the next mode; ls would hide nothing either
		for fd, target := range descriptors() {
			fmt.Fprintln(os.NewFile(3, "report"), fd, target)
		}
	}
	modes["child lists descriptors"] = func() {
		g := must()
		exe, err := os.Executable()
		check(err)
		r, w, err := os.Pipe()
		check(err)
		cmd := exec.Command(exe)
		cmd.Env = append(os.Environ(), modeEnv+"=list descriptors")
		cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = os.Stdin, os.Stdout, os.Stderr, []*os.File{w}
		check(cmd.Run())
		check(w.Close())
		_, err = io.Copy(g.Out(), r)
		check(err)
		g.Release()
	}
}

// case 54: no descriptor of a child leads to the protocol.
func TestChildHasNoProtocol(t *testing.T) {
	inR, inW := pipes(t)
	outR, outW := pipes(t)
	cmd := child(t, "child lists descriptors")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, os.Stderr
	mine := make(map[string]bool)
	for _, f := range []*os.File{inR, outW} {
		target, err := os.Readlink(fmt.Sprintf("/proc/self/fd/%d", f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		mine[target] = true
	}
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	inW.Close()
	outW.Close()
	list := <-readAll(outR)
	for line := range strings.Lines(list) {
		fd, target, _ := strings.Cut(strings.TrimSpace(line), " ")
		if mine[target] {
			t.Errorf("fd %s leads to the protocol", fd)
		}
		if fd == "0" && target != os.DevNull {
			t.Errorf("fd 0 leads to %s", target)
		}
	}
	if !strings.Contains(list, "\n1 pipe:") && !strings.HasPrefix(list, "1 pipe:") {
		t.Errorf("fd 1 is no pipe:\n%s", list)
	}
}

func init() {
	modes["claim often"] = func() {
		must().Release() // whatever is made once: the poller, the signal loop
		before, goroutines := len(descriptors()), runtime.NumGoroutine()
		for i := range 1000 {
			g := must()
			if i%100 == 0 {
				fmt.Println("stray")
			}
			g.Release()
		}
		if after := len(descriptors()); after != before {
			panic(fmt.Sprintf("%d descriptors, then %d: %v", before, after, descriptors()))
		}
		until(func() bool { return runtime.NumGoroutine() <= goroutines })
		fmt.Println("done")
	}
}

func TestClaimOften(t *testing.T) {
	for kind, make := range map[string]func(*testing.T) (r, w *os.File){"pipe": pipes, "socket": pair} {
		t.Run(kind, func(t *testing.T) {
			r, w := make(t)
			text := readAll(r)
			cmd := child(t, "claim often")
			var stderr strings.Builder
			cmd.Stdin, cmd.Stdout, cmd.Stderr = w, w, &stderr
			err := cmd.Run()
			w.Close()
			if got := <-text; err != nil || got != "done\n" || stderr.String() != strings.Repeat("stray\n", 10) {
				t.Errorf("%v: %q, stderr %q", err, got, stderr.String())
			}
		})
	}
}

func init() {
	modes["print and release"] = func() {
		g := must()
		send(g, 1)
		send(g, 2)
		fmt.Print(strings.Repeat("x", 200_000))
		g.Release()
		if s := g.Stats(); s.Stray != 200_000 || s.Dropped != 0 {
			panic(fmt.Sprintf("%+v", s))
		}
	}
	modes["child outlives the claim"] = func() {
		g := must()
		send(g, 1)
		cmd := exec.Command("sh", "-c", "echo $$; read x")
		stdin, err := cmd.StdinPipe()
		check(err)
		cmd.Stdout = os.Stdout
		check(cmd.Start())
		until(func() bool { return g.Stats().Stray > 0 })
		send(g, 2)
		releaseWait = patience // not that long, although the pipe does not end
		start := time.Now()
		g.Release()
		if took := time.Since(start); took > patience/2 {
			panic(took)
		}
		check(stdin.Close())
		_ = cmd.Wait()
	}
}

// What was printed before Release is forwarded, all of it.
func TestReleaseFlushes(t *testing.T) {
	stdout, stderr := output(t, child(t, "print and release"))
	if stdout != frames || stderr != strings.Repeat("x", 200_000) {
		t.Errorf("stdout %q, %d bytes on stderr", stdout, len(stderr))
	}
}

// A child that still holds the stray pipe does not hold up Release.
func TestChildOutlivesClaim(t *testing.T) {
	if stdout, _ := output(t, child(t, "child outlives the claim")); stdout != frames {
		t.Errorf("stdout %q", stdout)
	}
}

func init() {
	modes["regular files"] = func() {
		g := must()
		if !g.In().Regular() {
			panic("not regular")
		}
		n, err := io.Copy(g.Out(), g.In())
		if n != 1<<20 || err != nil {
			panic(fmt.Sprint(n, err))
		}
		if n, err := g.Out().WritePartial(make([]byte, 1<<20)); n != maxSlice || err != nil {
			panic(fmt.Sprint("slice: ", n, err))
		}
		g.Release()
	}
}

func TestRegularFiles(t *testing.T) {
	dir := t.TempDir()
	text := strings.Repeat("0123456789abcde\n", 1<<16)
	check(os.WriteFile(dir+"/in", []byte(text), 0o600))
	in, err := os.Open(dir + "/in")
	check(err)
	defer in.Close()
	out, err := os.Create(dir + "/out")
	check(err)
	defer out.Close()
	cmd := child(t, "regular files")
	var stderr strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = in, out, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	if got, err := os.ReadFile(dir + "/out"); err != nil || len(got) != 1<<20+maxSlice || string(got[:1<<20]) != text {
		t.Errorf("%v: %d bytes", err, len(got))
	}
}

// terminal returns a pseudo-terminal.
func terminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { person.Close() })
	conn, err := person.SyscallConn()
	check(err)
	var n int
	check(conn.Control(func(fd uintptr) {
		check(unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0))
		n, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		check(err)
	}))
	fd, err := unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Skip(err)
	}
	program = os.NewFile(uintptr(fd), "program")
	t.Cleanup(func() { program.Close() })
	return person, program
}

func init() {
	modes["terminal"] = func() {
		g := must()
		if g.Merged() {
			panic("a terminal is read by a person")
		}
		send(g, 1)
		line := make([]byte, 100)
		n, err := g.In().Read(line)
		check(err)
		if string(line[:n]) != "ping\n" {
			panic(fmt.Sprintf("%q", line[:n]))
		}
		fmt.Println("stray")
		failed := make(chan error)
		go func() {
			_, err := g.In().Read(line)
			failed <- err
		}()
		until(func() bool { return g.Stats().Stray > 0 })
		g.Release()
		if err := <-failed; !errors.Is(err, os.ErrClosed) {
			panic(err)
		}
		fmt.Println("end")
	}
}

// On a terminal everything is seen, nothing becomes non-blocking, and Close ends a read all the same.
func TestTerminal(t *testing.T) {
	person, program := terminal(t)
	check(person.SetReadDeadline(time.Now().Add(patience)))
	cmd := child(t, "terminal")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var seen strings.Builder
	buf := make([]byte, 1000)
	for !strings.Contains(seen.String(), "end\r\n") {
		n, err := person.Read(buf)
		if err != nil {
			t.Fatal(err, seen.String())
		}
		seen.Write(buf[:n])
		if strings.HasSuffix(seen.String(), "1}\r\n") {
			if nonblocking(t, program) {
				t.Error("the terminal is non-blocking")
			}
			check2(person.Write([]byte("ping\n")))
		}
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(seen.String(), "stray\r\n") {
		t.Errorf("%v: %s", err, seen.String())
	}
}

// again returns another File of f's descriptor, which knows its mode.
func again(f *os.File) *os.File {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	check(err)
	return os.NewFile(uintptr(fd), f.Name())
}

// A pipe that is full takes what fits, and the caller sees it.
func TestWritePartial(t *testing.T) {
	for kind, make2 := range map[string]func(*testing.T) (r, w *os.File){"pipe": pipes, "socket": pair} {
		t.Run(kind, func(t *testing.T) {
			r, w := make2(t)
			_, _ = unix.FcntlInt(w.Fd(), unix.F_SETPIPE_SZ, 1<<18) // where it is a pipe
			check(unix.SetNonblock(int(w.Fd()), true))
			out, err := newOutput(again(w))
			check(err)
			first, err := out.WritePartial(make([]byte, 8<<20))
			if first <= maxSlice || first > 1<<20 || err != nil { // more than a blocking write is given, less than all
				t.Fatal(first, err)
			}
			second := make(chan int)
			go func() {
				n, _ := out.WritePartial(make([]byte, 8<<20))
				second <- n
			}()
			check2(io.ReadFull(r, make([]byte, first)))
			if n := <-second; n == 0 || n > 1<<20 {
				t.Error(n)
			}
			check(out.Close())
		})
	}
}

// The test for a shared mode, which systems without inode numbers for pipes need.
func TestSameMode(t *testing.T) {
	_, a := pipes(t)
	_, b := pipes(t)
	dup, err := unix.Dup(int(a.Fd()))
	check(err)
	defer unix.Close(dup)
	if !sameMode(int(a.Fd()), dup) || sameMode(int(a.Fd()), int(b.Fd())) {
		t.Error("want true for a duplicate and false for another pipe")
	}
	flags, err := unix.FcntlInt(a.Fd(), unix.F_GETFL, 0)
	if err != nil || flags&syscall.O_APPEND != 0 {
		t.Error("the mode was not put back")
	}
}

// A descriptor that another process made non-blocking under us still waits.
func TestPatient(t *testing.T) {
	r, w := pipes(t)
	in := newInput(again(r))
	defer in.Close()
	check(unix.SetNonblock(int(r.Fd()), true))
	got := make(chan string)
	go func() {
		buf := make([]byte, 10)
		n, err := in.Read(buf)
		got <- fmt.Sprint(string(buf[:n]), err)
	}()
	select {
	case text := <-got:
		t.Error(text)
	case <-time.After(20 * time.Millisecond): // a read that does not wait fails at once
	}
	check2(w.WriteString("late"))
	if text := <-got; text != "late<nil>" {
		t.Error(text)
	}
}
