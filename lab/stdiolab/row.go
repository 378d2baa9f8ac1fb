// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Columns are those of every row, of every group; a field that a group does not use is empty.
var Columns = strings.Split("group,cell,round,writer,opt,threads,frames,size,cjk,framesSent,lines,lostLines,bytes,crlf,utf8Fail,"+
	"utf8FailPct,gbkOkPct,torn,merged,mixed,dup,bad,tornPct,badPct,mbps,value,unit,p50us,p99us,note", ",")

// words are the columns whose fields need not be numbers.
var words = []string{"group", "cell", "writer", "opt", "cjk", "unit", "note"}

// Row is one line of the results by column name. A column that is not there is empty.
type Row map[string]string

func (r Row) set(column string, value any) Row {
	if !slices.Contains(Columns, column) {
		panic("stdiolab: no column " + column)
	}
	switch v := value.(type) {
	case float64:
		r[column] = strconv.FormatFloat(v, 'f', -1, 64)
		if len(r[column]) > 8 {
			r[column] = strconv.FormatFloat(v, 'f', 3, 64)
		}
	default:
		r[column] = fmt.Sprint(v)
	}
	return r
}

// Number is a column as a number; false where it is empty or none.
func (r Row) Number(column string) (float64, bool) {
	v, err := strconv.ParseFloat(r[column], 64)
	return v, err == nil && !math.IsNaN(v) && !math.IsInf(v, 0)
}

// Num is a column as a number, 0 where it is none.
func (r Row) Num(column string) float64 {
	v, _ := r.Number(column)
	return v
}

// Skipped says whether the row stands for a cell that could not run, and why.
func (r Row) Skipped() (why string, skipped bool) {
	why, skipped = strings.CutPrefix(r["note"], skippedPrefix)
	return strings.TrimSpace(why), skipped
}

const skippedPrefix = "skipped:"

// totalGroup names the last rows of a run: what was sent, by group, in all (totalAll) and in the cells that the article had
// (totalArticle).
const (
	totalGroup   = "TOTAL"
	totalAll     = "all"
	totalArticle = "the article's own cells"
)

// newRow begins a row of a group with what its child reported of itself.
func newRow(group, cell string, round int, c Config) Row {
	r := Row{"group": group, "cell": cell}
	if round > 0 {
		r.set("round", round)
	}
	r.set("writer", c.Writer)
	switch c.Mode {
	case "stuck":
		r["writer"] = "rawOne"
	case "chunks8":
		r["writer"] = "chunks"
		return r
	case "mcp":
		r["writer"] = "weir"
		return r.set("opt", fmt.Sprint("banner=", c.Banner))
	case "forms":
		r["writer"] = "weir"
		limit := "default"
		if c.limited() {
			limit = strconv.Itoa(c.Size)
		}
		return r.set("opt", fmt.Sprintf("limit=%s store=%v", limit, c.Store))
	}
	return r.set("threads", c.Threads).set("frames", c.Frames).set("size", c.Size).set("cjk", c.CJK)
}

// skippedRow says why a cell could not run here.
func skippedRow(group, cell string, why error) Row {
	return Row{"group": group, "cell": cell, "note": skippedPrefix + " " + strings.ReplaceAll(why.Error(), "\n", " ")}
}

// addCounts fills the columns of a classified run: due is how many lines the child owed.
func (r Row) addCounts(c Counts, framesSent, due int) Row {
	percent := func(n int) float64 {
		if c.Lines == 0 {
			return 0
		}
		return float64(n) / float64(c.Lines) * 100
	}
	r.set("framesSent", framesSent).set("lines", c.Lines).set("lostLines", due-c.Lines).set("bytes", c.Bytes)
	r.set("crlf", c.CRLF).set("utf8Fail", c.UTF8Fail).set("utf8FailPct", percent(c.UTF8Fail)).set("gbkOkPct", percent(c.GBKOK))
	r.set("torn", c.Torn).set("merged", c.Merged).set("mixed", c.Mixed).set("dup", c.Dup).set("bad", c.Bad())
	return r.set("tornPct", percent(c.Torn+c.Merged)).set("badPct", percent(c.Bad()))
}

// Table is what a run printed.
type Table struct {
	Env  map[string]string // the fields of the row ENV; nil when it is not there
	Rows []Row
}

