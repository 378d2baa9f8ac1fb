// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"fmt"
	"math/big"

	"github.com/weir-mcp/weir/internal/document"
)

// An end is one end of a range of numbers.
type end struct {
	at   *big.Rat // nil means that there is none
	open bool     // at itself is outside
	key  string   // the keyword that says so
	text any
}

// ends are the ends of the range that s allows; of integers, where whole is
// set, the integers at the ends.
func ends(s document.Object, whole bool) (low, high end) {
	for _, k := range []string{"minimum", "exclusiveMinimum"} {
		e := end{number(s[k]), k == "exclusiveMinimum", k, s[k]}
		if e.at != nil && (low.at == nil || e.at.Cmp(low.at) > 0 || e.at.Cmp(low.at) == 0 && e.open) {
			low = e
		}
	}
	for _, k := range []string{"maximum", "exclusiveMaximum"} {
		e := end{number(s[k]), k == "exclusiveMaximum", k, s[k]}
		if e.at != nil && (high.at == nil || e.at.Cmp(high.at) < 0 || e.at.Cmp(high.at) == 0 && e.open) {
			high = e
		}
	}
	if whole {
		low.round(1)
		high.round(-1)
	}
	return low, high
}

// round moves e to the next integer inside.
func (e *end) round(up int64) {
	if e.at == nil {
		return
	}
	n := new(big.Int).Div(e.at.Num(), e.at.Denom()) // the floor, since the denominator is positive
	if !e.at.IsInt() && up > 0 {
		n.Add(n, big.NewInt(1))
	}
	if e.at.IsInt() && e.open {
		n.Add(n, big.NewInt(up))
	}
	e.at, e.open = new(big.Rat).SetInt(n), false
}

// numbers compares what is said of numbers.
func (d *differ) numbers(place string, old, new document.Object, common types) {
	if common&(integers|fractions) == 0 {
		return
	}
	whole := common&fractions == 0
	oldLow, oldHigh := ends(old, whole)
	newLow, newHigh := ends(new, whole)
	d.end(place, oldLow, newLow, 1)
	d.end(place, oldHigh, newHigh, -1)
	d.multiple(place, old["multipleOf"], new["multipleOf"], whole)
}

// end compares one end of two ranges; inward is 1 for the low one.
func (d *differ) end(place string, old, new end, inward int) {
	switch {
	case old.at == nil && new.at == nil:
	case old.at == nil:
		d.found(place+"/"+new.key, narrower, fmt.Sprintf("%s added: %s", new.key, document.Show(new.text)))
	case new.at == nil:
		d.found(place+"/"+old.key, wider, fmt.Sprintf("%s removed, was %s", old.key, document.Show(old.text)))
	default:
		order := new.at.Cmp(old.at) * inward
		if order == 0 && old.open != new.open {
			order = -1
			if new.open {
				order = 1
			}
		}
		if order == 0 {
			return
		}
		e := wider
		if order > 0 {
			e = narrower
		}
		from := document.Show(old.text)
		if old.key != new.key {
			from = old.key + " " + from
		}
		verb := "raised"
		if new.at.Cmp(old.at) < 0 {
			verb = "lowered"
		} else if new.at.Cmp(old.at) == 0 {
			verb = "changed"
		}
		d.found(place+"/"+new.key, e, fmt.Sprintf("%s %s from %s to %s", new.key, verb, from, document.Show(new.text)))
	}
}

// multiple compares multipleOf.
func (d *differ) multiple(place string, a, b any, whole bool) {
	old, new := step(a, whole), step(b, whole)
	place += "/multipleOf"
	switch {
	case old == nil && new == nil:
	case old == nil:
		d.found(place, narrower, fmt.Sprintf("multipleOf added: %s", document.Show(b)))
	case new == nil:
		d.found(place, wider, fmt.Sprintf("multipleOf removed, was %s", document.Show(a)))
	case old.Cmp(new) == 0:
	default:
		e := both
		if divides(new, old) {
			e = wider
		} else if divides(old, new) {
			e = narrower
		}
		d.found(place, e, fmt.Sprintf("multipleOf changed from %s to %s", document.Show(a), document.Show(b)))
	}
}

// step is the value of multipleOf; nil when it lets all through.
func step(v any, whole bool) *big.Rat {
	r := number(v)
	if r == nil || r.Sign() <= 0 || whole && new(big.Rat).Inv(r).IsInt() {
		return nil
	}
	return r
}

func divides(a, b *big.Rat) bool { return new(big.Rat).Quo(b, a).IsInt() }

// count compares a keyword with a count: the least or the most of something.
func (d *differ) count(place, key string, old, new document.Object) {
	a, b := number(old[key]), number(new[key])
	least := key[:3] == "min"
	if least { // none is zero
		if a != nil && a.Sign() <= 0 {
			a = nil
		}
		if b != nil && b.Sign() <= 0 {
			b = nil
		}
	}
	place += "/" + key
	switch {
	case a == nil && b == nil:
	case a == nil:
		d.found(place, narrower, fmt.Sprintf("%s added: %s", key, document.Show(new[key])))
	case b == nil:
		d.found(place, wider, fmt.Sprintf("%s removed, was %s", key, document.Show(old[key])))
	case a.Cmp(b) != 0:
		e, verb := wider, "lowered"
		if b.Cmp(a) > 0 {
			verb = "raised"
		}
		if (verb == "raised") == least {
			e = narrower
		}
		d.found(place, e, fmt.Sprintf("%s %s from %s to %s", key, verb, document.Show(old[key]), document.Show(new[key])))
	}
}

// isTrue tells whether a keyword is set, as uniqueItems is.
func isTrue(v any) bool { return v == true }
