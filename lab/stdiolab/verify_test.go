// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
)

// good is a real run of E1, E1B and E6 as it was printed.
func good(t *testing.T) Table {
	t.Helper()
	data, err := os.ReadFile("testdata/good.csv")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	return table
}

// rows finds rows by group, writer and cell; "" is any.
func rows(t *testing.T, table Table, group, writer, cell string) []Row {
	t.Helper()
	var found []Row
	for _, r := range table.Rows {
		if r["group"] == group && (writer == "" || r["writer"] == writer) && (cell == "" || r["cell"] == cell) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		t.Fatalf("no row %s %s %s in the good file", group, writer, cell)
	}
	return found
}

// TestVerify spoils a good run in one way each; the criterion that it belongs to must say so.
func TestVerify(t *testing.T) {
	for _, tt := range []struct {
		name  string
		spoil func(t *testing.T, table *Table)
		fails []string // the criteria that are not met
		says  string
	}{
		{"good", func(*testing.T, *Table) {}, nil, "so in"},
		{"recorded elsewhere", func(_ *testing.T, table *Table) { table.Env["go"] = "go1.0" }, nil, "recorded elsewhere (go=go1.0"},
		{"no environment", func(_ *testing.T, table *Table) { table.Env = nil }, []string{"1 environment"}, "no row ENV"},
		{"half an environment", func(_ *testing.T, table *Table) { delete(table.Env, "kernel") }, []string{"1 environment"}, "kernel"},
		{"a lost line", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "oneLock", "1024")[0].set("lines", 8000).set("lostLines", 1)
		}, []string{"2 lines"}, "E1 oneLock at 1024"},
		{"8,001 lines where 400 were due", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "weir", "65536")[0].set("lines", 8001).set("lostLines", -7600)
		}, []string{"2 lines"}, "not judged"},
		{"GBK that is UTF-8", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "printlnGBK", "1024")[0].set("utf8FailPct", 0.0)
		}, []string{"3 encoding"}, "E1 printlnGBK at 1024"},
		{"not UTF-8 under a switch", func(t *testing.T, table *Table) {
			rows(t, *table, "E1B", "println", "go")[1].set("utf8Fail", 4000)
		}, []string{"3 encoding"}, "E1B println at 2048 with LC_ALL=C"},
		{"weir is damaged", func(t *testing.T, table *Table) { rows(t, *table, "E1", "weir", "16384")[0].set("bad", 1) }, []string{"4 tearing"}, "1 bad lines instead of none"},
		{"rawOne within PIPE_BUF", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawOne", "4095 PIPE_BUF")[0].set("bad", 1) }, []string{"4 tearing"}, "rawOne at 4095"},
		{"rawOne safe at 64 KiB", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawOne", "65536")[0].set("bad", 0) }, []string{"4 tearing"}, "the lab did not run"},
		{"rawSplit safe at one size", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawSplit", "4096")[0].set("bad", 0) }, []string{"4 tearing"}, "rawSplit at 4096"},
		{"printNL safe throughout", func(t *testing.T, table *Table) {
			for _, r := range rows(t, *table, "E6", "printNL", "") {
				for _, column := range []string{"torn", "merged", "mixed", "bad", "tornPct", "badPct"} {
					r.set(column, 0)
				}
			}
		}, []string{"4 tearing"}, "printNL in E6: no bad line in all its rows"},
		{"one thread", func(t *testing.T, table *Table) { rows(t, *table, "E6", "rawSplit", "")[0].set("threads", 1) }, []string{"4 tearing"}, "1 threads"},
		{"a control with damage", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawSplit", controlCell)[0].set("bad", 2) }, []string{"4 tearing"}, "invented"},
		{"CRLF from a lock", func(t *testing.T, table *Table) { rows(t, *table, "E1", "oneLock", "1024")[0].set("crlf", 1) }, []string{"4 tearing"}, `crlf is "1" instead of 0`},
		{"CRLF from two prints", func(t *testing.T, table *Table) { rows(t, *table, "E6", "printNL", "round")[0].set("crlf", 1) }, []string{"4 tearing"}, `E6 printNL at 1024 in round 1: crlf is "1"`},
		{"an id twice", func(t *testing.T, table *Table) { rows(t, *table, "E1", "batch512", "65536")[0].set("dup", 1) }, []string{"4 tearing"}, `dup is "1"`},
		{"GBK without CRLF", func(t *testing.T, table *Table) { rows(t, *table, "E1", "printlnGBK", "4096")[0].set("crlf", 3000) }, []string{"4 tearing"}, "3000 of 3001 lines end in CRLF"},
		{"GBK but for one frame", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "printlnGBK", "1024")[0].set("utf8Fail", 7999).set("utf8FailPct", 99.975)
		}, []string{"4 tearing"}, "7999 of 8000 frames"},
		{"rawOne that does not grow", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawOne", "262144")[0].set("bad", 1) }, []string{"4 tearing"}, "which is not more"},
		{"twoProcs safe at 16 KiB", func(t *testing.T, table *Table) { rows(t, *table, "E1", "twoProcs", "16384")[0].set("bad", 0) }, []string{"4 tearing"}, "the lab did not run"},
		{"a control missing", func(t *testing.T, table *Table) { rows(t, *table, "E1", "weir", controlCell)[0].set("group", "E9") }, []string{"4 tearing"}, "no row E1 weir E1-control"},
		{"a switch missing", func(t *testing.T, table *Table) { rows(t, *table, "E1B", "println", "go")[2].set("group", "E9") }, []string{"3 encoding"}, "no row E1B println LC_ALL=zh_CN.GB18030"},
		{"a round missing", func(t *testing.T, table *Table) { rows(t, *table, "E6", "weir", "round")[4].set("group", "E9") }, []string{"4 tearing"}, "E6 has 4 rounds of weir and 5 of printNL"},
		{"a row missing", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "println", "65536")[0].set("group", "E9")
		}, []string{"4 tearing"}, "no row E1 println 65536"},
		{"a child with the defaults", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "weir", "65536")[0].set("frames", 8000).set("framesSent", 8000).set("lines", 8001).set("size", 1024)
		}, []string{"2 lines"}, `E1 weir at 1024: frames of "1024" bytes in cell 65536`},
		{"more frames than were asked for", func(t *testing.T, table *Table) {
			rows(t, *table, "E6", "weir", "round")[0].set("framesSent", 8001).set("lines", 8002)
		}, []string{"2 lines"}, `"8000" frames asked for, "8001" sent`},
		{"a row twice", func(t *testing.T, table *Table) {
			rows(t, *table, "E6", "rawSplit", "round")[1].set("round", 1)
		}, []string{"2 lines"}, "E6 rawSplit at 1024 in round 1: two rows of round"},
		{"a share that is not the count's", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "oneLock", "4096")[0].set("utf8FailPct", 0.1)
		}, []string{"3 encoding"}, `E1 oneLock at 4096: utf8FailPct is "0.1", and 0 of 3001`},
		{"no share", func(t *testing.T, table *Table) { delete(rows(t, *table, "E1", "weir", "1024")[0], "utf8FailPct") }, []string{"3 encoding"}, `utf8FailPct is ""`},
		{"a switch that changes bytes", func(t *testing.T, table *Table) {
			rows(t, *table, "E1B", "oneLock", "go")[3].set("value", 0)
		}, []string{"3 encoding"}, "E1B oneLock at 2048 with LANG=zh_CN.GBK: its bytes are not those"},
		{"torn and not bad", func(t *testing.T, table *Table) { rows(t, *table, "E1", "println", "1024")[0].set("torn", 3) }, []string{"4 tearing"}, "E1 println at 1024: torn, merged and mixed"},
		{"mixed and not bad", func(t *testing.T, table *Table) { rows(t, *table, "E1", "batch512", controlCell)[0].set("mixed", 3) }, []string{"4 tearing"}, `E1 batch512 at 1024: torn, merged and mixed ("0", "0", "3")`},
		{"torn by its share", func(t *testing.T, table *Table) { rows(t, *table, "E6", "oneLock", "round")[2].set("tornPct", 0.5) }, []string{"4 tearing"}, `tornPct ("0.5")`},
		{"bad by its share", func(t *testing.T, table *Table) { rows(t, *table, "E1", "weir", controlCell)[0].set("badPct", 1) }, []string{"4 tearing"}, `badPct ("1")`},
		{"fewer than none", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "rawSplit", "65536")[0].set("bad", -1).set("mixed", -1).set("torn", 0).set("merged", 0).set("tornPct", 0).set("badPct", -0.249)
		}, []string{"4 tearing"}, "rawSplit at 65536: no bad line"},
		{"a control with eight threads", func(t *testing.T, table *Table) { rows(t, *table, "E1", "weir", controlCell)[0].set("threads", 8) }, []string{"4 tearing"}, `a control with "8" threads`},
		{"a batch missing", func(t *testing.T, table *Table) { rows(t, *table, "E6", "batch512", "batch")[1].set("group", "E9") }, []string{"4 tearing"}, "no row E6 batch512 batch 65536"},
		{"skipped is not judged", func(t *testing.T, table *Table) {
			r := rows(t, *table, "E1", "twoProcs", "65536")[0]
			r.set("bad", 0).set("lines", 1).set("note", "skipped: no such thing here")
		}, nil, "so in"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := good(t)
			here := map[string]string{}
			for k, v := range table.Env {
				here[k] = v
			}
			tt.spoil(t, &table)
			var out bytes.Buffer
			err := table.verify(here, &out)
			if (err != nil) != (len(tt.fails) > 0) || err != nil && !errors.Is(err, ErrFailed) {
				t.Errorf("%v", err)
			}
			if n := strings.Count(out.String(), "FAIL"); n != len(tt.fails) || !strings.Contains(out.String(), tt.says) {
				t.Errorf("%d criteria fail; wanted %v and %q:\n%s", n, tt.fails, tt.says, out.String())
			}
			for _, f := range tt.fails {
				if !strings.Contains(out.String(), "FAIL  "+f) {
					t.Errorf("%s does not fail:\n%s", f, out.String())
				}
			}
		})
	}
}

