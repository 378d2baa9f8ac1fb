// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool

import "github.com/go-json-experiment/json"

func jsonUnmarshal(text []byte, v any) error { return json.Unmarshal(text, v, decodeOptions) }
