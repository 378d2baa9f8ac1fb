// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// recording gives a lab of tests a table to write to, and returns what reads it.
func recording(t *testing.T, l *lab) func() []Row {
	t.Helper()
	var out bytes.Buffer
	var err error
	if l.out, err = newTableWriter(&out, []string{"go=" + runtime.Version()}); err != nil {
		t.Fatal(err)
	}
	return func() []Row {
		t.Helper()
		table, err := ReadTable(&out)
		if err != nil {
			t.Fatal(err)
		}
		return table.Rows
	}
}

// TestBanner: what stray lines do to hosts that pair by line, to hosts that pair by id, and nothing where Weir takes them.
func TestBanner(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	rows := recording(t, l)
	l.group = "E4"
	for _, host := range []string{"byLine", "byLineParsing", "byID", "weir"} {
		for _, banner := range []int{0, 1, 10} {
			c := Config{Mode: "reply", Size: 128, Frames: e4Requests, Banner: banner}
			name := host
			if host == "weir" {
				c.Writer, name = "weir", "byLineParsing"
			}
			if err := l.banner(t.Context(), name, c); err != nil {
				t.Fatalf("%s, %d lines: %v", host, banner, err)
			}
		}
	}
	want := []string{}
	for _, n := range []int{0, 1, 10} {
		want = append(want, fmt.Sprintf("right=%d mispaired=%d unparsed=%d exceptions=0 noise=0 late=%d", right(n), 300-n-right(n), n, n))
	}
	for _, n := range []int{0, 1, 10} {
		want = append(want, fmt.Sprintf("right=%d mispaired=%d unparsed=0 exceptions=%d noise=0 late=%d", right(n), 300-n-right(n), n, n))
	}
	for _, n := range []int{0, 1, 10} {
		want = append(want, fmt.Sprintf("right=300 mispaired=0 unparsed=0 exceptions=0 noise=%d late=0", n))
	}
	for _, n := range []int{0, 1, 10} {
		want = append(want, fmt.Sprintf("right=300 mispaired=0 unparsed=0 exceptions=0 noise=0 late=0 onStderr=%d", n))
	}
	for i, r := range rows() {
		if i >= len(want) || r["note"] != want[i] {
			t.Errorf("row %d, %s: %s, want %s", i, r["cell"], r["note"], want[min(i, len(want)-1)])
		}
	}
}

// right is how many of 300 answers a host by line pairs rightly.
func right(banner int) int {
	if banner == 0 {
		return 300
	}
	return 0
}

// TestEdge: one write of the pipe's capacity returns and one byte more blocks, at each capacity; many writes of half a page and a
// byte fill half of it.
func TestEdge(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("a pipe's capacity is known on Linux only")
	}
	t.Parallel()
	l := testLab(t)
	var wg sync.WaitGroup // what is blocked takes 2 s to be called so: all at once
	for _, pipe := range pipeSizes {
		for _, over := range []int{0, 1} {
			wg.Go(func() {
				size := pipe + over
				if pipe == 0 {
					size = 65536 + over
				}
				c, blocked, held, err := l.stuckWrite(t.Context(), size, 1, pipe)
				if err != nil || blocked != (over == 1) || held != size-over || c.Pipe != size-over {
					t.Errorf("a write of %d to a pipe of %d: blocked %v, %d bytes in it, %v", size, c.Pipe, blocked, held, err)
				}
			})
		}
	}
	wg.Go(func() { // many writes
		if _, blocked, held, err := l.stuckWrite(t.Context(), 2049, 9_000_000, 0); err != nil || !blocked || held != 16*2049 {
			t.Errorf("many writes: blocked %v, %d bytes held, %v", blocked, held, err)
		}
	})
	wg.Wait()
}

// TestSlowHosts: a host that reads nothing for a while hears of no lost line, and the cancel reaches Weir meanwhile.
func TestSlowHosts(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	for _, writer := range []string{"oneLock", "weir"} {
		wg.Go(func() {
			rows, err := testLab(t).slowHost(t.Context(), 1, writer)
			if err != nil {
				t.Errorf("%s: %v", writer, err)
				return
			}
			cancel, write := rows[0], rows[1]
			if cancel["lostLines"] != "0" || cancel["bad"] != "0" || cancel["writer"] != writer {
				t.Errorf("%v", cancel)
			}
			// The host reads again 2 s after the cancel: before that a reader that waits for its writers cannot see it.
			if waited := cancel.Num("value") > 1500; waited != (writer == "oneLock") {
				t.Errorf("%s: a cancel was read after %s ms", writer, cancel["value"])
			}
			if write.Num("value") <= 0 || strings.Contains(write["note"], "waited") != (writer == "oneLock") {
				t.Errorf("%v", write)
			}
		})
	}
	wg.Wait()
}

