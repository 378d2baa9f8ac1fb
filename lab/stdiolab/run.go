// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package stdiolab is the laboratory of frames over pipes: groups of experiments on how frames are written and read between two
// real processes, a classifier that judges every line by its bytes, and four criteria by which a run judges itself.
//
// Groupings are asserted (this strategy tears frames, that one never does), percentages are only shown: they move from run to run.
package stdiolab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/peers"
)

// Options says what to run. The zero Options runs everything once.
type Options struct {
	Only     []string  // groups, or parts of group E3 as e3c; none means all
	Rounds   int       // of group E6; 0 means 5
	Seed     uint64    // of the order of cells in each round; 0 means 1
	Out      io.Writer // the rows as CSV; nil means discard them
	Progress io.Writer // a line while a group runs; nil means none
	Totals   io.Writer // frames and bytes by group, at the end; nil means discard them
	Command  []string  // starts a child; nil means this program with "server"
}

// group is one group of experiments.
type group struct {
	name string
	what string
	run  func(*lab, context.Context) error
}

func groups() []group {
	return []group{
		{"E1", "writers × sizes", (*lab).e1},
		{"E1B", "switches of the environment", (*lab).e1b},
		{"E2", "round trip by size of the reply", (*lab).e2},
		{"E3", "the pipe: who waits, where and how long (parts a to f)", (*lab).e3},
		{"E4", "a line that is not JSON", (*lab).e4},
		{"E5", "one read is not one message", (*lab).e5},
		{"E6", "five rounds, and a batch", (*lab).e6},
		{"E7", "other people's clients", (*lab).e7},
		{"E8", "a large result in five forms, and where logs go", (*lab).e8},
	}
}

// Groups lists name and purpose of each group.
func Groups() [][2]string {
	var names [][2]string
	for _, g := range groups() {
		names = append(names, [2]string{g.name, g.what})
	}
	return names
}

// parts of group E3.
var parts = []string{"a", "b", "c", "d", "e", "f"}

// lab is one run.
type lab struct {
	o        Options
	command  []string
	workshop *peers.Workshop // nil outside the module's folder
	noShop   error           // why
	out      *tableWriter
	random   *rand.Rand
	frames   map[string]int // by group
	bytes    map[string]int64
	seconds  map[string]float64
	article  int // frames of the cells that the article had
	group    string
}

// Run runs the groups and prints a row a cell. A cell that cannot run here is a row that says why; an error ends the run.
func Run(ctx context.Context, o Options) error {
	var known []string
	for _, g := range groups() {
		known = append(known, strings.ToLower(g.name))
	}
	for _, p := range parts {
		known = append(known, "e3"+p)
	}
	for i, n := range o.Only {
		o.Only[i] = strings.ToLower(n)
		if !slices.Contains(known, o.Only[i]) {
			return Usage("-only %s: no such group; there are %s", n, strings.Join(known, ", "))
		}
	}
	if o.Rounds == 0 {
		o.Rounds = 5
	}
	if o.Seed == 0 {
		o.Seed = 1
	}
	for _, w := range []*io.Writer{&o.Out, &o.Totals} {
		if *w == nil {
			*w = io.Discard
		}
	}
	l := &lab{o: o, command: o.Command, random: rand.New(rand.NewPCG(o.Seed, 0)), frames: map[string]int{}, bytes: map[string]int64{}, seconds: map[string]float64{}}
	if l.command == nil {
		self, err := os.Executable()
		if err != nil {
			return err
		}
		l.command = []string{self, "server"}
	}
	if l.workshop, l.noShop = peers.Open(ctx); l.noShop == nil {
		defer l.workshop.Close()
	}
	var err error
	if l.out, err = newTableWriter(o.Out, l.environment(ctx)); err != nil {
		return err
	}
	began := time.Now()
	for _, g := range groups() {
		if !l.wanted(strings.ToLower(g.name)) {
			continue
		}
		l.group = g.name
		from := time.Now()
		l.progress("%s  %s", g.name, g.what)
		if err := g.run(l, ctx); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("group %s: %w", g.name, err)
		}
		l.seconds[g.name] = time.Since(from).Seconds()
		l.progress("%s  done in %.1f s\n", g.name, l.seconds[g.name])
	}
	return l.totals(time.Since(began))
}

