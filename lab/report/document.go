// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// quotation is a part of a document that a run makes:
//
//	<!-- run: NAME -->…<!-- end -->
var quotation = regexp.MustCompile(`(?s)(<!-- run: (\S+) -->)(.*?)(<!-- end -->)`)

// Document returns doc with every part that a run makes as t has it: what stands between <!-- run: NAME --> and <!-- end -->. A part
// that is called by no name that there is, is an error.
func Document(doc []byte, t stdiolab.Table) ([]byte, error) {
	var failed error
	out := quotation.ReplaceAllFunc(doc, func(b []byte) []byte {
		m := quotation.FindSubmatch(b)
		text, ok := parts[string(m[2])]
		if !ok {
			failed = fmt.Errorf("a run makes no part %q", m[2])
			return b
		}
		made := text(t)
		if strings.HasPrefix(made, "|") {
			made = "\n" + made // a table has lines of its own
		}
		return slices.Concat(m[1], []byte(made), m[4])
	})
	return out, failed
}

// parts are what a document may quote of a run, by name.
var parts = map[string]func(stdiolab.Table) string{
	"conclusions": conclusionTable,
	"machine":     machineLine,
	"total":       total,
	"article":     articleTotal,
	"totals":      totalTable,
	"damage":      damageTable,
	"controls":    controlTable,
	"found":       foundTable,
	"trips":       tripTable,
	"edges":       edges,
	"many":        many,
	"reading":     reading,
	"frozen":      frozenTable,
	"slow":        slowTable,
	"banner":      bannerTable,
	"clients":     clientTable,
	"reads":       reads,
	"rounds":      roundTable,
	"batch":       batchTable,
	"texts":       textTable,
	"forms":       formTable,
	"logs":        logTable,
}

