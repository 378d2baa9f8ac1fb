// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"encoding/json"
	"errors"
	"math/big"
	"regexp"
	"regexp/syntax"
	"strings"

	"github.com/weir-mcp/weir/internal/document"
)

// keywordKinds are the keywords with a value of one type.
var keywordKinds = map[string]string{
	"title": "string", "description": "string", "format": "string", "pattern": "string", "$comment": "string",
	"contentEncoding": "string", "contentMediaType": "string",
	"minimum": "number", "maximum": "number", "exclusiveMinimum": "number", "exclusiveMaximum": "number", "multipleOf": "number",
	"minLength": "number", "maxLength": "number", "minItems": "number", "maxItems": "number",
	"minProperties": "number", "maxProperties": "number", "minContains": "number", "maxContains": "number",
	"uniqueItems": "boolean", "deprecated": "boolean", "readOnly": "boolean", "writeOnly": "boolean",
	"examples": "array", "oneOf": "array", "anyOf": "array", "allOf": "array", "prefixItems": "array",
	"patternProperties": "object", "dependentSchemas": "object", "dependentRequired": "object",
}

// otherDialects are keywords that JSON Schema 2020-12 does not have, with what
// to write.
var otherDialects = map[string]string{
	"additionalItems": "write prefixItems, with items for the rest",
	"dependencies":    "write dependentRequired or dependentSchemas",
	"nullable":        "leave it out; an argument that may be missing is left out of required",
	"example":         "write examples, an array",
}

// values looks at the keywords whose value is no schema.
func (l *linter) values(place string, s document.Object) {
	for _, name := range document.Names(s) {
		v, below := s[name], place+"/"+document.Escape(name)
		if want, ok := keywordKinds[name]; ok && kindOf(v) != want {
			l.reject(below, "write "+article(want)+", or leave it out", "is %s and has to be %s: validators refuse the schema", document.Show(v), article(want))
			continue
		}
		if change, ok := otherDialects[name]; ok {
			l.warn(below, change, "is not in JSON Schema 2020-12: hosts ignore or refuse it")
		}
		if name == "pattern" {
			if _, err := regexp.Compile(v.(string)); err != nil && isBroken(v.(string), err) {
				l.warn(below, "mend it", "is no regular expression in any dialect: validators refuse the schema (%v)", err)
			} else if err != nil {
				l.warn(below, "write it without what RE2 lacks, such as lookahead", "is no RE2 expression: some hosts refuse it (%v)", err)
			}
		}
	}
	l.bounds(place, s)
	if v, has := s["default"]; has && !isOfType(v, s["type"]) {
		l.warn(place+"/default", "write a value of the type, or leave it out", "is %s and not of the type %s", document.Show(v), document.Show(s["type"]))
	}
}

// isBroken tells whether no dialect takes an expression over which RE2 failed.
func isBroken(text string, err error) bool {
	var e *syntax.Error
	if !errors.As(err, &e) || strings.Contains(text, "[]") || strings.Contains(text, "[^]") {
		return false
	}
	switch e.Code {
	case syntax.ErrUnexpectedParen, syntax.ErrTrailingBackslash, syntax.ErrMissingRepeatArgument:
		return true
	case syntax.ErrMissingParen:
		return !strings.Contains(text, "(?")
	}
	return false
}

// bounds looks for pairs of limits between which there is nothing.
func (l *linter) bounds(place string, s document.Object) {
	for _, p := range [][2]string{
		{"minimum", "maximum"}, {"minLength", "maxLength"}, {"minItems", "maxItems"},
		{"minProperties", "maxProperties"}, {"minContains", "maxContains"},
		{"exclusiveMinimum", "maximum"}, {"minimum", "exclusiveMaximum"}, {"exclusiveMinimum", "exclusiveMaximum"},
	} {
		low, high := exact(s[p[0]]), exact(s[p[1]])
		if low == nil || high == nil {
			continue
		}
		exclusive := strings.HasPrefix(p[0], "ex") || strings.HasPrefix(p[1], "ex")
		if c := low.Cmp(high); c > 0 || c == 0 && exclusive {
			l.warn(place+"/"+p[0], "exchange the two, or leave one out", "is %s and %s is %s: no value is valid", document.Show(s[p[0]]), p[1], document.Show(s[p[1]]))
		}
	}
}

// exact is the value of a JSON number, or nil.
func exact(v any) *big.Rat {
	n, ok := v.(json.Number)
	if !ok || len(n) > 40 || strings.ContainsAny(string(n), "eE") {
		return nil
	}
	r, _ := new(big.Rat).SetString(string(n))
	return r
}

// isOfType tells whether v is of a type, or of one in a list. What cannot be
// told is.
func isOfType(v, t any) bool {
	switch t := t.(type) {
	case string:
		switch kind := kindOf(v); t {
		case "integer":
			r := exact(v)
			return kind == "number" && (r == nil || r.IsInt())
		case "string", "number", "boolean", "array", "object":
			return kind == t
		case "null":
			return v == nil
		}
	case []any:
		for _, e := range t {
			if isOfType(v, e) {
				return true
			}
		}
		return len(t) == 0
	}
	return true
}
