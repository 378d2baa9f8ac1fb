// Copyright (c) The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package cursor_test

import (
	"errors"
	"fmt"

	"github.com/weir-mcp/weir/cursor"
)

// query is a call's scope; with Weir it is the *tool.Request.
type query struct{ tool, arguments string }

func (q query) CursorScope() (string, []byte) { return q.tool, []byte(q.arguments) }

func Example() {
	type position struct {
		Path string `json:"path"`
		Line int64  `json:"line"`
	}
	var cursors cursor.Codec[position]

	call := query{"grep", `{"pattern":"func Test"}`}
	token, err := cursors.Encode(call, position{"server.go", 120})
	if err != nil {
		fmt.Println(err)
		return
	}
	from, err := cursors.Decode(call, token)
	fmt.Println(from.Path, from.Line, err)

	from, err = cursors.Decode(call, "") // no cursor: the start
	fmt.Printf("%q %d %v\n", from.Path, from.Line, err)

	_, err = cursors.Decode(query{"grep", `{"pattern":"func Bench"}`}, token)
	fmt.Println(errors.Is(err, cursor.ErrQuery), err)

	// Output:
	// server.go 120 <nil>
	// "" 0 <nil>
	// true cursor: made for other arguments; repeat those of the first call, or start again without cursor
}
