// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Figures writes the tables of docs/performance.md and of README.md from
// docs/performance.json, which "cd lab && go run . compare -json FILE" makes.
// Each table stands between <!-- figures NAME --> and <!-- end figures -->.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

//go:generate go run .

// A report is what the comparison writes.
type report struct {
	When    string
	System  string
	CPU     string
	Go      string
	Pinned  string
	Quick   bool
	Rounds  int
	Peers   []struct{ Name, Title, Version string }
	Figures []figure
	Notes   []string
}

// A figure is one measured quantity. A null median stands for "never".
type figure struct {
	Key, Title, Unit string
	HigherIsBetter   bool
	Medians          map[string]*float64
	WeirOfBare       *float64
	WeirOfFastestSDK *float64
	FastestSDK       string
	Targets          []struct{ Target, Met string }
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "figures:", err)
		os.Exit(1)
	}
}

func run() error {
	root, err := moduleRoot()
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "performance.json"))
	if err != nil {
		return err
	}
	rep := new(report)
	if err := json.Unmarshal(text, rep); err != nil {
		return fmt.Errorf("docs/performance.json: %w", err)
	}
	if rep.Quick {
		return fmt.Errorf("docs/performance.json is of a run with -quick, which nobody should quote")
	}
	tables := map[string]func() string{"all": rep.all, "targets": rep.targets, "run": rep.about, "short": rep.short}
	for _, name := range []string{"README.md", filepath.Join("docs", "performance.md")} {
		file := filepath.Join(root, name)
		old, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		text, err := fill(string(old), tables)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if text == string(old) {
			continue
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// moduleRoot finds the root from where go run and go generate start: there, or
// this folder.
func moduleRoot() (string, error) {
	for _, dir := range []string{".", filepath.Join("..", "..", "..")} {
		if _, err := os.Stat(filepath.Join(dir, "docs", "performance.md")); err == nil {
			return dir, nil
		}
	}
	return "", fmt.Errorf("run this at the root of the module: go run ./docs/internal/figures")
}

var slot = regexp.MustCompile(`(?s)<!-- figures (\w+) -->\n.*?<!-- end figures -->`)

// fill puts the tables into their slots.
func fill(text string, tables map[string]func() string) (string, error) {
	var unknown error
	out := slot.ReplaceAllStringFunc(text, func(s string) string {
		name := slot.FindStringSubmatch(s)[1]
		table, ok := tables[name]
		if !ok {
			unknown = fmt.Errorf("no table %q", name)
			return s
		}
		return "<!-- figures " + name + " -->\n" + table() + "<!-- end figures -->"
	})
	return out, unknown
}

// about tells where and how the figures were measured.
func (r *report) about() string {
	var b strings.Builder
	day, _, _ := strings.Cut(r.When, "T")
	fmt.Fprintf(&b, "Measured %s on %s, %s, %s", day, r.System, r.CPU, r.Go)
	if r.Pinned != "" {
		fmt.Fprintf(&b, "; %s", r.Pinned)
	}
	fmt.Fprintf(&b, "; medians over rounds in alternation: %d.", r.Rounds)
	for _, p := range r.Peers {
		if p.Version != "" && p.Name != "weir" {
			fmt.Fprintf(&b, " %s %s.", p.Title, p.Version)
		}
	}
	return b.String() + "\n"
}
