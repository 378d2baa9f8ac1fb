// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"strings"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// bannerTable shows hosts against stray lines: what each makes of 300 answers.
func bannerTable(t stdiolab.Table) string {
	rows := [][]string{{"host", "stray lines", "right", "mispaired", "unparsed", "exceptions", "noise", "late"}}
	for _, r := range measured(t, "E4") {
		host, n, ok := strings.Cut(r["cell"], " N=")
		if !ok || strings.HasPrefix(host, "client ") {
			continue
		}
		if r["writer"] == "weir" {
			host = "byLineParsing, printed by a tool on Weir"
		}
		row := []string{host, n}
		for _, name := range rows[0][2:] {
			row = append(row, noted(r, name))
		}
		rows = append(rows, row)
	}
	return markdown(rows...)
}

// noted is the value of name=value in a note.
func noted(r stdiolab.Row, name string) string {
	for f := range strings.FieldsSeq(r["note"]) {
		if v, ok := strings.CutPrefix(f, name+"="); ok {
			return v
		}
	}
	return ""
}

func clientTable(t stdiolab.Table) string {
	rows := [][]string{{"client", "no such line", "one"}}
	for _, r := range t.Group("E4") {
		name, n, _ := strings.Cut(strings.TrimPrefix(r["cell"], "client "), " N=")
		why, skipped := r.Skipped()
		version, what, _ := strings.Cut(r["note"], " ")
		switch {
		case !strings.HasPrefix(r["cell"], "client "):
		case skipped:
			rows = append(rows, []string{name, "not measured: " + why, ""})
		case n == "0":
			rows = append(rows, []string{name + " " + version, r["value"] + " calls of 20 answered", ""})
		default:
			rows[len(rows)-1][2] = r["value"] + " of 20: " + what
		}
	}
	return markdown(rows...)
}

func reads(t stdiolab.Table) string {
	var one, whole stdiolab.Row
	for _, r := range measured(t, "E5") {
		if r["cell"] == "toLF" {
			whole = r
		} else {
			one = r
		}
	}
	return fmt.Sprintf("Taken read by read, %.2f %% of %s frames are wrong, and %.1f %% of the reads are not UTF-8 by themselves. Collected to the LF and then decoded, %.2f %% are wrong.",
		one.Num("value"), one["framesSent"], one.Num("utf8FailPct"), whole.Num("value"))
}

func roundTable(t stdiolab.Table) string {
	rows := [][]string{{"writer", "damaged lines of 8,001, round by round"}}
	for _, w := range []string{"printNL", "rawSplit", "oneLock", "weir"} {
		var list []string
		for n := 1; ; n++ {
			found := false
			for _, r := range measured(t, "E6") {
				if r["writer"] == w && r["round"] == fmt.Sprint(n) {
					list, found = append(list, r["bad"]), true
				}
			}
			if !found {
				break
			}
		}
		rows = append(rows, []string{w, strings.Join(list, ", ")})
	}
	return markdown(rows...)
}

func batchTable(t stdiolab.Table) string {
	rows := [][]string{{"frames of", "writer", "throughput", "damaged lines", "a lone response left after"}}
	for _, r := range measured(t, "E6") {
		if r["cell"] != "batch" {
			continue
		}
		age := fmt.Sprintf("%.1f ms", r.Num("value"))
		if r["note"] != "" {
			age += ": " + r["note"]
		}
		rows = append(rows, []string{size(r["size"]), "`" + r["writer"] + "`", fmt.Sprintf("%.0f MB/s", r.Num("mbps")), r["bad"], age})
	}
	return markdown(rows...)
}

func textTable(t stdiolab.Table) string {
	rows := [][]string{{"client", "texts of 64 KiB that came whole", "texts of 1 MiB"}}
	for _, r := range t.Group("E7") {
		name, n, _ := strings.Cut(r["cell"], " ")
		field := fmt.Sprintf("%s of %s", r["value"], r["framesSent"])
		label := name + " " + r["note"]
		if why, skipped := r.Skipped(); skipped {
			field, label = "not measured: "+why, name
		}
		if n == "65536" {
			rows = append(rows, []string{label, field, ""})
		} else if len(rows) > 1 && !strings.HasPrefix(field, "not measured") {
			rows[len(rows)-1][2] = field
		}
	}
	return markdown(rows...)
}

