// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package tool_test

import (
	"fmt"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/weir-mcp/weir/tool"
)

// FindInput is what a tool takes that looks for files.
type FindInput struct {
	Glob  string `json:"glob" jsonschema:"description=Which files, such as *.go,minLength=1"`
	Order string `json:"order" jsonschema:"enum=name,enum=size,default=name"`
	Limit *int   `json:"limit" jsonschema:"minimum=1"`
}

// The schema of a type, as tools/list shows it, without a server.
func ExampleSchemaOf() {
	schema, err := tool.SchemaOf[FindInput]()
	if err != nil {
		panic(err) // names the field and what is wrong with it
	}
	shown := schema.Clone()
	if err := shown.Indent(jsontext.WithIndent("  ")); err != nil {
		panic(err)
	}
	fmt.Println(shown)
	// Output:
	// {
	//   "type": "object",
	//   "properties": {
	//     "glob": {
	//       "type": "string",
	//       "description": "Which files, such as *.go",
	//       "minLength": 1
	//     },
	//     "order": {
	//       "type": "string",
	//       "enum": [
	//         "name",
	//         "size"
	//       ],
	//       "default": "name"
	//     },
	//     "limit": {
	//       "type": "integer",
	//       "minimum": 1
	//     }
	//   },
	//   "required": [
	//     "glob"
	//   ],
	//   "additionalProperties": false
	// }
}
