// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"
	"golang.org/x/text/encoding/simplifiedchinese"

	"github.com/weir-mcp/weir/lab/drive"
)

// TestMain is also the child of a cell, when a cell starts this program again.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "server" {
		if err := Serve(context.Background(), os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, "lab:", err)
			os.Exit(1)
		}
		return
	}
	goleak.VerifyTestMain(m)
}

// TestClassifier plants bytes of each class, each with what every question must answer.
func TestClassifier(t *testing.T) {
	const size = 128
	s := shape{size: size, cjk: true}
	f := func(id int) string { return string(s.append(nil, id)) }
	gbk := func(text string) string {
		b, err := simplifiedchinese.GBK.NewEncoder().String(text)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	for _, tt := range []struct {
		name  string
		bytes string
		gbk   bool // the writer encodes in GBK on purpose
		want  Counts
	}{
		{name: "frames and the marker", bytes: f(0) + "\n" + f(1) + "\n" + EndMarker + "\n", want: Counts{Lines: 3, End: 1}},
		{name: "nothing"},
		{name: "no end of the last line", bytes: f(0) + "\n" + f(1), want: Counts{Lines: 2}},
		{name: "crlf, which is no damage", bytes: f(0) + "\r\n" + EndMarker + "\r\n", want: Counts{Lines: 2, CRLF: 2, End: 1}},
		{name: "only one CR is dropped", bytes: f(0) + "\r\r\n", want: Counts{Lines: 1, CRLF: 1, Mixed: 1}},
		{name: "GBK by accident", bytes: gbk(f(0)) + "\n", want: Counts{Lines: 1, UTF8Fail: 1, GBKOK: 1, Mixed: 1}},
		{name: "GBK on purpose is whole", bytes: gbk(f(0)) + "\r\n", gbk: true, want: Counts{Lines: 1, CRLF: 1, UTF8Fail: 1, GBKOK: 1}},
		{name: "neither UTF-8 nor GBK", bytes: f(0)[:100] + "\xff\xff" + f(0)[102:] + "\n", want: Counts{Lines: 1, UTF8Fail: 1, Mixed: 1}},
		{name: "torn: the end of a frame", bytes: f(0)[40:] + "\n", want: Counts{Lines: 1, Torn: 1}},
		{name: "torn: an empty line", bytes: "\n", want: Counts{Lines: 1, Torn: 1}},
		{name: "merged", bytes: f(0) + f(1) + "\n\n", want: Counts{Lines: 2, Merged: 1, Torn: 1}},
		{name: "mixed: the start of one and the end of another", bytes: f(0)[:60] + f(1)[63:] + "\n", want: Counts{Lines: 1, Mixed: 1}},
		{name: "mixed: a byte too many", bytes: f(0)[:100] + "x" + f(0)[100:] + "\n", want: Counts{Lines: 1, Mixed: 1, UTF8Fail: 1, GBKOK: 0}},
		{name: "mixed: another size", bytes: strings.Replace(f(0), "中", "", 1) + "\n", want: Counts{Lines: 1, Mixed: 1}},
		{name: "mixed: an id that was never sent", bytes: f(99) + "\n", want: Counts{Lines: 1, Mixed: 1}},
		{name: "mixed: no number", bytes: frameHead + "x" + frameMid + frameTail + "\n", want: Counts{Lines: 1, Mixed: 1}},
		{name: "dup", bytes: f(3) + "\n" + f(3) + "\n", want: Counts{Lines: 2, Dup: 1}},
		{name: "dup inside a merged line", bytes: f(3) + f(3) + "\n", want: Counts{Lines: 1, Merged: 1, Dup: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, chunk := range []int{1, 7, 1 << 20} {
				c := NewClassifier(10, size, true, tt.gbk)
				n, err := c.ReadFrom(&chunked{strings.NewReader(tt.bytes), chunk})
				got := c.Counts
				got.Digest = 0
				want := tt.want
				want.Bytes = int64(len(tt.bytes))
				if err != nil || n != want.Bytes || got != want {
					t.Errorf("in reads of %d: %+v, want %+v (%d bytes, %v)", chunk, got, want, n, err)
				}
			}
		})
	}
}

type chunked struct {
	r io.Reader
	n int
}

func (c *chunked) Read(b []byte) (int, error) { return c.r.Read(b[:min(len(b), c.n)]) }

func TestDigest(t *testing.T) {
	digest := func(text string) uint64 {
		c := NewClassifier(10, 128, false, false)
		if _, err := c.ReadFrom(strings.NewReader(text)); err != nil {
			t.Fatal(err)
		}
		return c.Digest
	}
	if digest("a\nb\n") != digest("b\na\n") || digest("a\nb\n") == digest("a\nc\n") {
		t.Error("the digest follows the order of lines, or does not see their bytes")
	}
}

// FuzzClassifier: every line has exactly one of the structures, whatever the bytes are.
func FuzzClassifier(f *testing.F) {
	f.Add([]byte("\r\n" + frameHead + "1" + frameMid + frameTail + "\n" + EndMarker + "\n\xff\n" + idKey))
	f.Fuzz(func(t *testing.T, b []byte) {
		c := NewClassifier(100, 128, true, false)
		if n, err := c.ReadFrom(bytes.NewReader(b)); err != nil || n != int64(len(b)) {
			t.Fatalf("%d bytes of %d, %v", n, len(b), err)
		}
		lines := bytes.Count(b, []byte("\n"))
		if len(b) > 0 && b[len(b)-1] != '\n' {
			lines++
		}
		if c.Lines != lines || c.Bad()+c.End > c.Lines || c.GBKOK > c.UTF8Fail || c.UTF8Fail > c.Lines {
			t.Errorf("%+v of %d lines", c.Counts, lines)
		}
	})
}

// TestFrames: a frame has the size that was asked for, in both fillers.
func TestFrames(t *testing.T) {
	for _, cjk := range []bool{false, true} {
		for _, size := range []int{MinSize, 128, 1023, 1024, 1025, 65536} {
			s := shape{size: size, cjk: cjk}
			for _, id := range []int{0, 9, 10, 999_999} {
				if b := s.append(nil, id); len(b) != size || bytes.Count(b, []byte(idKey)) != 1 {
					t.Errorf("frame %d of %d bytes (cjk %v) has %d", id, size, cjk, len(b))
				}
			}
		}
	}
}

func TestParseConfig(t *testing.T) {
	for _, tt := range []struct {
		args []string
		err  string // part of it; "" means none
	}{
		{nil, ""},
		{[]string{"--mode=push", "-writer=weir", "--threads", "2"}, ""},
		{[]string{"mode=push"}, `unexpected argument "mode=push"`},
		{[]string{"-mode=push", "x"}, `unexpected argument "x"`},
		{[]string{"-nonesuch"}, "flag provided but not defined"},
		{[]string{"-mode=pull"}, "-mode"},
		{[]string{"-writer=utf8Lock"}, "there are println,"},
		{[]string{"-threads=0"}, "-threads 0"},
		{[]string{"-frames=0"}, "-frames 0"},
		{[]string{"-size=10"}, "-size 10"},
		{[]string{"-mode=stuck", "-size=1"}, ""},
		{[]string{"-payload=y"}, "-payload"},
	} {
		c, err := ParseConfig(tt.args, io.Discard)
		if tt.err == "" && err != nil || tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) {
			t.Errorf("%q: %v, want %q", tt.args, err, tt.err)
		}
		if err != nil {
			continue
		}
		if again, err := ParseConfig(c.Args(), io.Discard); err != nil || again != c {
			t.Errorf("%q came back as %+v, %v", tt.args, again, err)
		}
	}
}

