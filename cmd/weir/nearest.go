// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"cmp"
	"slices"
	"strings"
)

// nearest returns the one or two of names that name was probably meant to be,
// the nearest first; none when all are far.
func nearest(name string, names []string) []string {
	type candidate struct {
		name     string
		distance int
	}
	var near []candidate
	name = fold(name)
	for _, n := range names {
		d := distance(name, fold(n))
		if d > len([]rune(name))/3+1 {
			if len(name) < 3 || !strings.Contains(fold(n), name) {
				continue
			}
		}
		near = append(near, candidate{n, d})
	}
	slices.SortStableFunc(near, func(a, b candidate) int { return cmp.Compare(a.distance, b.distance) })
	var best []string
	for _, c := range near[:min(2, len(near))] {
		best = append(best, c.name)
	}
	return best
}

// fold leaves out what naming habits differ in.
func fold(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", ".", "").Replace(name))
}

// distance is how many characters have to be put in, left out or replaced to
// make b of a.
func distance(a, b string) int {
	from, to := []rune(a), []rune(b)
	row := make([]int, len(to)+1) // row[j] is the distance of from[:i] and to[:j]
	for j := range row {
		row[j] = j
	}
	for i, r := range from {
		before := row[0] // row[j] of from[:i]
		row[0] = i + 1
		for j, s := range to {
			d := before
			if r != s {
				d = 1 + min(before, row[j], row[j+1])
			}
			before, row[j+1] = row[j+1], d
		}
	}
	return row[len(to)]
}