// markdown makes a table of rows, the first of which is its head.
func markdown(rows ...[]string) string {
	var b strings.Builder
	for i, row := range rows {
		b.WriteString("|")
		for _, field := range row {
			b.WriteString(" " + strings.ReplaceAll(field, "|", `\|`) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString(strings.Repeat("| --- ", len(row)) + "|\n")
		}
	}
	return strings.ReplaceAll(b.String(), "|  |", "| |")
}

func conclusionTable(t stdiolab.Table) string {
	rows := [][]string{{"", "the article", "here", "figure"}}
	for i, c := range conclusions(t) {
		rows = append(rows, []string{fmt.Sprint(i + 1), c.Text, c.Verdict, c.Figure})
	}
	return markdown(rows...)
}

func machineLine(t stdiolab.Table) string {
	e := t.Env
	system := map[string]string{"linux": "Linux", "darwin": "macOS", "windows": "Windows"}[e["os"]]
	return fmt.Sprintf("%s %s, %s, %s cores, %s, Node.js %s, Python %s, JDK %s", system, e["kernel"], e["arch"], e["cores"], e["go"], e["node"], e["python"], e["jdk"])
}

func total(t stdiolab.Table) string {
	all, ok := t.Total("all")
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s frames, %.1f GB, %.0f seconds", comma(fmt.Sprint(all.Frames)), float64(all.Bytes)/1e9, all.Seconds)
}

func articleTotal(t stdiolab.Table) string {
	own, _ := t.Total("the article's own cells")
	return comma(fmt.Sprint(own.Frames)) + " frames"
}

func totalTable(t stdiolab.Table) string {
	rows := [][]string{{"group", "", "frames", "MB", "seconds"}}
	for _, g := range append(stdiolab.Groups(), [2]string{"all", ""}) {
		if sent, ok := t.Total(g[0]); ok {
			rows = append(rows, []string{g[0], g[1], comma(fmt.Sprint(sent.Frames)), fmt.Sprintf("%.1f", float64(sent.Bytes)/1e6), fmt.Sprintf("%.1f", sent.Seconds)})
		}
	}
	return markdown(rows...)
}

func damageTable(t stdiolab.Table) string {
	sizes := []string{"1024", "4096", "16384", "65536", "262144"}
	rows := [][]string{{"writer"}}
	for _, s := range sizes {
		rows[0] = append(rows[0], size(s))
	}
	for _, w := range stdiolab.Writers {
		row := []string{"`" + w + "`"}
		for _, s := range sizes {
			field := ""
			for _, r := range measured(t, "E1") {
				if r["writer"] == w && r["cell"] == s {
					field = "0"
					if n := r.Num("bad"); n > 0 {
						field = fmt.Sprintf("%.1f %%", r.Num("badPct"))
					}
				}
			}
			row = append(row, field)
		}
		rows = append(rows, row)
	}
	return markdown(rows...)
}

func controlTable(t stdiolab.Table) string {
	rows := [][]string{{"program", "switch", "U+4E2D left as"}}
	for _, r := range t.Group("E1B") {
		program, ok := strings.CutPrefix(r["cell"], "control ")
		if !ok {
			continue
		}
		if why, skipped := r.Skipped(); skipped {
			rows = append(rows, []string{program, "not measured: " + why, ""})
			continue
		}
		version, bytes, _ := strings.Cut(r["note"], "; U+4E2D came as ")
		opt := "none"
		if r["opt"] != "none" {
			opt = "`" + r["opt"] + "`"
		}
		rows = append(rows, []string{version, opt, bytes})
	}
	return markdown(rows...)
}

func tripTable(t stdiolab.Table) string {
	rows := [][]string{{"reply", "bare loop p50", "p99", "Weir p50", "p99"}}
	micros := func(r stdiolab.Row, column string) string { return fmt.Sprintf("%.0f µs", r.Num(column)) }
	var bare stdiolab.Row
	for _, r := range measured(t, "E2") {
		switch {
		case r["cell"] != r["size"]:
		case r["writer"] == "oneLock":
			bare = r
		case bare["size"] == r["size"]:
			rows = append(rows, []string{size(r["size"]), micros(bare, "p50us"), micros(bare, "p99us"), micros(r, "p50us"), micros(r, "p99us")})
		}
	}
	return markdown(rows...)
}

// cells lists the measured rows of E3 whose cell begins so.
func cells(t stdiolab.Table, prefix string) []stdiolab.Row {
	return slices.DeleteFunc(measured(t, "E3"), func(r stdiolab.Row) bool { return !strings.HasPrefix(r["cell"], prefix) })
}

func edges(t stdiolab.Table) string {
	var all []string
	list := cells(t, "c ")
	for i := 0; i+1 < len(list); i += 2 {
		name := strings.TrimPrefix(list[i]["cell"], "c edge, ")
		if n, ok := strings.CutPrefix(name, "pipe "); ok {
			name = "a pipe of " + comma(n)
		} else {
			name = "the " + name
		}
		all = append(all, fmt.Sprintf("%s: %s bytes return, %s block", name, comma(list[i]["value"]), comma(list[i+1]["value"])))
	}
	return strings.Join(all, "; ")
}

func many(t stdiolab.Table) string {
	var all []string
	for _, r := range cells(t, "d ") {
		all = append(all, fmt.Sprintf("%s bytes in writes of %s", comma(r["value"]), comma(r["size"])))
	}
	return strings.Join(all, ", ")
}

func reading(t stdiolab.Table) string {
	complete, list := 0, cells(t, "b ")
	for _, r := range list {
		complete += int(r.Num("value"))
	}
	if len(list) == 0 {
		return "not measured"
	}
	last := list[len(list)-1]
	return fmt.Sprintf("%d of %d writes complete, from 1 KiB to %s; the largest at %.0f MB/s, the child's start included", complete, len(list), size(last["size"]), last.Num("mbps"))
}

func frozenTable(t stdiolab.Table) string {
	names := map[string]string{"x": "`x`", "escapes": "quotes and backslashes", "cjk": "U+4E2D and an emoji", "run": "one run without a break"}
	rows := [][]string{{"8 MiB of", "nobody reads stdout", "`servertest` reads", "`servertest` with a limit of 4 MiB reads"}}
	for _, r := range cells(t, "f 8 MiB, no reader") {
		row := []string{names[strings.TrimPrefix(r["opt"], "payload=")], r["note"]}
		for _, cell := range []string{"f 8 MiB, a reader", "f 8 MiB, a reader with a limit"} {
			for _, b := range measured(t, "E3") {
				if b["cell"] == cell && b["opt"] == r["opt"] {
					row = append(row, b["note"])
				}
			}
		}
		rows = append(rows, row)
	}
	return markdown(rows...)
}

func slowTable(t stdiolab.Table) string {
	rows := [][]string{{"the host reads", "writer", "a cancel was read after", "longest write", "lines lost"}}
	list := cells(t, "e ")
	for i := 0; i+1 < len(list); i += 2 {
		a, b := list[i], list[i+1]
		write := fmt.Sprintf("%.0f ms", b.Num("value"))
		if b["note"] != "" {
			write += "; " + b["note"]
		}
		rows = append(rows, []string{strings.TrimPrefix(a["cell"], "e "), a["writer"], fmt.Sprintf("%.1f ms", a.Num("value")), write, a["lostLines"]})
	}
	return markdown(rows...)
}
