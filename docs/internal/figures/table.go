// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strconv"
	"strings"
)

// all is every figure of every server.
func (r *report) all() string {
	var b strings.Builder
	b.WriteString("| figure |")
	for _, p := range r.Peers {
		b.WriteString(" " + p.Title + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(r.Peers)) + "\n")
	for _, f := range r.Figures {
		fmt.Fprintf(&b, "| %s, %s |", f.Title, f.Unit)
		for _, p := range r.Peers {
			b.WriteString(" " + f.of(p.Name) + " |")
		}
		b.WriteString("\n")
	}
	if len(r.Notes) > 0 {
		b.WriteString("\n")
		for _, n := range r.Notes {
			b.WriteString("* " + n + "\n")
		}
	}
	return b.String()
}

// targets is what Weir set itself, and whether it is met.
func (r *report) targets() string {
	var b strings.Builder
	b.WriteString("| figure | Weir | beside the bare loop | beside the best SDK | target |\n| --- | ---: | ---: | ---: | --- |\n")
	ratio := func(v *float64, of string) string {
		if v == nil {
			return ""
		}
		return fmt.Sprintf("%.2f ×%s", *v, of)
	}
	for _, f := range r.Figures {
		var targets []string
		for _, t := range f.Targets {
			targets = append(targets, t.Target+": "+t.Met)
		}
		sdk := ""
		if f.FastestSDK != "" {
			sdk = " " + f.FastestSDK
		}
		fmt.Fprintf(&b, "| %s, %s | %s | %s | %s | %s |\n", f.Title, f.Unit, f.of("weir"), ratio(f.WeirOfBare, ""), ratio(f.WeirOfFastestSDK, sdk), strings.Join(targets, "; "))
	}
	return b.String()
}

// short is what the README shows: the SDKs beside Weir, in the words of
// somebody who has not read anything else.
func (r *report) short() string {
	rows := []struct{ key, what string }{
		{"stuck_cancel_ms", "the host stops reading, sends 8,000 calls of 15 KiB, then a cancel: it reaches its tool after, ms"},
		{"stuck_peak_mib", "peak memory of the server then, MiB"},
		{"stall_budget_2mib_peak_mib", "200 results of 1 MiB that the host does not read: peak memory, MiB"},
		{"one_64mib_peak_mib", "one result of 64 MiB (limits raised): peak memory, MiB"},
		{"echo_calls_per_second", "small calls, 64 in flight, on one CPU: calls/s"},
		{"add_cpu_us", "server CPU of one typed, validated call, us"},
		{"trip_64kib_p50_us", "round trip of 64 KiB, median, us"},
	}
	var b strings.Builder
	peers := []string{"go-sdk", "mcp-go", "typescript", "weir"}
	b.WriteString("| |")
	for _, p := range peers {
		b.WriteString(" " + r.title(p) + " |")
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(peers)) + "\n")
	for _, row := range rows {
		for _, f := range r.Figures {
			if f.Key != row.key {
				continue
			}
			b.WriteString("| " + row.what + " |")
			for _, p := range peers {
				cell := f.of(p)
				if p == "weir" {
					cell = "**" + cell + "**"
				}
				b.WriteString(" " + cell + " |")
			}
			b.WriteString("\n")
		}
	}
	return b.String()
}

func (r *report) title(name string) string {
	for _, p := range r.Peers {
		if p.Name == name {
			return p.Title
		}
	}
	return name
}

// of is the median of one server for a reader.
func (f *figure) of(peer string) string {
	v, ok := f.Medians[peer]
	switch {
	case !ok:
		return "–"
	case v == nil:
		return "never"
	case *v < 10:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case *v < 100:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	}
	whole := strconv.FormatFloat(*v, 'f', 0, 64)
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	return whole
}
