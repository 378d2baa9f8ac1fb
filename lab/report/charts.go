// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package report

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-analyze/charts"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// chart is one picture: bars or lines over labels.
type chart struct {
	id, group, title string
	x, y             string // what the axes say, units included
	labels           []string
	names            []string
	values           [][]float64 // by name, then by label; NaN where nothing was measured
	line             bool
}

// unseen says what the drawing cannot show: series that are 0 throughout, and others that are too small beside the largest.
func (c chart) unseen() string {
	most := 0.0
	highest := make([]float64, len(c.names))
	for i, list := range c.values {
		for _, v := range list {
			if !math.IsNaN(v) {
				highest[i], most = max(highest[i], v), max(most, v)
			}
		}
	}
	var zero, small []string
	for i, name := range c.names {
		switch {
		case len(c.values[i]) == 0:
		case highest[i] == 0:
			zero = append(zero, name)
		case highest[i] < most/200:
			small = append(small, fmt.Sprintf("%s, at most %s %s", name, number(highest[i]), c.y))
		}
	}
	var said []string
	if len(zero) > 0 && len(c.names) > 1 {
		said = append(said, "0 throughout: "+strings.Join(zero, ", "))
	}
	if len(small) > 0 {
		said = append(said, "Too small to be seen: "+strings.Join(small, "; "))
	}
	return strings.Join(said, ". ")
}

func number(v float64) string { return strconv.FormatFloat(math.Round(v*100)/100, 'f', -1, 64) }

// series collects values by name and label in the order in which they come.
type series struct{ chart }

func (s *series) add(name, label string, v float64) {
	if !slices.Contains(s.names, name) {
		s.names = append(s.names, name)
		s.values = append(s.values, make([]float64, len(s.labels)))
		fill(s.values[len(s.values)-1])
	}
	if !slices.Contains(s.labels, label) {
		s.labels = append(s.labels, label)
		for i := range s.values {
			s.values[i] = append(s.values[i], math.NaN())
		}
	}
	s.values[slices.Index(s.names, name)][slices.Index(s.labels, label)] = v
}

func fill(v []float64) {
	for i := range v {
		v[i] = math.NaN()
	}
}

// measured lists the rows of a group that ran.
func measured(t stdiolab.Table, group string) []stdiolab.Row {
	return slices.DeleteFunc(t.Group(group), func(r stdiolab.Row) bool {
		_, skipped := r.Skipped()
		return skipped
	})
}