// wanted says whether a group or a part of E3 is to run.
func (l *lab) wanted(name string) bool {
	if len(l.o.Only) == 0 || slices.Contains(l.o.Only, name) {
		return true
	}
	if name == "e3" {
		return slices.ContainsFunc(l.o.Only, func(n string) bool { return len(n) == 3 && strings.HasPrefix(n, "e3") })
	}
	return len(name) == 3 && strings.HasPrefix(name, "e3") && slices.Contains(l.o.Only, "e3")
}

func (l *lab) progress(format string, args ...any) {
	if l.o.Progress != nil {
		fmt.Fprintf(l.o.Progress, "\r\x1b[K"+format, args...)
	}
}

// emit prints a row.
func (l *lab) emit(r Row) error {
	if r.articles() {
		l.article += int(r.Num("framesSent"))
	}
	return l.out.row(r)
}

// count adds to the totals of the group.
func (l *lab) count(frames int, bytes int64) {
	l.frames[l.group] += frames
	l.bytes[l.group] += bytes
}

// totals prints what was sent, as the last rows and for a person.
func (l *lab) totals(took time.Duration) error {
	frames, bytes := 0, int64(0)
	row := func(cell string, frames int) Row {
		return Row{"group": totalGroup, "cell": cell}.set("framesSent", frames)
	}
	for _, g := range groups() {
		n, b, s := l.frames[g.name], l.bytes[g.name], l.seconds[g.name]
		if n == 0 {
			continue
		}
		fmt.Fprintf(l.o.Totals, "%-5s  %8s frames  %8.1f MB  in %5.1f s\n", g.name, thousands(n), float64(b)/1e6, s)
		if err := l.emit(row(g.name, n).set("bytes", b).set("value", s).set("unit", "s")); err != nil {
			return err
		}
		frames += n
		bytes += b
	}
	fmt.Fprintf(l.o.Totals, "total  %8s frames  %8.1f MB  in %5.1f s, of which %s frames in the cells that the article had\n",
		thousands(frames), float64(bytes)/1e6, took.Seconds(), thousands(l.article))
	if err := l.emit(row(totalArticle, l.article)); err != nil {
		return err
	}
	return l.emit(row(totalAll, frames).set("bytes", bytes).set("value", took.Seconds()).set("unit", "s"))
}

func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// shuffled is a copy in an order that the seed decides.
func shuffled[T any](l *lab, list []T) []T {
	list = slices.Clone(list)
	l.random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	return list
}

// push runs one child in mode push, and returns its row.
func (l *lab) push(ctx context.Context, cell string, round int, c Config, o startOptions) (Row, Counts, error) {
	c.Mode = "push"
	p, err := l.start(ctx, c, o)
	if err != nil {
		return nil, Counts{}, err
	}
	began := time.Now()
	judge := NewClassifier(p.conf.First+p.conf.Frames, p.conf.Size, p.conf.CJK, p.conf.Writer == "printlnGBK")
	_, err = judge.ReadFrom(p.out)
	took := time.Since(began)
	if err := errors.Join(err, p.finish(ctx)); err != nil {
		return nil, Counts{}, err
	}
	sent := p.number(sentPrefix)
	l.count(sent+1, judge.Bytes)
	r := newRow(l.group, cell, round, p.conf).addCounts(judge.Counts, sent, sent+1).set("mbps", mbps(judge.Bytes, took))
	if o.env != nil {
		r.set("opt", p.conf.Env)
	}
	if judge.End != 1 {
		r.set("note", fmt.Sprintf("%d end markers", judge.End))
	}
	return r, judge.Counts, nil
}

func mbps(bytes int64, took time.Duration) float64 {
	return float64(bytes) / 1e6 / max(took.Seconds(), 1e-9)
}

// quantile of samples that are sorted.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[min(int(float64(len(sorted))*q), len(sorted)-1)].Nanoseconds()) / 1000
}

// moduleVersion is the version of a module in this program.
func moduleVersion(path string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	for _, m := range info.Deps {
		if m.Path == path {
			return m.Version
		}
	}
	return ""
}
