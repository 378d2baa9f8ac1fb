// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package schemadiff

import (
	"encoding/json"
	"math/big"
	"regexp"
	"unicode/utf8"

	"github.com/weir-mcp/weir/internal/document"
)

// takes tells whether a schema takes a value. known is false when that needs
// more than is looked at here: what is inside of arrays and objects,
// alternatives, conditions, references and formats.
func takes(s document.Object, v any) (taken, known bool) {
	t, _ := declaredTypes(s)
	if typeOf(v)&t == 0 {
		return false, true
	}
	known = true
	for key := range s {
		of, ofType := typeKeys[key]
		switch {
		case ofType && of&typeOf(v) == 0, key == "type", besides(key):
		case key == "enum":
			if list, ok := s[key].([]any); ok && len(minus([]any{v}, list)) > 0 {
				return false, true
			}
		default:
			ok, sure := keeps(key, s[key], v)
			if sure && !ok {
				return false, true
			}
			known = known && sure
		}
	}
	return known, known
}

// keeps tells whether a number or a string keeps to one keyword.
func keeps(key string, arg, v any) (ok, known bool) {
	switch v := v.(type) {
	case json.Number:
		n, limit := number(v), number(arg)
		if n == nil || limit == nil {
			return false, false
		}
		switch key {
		case "minimum":
			return n.Cmp(limit) >= 0, true
		case "maximum":
			return n.Cmp(limit) <= 0, true
		case "exclusiveMinimum":
			return n.Cmp(limit) > 0, true
		case "exclusiveMaximum":
			return n.Cmp(limit) < 0, true
		case "multipleOf":
			return limit.Sign() > 0 && divides(limit, n), limit.Sign() > 0
		}
	case string:
		length, limit := new(big.Rat).SetInt64(int64(utf8.RuneCountInString(v))), number(arg)
		switch key {
		case "minLength", "maxLength":
			if limit == nil {
				return false, false
			}
			if key == "minLength" {
				return length.Cmp(limit) >= 0, true
			}
			return length.Cmp(limit) <= 0, true
		case "pattern":
			text, _ := arg.(string)
			re, err := regexp.Compile(text)
			return err == nil && re.MatchString(v), err == nil
		}
	}
	return false, false
}