// pictures are the charts of a run, those without a value left out.
func pictures(t stdiolab.Table) []chart {
	e1 := &series{chart{id: "e1", group: "E1", title: "Damaged lines by size of the frame, 8 threads", x: "bytes of a frame", y: "% of lines", line: true}}
	e1.names = slices.Clone(stdiolab.Writers) // rows come in an order of chance
	e1.values = make([][]float64, len(e1.names))
	for _, r := range measured(t, "E1") {
		if r["cell"] == r["size"] {
			e1.add(r["writer"], size(r["size"]), r.Num("badPct"))
		}
	}
	e1b := &series{chart{id: "e1b", group: "E1B", title: "Lines that are not UTF-8, by switch", x: "program and switch", y: "% of lines"}}
	for _, r := range measured(t, "E1B") {
		what := "Go"
		if program, ok := strings.CutPrefix(r["cell"], "control "); ok {
			what = program
		} else if r["writer"] != "println" {
			continue // the same in every cell: the table has it
		}
		label := strings.TrimPrefix(r["opt"], "-D")
		if what == "Go" || label == "none" {
			label = what + ", " + label
		}
		e1b.add("not UTF-8", label, r.Num("utf8FailPct"))
	}
	e2 := &series{chart{id: "e2", group: "E2", title: "Round trip by size of the reply, median", x: "bytes of the reply", y: "µs", line: true}}
	for _, r := range measured(t, "E2") {
		if r["cell"] == r["size"] {
			e2.add(map[string]string{"oneLock": "bare loop", "weir": "Weir"}[r["writer"]], size(r["size"]), r.Num("p50us"))
		}
	}
	e2pipe := &series{chart{id: "e2-pipe", group: "E2", title: "The bare loop's round trip over pipes of other capacities, median", x: "bytes of the reply", y: "µs"}}
	for _, r := range measured(t, "E2") {
		if r["cell"] != r["size"] {
			e2pipe.add("pipe of "+size(strings.TrimPrefix(r["opt"], "pipe=")), size(r["size"]), r.Num("p50us"))
		}
	}
	e3d := &series{chart{id: "e3", group: "E3", title: "Bytes a pipe of 64 KiB takes before it blocks", x: "bytes of each write", y: "bytes"}}
	e3e := &series{chart{id: "e3-cancel", group: "E3", title: "Until a cancel is read while the host reads slowly", x: "what the host reads", y: "ms"}}
	for _, r := range measured(t, "E3") {
		switch {
		case strings.HasPrefix(r["cell"], "d "):
			e3d.add("taken", r["size"], r.Num("value"))
		case strings.HasPrefix(r["cell"], "e ") && strings.HasPrefix(r["unit"], "ms until"):
			e3e.add(r["writer"], strings.TrimPrefix(r["cell"], "e "), r.Num("value"))
		}
	}
	e4 := &series{chart{id: "e4", group: "E4", title: "Answers that went to the wrong request", x: "lines that are not JSON, printed first", y: "% of 300"}}
	for _, r := range measured(t, "E4") {
		host, n, ok := strings.Cut(r["cell"], " N=")
		if !ok || strings.HasPrefix(host, "client ") {
			continue
		}
		if r["writer"] == "weir" {
			host = "Weir, printed by a tool"
		}
		e4.add(host, n, r.Num("value"))
	}
	e5 := &series{chart{id: "e5", group: "E5", title: "Frames read wrongly", x: "how the host reads", y: "% of 600"}}
	for _, r := range measured(t, "E5") {
		e5.add("wrong", map[string]string{"readIsMessage": "one read is one message", "toLF": "bytes to the LF"}[r["cell"]], r.Num("value"))
	}
	rounds := []string{"printNL", "rawSplit", "oneLock", "weir"}
	e6 := &series{chart{id: "e6", group: "E6", title: "Damaged lines, round by round, 1 KiB, 8 threads", x: "round", y: "% of lines", line: true}}
	e6.names, e6.values = rounds, make([][]float64, len(rounds))
	for _, r := range measured(t, "E6") {
		if r["round"] != "" && slices.Contains(rounds, r["writer"]) {
			e6.add(r["writer"], r["round"], r.Num("badPct"))
		}
	}
	e7 := &series{chart{id: "e7", group: "E7", title: "Texts that came through whole", x: "client, bytes of the text", y: "% equal by SHA-256"}}
	for _, r := range measured(t, "E7") {
		client, n, _ := strings.Cut(r["cell"], " ")
		e7.add(size(n), client, r.Num("value")/max(r.Num("framesSent"), 1)*100)
	}
	e8 := &series{chart{id: "e8", group: "E8", title: "One result of 1 MiB in five forms", x: "form of the result", y: "KiB"}}
	for _, r := range measured(t, "E8") {
		if unit, ok := strings.CutPrefix(r["unit"], "bytes, "); ok {
			e8.add(unit, r["cell"], r.Num("value")/1024)
		}
	}
	var all []chart
	for _, s := range []*series{e1, e1b, e2, e2pipe, e3d, e3e, e4, e5, e6, e7, e8} {
		if len(s.labels) > 0 {
			all = append(all, s.chart)
		}
	}
	return all
}

// size shortens a number of bytes.
func size(bytes string) string {
	n, err := strconv.Atoi(bytes)
	switch {
	case err != nil:
		return bytes
	case n >= 1<<20 && n%(1<<20) == 0:
		return fmt.Sprint(n>>20, " MiB")
	case n >= 1<<10 && n%(1<<10) == 0:
		return fmt.Sprint(n>>10, " KiB")
	}
	return bytes
}

// theme is how a picture looks on a light or on a dark page.
func theme(dark bool, background charts.Color) charts.ColorPalette {
	text, axis, split := charts.ColorFromHex("#333333"), charts.ColorFromHex("#777777"), charts.ColorFromHex("#dddddd")
	colors := []string{"#0b6bcb", "#c2410c", "#15803d", "#9333ea", "#be123c", "#0e7490", "#854d0e", "#475569", "#111111"}
	if dark {
		text, axis, split = charts.ColorFromHex("#dddddd"), charts.ColorFromHex("#999999"), charts.ColorFromHex("#3a3f46")
		colors = []string{"#6cb6ff", "#f69d50", "#57d27a", "#c297ff", "#ff7b93", "#56d4dd", "#e3b341", "#a8b3c1", "#f5f5f5"}
	}
	o := charts.ThemeOption{
		IsDarkMode: dark, AxisStrokeColor: axis, AxisSplitLineColor: split, BackgroundColor: background,
		TextColor: text, TextColorTitle: text, TextColorMark: text, TextColorLabel: text, TextColorLegend: text, TextColorXAxis: text, TextColorYAxis: text,
	}
	for _, c := range colors {
		o.SeriesColors = append(o.SeriesColors, charts.ColorFromHex(c))
	}
	return charts.MakeTheme(o)
}

