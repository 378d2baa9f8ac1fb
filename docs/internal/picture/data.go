// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// A run is what was seen, every step milliseconds.
type run struct {
	where   string // system and capacity of the pipe
	samples []sample
	events  []event
}

// A sample is one look at where bytes are.
type sample struct {
	ms       int64
	waiting  int64 // in the server: frames that are ready
	pipe     int64 // in the pipe
	received int64 // by the host, since the start
}

// An event is something that happened at one moment.
type event struct {
	ms   float64
	name string // stop, cancel, stopped, resume
}

const header = "ms,waiting_in_server,in_pipe,received_by_host"

// write writes r as CSV, with what is no sample in comments.
func (r *run) write(w io.Writer) {
	fmt.Fprintf(w, "# %s\n", r.where)
	for _, e := range r.events {
		fmt.Fprintf(w, "# event %.2f %s\n", e.ms, e.name)
	}
	fmt.Fprintln(w, header)
	for _, s := range r.samples {
		fmt.Fprintf(w, "%d,%d,%d,%d\n", s.ms, s.waiting, s.pipe, s.received)
	}
}

func parse(text string) (*run, error) {
	r := new(run)
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "# event "):
			var e event
			if _, err := fmt.Sscanf(line, "# event %f %s", &e.ms, &e.name); err != nil {
				return nil, fmt.Errorf("%q: %w", line, err)
			}
			r.events = append(r.events, e)
		case strings.HasPrefix(line, "# "):
			r.where = line[2:]
		case line == header:
		default:
			var n [4]int64
			cells := strings.Split(line, ",")
			if len(cells) != len(n) {
				return nil, fmt.Errorf("%q has not %d cells", line, len(n))
			}
			for i, c := range cells {
				v, err := strconv.ParseInt(c, 10, 64)
				if err != nil {
					return nil, err
				}
				n[i] = v
			}
			r.samples = append(r.samples, sample{n[0], n[1], n[2], n[3]})
		}
	}
	if len(r.samples) < 2 {
		return nil, fmt.Errorf("no samples")
	}
	return r, nil
}

// at is when the first event of that name happened.
func (r *run) at(name string) (ms float64, ok bool) {
	for _, e := range r.events {
		if e.name == name {
			return e.ms, true
		}
	}
	return 0, false
}