// TestVerifyNothing: a run of other groups meets no criterion and fails none.
func TestVerifyNothing(t *testing.T) {
	table := good(t)
	table.Rows = []Row{{"group": "E5", "cell": "toLF"}}
	var out bytes.Buffer
	if err := table.verify(table.Env, &out); !errors.Is(err, ErrNothing) || strings.Contains(out.String(), "FAIL") || !strings.Contains(out.String(), "no row of E1, E1B or E6") {
		t.Errorf("%v:\n%s", err, out.String())
	}
	table.Env = nil
	if err := table.verify(nil, &out); !errors.Is(err, ErrFailed) {
		t.Errorf("without ENV: %v", err)
	}
}

func TestReadTable(t *testing.T) {
	head := strings.Join(Columns, ",") + "\n"
	row := func(group, threads string) string {
		return group + ",1024,,weir,," + threads + strings.Repeat(",", len(Columns)-6) + "\n"
	}
	if table, err := ReadTable(strings.NewReader(head + "ENV,go=go1\n" + row("E1", "8"))); err != nil || len(table.Rows) != 1 || table.Env["go"] != "go1" {
		t.Errorf("%+v, %v", table, err)
	}
	for _, tt := range []struct{ name, text, says string }{
		{"empty", "", "no header"},
		{"not a run", "a,b\n1,2\n", "not the header"},
		{"a short row", head + "E1,1024\n", "line 2 has 2 fields"},
		{"no number", head + row("E1", "abc"), `line 2: threads is "abc"`},
		{"not a number", head + row("E1", "NaN"), `threads is "NaN"`},
		{"no group", head + row("E11", "8"), `"E11", which is no group`},
		{"twice the same run", head + "ENV,go=go1\n" + row("E1", "8") + head, "a second run begins here"},
		{"two environments", head + "ENV,go=go1\nENV,go=go1\n", "a second run begins here"},
	} {
		if _, err := ReadTable(strings.NewReader(tt.text)); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v, want %q", tt.name, err, tt.says)
		}
	}
}

