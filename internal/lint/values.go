// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package lint

import (
	"regexp"

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
			if _, err := regexp.Compile(v.(string)); err != nil {
				l.warn(below, "write it without what RE2 lacks, such as lookahead", "is no RE2 expression: some hosts refuse it (%v)", err)
			}
		}
	}
}
