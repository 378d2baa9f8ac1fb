// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"fmt"
	"reflect"

	"github.com/go-json-experiment/json"
)

// checkDefaults refuses a default that does not fit its own schema, as far as
// accept can tell.
func (n *node) checkDefaults(place string, seen map[*node]bool) error {
	n = n.deref()
	if seen[n] {
		return nil
	}
	seen[n] = true
	for i := range n.props {
		p := &n.props[i]
		below := join(place, p.name)
		a := acceptor{text: p.def}
		if p.def != nil && p.node.certain(map[*node]bool{}) && !a.accept(p.node) {
			return fmt.Errorf("%s: the default %s does not fit the schema", below, clip(string(p.def), 60))
		}
		if err := p.node.checkDefaults(below, seen); err != nil {
			return err
		}
	}
	if n.items != nil {
		return n.items.checkDefaults(place+"[]", seen)
	}
	return nil
}

// certain tells whether accept decides about all of n.
func (n *node) certain(seen map[*node]bool) bool {
	n = n.deref()
	if seen[n] {
		return true
	}
	seen[n] = true
	if n.ask || n.enumAsk {
		return false
	}
	for _, p := range n.props {
		if !p.node.certain(seen) {
			return false
		}
	}
	return (n.items == nil || n.items.certain(seen)) && (n.extra == nil || n.extra.certain(seen))
}

// decodeDefaults refuses defaults that the input type cannot hold, which every
// call would fail on.
func (t *Tool) decodeDefaults() error {
	if !t.hasDefaults {
		return nil
	}
	n, err := t.in.node()
	if err != nil {
		return err
	}
	args := (&normalizer{defaults: true}).normalize(nil, []byte("{}"), n)
	if err := json.Unmarshal(args, reflect.New(t.input).Interface(), decodeOptions); err != nil {
		p := decodeProblem(args, err)
		return fmt.Errorf("input type %s: %s: the default cannot be used: %s", t.input, p.place, p.text)
	}
	return nil
}
