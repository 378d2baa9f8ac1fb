// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// figure is one line of the table.
type figure struct {
	key     string // in JSON
	title   string
	unit    string
	higher  bool // more is better
	digits  int  // after the point
	targets []target
}

// base is what a target is a multiple of.
type base int

const (
	absolute base = iota
	ofBare        // the bare loop's figure in the same run
	ofSDK         // the best SDK's figure in the same run
	beyond        // absolute, and an aim beyond what must be reached
)

// target is what Weir is to reach: at least (where more is better) or at most a multiple of its base.
type target struct {
	base   base
	factor float64
}

// Verdict is a target beside what was measured.
type Verdict struct {
	Target string `json:"target"`
	Limit  Value  `json:"limit"`
	Met    string `json:"met"` // "met", "missed", or "not judged" where a figure is missing
}

// Value is a measured figure: NaN stands for none, +Inf for something that never happened; both are null in JSON.
type Value float64

// None is no figure.
var none = Value(math.NaN())

// never is the time of something that did not happen.
var never = Value(math.Inf(1))

// Real tells whether v is a number.
func (v Value) Real() bool { return !math.IsNaN(float64(v)) && !math.IsInf(float64(v), 0) }

// MarshalJSON writes a number or null.
func (v Value) MarshalJSON() ([]byte, error) {
	if !v.Real() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(v))
}

// median of what was measured; none for no samples.
func median(samples []Value) Value {
	s := slices.DeleteFunc(slices.Clone(samples), func(v Value) bool { return math.IsNaN(float64(v)) })
	if len(s) == 0 {
		return none
	}
	slices.Sort(s)
	m := len(s) / 2
	if len(s)%2 == 1 {
		return s[m]
	}
	return (s[m-1] + s[m]) / 2
}

// format writes v for a person: grouped thousands, so many digits after the point.
func format(v Value, digits int) string {
	switch {
	case math.IsNaN(float64(v)):
		return ""
	case math.IsInf(float64(v), 0):
		return "never"
	}
	if v >= 100 {
		digits = 0
	}
	whole, frac, dotted := strings.Cut(strconv.FormatFloat(float64(v), 'f', digits, 64), ".")
	var b strings.Builder
	for i, c := range whole {
		if i > 0 && (len(whole)-i)%3 == 0 {
			b.WriteByte(',')
		}
		b.WriteRune(c)
	}
	if dotted {
		b.WriteString("." + frac)
	}
	return b.String()
}

// judge compares Weir's figure with a target.
func (f figure) judge(t target, weir, bare, sdk Value) Verdict {
	words := "at most "
	if f.higher {
		words = "at least "
	}
	v := Verdict{Limit: Value(t.factor), Met: "not judged"}
	switch t.base {
	case absolute:
		v.Target = words + format(v.Limit, 0) + " " + f.unit
	case beyond:
		v.Target = "the aim beyond: " + words + format(v.Limit, 0) + " " + f.unit
	case ofBare:
		v.Limit *= bare
		if t.factor < 1 {
			v.Target = fmt.Sprintf("%s%.0f %% of the bare loop", words, t.factor*100)
		} else {
			v.Target = fmt.Sprintf("%s%g times the bare loop", words, t.factor)
		}
	case ofSDK:
		v.Limit *= sdk
		v.Target = fmt.Sprintf("%s%g times the fastest SDK", words, t.factor)
	}
	if t.base != absolute && t.base != beyond && v.Limit.Real() {
		v.Target += " (" + format(v.Limit, f.digits) + ")"
	}
	if math.IsNaN(float64(weir)) || !v.Limit.Real() {
		return v
	}
	v.Met = "missed"
	if f.higher && weir >= v.Limit || !f.higher && weir <= v.Limit {
		v.Met = "met"
	}
	return v
}

// best is the best of the SDKs' figures.
func (f figure) best(sdks map[string]Value) (name string, v Value) {
	v = none
	for n, x := range sdks {
		if !x.Real() {
			continue
		}
		if !v.Real() || f.higher && x > v || !f.higher && x < v || x == v && n < name {
			name, v = n, x
		}
	}
	return name, v
}