// testLab is a lab whose children are this test.
func testLab(t *testing.T) *lab {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &lab{command: []string{self, "server"}, frames: map[string]int{}, bytes: map[string]int64{}, seconds: map[string]float64{}, group: "E1"}
}

// TestWriters runs every writer in a real child: with one thread nothing may be damaged, and the bytes are the same for all but
// the one in GBK.
func TestWriters(t *testing.T) {
	l := testLab(t)
	var plain uint64
	for i, w := range Writers {
		r, c, err := l.push(t.Context(), controlCell, 0, Config{Writer: w, Threads: 1, Frames: 50, Size: 1024, CJK: true}, startOptions{})
		if err != nil {
			t.Errorf("%s: %v", w, err)
			continue
		}
		if i == 0 {
			plain = c.Digest
		}
		if c.Lines != 51 || c.Bad() != 0 || c.Dup != 0 || c.End != 1 || r["writer"] != w || r["framesSent"] != "50" || r["lostLines"] != "0" {
			t.Errorf("%s: %+v, row %v", w, c, r)
		}
		if legacy := w == "printlnGBK"; legacy != (c.Digest != plain) || legacy != (c.UTF8Fail == 50) || legacy != (c.CRLF == 51) {
			t.Errorf("%s: %+v", w, c)
		}
	}
}

