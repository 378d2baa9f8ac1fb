// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// ErrFailed is returned when a run does not stand by one of the criteria; which one was printed.
var ErrFailed = errors.New("a criterion is not met")

// Verify applies the four criteria to what a run printed, and writes a line for each: what was expected and what was seen.
// It returns ErrFailed when one is not met. What was recorded on another machine is judged like what was recorded here, since only
// groupings are; no figure is compared.
func Verify(ctx context.Context, in io.Reader, out io.Writer) error {
	t, err := ReadTable(in)
	if err != nil {
		return err
	}
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
	say("2 lines", "lines = framesSent + 1 and lostLines = 0 in every row of E1, E1B and E6", lines)
	const encoding = "printlnGBK not UTF-8 and GBK in over 99 % of its lines; every other writer UTF-8 throughout, save rawOne, rawSplit and twoProcs"
	const tearing = "with more than one thread, no frame damaged by println, printlnGBK, oneLock, batch512 and weir, nor up to PIPE_BUF by rawOne and twoProcs; " +
		"some by printNL, by rawSplit at every size, and by rawOne and twoProcs from 16,384 bytes on; with one thread none by any but twoProcs"
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

func (t Table) verifyLines() verdict {
	var v verdict
	for _, r := range t.judged("E1", "E1B", "E6") {
		v.judged++
		lines, ok1 := r.Number("lines")
		sent, ok2 := r.Number("framesSent")
		lost, ok3 := r.Number("lostLines")
		if !ok1 || !ok2 || !ok3 || lines != sent+1 || lost != 0 {
			v.problem("%s: %q lines of %q frames, %q lost", r.where(), r["lines"], r["framesSent"], r["lostLines"])
		}
	}
	if v.judged == 0 {
		v.problem("no row of E1, E1B or E6: there is nothing to judge")
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
	return v
}

// pipeBuf is what a write of one frame and its LF must not exceed for the kernel to keep it whole.
const pipeBuf = 4096

func (t Table) verifyTearing() verdict {
	var v verdict
	damage := map[string]float64{} // by group and strategy, of those that must do some
	for _, r := range t.judged("E1", "E6") {
		v.judged++
		bad, ok := r.Number("bad")
		if !ok {
			v.problem("%s: bad is %q", r.where(), r["bad"])
			continue
		}
		if r["cell"] == controlCell {
			if r["writer"] != "twoProcs" && bad != 0 {
				v.problem("%s with one thread: %s bad lines, which the classifier must have invented", r.where(), r["bad"])
			}
			continue
		}
		if r.Num("threads") <= 1 {
			v.problem("%s: %s threads, so that nothing can tear", r.where(), r["threads"])
		}
		size := int(r.Num("size"))
		none, some := false, false
		switch r["writer"] {
		case "println", "printlnGBK", "oneLock", "batch512", "weir":
			none = true
		case "printNL":
			damage[r["group"]+" printNL"] += bad
		case "rawSplit":
			damage[r["group"]+" rawSplit"] += bad
			some = r["group"] == "E1"
		case "rawOne", "twoProcs":
			none, some = size+1 <= pipeBuf, size >= 16384
		default:
			v.problem("%s: an unknown writer", r.where())
		}
		if none && bad != 0 {
			v.problem("%s: %s bad lines instead of none", r.where(), r["bad"])
		}
		if some && bad == 0 {
			v.problem("%s: no bad line: the lab did not run", r.where())
		}
	}
	for _, what := range []string{"E1 printNL", "E1 rawSplit", "E6 printNL", "E6 rawSplit"} {
		group, writer, _ := strings.Cut(what, " ")
		if len(t.judged(group)) == 0 {
			continue
		}
		if n, ran := damage[what]; !ran {
			v.problem("no row of %s in %s", writer, group)
		} else if n == 0 {
			v.problem("%s in %s: no bad line in all its rows: the lab did not run", writer, group)
		}
	}
	v.missing(t)
	return v
}

// missing finds what E1 and E6 owe: a file that was cut short is no proof.
func (v *verdict) missing(t Table) {
	have := map[string]bool{}
	for _, r := range t.Rows {
		have[r["group"]+" "+r["writer"]+" "+r["cell"]] = true
	}
	if len(t.Group("E1")) > 0 {
		for _, w := range Writers {
			for _, s := range e1Sizes {
				if k := "E1 " + w + " " + strconv.Itoa(s.size); !have[k] {
					v.problem("no row %s", k)
				}
			}
		}
	}
	if len(t.Group("E6")) > 0 {
		for _, w := range []string{"printNL", "rawSplit", "oneLock", "weir"} {
			if !have["E6 "+w+" round"] {
				v.problem("no row of %s in E6", w)
			}
		}
	}
}
