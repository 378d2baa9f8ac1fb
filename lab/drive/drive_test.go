// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package drive

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is the test, or a server for it: with LAB_SERVER set it answers every request, and does so wrongly in the way
// that the variable names.
func TestMain(m *testing.M) {
	if flaw := os.Getenv("LAB_SERVER"); flaw != "" {
		serve(flaw)
		return
	}
	goleak.VerifyTestMain(m)
}

func serve(flaw string) {
	in := bufio.NewReader(os.Stdin)
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		if !bytes.HasPrefix(line, []byte(prefix)) {
			continue
		}
		answer := fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`+"\n",
			line[len(prefix):len(prefix)+idDigits], strings.Repeat("x", 100))
		if n == 50 {
			switch flaw {
			case "twice":
				answer = append(answer, answer...)
			case "lost":
				fmt.Fprintln(os.Stderr, "an answer is lost")
				return
			case "damaged":
				answer[len(answer)-20] = 'y'
			case "torn":
				answer[30] = '\n'
			case "stranger":
				answer = bytes.Replace(answer, []byte(`"id":1`), []byte(`"id":9`), 1)
			case "isError":
				answer = bytes.Replace(answer, []byte(`{"content"`), []byte(`{"isError":true,"content"`), 1)
			case "request":
				answer = append(answer, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n"...)
			}
		}
		os.Stdout.Write(answer)
	}
}

func start(t *testing.T, flaw string) *Process {
	t.Helper()
	t.Setenv("LAB_SERVER", flaw)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := Start(ctx, Command{Path: exe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Stop)
	return p
}

func TestLoad(t *testing.T) {
	if !Measures {
		t.Skip("measured on Linux only")
	}
	for _, tt := range []struct{ flaw, want string }{
		{"none", ""},
		{"twice", "a second answer"},
		{"lost", `closed its stdout; its stderr ends in "an answer is lost"`},
		{"damaged", "not the answer it was the first time"},
		{"torn", "not the answer it was the first time"},
		{"stranger", "answer to nobody's question"},
		{"isError", "not the answer it was the first time"},
		{"request", "a request or a notification"},
	} {
		t.Run(tt.flaw, func(t *testing.T) {
			p := start(t, tt.flaw)
			c, err := p.Run(Load{Frames: []Frame{Call("echo", `{"text":"x"}`)}, InFlight: 8, Time: 100 * time.Millisecond})
			if tt.want == "" {
				if err != nil {
					t.Fatal(err)
				}
				if c.Calls < 8 || c.Bytes == 0 || c.CPU == 0 || c.Elapsed < 100*time.Millisecond {
					t.Errorf("counted %+v", c)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestLoadMeasuresTrips(t *testing.T) {
	if !Measures {
		t.Skip("measured on Linux only")
	}
	p := start(t, "none")
	c, err := p.Run(Load{Frames: []Frame{Call("echo", "{}")}, Time: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Trips) != c.Calls || c.Quantile(0.5) <= 0 || c.Quantile(0.5) > c.Quantile(0.99) {
		t.Errorf("%d trips of %d calls, p50 %v, p99 %v", len(c.Trips), c.Calls, c.Quantile(0.5), c.Quantile(0.99))
	}
}

func TestLoadCheck(t *testing.T) {
	if !Measures {
		t.Skip("measured on Linux only")
	}
	p := start(t, "none")
	wrong := errors.New("wrong")
	_, err := p.Run(Load{Frames: []Frame{Call("echo", "{}")}, Check: func([]byte) error { return wrong }})
	if !errors.Is(err, wrong) {
		t.Errorf("error %v", err)
	}
}

// A server that is not read takes what its pipes hold, and TryWrite says so instead of waiting.
func TestTryWriteStopsWhenStuck(t *testing.T) {
	p := start(t, "none")
	f := Call("echo", `{"text":"`+strings.Repeat("x", 1000)+`"}`)
	taken := 0
	for range 10_000 {
		n, err := p.TryWrite(f, 100*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		taken += n
		if n < len(f) {
			if taken == 0 {
				t.Error("nothing was taken")
			}
			return
		}
	}
	t.Errorf("%d bytes were taken by a server that nobody reads", taken)
}

func TestStderrWait(t *testing.T) {
	tail := NewTail()
	go fmt.Fprint(tail, strings.Repeat("noise\n", 10_000)+"first\nslow cancelled\n")
	if err := tail.Wait(t.Context(), "slow cancelled"); err != nil {
		t.Fatal(err)
	}
	if got := tail.Last(); got != "first\nslow cancelled" {
		t.Errorf("Last() = %q", got)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tail.Wait(ctx, "never said"); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait = %v", err)
	}
}

func TestFrameID(t *testing.T) {
	f := Call("add", `{"a":1}`)
	f.SetID(8_765_432)
	const want = `{"jsonrpc":"2.0","id":108765432,"method":"tools/call","params":{"name":"add","arguments":{"a":1}}}` + "\n"
	if string(f) != want {
		t.Errorf("frame %s", f)
	}
	if n, ok := getID(f[len(prefix):]); !ok || n != 8_765_432 {
		t.Errorf("getID = %d, %v", n, ok)
	}
	for _, bad := range []string{"", "12345678", "12345678x", "012345678"} {
		if n, ok := getID([]byte(bad)); ok {
			t.Errorf("getID(%q) = %d", bad, n)
		}
	}
}

// Of a large answer only the edges are compared, and the id is found wherever it stands.
func TestTemplate(t *testing.T) {
	body := strings.Repeat("x", 100_000)
	for _, line := range []string{
		`{"id":100000001,"result":"` + body + `"}`,
		`{"result":"` + body + `","id":100000001}`,
	} {
		tmpl := template{[]byte(line), strings.Index(line, "100000001")}
		other := strings.Replace(line, "100000001", "100000777", 1)
		if n, ok := tmpl.matches([]byte(other)); !ok || n != 777 {
			t.Errorf("matches = %d, %v", n, ok)
		}
		for _, at := range []int{2, 20, len(line) - 2, len(line) - 3000} {
			bad := []byte(other)
			bad[at] ^= 1
			if _, ok := tmpl.matches(bad); ok && !bytes.Contains(bad, []byte("100000777")) {
				continue // the id itself
			} else if ok {
				t.Errorf("a change at byte %d is not seen", at)
			}
		}
		if _, ok := tmpl.matches([]byte(other + " ")); ok {
			t.Error("another length is not seen")
		}
	}
}
