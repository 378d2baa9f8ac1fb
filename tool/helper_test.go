// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import (
	"reflect"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

func jsonUnmarshal(text []byte, v any) error { return json.Unmarshal(text, v, decodeOptions) }

// generate makes the schema of t, without the cache.
func generate(t reflect.Type, dir direction) (jsontext.Value, error) {
	g := newGenerator(dir)
	return g.finish(g.root(t))
}
