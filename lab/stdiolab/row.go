// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package stdiolab

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Columns are those of every row, of every group; a field that a group does not use is empty.
var Columns = strings.Split("group,cell,round,writer,opt,threads,frames,size,cjk,framesSent,lines,lostLines,bytes,crlf,utf8Fail,"+
	"utf8FailPct,gbkOkPct,torn,merged,mixed,dup,bad,tornPct,badPct,mbps,value,unit,p50us,p99us,note", ",")

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
	return v, err == nil
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
	case "chunks8", "mcp", "forms":
		r["writer"] = map[string]string{"chunks8": "chunks"}[c.Mode]
		if c.Mode != "chunks8" {
			r["writer"] = "weir"
		}
		return r
	}
	r.set("threads", c.Threads).set("frames", c.Frames).set("size", c.Size).set("cjk", c.CJK)
	return r
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
	for {
		fields, err := r.Read()
		if errors.Is(err, io.EOF) {
			return t, nil
		}
		if err != nil {
			return t, err
		}
		if fields[0] == "ENV" {
			t.Env = map[string]string{}
			for _, f := range fields[1:] {
				if name, value, ok := strings.Cut(f, "="); ok {
					t.Env[name] = value
				}
			}
			continue
		}
		if len(fields) != len(Columns) {
			line, _ := r.FieldPos(0)
			return t, fmt.Errorf("line %d has %d fields instead of %d", line, len(fields), len(Columns))
		}
		row := Row{}
		for i, f := range fields {
			if f != "" {
				row[Columns[i]] = f
			}
		}
		t.Rows = append(t.Rows, row)
	}
}
