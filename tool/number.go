// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"strconv"

	"github.com/weir-mcp/weir/internal/document"
)

// maxZeros bounds the zeros that appendInteger writes for an exponent, so that
// a text of 1e1000, … does not grow by two orders of magnitude.
const maxZeros = 40

// maxDigits bounds the digits of a number that has to be an integer or to be
// compared.
const maxDigits = document.MaxDigits

// A bound is one side of a range, kept in the forms that numbers of a message
// can be compared with cheaply.
type bound struct {
	text      string
	integer   int64
	isInteger bool
	float     float64
	short     bool // float compares exactly with other short decimals
	set       bool
}

func newBound(text string) bound {
	b := bound{text: text, set: true}
	b.integer, b.isInteger = smallInteger([]byte(text))
	b.float, b.short = shortDecimal([]byte(text))
	return b
}

// compare compares the number with the given text with b. Without ok, the
// answer needs exact arithmetic.
func (b *bound) compare(text []byte) (order int, ok bool) {
	if n, is := smallInteger(text); is && b.isInteger {
		switch {
		case n < b.integer:
			return -1, true
		case n > b.integer:
			return 1, true
		}
		return 0, true
	}
	f, is := shortDecimal(text)
	if !is || !b.short {
		return 0, false
	}
	switch {
	case f < b.float:
		return -1, true
	case f > b.float:
		return 1, true
	}
	return 0, true
}

// smallInteger reads text as an integer of at most 18 digits and no other
// characters than a sign.
func smallInteger(text []byte) (n int64, ok bool) {
	neg := false
	if len(text) > 0 && text[0] == '-' {
		neg = true
		text = text[1:]
	}
	if len(text) == 0 || len(text) > 18 {
		return 0, false
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	if neg {
		n = -n
	}
	return n, true
}

// shortDecimal reads text as a decimal of at most 15 digits without an
// exponent. Such decimals and their nearest float64 are in the same order.
func shortDecimal(text []byte) (f float64, ok bool) {
	digits := 0
	for _, c := range text {
		switch {
		case '0' <= c && c <= '9':
			digits++
		case c != '.' && c != '-':
			return 0, false
		}
	}
	if digits == 0 || digits > 15 {
		return 0, false
	}
	f, err := strconv.ParseFloat(string(text), 64)
	return f, err == nil
}

func mantissa(text []byte) (m []byte, exp int, ok bool) { return document.Mantissa(text) }

func decimal(text []byte) (neg bool, digits []byte, exp int, ok bool) { return document.Decimal(text) }

func appendCanonical(dst, text []byte) []byte { return document.AppendCanonical(dst, text) }

// positive tells whether the JSON number text is above zero.
func positive(text []byte) bool {
	neg, digits, _, ok := decimal(text)
	return ok && !neg && len(digits) > 0
}

// appendInteger appends the digits of the integer that the JSON number text
// stands for, as 1.0, 1e3 and -0 do, and reports false where it is none, or
// one with more zeros than maxZeros.
func appendInteger(dst, text []byte) ([]byte, bool) {
	neg, digits, exp, ok := decimal(text)
	if !ok {
		return dst, false
	}
	for exp < 0 && len(digits) > 0 && digits[len(digits)-1] == '0' {
		digits = digits[:len(digits)-1]
		exp++
	}
	switch {
	case len(digits) == 0:
		return append(dst, '0'), true
	case exp < 0 || exp > maxZeros:
		return dst, false
	}
	if neg {
		dst = append(dst, '-')
	}
	dst = append(dst, digits...)
	for range exp {
		dst = append(dst, '0')
	}
	return dst, true
}