// TestRecorded: the run that the documents quote stands by the criteria, by what every group must hold, and has its frames.
func TestRecorded(t *testing.T) {
	data, err := os.ReadFile("../../docs/lab.csv")
	if err != nil {
		t.Fatal(err)
	}
	table, err := ReadTable(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := table.verify(table.Env, &out); err != nil {
		t.Errorf("%v:\n%s", err, out.String())
	}
	if all, _ := table.Total(totalAll); all.Frames < 425_000 || all.Frames > 440_000 || all.Seconds > 180 {
		t.Errorf("in all: %+v", all)
	}
	if own, _ := table.Total(totalArticle); own.Frames < 220_000 || own.Frames > 222_000 {
		t.Errorf("the article's own cells: %+v", own)
	}
	for _, r := range table.Rows {
		if why, skipped := r.Skipped(); skipped {
			t.Logf("skipped: %s %s: %s", r["group"], r["cell"], why)
			continue
		}
		if problem := r.mustHold(); problem != "" {
			t.Errorf("%s, %s, %s: %s: %v", r["group"], r["cell"], r["writer"], problem, r)
		}
	}
}

// mustHold says what a row of the groups that no criterion judges has against what its group must hold on Linux.
func (r Row) mustHold() string {
	want := func(ok bool, what string) string {
		if ok {
			return ""
		}
		return what
	}
	pipe, _ := strings.CutPrefix(r["opt"], "pipe=")
	part, _, _ := strings.Cut(r["cell"], " ")
	switch {
	case r["group"] == "E1B" && r["cell"] == "go":
		return want(r["value"] == "1", "a switch changed bytes")
	case r["group"] == "E3" && part == "b", r["group"] == "E3" && part == "f":
		return want(r["value"] == "1", "not as expected")
	case r["group"] == "E3" && part == "c" && strings.Contains(r["unit"], "returns"):
		return want(r["value"] == pipe, "the edge is not the capacity")
	case r["group"] == "E3" && part == "e" && r["lines"] != "":
		return want(r["lostLines"] == "0" && r["bad"] == "0", "lines are lost")
	case r["group"] == "E4" && strings.HasPrefix(r["cell"], "byID") || r["group"] == "E4" && r["writer"] == "weir" && strings.HasPrefix(r["cell"], "by"):
		return want(strings.Contains(r["note"], "right=300 mispaired=0"), "answers are mispaired")
	case r["group"] == "E5":
		return want(r["value"] == map[string]string{"readIsMessage": "100", "toLF": "0"}[r["cell"]], "not as expected")
	case r["group"] == "E7":
		return want(r["value"] == r["framesSent"] && r["bad"] == "0", "a text is damaged")
	}
	return ""
}