// TestFrozenHost: a child that nobody reads is stuck in write, says so, and ends by a signal; with a host that reads, the same
// answer comes whole or is refused for its size, and the next request is answered.
func TestFrozenHost(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	rows, err := l.frozenHost(t.Context(), "escapes")
	if err != nil || runtime.GOOS == "linux" && rows[0]["note"] != "child still running: true; stdout backpressure observed: true; ended by SIGTERM: true" {
		t.Errorf("%v, %v", rows, err)
	}
	for _, limit := range []int{0, 4 << 20} {
		r, err := l.readingCell(t.Context(), "cjk", limit)
		want := "complete; the second request was answered"
		if limit > 0 {
			want = "refused: over the host's limit of 4 MiB; the second request was answered"
		}
		if err != nil || r["note"] != want || r["opt"] != "payload=cjk" || r.Num("bytes") < 8<<20 {
			t.Errorf("limit %d: %v, %v", limit, r, err)
		}
	}
}

// TestHostTest: what would fail a test is the cell's error, and cleanups run in any case.
func TestHostTest(t *testing.T) {
	cleaned := 0
	err := inTest(func(t *hostTest) error {
		t.Cleanup(func() { cleaned++; t.Errorf("in the %s", "cleanup") })
		t.Fatal("no pipes")
		return nil
	})
	if err == nil || err.Error() != "no pipes; in the cleanup" || cleaned != 1 {
		t.Errorf("%v, %d cleanups", err, cleaned)
	}
	if err := inTest(func(*hostTest) error { return io.EOF }); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
	if err := inTest(func(*hostTest) error { return nil }); err != nil {
		t.Errorf("%v", err)
	}
}

// TestForms: the five forms of one text, by their bytes, and which of them stalls a host that looks away; and where logs go.
func TestForms(t *testing.T) {
	t.Parallel()
	l := testLab(t)
	rows := recording(t, l)
	l.group = "E8"
	if err := l.e8(t.Context()); err != nil {
		t.Fatal(err)
	}
	value := map[string]float64{}
	for _, r := range rows() {
		value[r["cell"]+", "+r["unit"]] = r.Num("value")
		if strings.HasPrefix(r["cell"], "logs ") && r["value"] != "1000" || r["opt"] == "" {
			t.Errorf("%v", r)
		}
	}
	first, all := func(form string) float64 { return value[form+", bytes, the first answer"] }, func(form string) float64 { return value[form+", bytes, everything read"] }
	if first("whole") < 1<<20 || first("limit") > 1024 || first("preview") > 40<<10 || first("handle") > 40<<10 || first("page") > 80<<10 {
		t.Errorf("first answers: %v", value)
	}
	if all("page") < 1<<20 || all("handle") < 1<<20 || all("preview") != first("preview") {
		t.Errorf("everything read: %v", value)
	}
	for _, f := range forms {
		if stalled := value[f.name+", 1 stalled a host that looked away for 2.5 s, 0 did not"] == 1; stalled != (f.name == "whole") {
			t.Errorf("%s: stalled %v", f.name, stalled)
		}
	}
}

// TestClients: other people's clients get every answer of a Weir server; the row is built from what the server says. Python's runs
// with a stand-in for its package, so that its script has been run.
func TestClients(t *testing.T) {
	standIn, err := filepath.Abs("testdata/python")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PYTHONPATH", standIn)
	t.Setenv("PYTHONDONTWRITEBYTECODE", "1")
	l := testLab(t)
	if l.workshop, l.noShop = peers.Open(t.Context()); l.noShop != nil {
		t.Fatal(l.noShop)
	}
	defer l.workshop.Close()
	c := Config{Mode: "mcp", Writer: "weir", Size: 20_000, CJK: true}.withDefaults()
	want := textAnswer((&shape{size: c.Size, cjk: true}).texts(1))
	for _, k := range clients {
		t.Run(k.name, func(t *testing.T) {
			said := drive.NewTail()
			calls := []toolCall{{"reply", map[string]any{}}, {"reply", map[string]any{}}}
			server := append(l.command[:len(l.command):len(l.command)], c.Args()...)
			answers, err := k.run(t.Context(), l, server, calls, said)
			var missing *missingError
			if errors.As(err, &missing) {
				t.Skip(missing)
			}
			if err != nil || len(answers) != len(calls) || answers[0] != want || answers[1] != want {
				t.Errorf("%v, %v; want %v", answers, err, want)
			}
			if conf, err := awaitReport(t.Context(), said, c); err != nil || conf.Size != c.Size {
				t.Errorf("the server says %+v, %v", conf, err)
			}
			if answers, err = k.run(t.Context(), l, server, []toolCall{{"nonesuch", map[string]any{}}}, said); err == nil && (len(answers) != 1 || answers[0].Error == "") {
				t.Errorf("an unknown tool: %v, %v", answers, err)
			}
			if answers, err = k.run(t.Context(), l, []string{filepath.Join(t.TempDir(), "nonesuch")}, calls, said); err == nil {
				t.Errorf("a server that is not there: %v", answers)
			}
		})
	}
}

