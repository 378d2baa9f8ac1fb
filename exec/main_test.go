// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package exec_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/weir-mcp/weir/exec"
)

// childVariable makes the test binary one of the programs in children.
const childVariable = "WEIR_TEST_CHILD"

func TestMain(m *testing.M) {
	os.Setenv("GORACE", "atexit_sleep_ms=0") // for children
	if name := os.Getenv(childVariable); name != "" {
		run, ok := children[name]
		if !ok {
			fmt.Fprintln(os.Stderr, "no such child:", name)
			os.Exit(120)
		}
		os.Exit(run(os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

// children are the programs that the tests run, by the value of childVariable.
var children = map[string]func(args []string) int{
	// args prints each argument, quoted.
	"args": func(args []string) int {
		for _, a := range args {
			fmt.Printf("%q\n", a)
		}
		return 0
	},
	// write writes so many bytes, in lines of 64, to stdout, then exits with a
	// status.
	"write": func(args []string) int {
		n, _ := strconv.Atoi(args[0])
		status, _ := strconv.Atoi(args[1])
		block := []byte(strings.Repeat(strings.Repeat("x", 63)+"\n", 1024))
		for n > 0 {
			k, err := os.Stdout.Write(block[:min(n, len(block))])
			if err != nil {
				return 99
			}
			n -= k
		}
		return status
	},
	// alternate fills stderr first, then stdout, then both in turn.
	"alternate": func([]string) int {
		block := bytes.Repeat([]byte("y"), 1<<20)
		os.Stderr.Write(block)
		os.Stdout.Write(block)
		for i := 0; i < len(block); i += 4096 {
			os.Stderr.Write(block[i : i+4096])
			os.Stdout.Write(block[i : i+4096])
		}
		return 0
	},
	// step prints a line and sleeps.
	"step": func([]string) int {
		fmt.Println("step 1")
		time.Sleep(time.Minute)
		return 0
	},
	// endless prints without end.
	"endless": func([]string) int {
		for {
			if _, err := os.Stdout.WriteString(strings.Repeat("line\n", 1000)); err != nil {
				return 98
			}
		}
	},
	// stubborn ignores SIGTERM.
	"stubborn": func([]string) int {
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("ready")
		time.Sleep(time.Minute)
		return 0
	},
	// polite says goodbye on SIGTERM and exits with 7.
	"polite": func([]string) int {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		fmt.Println("ready")
		<-c
		fmt.Println("goodbye")
		return 7
	},
	// cat copies stdin.
	"cat": func([]string) int {
		n, err := io.Copy(os.Stdout, os.Stdin)
		fmt.Fprintln(os.Stderr, n, err)
		return 0
	},
	// echo prints its arguments.
	"echo": func(args []string) int {
		fmt.Println(strings.Join(args, " "))
		return 0
	},
	// env prints the environment.
	"env": func([]string) int {
		for _, kv := range os.Environ() {
			fmt.Println(kv)
		}
		return 0
	},
	// pieces writes each argument to stdout with a pause after it.
	"pieces": func(args []string) int {
		for _, a := range args {
			s, _ := strconv.Unquote(`"` + a + `"`)
			os.Stdout.WriteString(s)
			time.Sleep(20 * time.Millisecond)
		}
		return 0
	},
}

// child is the Cmd of one of the children.
func child(t testing.TB, name string, args ...string) exec.Cmd {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exec.Cmd{Path: self, Args: args, Env: append(os.Environ(), childVariable+"="+name)}
}

// run runs a Cmd that has to start.
func run(t testing.TB, ctx context.Context, cmd exec.Cmd) *exec.Output {
	t.Helper()
	out, err := exec.Run(ctx, cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// within fails when more time has passed than the most, or less than the least.
func within(t testing.TB, began time.Time, least, most time.Duration) {
	t.Helper()
	if d := time.Since(began); d < least || d > most {
		t.Errorf("it took %v, want %v to %v", d, least, most)
	}
}

// firstLine is a Sink that closes a channel at the first line end.
type firstLine struct {
	seen chan struct{}
	once bool
}

func newFirstLine() *firstLine { return &firstLine{seen: make(chan struct{})} }

func (f *firstLine) Write(p []byte) (int, error) {
	if !f.once && bytes.IndexByte(p, '\n') >= 0 {
		f.once = true
		close(f.seen)
	}
	return len(p), nil
}
