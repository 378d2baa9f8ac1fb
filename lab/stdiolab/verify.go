// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrFailed is returned when a run does not stand by one of the criteria; which one was printed.
var ErrFailed = errors.New("a criterion is not met")

// ErrNothing is returned when a run has no row that a criterion looks at.
var ErrNothing = errors.New("nothing to judge: the criteria look at E1, E1B and E6 (go run . run -only=e1,e1b,e6)")

// Verify applies the four criteria to a run, and writes a line for each: what was expected and what was seen.
// It returns ErrFailed when one is not met, ErrNothing when only the first has something to judge. What was recorded on another machine is judged like what was recorded here, since only
// groupings are; no figure is compared.
func (t Table) Verify(ctx context.Context, out io.Writer) error {
	return t.verify(machine(ctx), out)
}

// verdict is the outcome of one criterion.
type verdict struct {
	problems []string // what was seen instead; none means that it is met
	judged   int      // rows that it looked at
	note     string
}

func (v *verdict) problem(format string, args ...any) {
	v.problems = append(v.problems, fmt.Sprintf(format, args...))
}

func (t Table) verify(here map[string]string, out io.Writer) error {
	failed := false
	say := func(name, expected string, v verdict) {
		word, seen := "ok  ", v.note
		switch {
		case len(v.problems) > 0:
			word, failed = "FAIL", true
			seen = strings.Join(v.problems[:min(len(v.problems), 5)], "; ")
			if more := len(v.problems) - 5; more > 0 {
				seen += fmt.Sprintf("; and %d more", more)
			}
		case seen == "":
			seen = fmt.Sprintf("so in %d rows", v.judged)
		}
		fmt.Fprintf(out, "%s  %s. Expected: %s. Seen: %s\n", word, name, expected, seen)
	}
	say("1 environment", "the row ENV, of this machine and toolchain", t.verifyEnv(here))
	lines := t.verifyLines()
	if len(t.judged("E1", "E1B", "E6")) == 0 {
		fmt.Fprintf(out, "--    2 lines, 3 encoding and 4 tearing are not judged: there is no row of E1, E1B or E6\n")
		if failed {
			return ErrFailed
		}
		return ErrNothing
	}
	say("2 lines", "lines = framesSent + 1 and lostLines = 0 in every row of E1, E1B and E6, which ran what its cell says, once", lines)
	const encoding = "printlnGBK not UTF-8 and GBK in over 99 % of its lines; every other writer UTF-8 throughout, save rawOne, rawSplit and twoProcs; no switch changes a byte"
	const tearing = "with more than one thread, no frame damaged by println, printlnGBK, oneLock, batch512 and weir, nor up to PIPE_BUF by rawOne and twoProcs; " +
		"some by printNL, by rawSplit at every size, and by rawOne (more at 256 KiB) and twoProcs from 16,384 bytes on; CRLF in every line of printlnGBK alone; " +
		"with one thread none by any but twoProcs"
	if len(lines.problems) > 0 {
		fmt.Fprintf(out, "--    3 encoding and 4 tearing are not judged: the host's reader is at fault, or the file is not whole\n")
		return ErrFailed
	}
	say("3 encoding", encoding, t.verifyEncoding())
	say("4 tearing", tearing, t.verifyTearing())
	if failed {
		return ErrFailed
	}
	return nil
}

func (t Table) verifyEnv(here map[string]string) verdict {
	v := verdict{note: "the same"}
	if t.Env == nil {
		v.problem("no row ENV")
		return v
	}
	var other []string
	for _, k := range machineKeys {
		if t.Env[k] == "" {
			v.problem("ENV does not say %s", k)
		} else if t.Env[k] != here[k] {
			other = append(other, fmt.Sprintf("%s=%s, here %s", k, t.Env[k], here[k]))
		}
	}
	if len(other) > 0 {
		v.note = "recorded elsewhere (" + strings.Join(other, "; ") + "): no figure is compared"
	}
	return v
}

// judged lists the rows of these groups that the criteria look at.
func (t Table) judged(groups ...string) []Row {
	return slices.DeleteFunc(slices.Clone(t.Rows), func(r Row) bool {
		_, skipped := r.Skipped()
		return skipped || !slices.Contains(groups, r["group"]) || strings.HasPrefix(r["cell"], "control ")
	})
}

