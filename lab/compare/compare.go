// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package compare measures tool servers side by side: the same tools, the same host, alternating runs, medians.
//
// Nothing in it passes or fails by time. A target that is missed is printed as missed; only a server that answers wrongly,
// or not at all, is an error, and that is printed where its figure would stand.
package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/weir-mcp/weir/lab/drive"
	"github.com/weir-mcp/weir/lab/peers"
)

// Options says what to compare. The zero value compares everything, in five rounds.
type Options struct {
	Quick    bool      // one round, short loads: to see that it works
	Only     []string  // keys of rows; none means all
	Peers    []string  // names; none means all that are there
	Rounds   int       // 0 means 5, or 1 where Quick
	JSON     string    // a file for the figures, "-" for Out instead of the table; "" means none
	Out      io.Writer // the table; nil means discard it
	Progress io.Writer // a terminal; nil means no progress
}

// Keys lists the rows for a help text: key and what it measures.
func Keys() [][2]string {
	var k [][2]string
	for _, r := range rows() {
		k = append(k, [2]string{r.key, r.about})
	}
	return k
}

// Run compares. It returns ctx's error when ctx ends, with no process left. Where there are two CPUs it puts this process on
// one of them for good.
func Run(ctx context.Context, o Options) error {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Rounds == 0 {
		o.Rounds = 5
		if o.Quick {
			o.Rounds = 1
		}
	}
	plan, err := choose(rows(), o.Only, func(r row) string { return r.key })
	if err != nil {
		return fmt.Errorf("-only: %w", err)
	}
	field, err := choose(peers.All(), o.Peers, func(p *peers.Peer) string { return p.Name })
	if err != nil {
		return fmt.Errorf("-peers: %w", err)
	}
	if !drive.Measures {
		return errors.New("compare measures CPU time and memory by Linux's /proc; this system has none")
	}
	w, err := peers.Open(ctx)
	if err != nil {
		return err
	}
	defer w.Close()

	rep := newReport(o)
	field = slices.DeleteFunc(field, func(p *peers.Peer) bool {
		fmt.Fprintf(o.Progress, "\r\033[Kbuilding %s", p.Title)
		if prep := p.Prepare(ctx, w); prep != nil {
			rep.note("%s is left out: %v", p.Title, prep)
			if len(o.Peers) > 0 {
				err = errors.Join(err, fmt.Errorf("%s: %w", p.Name, prep))
			}
			return true
		}
		return false
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	rep.Peers = describe(field)

	cpu := pin(rep)
	steps := 0
	for _, row := range plan {
		samples := make(map[string][][]Value) // by peer, a slice a round
		said := make(map[string][]string)     // by peer, in the last round
		for round := range o.Rounds {
			for i := range field {
				p := field[(i+round)%len(field)]
				if row.skip != nil && row.skip(p) {
					continue
				}
				fmt.Fprintf(o.Progress, "\r\033[K%s, round %d of %d: %s", row.about, round+1, o.Rounds, p.Title)
				values, notes, err := once(ctx, o, row, p, cpu)
				if ctx.Err() != nil {
					fmt.Fprint(o.Progress, "\r\033[K")
					return ctx.Err()
				}
				said[p.Name] = notes
				if err != nil {
					rep.note("%s, %s, round %d failed: %v", row.key, p.Title, round+1, err)
					continue
				}
				samples[p.Name] = append(samples[p.Name], values)
				steps++
			}
		}
		for _, p := range field {
			for _, n := range said[p.Name] {
				rep.note("%s, %s: %s", row.key, p.Title, n)
			}
		}
		rep.add(row, field, samples)
	}
	fmt.Fprint(o.Progress, "\r\033[K")
	if steps == 0 {
		return errors.New("nothing could be measured: " + strings.Join(rep.Notes, "; "))
	}
	return rep.write(o)
}

// once does one measurement, of two minutes at most.
func once(ctx context.Context, o Options, row row, p *peers.Peer, cpu int) ([]Value, []string, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, 2*time.Minute, errors.New("not done in two minutes"))
	defer cancel()
	r := &run{ctx: ctx, peer: p, cpu: cpu, warm: 500 * time.Millisecond, time: 1500 * time.Millisecond}
	if o.Quick {
		r.warm, r.time = 200*time.Millisecond, 400*time.Millisecond
	}
	values, err := row.measure(r)
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return values, r.notes, err
}

// pin puts this process on one CPU and returns another for the servers, numbered from 1; 0 where there are too few.
func pin(rep *report) int {
	cpus := drive.CPUs()
	if len(cpus) < 2 {
		rep.note("fewer than two CPUs: server and host share what there is, and nothing is pinned")
		return 0
	}
	host, server := cpus[1], cpus[0]
	if err := drive.PinSelf(host); err != nil {
		rep.note("nothing is pinned: %v", err)
		return 0
	}
	rep.Pinned = fmt.Sprintf("server on CPU %d, host on CPU %d", server-1, host-1)
	return server
}

// choose picks by name, in the order of all; no names pick all.
func choose[T any](all []T, names []string, name func(T) string) ([]T, error) {
	if len(names) == 0 {
		return all, nil
	}
	var picked []T
	var known []string
	for _, x := range all {
		known = append(known, name(x))
		if slices.Contains(names, name(x)) {
			picked = append(picked, x)
		}
	}
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no %q; there are %s", n, strings.Join(known, ", "))
		}
	}
	return picked, nil
}

// write writes the table, the JSON or both.
func (rep *report) write(o Options) error {
	if o.JSON != "" {
		data, err := json.MarshalIndent(rep, "", "  ")
		if err != nil {
			return err
		}
		data = append(data, '\n')
		if o.JSON == "-" {
			_, err := o.Out.Write(data)
			return err
		}
		if err := os.WriteFile(o.JSON, data, 0o644); err != nil {
			return err
		}
	}
	_, err := io.WriteString(o.Out, rep.table())
	return err
}
