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
		{"nothing to judge", func(_ *testing.T, table *Table) { table.Rows = nil }, []string{"2 lines"}, "nothing to judge"},
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
				r.set("bad", 0)
			}
		}, []string{"4 tearing"}, "printNL in E6: no bad line in all its rows"},
		{"one thread", func(t *testing.T, table *Table) { rows(t, *table, "E6", "rawSplit", "")[0].set("threads", 1) }, []string{"4 tearing"}, "1 threads"},
		{"a control with damage", func(t *testing.T, table *Table) { rows(t, *table, "E1", "rawSplit", controlCell)[0].set("bad", 2) }, []string{"4 tearing"}, "invented"},
		{"a row missing", func(t *testing.T, table *Table) {
			rows(t, *table, "E1", "println", "65536")[0].set("group", "E9")
		}, []string{"4 tearing"}, "no row E1 println 65536"},
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

func TestReadTable(t *testing.T) {
	for name, text := range map[string]string{
		"empty": "", "not a run": "a,b\n1,2\n", "a short row": strings.Join(Columns, ",") + "\nE1,1024\n",
	} {
		if _, err := ReadTable(strings.NewReader(text)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