// svg draws the chart; machine stands above it, in a line of its own.
func (c chart) svg(width int, dark bool, background charts.Color, machine string) ([]byte, error) {
	narrow := width < 600
	font := 13.0
	height := 380
	if narrow {
		font, height = 11, 400
	}
	colors := theme(dark, background)
	p := charts.NewPainter(charts.PainterOptions{OutputFormat: charts.ChartOutputSVG, Width: width, Height: height, Theme: colors})
	style := charts.NewFontStyleWithSize(font)
	values := make([][]float64, len(c.values))
	for i, list := range c.values {
		for _, v := range list {
			if math.IsNaN(v) {
				v = charts.GetNullValue()
			}
			values[i] = append(values[i], v)
		}
	}
	title := charts.TitleOption{Show: charts.Ptr(true), Text: machine, FontStyle: charts.NewFontStyleWithSize(font - 2)}
	legend := charts.LegendOption{SeriesNames: c.names, FontStyle: style, Show: charts.Ptr(len(c.names) > 1), Offset: charts.OffsetStr{Top: "28", Left: "0"}}
	zero, most, marks := charts.Ptr(0.0), (*float64)(nil), 0
	for _, list := range c.values {
		for _, v := range list {
			if strings.HasPrefix(c.y, "%") && v > 80 {
				most, marks = charts.Ptr(100.0), 6
			}
		}
	}
	format := number
	if c.y == "bytes" {
		format = func(v float64) string { return charts.FormatValueHumanizeShort(v, 1, false) }
	}
	padding := charts.NewBox(8, 8, 16, 8)
	if c.line {
		o := charts.NewLineChartOptionWithData(values)
		o.Theme, o.Title, o.Legend, o.Padding, o.ValueFormatter = colors, title, legend, padding, format
		o.XAxis.Labels, o.XAxis.Title, o.XAxis.LabelFontStyle, o.XAxis.TitleFontStyle = c.labels, c.x, style, style
		o.XAxis.LabelCount = len(c.labels)
		if narrow && len(c.labels) > 6 { // every third: the chart library's own choice lets the last two run into each other
			o.XAxis.Labels = slices.Clone(c.labels)
			for i := range o.XAxis.Labels {
				if (len(c.labels)-1-i)%3 != 0 {
					o.XAxis.Labels[i] = ""
				}
			}
		}
		o.YAxis = []charts.YAxisOption{{Title: c.y, TitleFontStyle: style, Min: zero, Max: most, LabelCount: marks, LabelFontStyle: style, ValueFormatter: format}}
		if err := p.LineChart(o); err != nil {
			return nil, err
		}
		return p.Bytes()
	}
	o := charts.NewBarChartOptionWithData(values)
	o.Theme, o.Title, o.Legend, o.Padding, o.ValueFormatter = colors, title, legend, padding, format
	o.CategoryAxis.Labels, o.CategoryAxis.Title, o.CategoryAxis.LabelFontStyle, o.CategoryAxis.TitleFontStyle = c.labels, c.x, style, style
	o.CategoryAxis.LabelCount = len(c.labels)
	o.Horizontal = len(c.labels) > 7 || narrow && (len(c.labels) > 5 || longest(c.labels) > 8)
	if o.Horizontal { // the width of a label is reckoned in another font than a reader's: without room it would run into its bar
		o.CategoryAxis.Labels = slices.Clone(c.labels)
		for i := range o.CategoryAxis.Labels {
			o.CategoryAxis.Labels[i] += "\u00a0\u00a0"
		}
	}
	if o.Horizontal && narrow { // wide labels leave little room
		if marks = 3; most == nil || longest(c.labels) > 20 {
			marks = 2
		}
	}
	o.ValueAxis = []charts.ValueAxisOption{{Title: c.y, TitleFontStyle: style, Min: zero, Max: most, LabelCount: marks, LabelFontStyle: style, ValueFormatter: format}}
	if err := p.BarChart(o); err != nil {
		return nil, err
	}
	return p.Bytes()
}

func longest(labels []string) int {
	n := 0
	for _, l := range labels {
		n = max(n, len(l))
	}
	return n
}
