// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"strconv"
)

// MaxExponent bounds what an exponent may add to a number that has to be an
// integer or to be compared: exact arithmetic on 1e999999999 would take the
// machine's memory. MaxDigits bounds the digits of such a number.
const (
	MaxExponent = 1000
	MaxDigits   = 1000
)

// Mantissa cuts the exponent off a JSON number. ok is false where a bound of
// this file is passed.
func Mantissa(text []byte) (m []byte, exp int, ok bool) {
	if i := bytes.IndexAny(text, "eE"); i >= 0 {
		e, err := strconv.Atoi(string(text[i+1:]))
		if err != nil || e > MaxExponent || e < -MaxExponent {
			return nil, 0, false
		}
		exp = e
		text = text[:i]
	}
	return text, exp, len(text) <= MaxDigits
}

// Decimal splits the text of a JSON number into its sign, its digits without
// leading zeros, and the power of ten that they are to be multiplied with.
// ok is false where a bound of this file is passed.
func Decimal(text []byte) (neg bool, digits []byte, exp int, ok bool) {
	if len(text) > 0 && text[0] == '-' {
		neg = true
		text = text[1:]
	}
	text, exp, ok = Mantissa(text)
	if !ok {
		return neg, nil, 0, false
	}
	whole, frac, _ := bytes.Cut(text, []byte("."))
	exp -= len(frac)
	digits = append(append(make([]byte, 0, len(text)), whole...), frac...)
	digits = bytes.TrimLeft(digits, "0")
	return neg, digits, exp, true
}

// AppendCanonical appends the JSON number text as digits without zeros around
// them, and the power of ten where that is not one. A number past the bounds of
// this file is appended as it is.
func AppendCanonical(dst, text []byte) []byte {
	neg, digits, exp, ok := Decimal(text)
	if !ok {
		return append(dst, text...)
	}
	short := bytes.TrimRight(digits, "0")
	if len(short) == 0 {
		return append(dst, '0')
	}
	if neg {
		dst = append(dst, '-')
	}
	dst = append(dst, short...)
	if exp += len(digits) - len(short); exp != 0 {
		dst = strconv.AppendInt(append(dst, 'e'), int64(exp), 10)
	}
	return dst
}
