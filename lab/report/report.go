// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package report makes of a run of the laboratory one HTML page that needs no network: the ten conclusions of the article, each
// confirmed, refuted or not measured, with its figure; a chart a group; and every row.
package report

import (
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-analyze/charts"

	"github.com/weir-mcp/weir/lab/stdiolab"
)

// widths are those of the two drawings of each chart, in pixels: for a telephone and for a desk.
var widths = [2]int{360, 760}

type pageChart struct {
	ID, Group, Title, X, Y string
	Unseen                 string           // what the drawings cannot show
	SVG                    [4]template.HTML // narrow light, narrow dark, wide light, wide dark
}

type pageGroup struct {
	Name, What string
	Charts     []pageChart
	Skipped    []string
	Columns    []string
	Rows       [][]string
	Total      string
}

// HTML writes the page of a run.
func HTML(w io.Writer, t stdiolab.Table) error {
	page := struct {
		Machine, Env string
		Conclusions  []conclusion
		Groups       []pageGroup
		Total        string
	}{Machine: machine(t), Env: environment(t), Conclusions: conclusions(t), Total: total(t)}
	drawn := map[string][]pageChart{}
	for _, c := range pictures(t) {
		p := pageChart{ID: c.id, Group: c.group, Title: c.title, X: c.x, Y: c.y, Unseen: c.unseen()}
		for i := range p.SVG {
			b, err := c.svg(widths[i/2], i%2 == 1, charts.ColorTransparent, page.Machine)
			if err != nil {
				return fmt.Errorf("chart %s: %w", c.id, err)
			}
			p.SVG[i] = template.HTML(fluid(string(b)))
		}
		drawn[c.group] = append(drawn[c.group], p)
	}
	for _, g := range stdiolab.Groups() {
		rows := t.Group(g[0])
		if len(rows) == 0 {
			continue
		}
		p := pageGroup{Name: g[0], What: g[1], Charts: drawn[g[0]]}
		if sent, ok := t.Total(g[0]); ok {
			p.Total = fmt.Sprintf("%s frames, %.1f MB, %.1f s", comma(fmt.Sprint(sent.Frames)), float64(sent.Bytes)/1e6, sent.Seconds)
		}
		for _, c := range stdiolab.Columns[1:] {
			for _, r := range rows {
				if r[c] != "" {
					p.Columns = append(p.Columns, c)
					break
				}
			}
		}
		for _, r := range rows {
			var fields []string
			for _, c := range p.Columns {
				fields = append(fields, r[c])
			}
			p.Rows = append(p.Rows, fields)
			if why, skipped := r.Skipped(); skipped {
				p.Skipped = append(p.Skipped, r["cell"]+": "+why)
			}
		}
		page.Groups = append(page.Groups, p)
	}
	return pageTemplate.Execute(w, page)
}

// Files writes each chart of a run as an SVG file with a white ground, named lab-ID.svg, into dir.
func Files(dir string, t stdiolab.Table) error {
	for _, c := range pictures(t) {
		b, err := c.svg(widths[1], false, charts.ColorWhite, machine(t))
		if err != nil {
			return fmt.Errorf("chart %s: %w", c.id, err)
		}
		if err := os.WriteFile(filepath.Join(dir, "lab-"+c.id+".svg"), append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// machine names where the run was made, in a line that fits below a title.
func machine(t stdiolab.Table) string {
	if t.Env == nil {
		return "an unknown machine"
	}
	kernel, _, _ := strings.Cut(t.Env["kernel"], "-")
	return fmt.Sprintf("%s %s, %s, %s cores, %s", t.Env["os"], kernel, t.Env["arch"], t.Env["cores"], t.Env["go"])
}

// environment is the whole row ENV.
func environment(t stdiolab.Table) string {
	var fields []string
	for _, k := range strings.Fields("go os kernel arch cores GOMAXPROCS page pipe pipe-max-size pipe-user-pages-soft LANG LC_ALL node python jdk commit utc") {
		if v := t.Env[k]; v != "" {
			fields = append(fields, k+"="+v)
		}
	}
	return strings.Join(fields, ", ")
}

// fluid lets a drawing follow the width of its place.
func fluid(svg string) string {
	return strings.Replace(svg, "<svg ", `<svg role="img" preserveAspectRatio="xMinYMin meet" `, 1)
}

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"verdict": func(v string) string { return strings.ToLower(strings.ReplaceAll(v, " ", "-")) },
}).Parse(pageText))