// where names a row for a person.
func (r Row) where() string {
	s := r["group"] + " " + r["writer"] + " at " + r["size"]
	if r["opt"] != "" && r["opt"] != "none" {
		s += " with " + r["opt"]
	}
	if r["round"] != "" {
		s += " in round " + r["round"]
	}
	return s
}

// share says whether a column of percentages has the share of n in the lines of the row, to the three digits that a row keeps.
func (r Row) share(column string, n float64) bool {
	v, ok := r.Number(column)
	return ok && math.Abs(v-n/max(r.Num("lines"), 1)*100) < 0.002
}

func (t Table) verifyLines() verdict {
	var v verdict
	seen := map[string]bool{}
	for _, r := range t.judged("E1", "E1B", "E6") {
		v.judged++
		if cell := strings.Join([]string{r["group"], r["cell"], r["round"], r["writer"], r["opt"], r["size"]}, ","); seen[cell] {
			v.problem("%s: two rows of %s", r.where(), r["cell"])
		} else {
			seen[cell] = true
		}
		if named, _, _ := strings.Cut(r["cell"], " "); r["group"] == "E1" && r["cell"] != controlCell && r["size"] != named {
			v.problem("%s: frames of %q bytes in cell %s", r.where(), r["size"], r["cell"])
		}
		if r["frames"] != r["framesSent"] {
			v.problem("%s: %q frames asked for, %q sent", r.where(), r["frames"], r["framesSent"])
		}
		lines, ok1 := r.Number("lines")
		sent, ok2 := r.Number("framesSent")
		lost, ok3 := r.Number("lostLines")
		if !ok1 || !ok2 || !ok3 || lines != sent+1 || lost != 0 {
			v.problem("%s: %q lines of %q frames, %q lost", r.where(), r["lines"], r["framesSent"], r["lostLines"])
		}
	}
	return v
}

func (t Table) verifyEncoding() verdict {
	var v verdict
	for _, r := range t.judged("E1", "E1B", "E6") {
		v.judged++
		fail, ok := r.Number("utf8Fail")
		if !ok {
			v.problem("%s: utf8Fail is %q", r.where(), r["utf8Fail"])
			continue
		}
		if !r.share("utf8FailPct", fail) {
			v.problem("%s: utf8FailPct is %q, and %s of %s lines are not UTF-8", r.where(), r["utf8FailPct"], r["utf8Fail"], r["lines"])
		}
		if r["group"] == "E1B" && r["value"] != "1" {
			v.problem("%s: its bytes are not those that came without a switch", r.where())
		}
		switch r["writer"] {
		case "printlnGBK":
			if r.Num("utf8FailPct") <= 99 || r.Num("gbkOkPct") <= 99 {
				v.problem("%s: %s %% not UTF-8, %s %% GBK", r.where(), r["utf8FailPct"], r["gbkOkPct"])
			}
		case "rawOne", "rawSplit", "twoProcs": // mixed frames may break characters
		default:
			if fail != 0 {
				v.problem("%s: %s lines are not UTF-8", r.where(), r["utf8Fail"])
			}
		}
	}
	v.missing(t, "E1B")
	return v
}

