// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"fmt"
	"math"
)

// The layout, in the units of the picture.
const (
	width, height = 860, 520
	left, right   = 84, 836
	panelHeight   = 104
	firstPanel    = 74
	panelGap      = 34
)

// A panel is one curve over time.
type panel struct {
	title string
	class string
	unit  float64
	name  string // of the unit
	value func(sample) int64
}

var panels = []panel{
	{"ready, waiting in the server", "server", 1 << 20, "MiB", func(s sample) int64 { return s.waiting }},
	{"in the pipe", "pipe", 1 << 10, "KiB", func(s sample) int64 { return s.pipe }},
	{"received by the host, in sum", "host", 1 << 20, "MiB", func(s sample) int64 { return s.received }},
}

// style works on light and dark pages: it follows the reader's colour scheme.
const style = `<style>
text { font: 13px system-ui, sans-serif; fill: #24292f }
.small { font-size: 11.5px; fill: #57606a }
.axis { stroke: #8c959f; stroke-width: 1 }
.grid { stroke: #d0d7de; stroke-width: 1 }
.mark { stroke: #cf222e; stroke-width: 1.2; stroke-dasharray: 4 3 }
.quiet { fill: #afb8c1; fill-opacity: .22 }
.server { stroke: #bc4c00; fill: #bc4c00 } .pipe { stroke: #0969da; fill: #0969da } .host { stroke: #1a7f37; fill: #1a7f37 }
.curve { stroke-width: 1.6; stroke-linejoin: round; fill: none }
.area { stroke: none; fill-opacity: .18 }
.title { stroke: #ffffff; stroke-width: 4; paint-order: stroke }
.back { fill: #ffffff }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .small { fill: #9198a1 } .axis { stroke: #6e7681 } .grid { stroke: #30363d }
.mark { stroke: #ff7b72 } .quiet { fill: #6e7681 } .back { fill: #0d1117 } .title { stroke: #0d1117 }
.server { stroke: #f0883e; fill: #f0883e } .pipe { stroke: #58a6ff; fill: #58a6ff } .host { stroke: #3fb950; fill: #3fb950 }
.curve { fill: none } .area { stroke: none }
}
</style>
`

// svg draws r. The same data gives the same bytes.
func svg(r *run) []byte {
	var b bytes.Buffer
	end := float64(r.samples[len(r.samples)-1].ms)
	x := func(ms float64) float64 { return left + (right-left)*ms/end }
	bottom := firstPanel + len(panels)*panelHeight + (len(panels)-1)*panelGap

	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" role="img" aria-label="Bytes that wait in the server, in the pipe, and bytes received, while a host stops reading">`+"\n", width, height)
	b.WriteString(style)
	fmt.Fprintf(&b, `<rect class="back" width="%d" height="%d"/>`+"\n", width, height)

	stop, _ := r.at("stop")
	resume, _ := r.at("resume")
	fmt.Fprintf(&b, `<rect class="quiet" x="%.1f" y="%d" width="%.1f" height="%d"/>`+"\n", x(stop), firstPanel-8, x(resume)-x(stop), bottom-firstPanel+8)
	fmt.Fprintf(&b, `<text x="%.1f" y="22" text-anchor="middle">the host does not read</text>`+"\n", (x(stop)+x(resume))/2)
	if cancel, ok := r.at("cancel"); ok {
		fmt.Fprintf(&b, `<line class="mark" x1="%.1f" y1="48" x2="%.1f" y2="%d"/>`+"\n", x(cancel), x(cancel), bottom)
		text := "a cancel is sent"
		if stopped, ok := r.at("stopped"); ok {
			text += fmt.Sprintf("; %.1f ms later its tool stops", stopped-cancel)
		}
		fmt.Fprintf(&b, `<text x="%.1f" y="43" text-anchor="middle" class="small">%s</text>`+"\n", x(cancel), text)
	}
	for i, p := range panels {
		p.draw(&b, r, x, firstPanel+i*(panelHeight+panelGap))
	}
	for s := 0.0; s*1000 <= end; s++ {
		fmt.Fprintf(&b, `<text class="small" x="%.1f" y="%d" text-anchor="middle">%.0f s</text>`+"\n", x(s*1000), bottom+18, s)
	}
	fmt.Fprintf(&b, `<text class="small" x="%d" y="%d">%s</text>`+"\n", left, height-14, r.where)
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// draw draws one panel whose upper edge is at top.
func (p panel) draw(b *bytes.Buffer, r *run, x func(float64) float64, top int) {
	most := 0.0
	for _, s := range r.samples {
		most = max(most, float64(p.value(s))/p.unit)
	}
	scale, tick := axis(most)
	y := func(v float64) float64 { return float64(top+panelHeight) - panelHeight*v/scale }
	for v := 0.0; v <= scale; v += tick {
		class := "grid"
		if v == 0 {
			class = "axis"
		}
		fmt.Fprintf(b, `<line class="%s" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/>`+"\n", class, left, y(v), right, y(v))
		fmt.Fprintf(b, `<text class="small" x="%d" y="%.1f" text-anchor="end">%g %s</text>`+"\n", left-8, y(v)+4, v, p.name)
	}
	var line bytes.Buffer
	for i, s := range r.samples {
		fmt.Fprintf(&line, "%c%.1f %.1f ", "ML"[min(i, 1)], x(float64(s.ms)), y(float64(p.value(s))/p.unit))
	}
	first, last := x(float64(r.samples[0].ms)), x(float64(r.samples[len(r.samples)-1].ms))
	fmt.Fprintf(b, `<path class="area %s" d="%sL%.1f %.1f L%.1f %.1f Z"/>`+"\n", p.class, &line, last, y(0), first, y(0))
	fmt.Fprintf(b, `<path class="curve %s" d="%s"/>`+"\n", p.class, bytes.TrimSpace(line.Bytes()))
	fmt.Fprintf(b, `<text class="title" x="%d" y="%d">%s</text>`+"\n", left+8, top+16, p.title)
}

// axis picks the end of a scale for values up to most, and the distance of
// its lines: at most four.
func axis(most float64) (end, tick float64) {
	if most <= 0 {
		return 1, 1
	}
	tick = math.Pow(2, math.Ceil(math.Log2(most/4)))
	return tick * math.Ceil(most/tick), tick
}