// TestPythonMissing: where the package is not there the reason says so, and how to get it.
func TestPythonMissing(t *testing.T) {
	exe, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is absent")
	}
	if exec.Command(exe, "-c", "import mcp").Run() == nil {
		t.Skip("the package is there")
	}
	l := testLab(t)
	if l.workshop, l.noShop = peers.Open(t.Context()); l.noShop != nil {
		t.Fatal(l.noShop)
	}
	defer l.workshop.Close()
	_, err = runPython(t.Context(), l, nil, nil, io.Discard)
	var missing *missingError
	if !errors.As(err, &missing) || !strings.Contains(err.Error(), "pip install mcp") {
		t.Errorf("%v", err)
	}
}

// TestPipelines: the child works in front of the programs that people look at bytes with.
func TestPipelines(t *testing.T) {
	t.Parallel()
	self := testLab(t).command[0]
	for _, tt := range []struct{ flags, into, want string }{
		{"--mode=push --writer=oneLock --threads=8 --frames=8000 --size=1024 --cjk=true", "head -c 22", `{"jsonrpc":"2.0","id":`},
		{"--mode=push --writer=rawSplit --threads=8 --frames=8000 --size=1024 --cjk=true", "head -c 22", `{"jsonrpc":"2.0","id":`},
		{"--mode=push --writer=println --threads=8 --frames=10 --size=1024 --cjk=true", "xxd | head -1 | cut -c11-49", "7b22 6a73 6f6e 7270 6322 3a22 322e 3022"},
		{"--mode=push --writer=printlnGBK --threads=1 --frames=2 --size=128 --cjk=true", "xxd -p | tr -d '\\n' | grep -o '0d0a' | wc -l", "3"},
		{"--mode=push --writer=weir --threads=8 --frames=20 --size=1024 --cjk=true", "iconv -f UTF-8 -t UTF-8 | wc -c", "20547"},
		{"--mode=push --writer=printlnGBK --threads=1 --frames=2 --size=128 --cjk=true", "iconv -f UTF-8 -t UTF-8 >/dev/null 2>&1 || echo illegal", "illegal"},
	} {
		program, _, _ := strings.Cut(tt.into, " ")
		if _, err := exec.LookPath(program); err != nil {
			t.Logf("%s is absent", program)
			continue
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		cmd := exec.CommandContext(ctx, "sh", "-c", fmt.Sprintf("'%s' server %s | %s", self, tt.flags, tt.into))
		var said bytes.Buffer
		cmd.Stderr = &said
		out, err := cmd.Output()
		cancel()
		if got := strings.TrimSpace(string(out)); err != nil || got != tt.want || strings.Contains(said.String(), "broken pipe") {
			t.Errorf("%s | %s: %q, want %q (%v); it said %s", tt.flags, tt.into, got, tt.want, err, said.String())
		}
	}
}

// TestReplyByHand: a line that is not answered is said to be so.
func TestReplyByHand(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, testLab(t).command[0], "server", "-mode=reply", "-size=100")
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = strings.NewReader("a\n{\"id\":7}\n"), &said
	out, err := cmd.Output()
	if err != nil || bytes.Count(out, []byte("\n")) != 1 || !bytes.Contains(out, []byte(`"id":7,`)) || !strings.Contains(said.String(), "without an id, which are not answered: 1;") {
		t.Errorf("%s, %v; it said %s", out, err, said.String())
	}
}

// TestDamaging: a cell that must damage and did not is run again, and one that must not is run once.
func TestDamaging(t *testing.T) {
	l := testLab(t)
	r, err := l.damaging(t.Context(), "16384", Config{Writer: "twoProcs", Threads: 2, Frames: 2, Size: 16384})
	if err != nil || r.Num("bad") == 0 && r["note"] != "trial 3: no frame was damaged before" {
		t.Errorf("two frames of two processes: %v, %v", r, err)
	}
	r, err = l.damaging(t.Context(), "16384", Config{Writer: "oneLock", Threads: 2, Frames: 2, Size: 16384})
	if err != nil || r["note"] != "" || l.frames["E1"] > 3*3+3 {
		t.Errorf("one lock: %v, %v, %d frames", r, err, l.frames["E1"])
	}
}
