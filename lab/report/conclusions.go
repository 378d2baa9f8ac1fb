// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// conclusion is one of the article's, and what became of it here.
type conclusion struct {
	Text    string
	Verdict string // Confirmed, Refuted, Not measured
	Figure  string
}

const notMeasured = "Not measured"

// Conclusions judges the ten conclusions of the article by a run.
func Conclusions(t stdiolab.Table) [][3]string {
	var list [][3]string
	for _, c := range conclusions(t) {
		list = append(list, [3]string{c.Text, c.Verdict, c.Figure})
	}
	return list
}

func conclusions(t stdiolab.Table) []conclusion {
	sum := func(group, writer, column string) (total float64, rows int) {
		for _, r := range measured(t, group) {
			if r["writer"] == writer && (group != "E1" || r["cell"] == r["size"]) && (group != "E6" || r["round"] != "") {
				total += r.Num(column)
				rows++
			}
		}
		return total, rows
	}
	find := func(group string, where map[string]string) (stdiolab.Row, bool) {
		for _, r := range measured(t, group) {
			ok := true
			for k, v := range where {
				ok = ok && r[k] == v
			}
			if ok {
				return r, true
			}
		}
		return nil, false
	}
	verdict := func(ok bool) string {
		if ok {
			return "Confirmed"
		}
		return "Refuted"
	}
	list := make([]conclusion, 0, 10)
	add := func(text string, judge func() (string, string)) {
		v, figure := judge()
		if v == notMeasured && figure == "" {
			figure = "this run has no such rows"
		}
		list = append(list, conclusion{text, v, figure})
	}

	add("A plain println sends frames that are not UTF-8 and end in CRLF.", func() (string, string) {
		fail, n := sum("E1", "println", "utf8Fail")
		crlf, _ := sum("E1", "println", "crlf")
		if n == 0 {
			return notMeasured, ""
		}
		figure := fmt.Sprintf("Go's println: %.0f lines not UTF-8, %.0f with CRLF", fail, crlf)
		if r, ok := find("E1", map[string]string{"writer": "printlnGBK", "cell": "1024"}); ok {
			figure += fmt.Sprintf(". A stand-in for a runtime with GBK and CRLF: %.2f %% not UTF-8, %s of %s lines CRLF, %s damaged: one fault hides the other", r.Num("utf8FailPct"), r["crlf"], r["lines"], r["bad"])
		}
		return verdict(fail > 0 && crlf > 0), figure
	})
	add("A switch can do nothing without a word: -Dstdout.encoding on JDK 17.", func() (string, string) {
		plain, ok1 := find("E1B", map[string]string{"cell": "control jdk", "opt": "none"})
		out, ok2 := find("E1B", map[string]string{"cell": "control jdk", "opt": "-Dstdout.encoding=GBK"})
		file, ok3 := find("E1B", map[string]string{"cell": "control jdk", "opt": "-Dfile.encoding=GBK"})
		if !ok1 || !ok2 || !ok3 {
			for _, r := range t.Group("E1B") {
				if why, skipped := r.Skipped(); skipped && r["cell"] == "control jdk" {
					return notMeasured, why
				}
			}
			return notMeasured, ""
		}
		if jdk, _, _ := strings.Cut(strings.TrimPrefix(plain["note"], "JDK "), "."); jdk != "17" {
			return notMeasured, fmt.Sprintf("the JDK here is another, and from 18 on stdout.encoding counts. none: %s. stdout.encoding: %s. file.encoding: %s", plain["note"], came(out), came(file))
		}
		return verdict(plain["note"] == out["note"] && out["note"] != file["note"]), fmt.Sprintf("none: %s. stdout.encoding: %s. file.encoding: %s", plain["note"], came(out), came(file))
	})
	add("Bytes that the code encodes itself are the same under every switch.", func() (string, string) {
		n, same := 0, 0.0
		for _, r := range measured(t, "E1B") {
			if r["cell"] == "go" {
				n++
				same += r.Num("value")
			}
		}
		if n == 0 {
			return notMeasured, ""
		}
		return verdict(int(same) == n), fmt.Sprintf("%.0f of %d cells have the bytes of the cell without a switch", same, n)
	})
	add("What counts is in how many writes a frame leaves, not its size: one under a lock never tears, two do.", func() (string, string) {
		var figures []string
		good := true
		for _, w := range []string{"oneLock", "weir", "println"} {
			bad, n := sum("E1", w, "bad")
			if n == 0 {
				return notMeasured, ""
			}
			good = good && bad == 0
			figures = append(figures, fmt.Sprintf("%s %.0f", w, bad))
		}
		lines, _ := sum("E1", "println", "lines")
		for _, w := range []string{"printNL", "rawSplit"} {
			bad, n := sum("E1", w, "bad")
			if n == 0 {
				return notMeasured, ""
			}
			good = good && bad > 0
			figures = append(figures, fmt.Sprintf("%s %.0f", w, bad))
		}
		one, _ := sum("E1", "rawOne", "bad")
		return verdict(good), fmt.Sprintf("damaged lines of %s: %s. Only under a lock: one write without one, rawOne, %.0f", comma(fmt.Sprintf("%.0f", lines)), strings.Join(figures, ", "), one)
	})
	add("Larger frames tear less.", func() (string, string) {
		small, ok1 := find("E1", map[string]string{"writer": "rawSplit", "cell": "1024"})
		large, ok2 := find("E1", map[string]string{"writer": "rawSplit", "cell": "262144"})
		one, ok3 := find("E1", map[string]string{"writer": "rawOne", "cell": "262144"})
		if !ok1 || !ok2 || !ok3 {
			return notMeasured, ""
		}
		figure := fmt.Sprintf("rawSplit: %.1f %% at 1 KiB, %.1f %% at 256 KiB. rawOne: ", small.Num("badPct"), large.Num("badPct"))
		if up, ok := find("E1", map[string]string{"writer": "rawOne", "size": "4095"}); ok {
			figure += fmt.Sprintf("%.1f %% at PIPE_BUF, ", up.Num("badPct"))
		}
		return verdict(large.Num("badPct") < small.Num("badPct")), figure + fmt.Sprintf("%.1f %% at 256 KiB", one.Num("badPct"))
	})
	add("Percentages move from round to round, groupings never turn.", func() (string, string) {
		low, high, good, rounds := math.Inf(1), 0.0, true, 0
		for _, r := range measured(t, "E6") {
			if r["round"] == "" {
				continue
			}
			switch r["writer"] {
			case "rawSplit":
				rounds++
				low, high = min(low, r.Num("badPct")), max(high, r.Num("badPct"))
			case "oneLock", "weir":
				good = good && r.Num("bad") == 0
			}
		}
		split, _ := sum("E6", "rawSplit", "bad")
		print, prints := sum("E6", "printNL", "bad")
		lock, locks := sum("E6", "oneLock", "bad")
		weir, weirs := sum("E6", "weir", "bad")
		if rounds == 0 || prints == 0 || locks == 0 || weirs == 0 {
			return notMeasured, ""
		}
		return verdict(good && split > 0 && print > 0), fmt.Sprintf("%d rounds: rawSplit %.2f to %.2f %%, printNL %.0f lines in all, oneLock %.0f, weir %.0f", rounds, low, high, print, lock, weir)
	})
	add("When nobody reads, a write stops at about 4 KiB (4,112 bytes), without an error.", func() (string, string) {
		r, ok := find("E3", map[string]string{"cell": "c edge, default pipe"})
		if !ok {
			return notMeasured, ""
		}
		figure := fmt.Sprintf("here %s bytes return and one more blocks: the edge is the pipe's capacity (%s)", comma(r["value"]), r["opt"])
		for _, a := range measured(t, "E3") {
			if strings.HasPrefix(a["cell"], "a ") && a["note"] == "blocked" {
				figure += ". That it stops without an error is so: the child lives, and says nothing"
				break
			}
		}
		for _, d := range measured(t, "E3") {
			if strings.HasPrefix(d["cell"], "d ") && d["size"] == "2049" {
				figure += fmt.Sprintf(". In writes of 2,049 bytes the same pipe takes %s", comma(d["value"]))
			}
		}
		return verdict(r.Num("value") < 8192), figure
	})
	add("The knee of the round trip is the pipe's edge.", func() (string, string) {
		at := func(cell string) float64 {
			r, ok := find("E2", map[string]string{"cell": cell})
			if !ok {
				return math.NaN()
			}
			return r.Num("p50us")
		}
		a, b, c := at("65536 pipe 4096"), at("65536 pipe 65536"), at("65536 pipe 1048576")
		d, e := at("262144 pipe 65536"), at("262144 pipe 1048576")
		if math.IsNaN(a + b + c + d + e) {
			return notMeasured, ""
		}
		return verdict(a > 1.5*b && d > 1.2*e), fmt.Sprintf("64 KiB: %.0f µs over a pipe of 4 KiB, %.0f over 64 KiB, %.0f over 1 MiB; 256 KiB: %.0f over 64 KiB, %.0f over 1 MiB", a, b, c, d, e)
	})
	add("One stray line sends 299 of 300 answers to the wrong request, and no error shows.", func() (string, string) {
		r, ok := find("E4", map[string]string{"cell": "byLine N=1"})
		if !ok {
			return notMeasured, ""
		}
		figure := fmt.Sprintf("%.2f %% (%s)", r.Num("value"), r["note"])
		if w, ok := find("E4", map[string]string{"cell": "byLineParsing N=1", "writer": "weir"}); ok {
			figure += fmt.Sprintf(". Printed by a tool on Weir: %.0f %%, the line is on stderr", w.Num("value"))
		}
		return verdict(strings.Contains(r["note"], "mispaired=299") && strings.Contains(r["note"], "exceptions=0")), figure
	})
	add("One read taken for one message is wrong for every frame.", func() (string, string) {
		one, ok1 := find("E5", map[string]string{"cell": "readIsMessage"})
		whole, ok2 := find("E5", map[string]string{"cell": "toLF"})
		if !ok1 || !ok2 {
			return notMeasured, ""
		}
		return verdict(one.Num("value") == 100 && whole.Num("value") == 0), fmt.Sprintf("%.2f %% wrong; bytes to the LF: %.2f %%. %.1f %% of the reads are not UTF-8 by themselves", one.Num("value"), whole.Num("value"), one.Num("utf8FailPct"))
	})
	return list
}

// came is the second half of the note of a control.
func came(r stdiolab.Row) string {
	_, bytes, _ := strings.Cut(r["note"], "; ")
	return bytes
}

func comma(n string) string {
	for i := len(n) - 3; i > 0; i -= 3 {
		n = n[:i] + "," + n[i:]
	}
	return n
}
