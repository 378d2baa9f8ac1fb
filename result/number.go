// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package result

import "strconv"

// comma writes n as English prose does: 4,382.
func comma(n int64) string {
	return string(appendComma(nil, n))
}

func appendComma(dst []byte, n int64) []byte {
	var buf [20]byte
	digits := strconv.AppendInt(buf[:0], n, 10)
	if digits[0] == '-' {
		dst = append(dst, '-')
		digits = digits[1:]
	}
	for i, d := range digits {
		if i > 0 && (len(digits)-i)%3 == 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, d)
	}
	return dst
}

// count writes a number of things: "1 line", "4,382 lines".
func count(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return comma(n) + " " + noun + "s"
}