// A Total is what one group sent, or all of them.
type Total struct {
	Frames  int
	Bytes   int64
	Seconds float64
}

// Total is that of a group, of "all", or of "the article's own cells" (whose bytes and seconds are not known); false where the
// run does not say.
func (t Table) Total(name string) (Total, bool) {
	for _, r := range t.Group(totalGroup) {
		if r["cell"] == name {
			return Total{Frames: int(r.Num("framesSent")), Bytes: int64(r.Num("bytes")), Seconds: r.Num("value")}, true
		}
	}
	return Total{}, false
}

// articles says whether the article had this cell too. Its tables are lost; this is what makes up the number of frames it gives.
func (r Row) articles() bool {
	switch r["group"] {
	case "E1":
		return r["cell"] == r["size"] && slices.Contains([]string{"println", "printNL", "rawSplit", "oneLock"}, r["writer"])
	case "E1B":
		return r["cell"] == "go" && !strings.HasPrefix(r["opt"], "GODEBUG")
	case "E2":
		return r["writer"] == "oneLock" && slices.Contains([]string{"128", "1024", "4096", "8192", "65536"}, r["cell"])
	case "E4":
		return strings.HasPrefix(r["cell"], "byLine N=")
	case "E5":
		return true
	case "E6":
		return r["cell"] == "round" && r["writer"] != "weir"
	}
	return false
}

// Group lists the rows of a group.
func (t Table) Group(name string) []Row {
	return slices.Collect(func(yield func(Row) bool) {
		for _, r := range t.Rows {
			if r["group"] == name && !yield(r) {
				return
			}
		}
	})
}

// tableWriter prints rows as they come.
type tableWriter struct{ w *csv.Writer }

func newTableWriter(out io.Writer, env []string) (*tableWriter, error) {
	t := &tableWriter{csv.NewWriter(out)}
	t.w.Write(Columns)
	row := make([]string, max(len(Columns), len(env)+1))
	row[0] = "ENV"
	copy(row[1:], env)
	t.w.Write(row)
	t.w.Flush()
	return t, t.w.Error()
}

func (t *tableWriter) row(r Row) error {
	fields := make([]string, len(Columns))
	for i, c := range Columns {
		fields[i] = r[c]
	}
	t.w.Write(fields)
	t.w.Flush()
	return t.w.Error()
}

// ReadTable reads what a run printed.
func ReadTable(in io.Reader) (Table, error) {
	var t Table
	r := csv.NewReader(in)
	r.FieldsPerRecord = -1
	header, err := r.Read()
	if err != nil {
		return t, fmt.Errorf("no header line: %w", err)
	}
	if !slices.Equal(header, Columns) {
		return t, errors.New("the first line is not the header of a run: go run . run > run.csv")
	}
	known := map[string]bool{totalGroup: true}
	for _, g := range groups() {
		known[g.name] = true
	}
	for {
		fields, err := r.Read()
		if err == nil && slices.Equal(fields, Columns) {
			line, _ := r.FieldPos(0)
			return t, fmt.Errorf("line %d: a second run begins here; one run a file", line)
		}
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if fields[0] == "ENV" {
			if line, _ := r.FieldPos(0); t.Env != nil || len(t.Rows) > 0 {
				return t, fmt.Errorf("line %d: a second run begins here; one run a file", line)
			}
			t.Env = map[string]string{}
			for _, f := range fields[1:] {
				if name, value, ok := strings.Cut(f, "="); ok {
					t.Env[name] = value
				}
			}
			continue
		}
		line, _ := r.FieldPos(0)
		if len(fields) != len(Columns) {
			return t, fmt.Errorf("line %d has %d fields instead of %d", line, len(fields), len(Columns))
		}
		if !known[fields[0]] {
			return t, fmt.Errorf("line %d begins with %q, which is no group", line, fields[0])
		}
		row := Row{}
		for i, f := range fields {
			if f == "" {
				continue
			}
			row[Columns[i]] = f
			if _, ok := row.Number(Columns[i]); !ok && !slices.Contains(words, Columns[i]) {
				return t, fmt.Errorf("line %d: %s is %q instead of a number", line, Columns[i], f)
			}
		}
		t.Rows = append(t.Rows, row)
	}
}
