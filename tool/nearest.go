// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "strings"

// nearest returns the one of known that name was probably meant to be, or "".
func nearest(name string, known []string) string {
	best, bestDistance := "", len(name)/3+1
	folded := fold(name)
	for _, k := range known {
		if fold(k) == folded {
			return k
		}
		if d := distance(name, k, bestDistance); d < bestDistance {
			best, bestDistance = k, d
		}
	}
	return best
}

// fold leaves out what naming habits differ in.
func fold(name string) string { return strings.ToLower(separators.Replace(name)) }

var separators = strings.NewReplacer("_", "", "-", "", ".", "")

// distance is how many bytes have to be put in, left out, replaced or swapped
// with their neighbour to make b of a. It gives up at limit.
func distance(a, b string, limit int) int {
	if len(a) > 64 || len(b) > 64 || len(a)-len(b) >= limit || len(b)-len(a) >= limit {
		return limit
	}
	var rows [3][65]int // rows[i%3][j] is the distance of a[:i] and b[:j]
	for j := range len(b) + 1 {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		row, up, up2 := &rows[i%3], &rows[(i-1)%3], &rows[(i+1)%3]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(up[j]+1, row[j-1]+1, up[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], up2[j-2]+1)
			}
		}
	}
	return min(rows[len(a)%3][len(b)], limit)
}
