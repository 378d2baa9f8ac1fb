// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-analyze/charts"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// recorded is the run that docs/lab.md quotes.
func recorded(t *testing.T) stdiolab.Table {
	t.Helper()
	f, err := os.Open(filepath.Join("..", "..", "docs", "lab.csv"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	table, err := stdiolab.ReadTable(f)
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// TestHTML: the page has ten conclusions and a chart of every group that was measured, and fetches nothing.
func TestHTML(t *testing.T) {
	var out bytes.Buffer
	table := recorded(t)
	if err := HTML(&out, table); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	if n := strings.Count(page, `<span class="verdict `); n != 10 {
		t.Errorf("%d conclusions", n)
	}
	for _, g := range stdiolab.Groups() {
		_, part, ok := strings.Cut(page, `<h2 id="`+g[0]+`">`)
		part, _, _ = strings.Cut(part, "<h2 ")
		if !ok || strings.Count(part, "<svg ") < 4 || strings.Count(part, "<svg ")%4 != 0 {
			t.Errorf("group %s has %d drawings", g[0], strings.Count(part, "<svg "))
		}
	}
	for _, m := range regexp.MustCompile(`(?i)(src|href|url|import)[=( ]+["']?(https?:)?//`).FindAllString(page, -1) {
		t.Errorf("the page fetches something: %s", m)
	}
	for _, want := range []string{"prefers-color-scheme: dark", machine(table), "% of lines", "bytes of a frame"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page does not have %q", want)
		}
	}
}

// TestConclusions: what is not measured is called so, and a turned result turns the verdict.
func TestConclusions(t *testing.T) {
	for _, c := range conclusions(stdiolab.Table{}) {
		if c.Verdict != notMeasured {
			t.Errorf("without rows: %+v", c)
		}
	}
	verdicts := func(table stdiolab.Table) string {
		s := ""
		for _, c := range conclusions(table) {
			s += c.Verdict[:1]
		}
		return s
	}
	const want = "RCCCRCR?CC" // what is ? is a matter of time, and moves
	table := recorded(t)
	got := verdicts(table)
	if got[:7]+"?"+got[8:] != want {
		t.Errorf("verdicts %s, want %s", got, want)
	}
	for _, r := range table.Rows {
		if r["group"] == "E1" && r["writer"] == "oneLock" && r["cell"] == "1024" {
			r["bad"] = "1"
		}
		if r["group"] == "E4" {
			r["note"] = strings.Replace(r["note"], "exceptions=0", "exceptions=1", 1)
		}
	}
	if got := verdicts(table); got[3] != 'R' || got[8] != 'R' {
		t.Errorf("with a damaged frame and an exception: %s", got)
	}
	for _, writer := range []string{"rawSplit", "printNL", "oneLock", "weir"} {
		table := recorded(t)
		table.Rows = slices.DeleteFunc(table.Rows, func(r stdiolab.Row) bool { return r["writer"] == writer })
		if got := verdicts(table); got[3] != 'N' || got[5] != 'N' {
			t.Errorf("without the rows of %s: %s", writer, got)
		}
	}
}

// TestUnseen: what lies on the axis, or is too low to be drawn, is said in words.
func TestUnseen(t *testing.T) {
	c := chart{y: "ms", names: []string{"a", "b", "c", "d"}, values: [][]float64{{4000, math.NaN()}, {0, 0}, {0.2, 0.625}, {}}}
	if got, want := c.unseen(), "0 throughout: b. Too small to be seen: c, at most 0.63 ms"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got := (chart{names: []string{"a"}, values: [][]float64{{0}}}).unseen(); got != "" {
		t.Errorf("of one series: %q", got)
	}
	var page bytes.Buffer
	if err := HTML(&page, recorded(t)); err != nil || !strings.Contains(page.String(), "0 throughout: println, printlnGBK, oneLock, batch512, weir.") {
		t.Errorf("E1 does not say which writers lie on the axis: %v", err)
	}
}

// TestMachineLine: the machine has a line of its own above each drawing, and the units stand at an axis.
func TestMachineLine(t *testing.T) {
	table := recorded(t)
	for _, c := range pictures(table) {
		for _, width := range widths {
			b, err := c.svg(width, false, charts.ColorWhite, machine(table))
			if err != nil {
				t.Fatal(err)
			}
			var texts [][]int // x, y
			unit, top := false, -1
			for _, m := range regexp.MustCompile(`<text x="(-?\d+)" y="(-?\d+)"[^>]*>([^<]*)<`).FindAllStringSubmatch(string(b), -1) {
				x, _ := strconv.Atoi(m[1])
				y, _ := strconv.Atoi(m[2])
				if m[3] == machine(table) {
					top = y
					continue
				}
				unit = unit || m[3] == c.y
				texts = append(texts, []int{x, y})
			}
			if top < 0 || !unit {
				t.Errorf("%s, %d px: machine at %d, unit %q drawn: %v", c.id, width, top, c.y, unit)
			}
			for _, at := range texts {
				if at[1] < top+10 {
					t.Errorf("%s, %d px: a text at %v, the machine at %d", c.id, width, at, top)
				}
			}
		}
	}
}

// TestDrawings: the pictures in docs are those of the run in docs.
func TestDrawings(t *testing.T) {
	dir := t.TempDir()
	if err := Files(dir, recorded(t)); err != nil {
		t.Fatal(err)
	}
	names, err := filepath.Glob(filepath.Join(dir, "*.svg"))
	if err != nil || len(names) < 9 {
		t.Fatalf("%q, %v", names, err)
	}
	for _, n := range names {
		want, err := os.ReadFile(n)
		if err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(filepath.Join("..", "..", "docs", filepath.Base(n)))
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("docs/%s is another picture (%v): go run . report -svg ../docs ../docs/lab.csv", filepath.Base(n), err)
		}
	}
}

// TestDocument: whatever docs/lab.md quotes of a run is what the run in docs gives, and it quotes everything, and every picture.
func TestDocument(t *testing.T) {
	doc, err := os.ReadFile(filepath.Join("..", "..", "docs", "lab.md"))
	if err != nil {
		t.Fatal(err)
	}
	made, err := Document(doc, recorded(t))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(made, doc) {
		t.Errorf("docs/lab.md is not what docs/lab.csv gives: go run . report -doc ../docs/lab.md ../docs/lab.csv")
	}
	for name, text := range parts {
		if !bytes.Contains(doc, []byte("<!-- run: "+name+" -->")) {
			t.Errorf("docs/lab.md does not quote %q", name)
		}
		if made := text(recorded(t)); made == "" || strings.Count(made, "\n") == 2 {
			t.Errorf("%s of a run is empty: %q", name, made)
		}
		text(stdiolab.Table{}) // which must not panic
	}
	for _, c := range pictures(recorded(t)) {
		if !bytes.Contains(doc, []byte("(lab-"+c.id+".svg)")) {
			t.Errorf("docs/lab.md does not show lab-%s.svg", c.id)
		}
	}
	if _, err := Document([]byte("<!-- run: nonesuch --><!-- end -->"), recorded(t)); err == nil {
		t.Error("a part that there is not was made")
	}
	old := []byte("a <!-- run: article -->7<!-- end --> b")
	if got, err := Document(old, recorded(t)); err != nil || string(got) != "a <!-- run: article -->220,900 frames<!-- end --> b" {
		t.Errorf("%s, %v", got, err)
	}
}