func (t Table) verifyTearing() verdict {
	var v verdict
	damage := map[string]float64{}         // by group and writer
	shares := map[string]map[int]float64{} // of damaged frames in E1, by writer and size
	for _, r := range t.judged("E1", "E6") {
		v.judged++
		bad, ok := r.Number("bad")
		if !ok {
			v.problem("%s: bad is %q", r.where(), r["bad"])
			continue
		}
		writer := r["writer"]
		if damaged := r.Num("torn") + r.Num("merged"); bad != damaged+r.Num("mixed") || !r.share("tornPct", damaged) || !r.share("badPct", bad) {
			v.problem("%s: torn, merged and mixed (%q, %q, %q) are not bad (%q), or not the shares that tornPct (%q) and badPct (%q) say",
				r.where(), r["torn"], r["merged"], r["mixed"], r["bad"], r["tornPct"], r["badPct"])
		}
		if r["cell"] == controlCell {
			if r["threads"] != "1" {
				v.problem("%s: a control with %q threads instead of 1", r.where(), r["threads"])
			}
			if writer != "twoProcs" && bad != 0 {
				v.problem("%s with one thread: %s bad lines, which the classifier must have invented", r.where(), r["bad"])
			}
			continue
		}
		if r.Num("threads") <= 1 {
			v.problem("%s: %s threads, so that nothing can tear", r.where(), r["threads"])
		}
		rule, known := rules[writer]
		if !known {
			v.problem("%s: an unknown writer", r.where())
			continue
		}
		size := int(r.Num("size"))
		damage[r["group"]+" "+writer] += bad
		if shares[writer] == nil {
			shares[writer] = map[int]float64{}
		}
		if r["group"] == "E1" && r["cell"] == r["size"] {
			shares[writer][size] = bad / r.Num("framesSent")
		}
		for _, column := range rule.zero {
			if n, ok := r.Number(column); !ok || n != 0 {
				v.problem("%s: %s is %q instead of 0", r.where(), column, r[column])
			}
		}
		if rule.crlf && r["crlf"] != r["lines"] {
			v.problem("%s: %s of %s lines end in CRLF", r.where(), r["crlf"], r["lines"])
		}
		if rule.legacy && r["utf8Fail"] != r["framesSent"] {
			v.problem("%s: %s of %s frames are not UTF-8", r.where(), r["utf8Fail"], r["framesSent"])
		}
		if rule.whole(size) && bad != 0 {
			v.problem("%s: %s bad lines instead of none", r.where(), r["bad"])
		}
		if r["group"] == "E1" && rule.damages(size) && bad <= 0 {
			v.problem("%s: no bad line: the lab did not run", r.where())
		}
	}
	for _, writer := range Writers {
		for _, group := range []string{"E1", "E6"} {
			if n, ran := damage[group+" "+writer]; ran && n <= 0 && rules[writer].sum {
				v.problem("%s in %s: no bad line in all its rows: the lab did not run", writer, group)
			}
		}
		small, ok1 := shares[writer][16384]
		large, ok2 := shares[writer][262144]
		if rules[writer].grows && ok1 && ok2 && small >= large {
			v.problem("E1 %s: %.1f %% of the frames damaged at 16384, %.1f %% at 262144, which is not more", writer, 100*small, 100*large)
		}
	}
	v.missing(t, "E1", "E6")
	return v
}

// missing finds what groups owe of which there are rows: a file that was cut short is no proof.
func (v *verdict) missing(t Table, groups ...string) {
	have := map[string]int{}
	for _, r := range t.Rows {
		have[r["group"]]++
		have[r["group"]+" "+r["writer"]+" "+r["cell"]]++
		have[r["group"]+" "+r["writer"]+" "+r["opt"]]++
		have[r["group"]+" "+r["writer"]+" "+r["cell"]+" "+r["size"]]++
	}
	var owed []string
	for _, w := range Writers {
		for _, s := range e1Sizes {
			owed = append(owed, "E1 "+w+" "+strconv.Itoa(s.size))
		}
		owed = append(owed, "E1 "+w+" "+controlCell)
	}
	for _, size := range pipeBufSizes {
		owed = append(owed, "E1 rawOne "+pipeBufCell(size))
	}
	for _, w := range e1bWriters {
		for _, env := range e1bSwitches {
			owed = append(owed, "E1B "+w+" "+optOf(env))
		}
	}
	for _, w := range e6Writers {
		owed = append(owed, "E6 "+w+" round")
	}
	for _, w := range e6Batches {
		for _, s := range e6BatchSizes {
			owed = append(owed, "E6 "+w+" batch "+strconv.Itoa(s.size))
		}
	}
	for _, row := range owed {
		group, _, _ := strings.Cut(row, " ")
		if slices.Contains(groups, group) && have[group] > 0 && have[row] == 0 {
			v.problem("no row %s", row)
		}
	}
	if slices.Contains(groups, "E6") {
		for _, w := range e6Writers {
			if n, most := have["E6 "+w+" round"], have["E6 "+e6Writers[0]+" round"]; n != most {
				v.problem("E6 has %d rounds of %s and %d of %s", n, w, most, e6Writers[0])
			}
		}
	}
}