func formTable(t stdiolab.Table) string {
	rows := [][]string{{"form", "first answer", "text for the model", "everything read", "the host looked away"}}
	for _, r := range measured(t, "E8") {
		unit, _ := strings.CutPrefix(r["unit"], "bytes, ")
		last := rows[len(rows)-1]
		switch {
		case unit == "the first answer":
			text, _, _ := strings.Cut(r["note"], " ")
			rows = append(rows, []string{r["cell"], comma(r["value"]) + " bytes", comma(text) + " bytes", "", ""})
		case unit == "everything read":
			last[3] = fmt.Sprintf("%s bytes %s", comma(r["value"]), strings.Replace(r["note"], "in 1 calls", "in 1 call", 1))
		case strings.HasPrefix(r["unit"], "1 stalled"):
			last[4] = r["note"]
		}
	}
	return markdown(rows...)
}

func logTable(t stdiolab.Table) string {
	rows := [][]string{{"stderr is", "`WEIR_LOG=FILE`", "`notifications/message`", ""}}
	for _, r := range measured(t, "E8") {
		stderr, ok := strings.CutPrefix(r["opt"], "stderr=")
		switch {
		case !ok:
		case r["cell"] == "logs to WEIR_LOG=FILE":
			rows = append(rows, []string{stderr, fmt.Sprintf("%s %s", r["value"], r["unit"]), "", r["note"]})
		default:
			rows[len(rows)-1][2] = fmt.Sprintf("%s %s", r["value"], r["unit"])
		}
	}
	return markdown(rows...)
}

// foundTable judges what else the article reports, beside its ten conclusions.
func foundTable(t stdiolab.Table) string {
	rows := [][]string{{"the article", "here", "figure"}}
	add := func(text string, known, ok bool, figure string) {
		verdict := "Refuted"
		switch {
		case !known:
			verdict, figure = notMeasured, "this run has no such rows"
		case ok:
			verdict = "Confirmed"
		}
		rows = append(rows, []string{text, verdict, figure})
	}
	list := cells(t, "b ")
	complete := len(list) > 0
	for _, r := range list {
		complete = complete && r.Num("value") == 1
	}
	add("With a host that reads, a frame of any size completes.", len(list) > 0, complete, reading(t))
	batch := map[string]stdiolab.Row{}
	for _, r := range measured(t, "E6") {
		if r["cell"] == "batch" {
			batch[r["writer"]+" "+size(r["size"])] = r
		}
	}
	for _, s := range []string{"1 KiB", "64 KiB"} {
		one, many := batch["oneLock "+s], batch["batch512 "+s]
		add("A flush at every 512th frame moves more bytes, at "+s+".", one != nil && many != nil, many.Num("mbps") > one.Num("mbps"),
			fmt.Sprintf("%.0f MB/s, `oneLock` %.0f", many.Num("mbps"), one.Num("mbps")))
	}
	late, right := 0, true
	var ages []string
	for _, r := range measured(t, "E4") {
		if n, ok := strings.CutPrefix(r["cell"], "byLine N="); ok {
			late++
			right = right && noted(r, "late") == n && noted(r, "exceptions") == "0"
			ages = append(ages, fmt.Sprintf("%s: %s", n, noted(r, "late")))
		}
	}
	add("N stray lines leave N answers unread, and raise no error.", late > 0, right, "late answers by stray lines: "+strings.Join(ages, ", "))
	for _, r := range measured(t, "E5") {
		if r["cell"] == "readIsMessage" {
			add("Most chunks are not UTF-8 by themselves (there, 91.0 %).", true, r.Num("utf8FailPct") > 50,
				fmt.Sprintf("%.1f %%; how many depends on the length of what stands before the text", r.Num("utf8FailPct")))
		}
	}
	return markdown(rows...)
}
