// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// report is what -json writes.
type report struct {
	When    time.Time      `json:"when"`
	System  string         `json:"system"`
	CPU     string         `json:"cpu"`
	CPUs    int            `json:"cpus"`
	Go      string         `json:"go"`
	Pinned  string         `json:"pinned,omitempty"`
	Quick   bool           `json:"quick"`
	Rounds  int            `json:"rounds"`
	Peers   []peerReport   `json:"peers"`
	Figures []figureReport `json:"figures"`
	Notes   []string       `json:"notes"`
}

type peerReport struct {
	Name    string `json:"name"`
	Title   string `json:"title"`
	Version string `json:"version,omitempty"`
	sdk     bool
}

type figureReport struct {
	Key      string             `json:"key"`
	Title    string             `json:"title"`
	Unit     string             `json:"unit"`
	Higher   bool               `json:"higherIsBetter"`
	Medians  map[string]Value   `json:"medians"` // by peer
	Samples  map[string][]Value `json:"samples"` // by peer, in order
	OfBare   Value              `json:"weirOfBare"`
	OfSDK    Value              `json:"weirOfFastestSDK"`
	Fastest  string             `json:"fastestSDK,omitempty"`
	Verdicts []Verdict          `json:"targets"`
	digits   int
}

func newReport(o Options) *report {
	return &report{
		When: time.Now().UTC().Truncate(time.Second), System: system(), CPU: cpuModel(), CPUs: max(len(drive.CPUs()), 1),
		Go: runtime.Version(), Quick: o.Quick, Rounds: o.Rounds, Notes: []string{},
	}
}

// note keeps a sentence for below the table, once.
func (rep *report) note(format string, a ...any) {
	if n := fmt.Sprintf(format, a...); !slices.Contains(rep.Notes, n) {
		rep.Notes = append(rep.Notes, n)
	}
}

func describe(field []*peers.Peer) []peerReport {
	var d []peerReport
	for _, p := range field {
		d = append(d, peerReport{Name: p.Name, Title: p.Title, Version: p.Version, sdk: p.SDK})
	}
	return d
}

// add takes the samples of one row: by peer, a slice a round, a value a figure.
func (rep *report) add(r row, field []*peers.Peer, samples map[string][][]Value) {
	for i, f := range r.figures {
		fr := figureReport{
			Key: f.key, Title: f.title, Unit: f.unit, Higher: f.higher, digits: f.digits,
			Medians: map[string]Value{}, Samples: map[string][]Value{}, OfBare: none, OfSDK: none,
		}
		sdks := map[string]Value{}
		bare, weir := none, none
		for _, p := range field {
			var s []Value
			for _, round := range samples[p.Name] {
				s = append(s, round[i])
			}
			if len(s) == 0 {
				continue
			}
			m := median(s)
			fr.Samples[p.Name], fr.Medians[p.Name] = s, m
			switch {
			case p.SDK:
				sdks[p.Title] = m
			case p.Name == "bare":
				bare = m
			case p.Name == "weir":
				weir = m
			}
		}
		var sdk Value
		fr.Fastest, sdk = f.best(sdks)
		fr.OfBare, fr.OfSDK = weir/bare, weir/sdk
		for _, t := range f.targets {
			fr.Verdicts = append(fr.Verdicts, f.judge(t, weir, bare, sdk))
		}
		rep.Figures = append(rep.Figures, fr)
	}
}

// table is the report for a person.
func (rep *report) table() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s, %s\n", rep.System, rep.CPU, rep.Go)
	if rep.Pinned != "" {
		fmt.Fprintf(&b, "%s; ", rep.Pinned)
	}
	fmt.Fprintf(&b, "medians of %s", plural(rep.Rounds, "alternating round"))
	if rep.Quick {
		b.WriteString(", short loads (-quick): to see that it works, not to quote")
	}
	b.WriteString("\n")
	var versions strings.Builder
	for _, p := range rep.Peers {
		if p.Version != "" {
			fmt.Fprintf(&versions, " %s: %s.", p.Title, p.Version)
		}
	}
	b.WriteString(strings.TrimSpace(versions.String()) + "\n\n")

	const first, column = 48, 12
	b.WriteString(pad("", first, false))
	for _, p := range rep.Peers {
		b.WriteString(pad(p.Title, column, true))
	}
	b.WriteString("\n")
	for _, f := range rep.Figures {
		b.WriteString(pad(f.Title+", "+f.Unit, first, false))
		for _, p := range rep.Peers {
			cell := "-"
			if m, ok := f.Medians[p.Name]; ok {
				cell = format(m, f.digits)
			}
			b.WriteString(pad(cell, column, true))
		}
		b.WriteString("\n")
		if f.OfBare.Real() || f.OfSDK.Real() {
			var ratios []string
			if f.OfBare.Real() {
				ratios = append(ratios, fmt.Sprintf("%.2f times the bare loop", f.OfBare))
			}
			if f.OfSDK.Real() {
				ratios = append(ratios, fmt.Sprintf("%.2f times the best SDK (%s)", f.OfSDK, f.Fastest))
			}
			b.WriteString("    Weir is " + strings.Join(ratios, ", ") + "\n")
		}
		for _, v := range f.Verdicts {
			b.WriteString("    " + v.Target + ": " + v.Met + "\n")
		}
	}
	if len(rep.Notes) > 0 {
		b.WriteString("\nNotes\n")
		for _, n := range rep.Notes {
			b.WriteString("  " + n + "\n")
		}
	}
	return b.String()
}

func pad(s string, width int, right bool) string {
	fill := strings.Repeat(" ", max(1, width-utf8.RuneCountInString(s)))
	if right {
		return fill + s
	}
	return s + fill
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func system() string {
	s := runtime.GOOS + "/" + runtime.GOARCH
	if v, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		s += " " + string(bytes.TrimSpace(v))
	}
	return s
}

func cpuModel() string {
	info, _ := os.ReadFile("/proc/cpuinfo")
	model := "unknown processor"
	for line := range bytes.Lines(info) {
		if name, value, ok := bytes.Cut(line, []byte(":")); ok && string(bytes.TrimSpace(name)) == "model name" {
			model = string(bytes.TrimSpace(value))
			break
		}
	}
	return fmt.Sprintf("%s, %s", model, plural(max(len(drive.CPUs()), 1), "CPU"))
}