// TestReport: a row is built from what the child says of itself, and a child that runs something else is an error.
func TestReport(t *testing.T) {
	l := testLab(t)
	r, _, err := l.push(t.Context(), "cell", 0, Config{Frames: 3, Size: 300}, startOptions{env: []string{"LC_ALL=zh_CN.GB18030"}})
	if err != nil || r["opt"] != "LC_ALL=zh_CN.GB18030" || r["frames"] != "3" || r["size"] != "300" || r["threads"] != "1" {
		t.Errorf("%v, %v", r, err)
	}
	l.command = append(l.command, "lost") // every flag after a positional argument is lost
	if _, err := l.start(t.Context(), Config{}, startOptions{}); err == nil || !strings.Contains(err.Error(), "did not report") {
		t.Errorf("a child that does not parse its flags: %v", err)
	}
	// A child that runs its defaults instead of what it was asked for.
	said := drive.NewTail()
	fmt.Fprintf(said, "%s{\"mode\":\"push\",\"writer\":\"oneLock\",\"threads\":8,\"frames\":8000}\n", reportPrefix)
	if _, err := awaitReport(t.Context(), said, Config{Writer: "rawOne", Frames: 400}.withDefaults()); err == nil || !strings.Contains(err.Error(), "was asked for") {
		t.Errorf("a child that runs something else: %v", err)
	}
	l.command = []string{l.command[0], "server"}
	p, err := l.start(t.Context(), Config{Mode: "stuck", Size: 100}, startOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, blocked := p.conf, !p.says(t.Context(), writtenWord, patience); blocked {
		t.Error("100 bytes were not written")
	}
	if err := p.finish(t.Context()); err != nil {
		t.Error(err)
	}
}

// TestRun runs a group as the command does.
func TestRun(t *testing.T) {
	t.Parallel()
	var out, totals bytes.Buffer
	o := Options{Only: []string{"e5"}, Rounds: 1, Out: &out, Totals: &totals, Command: testLab(t).command}
	if err := Run(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(&out)
	if err != nil || table.Env["go"] == "" || len(table.Rows) != 5 {
		t.Fatalf("%v, %v", table, err)
	}
	if one, whole := table.Rows[0], table.Rows[1]; whole["value"] != "0" || one.Num("value") < 99 {
		t.Errorf("%v, %v", one, whole)
	}
	if !strings.Contains(totals.String(), "1,200 frames") {
		t.Errorf("totals: %s", totals.String())
	}
	for _, name := range []string{"E5", "all", "the article's own cells"} {
		if sum, ok := table.Total(name); !ok || sum.Frames != 1200 {
			t.Errorf("the total of %s: %+v", name, sum)
		}
	}
	if err := Run(t.Context(), Options{Only: []string{"e9"}}); err == nil || !strings.Contains(err.Error(), "e3a") {
		t.Errorf("an unknown group: %v", err)
	}
}
