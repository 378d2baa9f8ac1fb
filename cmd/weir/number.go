// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"math"
	"strconv"

	"github.com/weir-mcp/weir/internal/host"
)

// comma is n with a comma after each third digit.
func comma(n int64) string {
	digits := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(digits) - 3; i > from; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// count is n of a thing, in the singular or the plural.
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return comma(n) + " " + noun + "s"
}

// amount is how far a tool says it has come: a part of the whole where either
// is no whole number, else the two numbers.
func amount(p host.Progress) string {
	whole := func(f float64) bool { return f == math.Trunc(f) && math.Abs(f) < 1<<53 }
	switch {
	case p.Total > 0 && (!whole(p.Progress) || !whole(p.Total)):
		return fmt.Sprintf("%.0f%%", 100*p.Progress/p.Total)
	case p.Total > 0:
		return comma(int64(p.Progress)) + " of " + comma(int64(p.Total))
	case whole(p.Progress):
		return comma(int64(p.Progress))
	case math.Abs(p.Progress) < 1<<53:
		return strconv.FormatFloat(p.Progress, 'f', 1, 64)
	}
	return fmt.Sprintf("%.3g", p.Progress)
}
