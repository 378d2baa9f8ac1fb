// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build unix && !aix

package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

func init() {
	modes["tell modes"] = func() {
		g := must()
		fmt.Println("stray")
		send(g, 1)
		if _, err := io.ReadFull(g.In(), make([]byte, 1)); err != nil {
			panic(err)
		}
		g.Release()
		fmt.Println("released")
		if rest, err := io.ReadAll(os.Stdin); string(rest) != "?" || err != nil { // is stdin again
			panic(fmt.Sprintf("%q %v", rest, err))
		}
	}
}

// The mode of what the host gave is as it was after Release; what fd 0 and 1 lead to as well.
func TestModeRestored(t *testing.T) {
	for _, before := range []bool{false, true} {
		for kind, make := range map[string]func(*testing.T) (ours, theirs *os.File){
			"pipe": pipes, "socket": pair,
		} {
			t.Run(fmt.Sprintf("%s, non-blocking %v", kind, before), func(t *testing.T) {
				inR, inW := make(t)
				if kind == "socket" {
					inR, inW = inW, inR
				}
				outR, outW := make(t)
				for _, f := range []*os.File{inR, outW} {
					if err := unix.SetNonblock(int(f.Fd()), before); err != nil {
						t.Fatal(err)
					}
				}
				errR, errW := make(t)
				stderr := readAll(errR)
				cmd := child(t, "tell modes")
				cmd.Stdin, cmd.Stdout, cmd.Stderr = inR, outW, errW
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				line := func() string {
					var text []byte
					for b := []byte{0}; b[0] != '\n'; text = append(text, b[0]) {
						if _, err := outR.Read(b); err != nil {
							t.Fatal(err)
						}
					}
					return string(text)
				}
				if got := line(); got != "{\"frame\":1}\n" {
					t.Error(got)
				}
				serving := before || kind == "socket" || runtime.GOOS != "linux" // where a pipe is opened anew
				if in, out := nonblocking(t, inR), nonblocking(t, outW); in != serving || out != serving {
					t.Errorf("while serving: stdin %v, stdout %v, want %v", in, out, serving)
				}
				if nonblocking(t, errW) {
					t.Error("stderr is non-blocking")
				}
				if _, err := inW.Write([]byte("!")); err != nil {
					t.Fatal(err)
				}
				if got := line(); got != "released\n" {
					t.Error(got)
				}
				if in, out := nonblocking(t, inR), nonblocking(t, outW); in != before || out != before {
					t.Errorf("after release: stdin %v, stdout %v, want %v", in, out, before)
				}
				if _, err := inW.Write([]byte("?")); err != nil {
					t.Fatal(err)
				}
				inW.Close()
				err := cmd.Wait()
				errW.Close()
				if text := <-stderr; err != nil || text != "stray\n" {
					t.Errorf("%v: %q", err, text)
				}
			})
		}
	}
}

func init() {
	modes["signals"] = func() {
		c, stop := Signals()
		g := must()
		send(g, 1)
		s := <-c
		fmt.Fprintln(g.Out(), s)
		stop()
		send(g, 2)
		<-c // for ever
	}
}

// The first signal asks for an end, the second one is the end. One that was ignored from the start stays ignored.
func TestSignals(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(s.String(), func(t *testing.T) {
			if signal.Ignored(s) {
				t.Skip("whoever started this test has it ignored, and children inherit that")
			}
			cmd := child(t, "signals")
			stdout, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if s != syscall.SIGHUP { // nohup: a hangup changes nothing
				cmd.Args = []string{"sh", "-c", `trap "" HUP; exec "$0"`, cmd.Path}
				if cmd.Path, err = exec.LookPath("sh"); err != nil {
					t.Fatal(err)
				}
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			lines := func(want string) {
				got := make([]byte, len(want))
				if _, err := io.ReadFull(stdout, got); err != nil || string(got) != want {
					t.Fatalf("%v: %q", err, got)
				}
			}
			lines("{\"frame\":1}\n")
			if s != syscall.SIGHUP {
				check(cmd.Process.Signal(syscall.SIGHUP))
			}
			check(cmd.Process.Signal(s))
			lines(s.String() + "\n{\"frame\":2}\n")
			check(cmd.Process.Signal(s))
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != s {
				t.Errorf("after the second: %v", err)
			}
		})
	}
}
